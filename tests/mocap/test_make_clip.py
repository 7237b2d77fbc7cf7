"""From landmarks to a clip: the ground that was walked on comes back, and the walk stands on it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from parc.character import Character
from parc.dataset.clip import Clip
from parc.metrics.clip_batch import ClipBatch
from parc.mocap.contact.find_contacts import Event
from parc.mocap.contact.support_levels import Held, Supports
from parc.mocap.make.make_clip import Made, MocapSettings, make_clip, stand
from parc.mocap.read.joint_positions import read_positions
from parc.mocap.read.read_take import ReadSettings, read_take
from parc.mocap.subject.body_landmarks import landmarks_of_motion
from parc.mocap.subject.calibrate_subject import calibrate
from parc.mocap.subject.human_anatomy import Anatomy
from parc.mocap.subject.landmark_fit import FitSettings
from parc.mocap.terrain.reconstruct_terrain import without_passed
from parc.mocap.terrain.refine_on_terrain import RefineSettings, refine
from parc.terrain.terrain import Terrain

QUICK = MocapSettings(retarget=FitSettings(iterations=30), refine=RefineSettings(fit=FitSettings(iterations=120, foot_turn=0.02)))


@pytest.fixture(scope="module")
def made(character: Character, step_walk: Clip) -> Made:
    """A walk over steps, recorded at 120 Hz with 2 mm of noise and turned by 20 degrees."""
    marks = landmarks_of_motion(character, step_walk.motion).turned(np.radians(20)).resampled(120.0)
    rng = np.random.default_rng(3)
    noise = {place: rng.normal(0, 0.002, track.shape) for place, track in marks.at.items()}
    noisy = replace(marks, at={place: track + noise[place] for place, track in marks.at.items()})
    return make_clip(noisy, character, hands=False, settings=QUICK)


def test_the_ground_comes_back_where_feet_touched_it(character: Character, made: Made, step_walk: Clip) -> None:
    """Footholds are paired by frame with those of the walk it was made from: heights within 3 cm."""
    anatomy = Anatomy.of(character)
    true = step_walk.motion.body_poses(character).pos
    pos = made.clip.motion.body_poses(character).pos
    frames = min(len(true), len(pos))
    errors = []
    for side in ("left", "right"):
        foot = anatomy.body[f"{side}_ankle"]
        held = (step_walk.motion.contacts[:frames, foot] > 0.5) & (made.clip.motion.contacts[:frames, foot] > 0.5)
        there = step_walk.terrain.height_at(true[:frames, foot, :2])[held]
        here = made.clip.terrain.height_at(pos[:frames, foot, :2])[held]
        errors.append((here - there).abs())
    error = torch.cat(errors)
    assert len(error) > 60
    assert float((error < 0.03).float().mean()) > 0.97


def test_it_stands_on_its_ground(character: Character, made: Made) -> None:
    q = made.quality
    assert q["gap"] < 0.5 and q["penetration"] < 1.0 and q["deep"] == 0
    assert q["slide"] < 5 and q["skate"] < 8 and q["feet"] < 4
    assert q.faults() == ()
    batch = ClipBatch.stack([made.clip], character)
    assert float(batch.depth.max()) < 0.02


def test_clips_side_by_side_are_refined_as_if_alone(character: Character, made: Made) -> None:
    quick = RefineSettings(fit=FitSettings(iterations=12), renew=5)
    flat = Terrain.flat((30, 30))
    start = made.clip.motion.moved(shift=torch.tensor([0.0, 0.0, 0.01]))
    part = Supports(40, (), (0.0,))
    lower = replace(made.fitted, landmarks=made.fitted.landmarks.moved(lambda track: track[:40]))
    jobs = [(start, made.fitted, made.supports, made.clip.terrain), (start.slice(0, 40), lower, part, flat)]
    together = refine(*(list(x) for x in zip(*jobs, strict=True)), character, quick)  # type: ignore[arg-type]
    for job, got in zip(jobs, together, strict=True):
        (alone,) = refine(*([x] for x in job), character, quick)  # type: ignore[arg-type]
        assert float((alone.body_poses(character).pos - got.body_poses(character).pos).abs().max()) < 5e-3


def test_stretching_draws_footholds_apart(character: Character, flat_walk: Clip) -> None:
    marks = landmarks_of_motion(character, flat_walk.motion)
    wide = make_clip(marks, character, settings=QUICK, stretch=1.3)
    events = [e for e in wide.supports.contacts.events if e.part == "heel"]
    steps = np.diff([e.centre[0] for e in events])
    assert np.median(steps) == pytest.approx(1.3 * 0.5, abs=0.03)
    assert wide.quality.faults() == ()


def test_quality_names_what_is_wrong(made: Made) -> None:
    bad = replace(made.quality, values={**made.quality.values, "contact_gap": 55.0, "jerk_99": 9000.0})
    assert bad.faults() == ("contact_gap is 55 mm, 10 is the limit", "jerk_99 is 9000 m/s3, 4000 is the limit")
    assert made.clip.provenance.losses["mocap_feet"] == pytest.approx(made.quality["feet"])


def test_a_file_of_another_unit_and_axis_makes_the_same_clip(character: Character, flat_walk: Clip, bvh_text, tmp_path) -> None:
    file = tmp_path / "person_walk.bvh"
    file.write_text(bvh_text(character, flat_walk, unit=0.0564444))
    take = read_take(file, character, ReadSettings())
    assert take.warnings == ()
    own = landmarks_of_motion(character, flat_walk.motion)
    for place in ("left_ankle", "right_toe", "left_elbow", "right_knee"):
        np.testing.assert_allclose(take.landmarks[place], own[place], atol=1e-4)


def test_a_hand_holds_nothing_where_the_body_passed_far_below(character: Character, step_walk: Clip) -> None:
    motion = step_walk.motion
    middle = motion.root_pos[len(motion) // 2].double().numpy()
    hands = [
        Held(Event("left", "hand", 0, 10, np.full((10, 1, 3), middle) + [0.0, aside, 0.4]), middle[2] + 0.4)
        for aside in (0.0, 1.5)
    ]
    foot = Held(Event("left", "toe", 0, 10, np.full((10, 1, 3), [*middle[:2], 0.2])), 0.2)
    held = (*hands, foot)
    supports = Supports(len(motion), held, (0.2, middle[2] + 0.4))
    left = without_passed(supports, motion, character)
    assert left.held == (hands[1], foot) and left.contacts.events == (hands[1].event, foot.event)
    assert without_passed(replace(supports, held=(hands[0],)), motion, character).levels == ()


def test_boxes_of_real_climbs_have_their_heights(character: Character, data) -> None:
    """Also those that are climbed from one side only, where the recorded floor is 4 cm higher than on the other."""
    folder = data / "holosoma_climb"
    anatomy = Anatomy.of(character)
    boxes = {0: (0.18, 0.47, 0.95), 1: (0.18, 0.95), 2: (0.47, 0.95), 3: (0.47, 0.95)}
    assert len(read_positions(folder / "mocap_climb_seq_0", fps=120).joints) == 53
    takes = {k: read_take(folder / f"mocap_climb_seq_{k}", character, ReadSettings(fps=120)).landmarks for k in boxes}
    together = calibrate(list(takes.values()))
    assert 0.01 < together.slope[0] < 0.025 and abs(together.slope[1]) < 0.01
    for k, heights in boxes.items():
        _, supports = stand(takes[k], together, anatomy, hands=True)
        for height in heights:
            assert min(abs(level - height) for level in supports.levels) < 0.03, (k, height, supports.levels)
