"""Metrics against hand arithmetic, a second program, and the values the paper's released functions give."""

import ast
import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from parc.author.procedural_walk import stroll
from parc.character import humanoid, rotation, surface_points, world_points
from parc.character.joint_coordinates import dof_to_joints
from parc.dataset.clip import Clip
from parc.metrics import ClipBatch, mean_of, measure, measure_clips
from parc.metrics.free_flight import GRAVITY, airborne, flight, unsupported, veer
from parc.metrics.jerk import LIMIT, high_jerk_frames, jerk, seam_jerk_ratio
from parc.metrics.motion_distance import diversity, frechet_distance, window_features
from parc.motion.motion import Motion
from parc.path.terrain_path import TerrainPath
from parc.terrain.terrain import Terrain

BODY = humanoid()
HERE = Path(__file__).parent
SCRIPT = HERE / "golden_values.py"
WRITTEN: dict[str, dict[str, float | None]] = json.loads((HERE / "golden_values.json").read_text())
"""what SCRIPT found, a program of its own"""
RELEASED = Path(__file__).parents[3] / "shared" / "data" / "parc"


def standing(frames: int, height: float = 2.0, fps: float = 30.0) -> Clip:
    """T-pose with the root at a fixed height over flat ground at z = 0."""
    pos = torch.tensor([2.0, 2.0, height]).repeat(frames, 1)
    unit = torch.tensor([0.0, 0.0, 0.0, 1.0])
    motion = Motion(
        pos, unit.repeat(frames, 1), unit.repeat(frames, BODY.num_joints, 1), torch.zeros(frames, BODY.num_bodies), fps
    )
    return Clip("standing", motion, Terrain.flat((12, 12)), TerrainPath(torch.tensor([[2.0, 2.0, 0.0], [3.5, 4.0, 0.0]])))


def moved(clip: Clip, root_pos: torch.Tensor, **changes) -> Clip:
    return replace(clip, motion=replace(clip.motion, root_pos=root_pos, **changes))


def one(clip: Clip) -> dict[str, float]:
    return measure_clips([clip], BODY)[0]


@pytest.fixture(scope="module")
def walk() -> Clip:
    return stroll(Terrain.flat((20, 8)), TerrainPath(torch.tensor([[0.4, 1.2, 0.0], [6.8, 1.2, 0.0]])))


def golden_clip(name: str) -> Clip:
    with np.load(HERE / "golden_clips.npz") as file:
        part = {key.partition("/")[2]: torch.from_numpy(file[key]) for key in file.files if key.startswith(f"{name}/")}
    motion = Motion(part["root_pos"], part["root_rot"], part["joint_rot"], part["contacts"], float(part["fps"]))
    return Clip(name, motion, Terrain(part["heights"], part["min_point"], float(part["cell"])), TerrainPath(part["path"]))


def agree(found: dict[str, float], expected: dict[str, float | None]) -> None:
    for key, value in expected.items():
        assert found[key] == pytest.approx(np.nan if value is None else value, rel=1e-3, abs=1e-4, nan_ok=True), key


@pytest.mark.parametrize("name", WRITTEN)
def test_golden_clips_measure_as_the_second_program_says(name: str) -> None:
    agree(one(golden_clip(name)), WRITTEN[name])


def test_the_golden_values_are_what_the_second_program_says_now_and_it_uses_nothing_of_parc() -> None:
    imported = [node for node in ast.walk(ast.parse(SCRIPT.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {a.name for node in imported if isinstance(node, ast.Import) for a in node.names}
    assert names | {node.module for node in imported if isinstance(node, ast.ImportFrom)} == {"json", "sys", "numpy", "pathlib"}
    told = subprocess.run([sys.executable, str(SCRIPT), "climb_lowered"], capture_output=True, text=True, check=True).stdout
    agree(json.loads(told)["climb_lowered"], WRITTEN["climb_lowered"])


def test_every_golden_metric_has_something_to_say() -> None:
    keys = next(iter(WRITTEN.values()))
    assert all(len({values[key] for values in WRITTEN.values()}) > 1 for key in keys)
    assert all(max(values[key] or 0 for values in WRITTEN.values()) > 0 for key in keys)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("sfu.pkl", {"frames": 15, "tpl": 2.1676, "tcl": 0.18527, "hjf_code": 0.0, "max_jerk": 4070}),
        ("civilization.pkl", {"frames": 254, "tpl": 0.01766, "tcl": 2.1925, "hjf_code": 0.0, "fwd": 0.3752, "max_jerk": 1069}),
    ],
)
def test_golden_values_of_the_released_code(file: str, expected: dict[str, float]) -> None:
    """Within 1 %, or 0.01 m where a correct surface point differs from the reference's."""
    if not (RELEASED / file).exists():
        pytest.skip(f"{file} of the paper's release is not here")
    from parc.dataset import load_clip

    result = one(load_clip(RELEASED / file, BODY))
    for key, value in expected.items():
        assert result[key] == pytest.approx(value, rel=0.01, abs=0.01), key


def test_penetration_is_the_sum_of_point_depths() -> None:
    clip = standing(3, height=0.80)
    points = world_points(surface_points(BODY), clip.motion.body_poses(BODY))
    by_hand = (-points[..., 2]).clamp_min(0)
    result = one(clip)
    assert by_hand.sum() > 0
    assert result["tpl"] == pytest.approx(float(by_hand.sum()), rel=1e-4)
    assert result["pen_mm"] == pytest.approx(1000 * float(by_hand.amax(1).mean()), rel=1e-4)
    assert result["pen_frames"] == 100


def test_a_point_off_the_map_counts_its_distance_to_the_map() -> None:
    clip = standing(1)
    off = moved(clip, torch.tensor([[12 * 0.4 - 0.2 + 5.0, 2.0, 2.0]]))
    points = world_points(surface_points(BODY), off.motion.body_poses(BODY))
    assert one(off)["tpl"] == pytest.approx(float((points[..., 0] - (12 * 0.4 - 0.2)).sum()), rel=1e-5)


def test_contact_loss_weighs_clearance_by_the_label() -> None:
    clip = standing(4)
    head = BODY.index("head")
    contacts = torch.zeros(4, BODY.num_bodies)
    contacts[1, head], contacts[2, head] = 1.0, 0.25
    points = world_points(surface_points(BODY), clip.motion.body_poses(BODY))[0]
    lowest = points[surface_points(BODY).body == head][:, 2].min()
    result = one(moved(clip, clip.motion.root_pos, contacts=contacts))
    assert result["tcl"] == pytest.approx(1.25 * float(lowest), rel=1e-5)


def test_jerk_equals_numpys_third_difference() -> None:
    rng = np.random.default_rng(0)
    pos = rng.normal(size=(20, 5, 3))
    expected = np.linalg.norm(np.diff(pos, 3, axis=0), axis=-1) * 30**3
    np.testing.assert_allclose(jerk(torch.tensor(pos), 30.0), expected, rtol=1e-6)


def test_the_two_percentages_of_high_jerk_frames() -> None:
    """A single jump of the whole body: 15 bodies over the limit in each of the three differences whose weight makes them so."""
    clip = standing(23)
    pos = clip.motion.root_pos.clone()
    step = 1.5 * LIMIT / 30**3
    pos[10:, 0] += step
    code, paper = high_jerk_frames(ClipBatch.stack([moved(clip, pos)], BODY))
    assert paper.item() == pytest.approx(100 * 3 / 20)
    assert code.item() == pytest.approx(100 * 3 * BODY.num_bodies / 20)


def test_final_waypoint_distance_by_hand() -> None:
    assert one(standing(5))["fwd"] == pytest.approx(np.hypot(1.5, 2.0), rel=1e-6)
    assert np.isnan(one(replace(standing(5), path=None))["fwd"])


def test_a_clip_without_labels_has_no_contact_score_and_one_with_wrong_labels_a_bad_one(walk: Clip) -> None:
    nothing = torch.zeros_like(walk.motion.contacts)
    assert np.isnan(one(replace(walk, motion=replace(walk.motion, contacts=nothing)))["foot_f1"])
    head = nothing.clone()
    head[0, BODY.index("head")] = 1.0
    assert one(replace(walk, motion=replace(walk.motion, contacts=head)))["foot_f1"] == 0


def test_a_planted_walk_is_clean_and_a_pushed_one_skates(walk: Clip) -> None:
    clean = one(walk)
    assert clean["foot_skate"] == 0
    assert clean["foot_slide"] < 1e-3
    assert clean["tcl"] < 1e-2
    assert clean["pen_mm"] < 1
    assert clean["foot_f1"] > 0.9
    assert clean["floating"] == 0
    drift = torch.arange(len(walk.motion)).unsqueeze(1) / 30.0 * torch.tensor([0.3, 0.0, 0.0])
    pushed = one(moved(walk, walk.motion.root_pos + drift))
    assert pushed["foot_skate"] == 100
    assert pushed["foot_slide"] == pytest.approx(0.3, rel=0.05)


@pytest.mark.parametrize(("gravity", "floats"), [(GRAVITY, 0.0), (0.0, 100.0), (2.0, 100.0)])
def test_a_body_in_the_air_must_fall(gravity: float, floats: float) -> None:
    t = torch.arange(20) / 30.0
    root = torch.stack([2.0 + t, torch.full_like(t, 2.0), 5.0 + 1.0 * t - 0.5 * gravity * t**2], -1)
    error, floating = flight(ClipBatch.stack([moved(standing(20), root)], BODY))
    assert error.item() == pytest.approx(GRAVITY - gravity, abs=0.02)
    assert floating.item() == pytest.approx(floats)


def test_padding_changes_nothing(walk: Clip) -> None:
    alone = one(standing(7, 0.8))
    together = measure(ClipBatch.stack([standing(7, 0.8), walk], BODY))
    for key, value in alone.items():
        assert float(together[key][0]) == pytest.approx(value, rel=1e-4, abs=1e-5, nan_ok=True), key


def test_batches_of_any_size_give_the_same(walk: Clip) -> None:
    clips = [walk, standing(30), standing(9), replace(walk, name="again")]
    small, large = measure_clips(clips, BODY, frames_at_once=1), measure_clips(clips, BODY)
    for a, b in zip(small, large, strict=True):
        assert a == pytest.approx(b, rel=1e-4, abs=1e-5, nan_ok=True)
    assert mean_of(large)["frames"] == pytest.approx(np.mean([len(c.motion) for c in clips]))


def test_seams_are_told_from_the_rest() -> None:
    clip = standing(40)
    pos = clip.motion.root_pos.clone()
    smooth = torch.sin(torch.arange(40) / 5.0)
    pos[:, 0] += smooth
    even = seam_jerk_ratio(ClipBatch.stack([moved(clip, pos)], BODY), period=7, first=7)
    torn = pos.clone()
    for seam in range(7, 40, 7):
        torn[seam:, 0] += 0.05
    ratio = seam_jerk_ratio(ClipBatch.stack([moved(clip, torn)], BODY), period=7, first=7)
    assert even.item() == pytest.approx(1, abs=0.3)
    assert ratio.item() > 10


def test_frechet_distance_of_known_gaussians() -> None:
    """Two Gaussians of unit covariance, means apart by d: distance d^2; and of the same set: 0."""
    g = torch.Generator().manual_seed(0)
    a, b = torch.randn(20000, 3, generator=g), torch.randn(20000, 3, generator=g)
    assert frechet_distance(a, b + 2.0) == pytest.approx(12.0, rel=0.03)
    assert frechet_distance(a, a) == pytest.approx(0.0, abs=1e-6)


def test_features_do_not_depend_on_where_and_which_way(walk: Clip) -> None:
    turned = walk.motion.moved(turn=torch.tensor(1.0), shift=torch.tensor([10.0, -4.0, 0.0]))
    big = replace(walk, motion=turned, terrain=Terrain(torch.zeros(80, 80), torch.tensor([-5.0, -20.0])))
    here = window_features(ClipBatch.stack([walk], BODY))
    there = window_features(ClipBatch.stack([big], BODY))
    torch.testing.assert_close(here, there, atol=1e-4, rtol=1e-4)
    assert diversity(here) > 0


def test_a_body_lifted_beside_a_wall_floats_and_one_that_falls_there_does_not() -> None:
    """Its feet are 3 cm from the face, so it is near the ground all the time; nothing carries it."""
    clip = standing(40)
    feet = world_points(surface_points(BODY), clip.motion.body_poses(BODY))[0, :, 0].max()
    heights = torch.zeros(12, 12)
    edge = 8 * 0.4 - 0.2
    heights[8:] = 6.0
    wall = Terrain(heights, torch.zeros(2), 0.4)
    t = torch.arange(40) / 30.0
    pos = torch.tensor([2.0 + edge - 0.03 - float(feet), 2.0, 2.0]).repeat(40, 1)
    lifted = replace(moved(clip, pos + torch.stack([0 * t, 0 * t, 0.8 * t], 1)), terrain=wall)
    thrown = replace(moved(clip, pos + torch.stack([0 * t, 0 * t, 6.0 * t - 0.5 * 9.81 * t * t], 1)), terrain=wall)
    batch = ClipBatch.stack([lifted, thrown], BODY)
    assert not airborne(batch).any() and unsupported(batch).all()
    assert one(lifted)["floating"] == 100 and one(lifted)["ballistic"] == pytest.approx(9.81, rel=1e-2)
    assert one(thrown)["floating"] == 0


def test_a_body_that_turns_in_the_air_veers_and_one_that_is_thrown_does_not() -> None:
    """A turn of radius 2 m at 3 m/s takes 4.5 m/s2, from which way ever it is looked at."""
    clip = standing(24)
    t = torch.arange(24) / 30.0
    height = 2.0 + 6.0 * t - 0.5 * 9.81 * t * t
    thrown = torch.stack([2.0 + 3.0 * t, 4.0 + 0.5 * t, height], 1)
    turning = torch.stack([4.0 + 2.0 * (1.5 * t).sin(), 6.0 - 2.0 * (1.5 * t).cos(), height], 1)
    batch = ClipBatch.stack([moved(clip, thrown), moved(clip, turning), standing(24, height=0.5)], BODY)
    assert airborne(batch)[:2].all()
    found = veer(batch)
    assert found[0] == pytest.approx(0.0, abs=0.02)
    assert found[1] == pytest.approx(4.5, rel=0.02)
    assert found[2].isnan()
    assert flight(batch)[0][:2].tolist() == pytest.approx([0.0, 0.0], abs=0.02)


def bent(clip: Clip, **angles: tuple[float, ...]) -> Clip:
    """The clip with joint coordinates of some bodies from its second frame on, rad."""
    dof = torch.zeros(len(clip.motion), BODY.num_dof)
    for name, values in angles.items():
        start = BODY.dof_start[BODY.index(name)]
        dof[1:, start : start + len(values)] = torch.tensor(values)
    return moved(clip, clip.motion.root_pos, joint_rot=dof_to_joints(BODY, dof))


def test_bodies_in_each_other_are_as_deep_as_their_shapes_overlap() -> None:
    """Both feet turned in by the hips until the shins cross; the first frame stands straight."""
    crossed = bent(standing(4), right_thigh=(0.15, 0.0, 0.0), left_thigh=(-0.15, 0.0, 0.0))
    pose = crossed.motion.body_poses(BODY)
    k = [BODY.index(f"{side}_shin") for side in ("right", "left")]
    middle = [pose.pos[1, b] + rotation.rotate(pose.rot[1, b], torch.tensor([0.0, 0.0, z])) for b in k for z in (-0.03, -0.355)]
    spots = torch.linspace(0, 1, 400).unsqueeze(1)
    right, left = middle[0] + spots * (middle[1] - middle[0]), middle[2] + spots * (middle[3] - middle[2])
    depth = 1000 * (0.1 - float(torch.cdist(right, left).min()))
    assert depth > 20
    result = one(crossed)
    assert result["self_pen_mm"] == pytest.approx(0.75 * depth, abs=0.5) and result["self_pen_frames"] == 75
    assert one(standing(4))["self_pen_mm"] == 0 and one(standing(4))["self_pen_frames"] == 0


def test_joints_bent_too_far_are_counted_beyond_five_degrees() -> None:
    def share(**angles: tuple[float, ...]) -> float:
        return one(bent(standing(5), **angles))["joint_limit_frames"]

    assert share(right_shin=(-0.08,)) == 0 and share(right_shin=(-0.1,)) == pytest.approx(80)
    assert share(left_foot=(0.0, math.radians(59), 0.0)) == 0 and share(left_foot=(0.0, math.radians(61), 0.0)) == pytest.approx(
        80
    )
