"""Real climbs over boxes whose meshes are known: the ground built under every contact is the box that was touched."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.spatial import ConvexHull

from parc.character import Character
from parc.fit.held_parts import SIDES
from parc.mocap.make.make_clip import MocapSettings, make_clip
from parc.mocap.read.read_take import ReadSettings, read_take
from parc.mocap.subject.body_landmarks import Landmarks
from parc.mocap.subject.calibrate_subject import Calibration, calibrate, fit_take
from parc.mocap.subject.closed_form_pose import foot_frames
from parc.mocap.subject.human_anatomy import Anatomy
from parc.mocap.subject.landmark_fit import FitSettings
from parc.mocap.terrain.refine_on_terrain import RefineSettings

HASTY = MocapSettings(retarget=FitSettings(iterations=6), refine=RefineSettings(fit=FitSettings(iterations=1)))
BESIDE = 0.05
"""m beside a box that a foot or a hand may be recorded and still be on it"""


@pytest.fixture(scope="module")
def takes(character: Character, data: Path) -> dict[int, Landmarks]:
    folder = data / "holosoma_climb"
    return {k: read_take(folder / f"mocap_climb_seq_{k}", character, ReadSettings(fps=120)).landmarks for k in range(4)}


@pytest.fixture(scope="module")
def calibration(takes: dict[int, Landmarks]) -> Calibration:
    return calibrate(list(takes.values()))


@pytest.mark.parametrize(("k", "heights"), [(0, (0.18, 0.47, 0.95)), (1, (0.18, 0.95)), (2, (0.47, 0.95)), (3, (0.47, 0.95))])
def test_what_was_touched_has_the_height_of_its_box(
    character: Character, data: Path, takes: dict[int, Landmarks], calibration: Calibration, k: int, heights: tuple[float, ...]
) -> None:
    """Frame by frame: the level of a contact and the cell under it against the top of a given box (or the floor) under the
    recorded foot or hand, the nearest in height. Feet that dangle over an edge are near none, and so would be wrong."""
    made = make_clip(takes[k], character, hands=True, calibration=calibration, settings=HASTY)
    boxes = [_box(file) for file in sorted((data / "holosoma_climb" / f"mocap_climb_seq_{k}").glob("*.obj"))]
    parts = _recorded(takes[k], calibration, Anatomy.of(character))
    error, met = [], set()
    for held in made.supports.held:
        e = held.event
        ground = float(made.clip.terrain.height_at(torch.as_tensor(e.centre[:2]).float()))
        recorded = parts[e.side, e.part == "hand"][e.start : e.stop]
        tops = [np.zeros(recorded.shape[:2])]
        for planes, top in boxes:
            beside = (recorded[..., :2] @ planes[:, :2].T + planes[:, 2]).max(-1)
            tops.append(np.where((beside < BESIDE).any(1, keepdims=True), top, np.inf) * np.ones(recorded.shape[1]))
        away = np.abs(np.stack(tops) - recorded[..., 2]).min(2)
        under = np.array([0.0, *(top for _, top in boxes)])[away.argmin(0)]
        error.append(np.maximum(np.abs(ground - under), np.abs(held.level - under)))
        met |= set(under)
    wrong = np.concatenate(error)
    assert met == {0.0, *heights}
    assert np.median(wrong) < 0.02
    assert (wrong < 0.03).mean() > 0.995, (k, (wrong < 0.03).mean())


def _box(file: Path) -> tuple[np.ndarray, float]:
    """Its sides as lines of the plane, and its top."""
    rows = [line.split()[1:4] for line in file.read_text().splitlines() if line.startswith("v ")]
    corners = np.array(rows, dtype=np.float64)
    return ConvexHull(corners[:, :2]).equations, float(corners[:, 2].max())


def _recorded(take: Landmarks, calibration: Calibration, anatomy: Anatomy) -> dict[tuple[str, bool], np.ndarray]:
    """[T, C, 3] of each foot from heel to toe and of each hand, in the frame and size of the recording."""
    fitted = fit_take(take, calibration, anatomy)
    slow = replace(fitted, landmarks=fitted.landmarks.resampled(30.0))
    found = {}
    for side in SIDES:
        turns = foot_frames(anatomy, slow, side)
        corners = slow.landmarks[f"{side}_ankle"][:, None] + np.einsum("tij,cj->tci", turns, anatomy.sole)
        heel, toe = corners[:, None, :2].mean(2), corners[:, None, 2:].mean(2)
        share = np.linspace(0, 1, 9)[:, None]
        found[side, False] = ((1 - share) * heel + share * toe) / fitted.scale
        found[side, True] = (slow.landmarks[f"{side}_wrist"][:, None] - np.array([0.0, 0.0, anatomy.palm_drop])) / fitted.scale
    return found
