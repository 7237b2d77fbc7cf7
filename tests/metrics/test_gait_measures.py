"""Gait of motions whose gait is known."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import ndimage

from parc.character import humanoid
from parc.character.limb_chains import limbs_of
from parc.dataset.clip import Clip
from parc.dataset.clip_edits import mirror
from parc.metrics import ClipBatch, measure_clips
from parc.metrics.body_signals import signals_of
from parc.metrics.gait_measures import UNITS, gait_by_pace, level_strides, measure_gait
from parc.metrics.masked_reductions import masked_correlation, masked_quantile, masked_range
from parc.metrics.take_off import take_offs
from parc.metrics.time_filters import low_pass, tidied, unwrapped
from parc.motion.motion import Motion
from parc.terrain.terrain import Terrain

from .conftest import bent, changed, crouched, with_stiff_arms

BODY = humanoid()


def gait(clip: Clip) -> dict[str, float]:
    return {k: float(v) for k, v in measure_gait(ClipBatch.stack([clip], BODY)).items()}


@pytest.mark.parametrize(("speed", "step"), [(1.0, 0.5), (1.2, 0.4), (0.9, 0.6)])
def test_a_walk_by_rule_has_the_cadence_and_stride_of_its_rule(strolling, speed: float, step: float) -> None:
    found = gait(strolling(speed, step))
    frame = 1 / 30 / (2 * step / speed)
    assert found["strides"] >= 4
    assert found["cadence"] == pytest.approx(60 * speed / step, rel=1.2 * frame)
    assert found["stride"] == pytest.approx(2 * step, abs=0.01)
    assert found["straight_speed"] == pytest.approx(speed, rel=0.02)  # it eases in and out
    assert found["step_asymmetry"] == pytest.approx(0, abs=1)
    assert found["speed_variation"] < 3
    assert found["strike_angle"] == pytest.approx(0, abs=0.1)
    assert found["heel_first"] == 0
    assert np.isnan(found["takeoff_knee"]) and np.isnan(found["takeoff_speed"])


def test_double_playback_speed_doubles_cadence_and_speed_and_nothing_else(strolling) -> None:
    slow = strolling(0.8, 0.6)
    fast = replace(slow, motion=replace(slow.motion, fps=60.0))
    a, b = (level_strides(signals_of(ClipBatch.stack([c], BODY))) for c in (slow, fast))
    np.testing.assert_allclose(b.values["cadence"], 2 * a.values["cadence"], rtol=0.03)
    np.testing.assert_allclose(b.speed, 2 * a.speed, rtol=0.01)
    for name in ("stride", "arm_leg", "step_asymmetry", "strike_angle", "pelvis_height"):
        np.testing.assert_allclose(b.values[name], a.values[name], rtol=0.05, atol=0.05, err_msg=name)


def test_a_mirrored_motion_walks_the_same(walks) -> None:
    for clip in walks[:2]:
        first, second = measure_clips([clip, mirror(clip, BODY)], BODY)
        for name in UNITS:
            assert second[name] == pytest.approx(first[name], rel=1e-3, abs=2e-2, nan_ok=True), name


def test_a_motion_measures_the_same_beside_a_longer_one(walks, strolling) -> None:
    clips = [*walks[:3], strolling()]
    together = measure_gait(ClipBatch.stack(clips, BODY))
    for k, clip in enumerate(clips):
        alone = measure_gait(ClipBatch.stack([clip], BODY))
        for name in UNITS:
            assert float(together[name][k]) == pytest.approx(float(alone[name]), rel=1e-4, abs=1e-3, nan_ok=True), name


def test_stance_does_not_know_what_stands_behind_the_end_of_a_motion(walks) -> None:
    """Cut anywhere, in the middle of swings too."""
    whole = walks[0]
    cuts = [replace(whole, motion=whole.motion.slice(0, n)) for n in range(40, 70)]
    together = signals_of(ClipBatch.stack([*cuts, whole], BODY)).stance
    for k, clip in enumerate(cuts):
        alone = signals_of(ClipBatch.stack([clip], BODY)).stance[0]
        assert torch.equal(together[k, : len(clip.motion)], alone)
        assert not bool(together[k, len(clip.motion) :].any())


def test_the_swing_clearance_is_the_lift_of_the_rule(strolling) -> None:
    """The arch is sin(pi t)^.6 times 8 cm over level terrain; its least in the middle third is at one of its ends."""
    lowest = 80 * np.sin(np.pi / 3) ** 0.6
    assert lowest - 12 < gait(strolling())["swing_clearance"] < 80


def test_bent_knees_are_seen_degree_for_degree(strolling) -> None:
    upright = gait(strolling())
    low = gait(crouched(strolling(), 25.0))
    assert low["stance_knee"] - upright["stance_knee"] == pytest.approx(25, abs=1)
    assert upright["pelvis_height"] - low["pelvis_height"] > 0.04


def test_toes_up_are_heel_strikes(strolling) -> None:
    found = gait(bent(strolling(), "foot", -8.0))
    assert found["strike_angle"] == pytest.approx(8, abs=0.5)
    assert found["heel_first"] == 100


def test_arms_swing_with_the_opposite_legs_or_the_same_or_not_at_all(walks, strolling) -> None:
    clip = walks[0]
    as_people_do = gait(clip)["arm_leg"]
    with_the_same = changed(clip, joint_rot=clip.motion.joint_rot.clone())
    legs = [BODY.index(f"{side}_{part}") - 1 for side in ("left", "right") for part in ("thigh", "shin", "foot")]
    shift = 15  # about half a stride of a hastened walk: legs change places, arms stay
    with_the_same.motion.joint_rot[shift:, legs] = clip.motion.joint_rot[:-shift, legs]
    assert as_people_do > 0.6
    assert gait(with_the_same)["arm_leg"] < 0
    assert gait(with_stiff_arms(clip))["arm_leg"] < 0.5 * as_people_do  # what is left is the trunk's turning
    assert gait(strolling())["arm_leg"] > 0.85
    assert gait(with_stiff_arms(strolling()))["arm_leg"] == 0


def test_uneven_steps_are_asymmetric(strolling) -> None:
    """The left foot strikes early: time runs faster while the right one stands."""
    clip = strolling(1.0, 0.5)
    limp = changed(clip, root_pos=clip.motion.root_pos.clone())
    joints = limp.motion.joint_rot.clone()
    joints[:, BODY.index("left_thigh") - 1] = bent(clip, "thigh", -8.0).motion.joint_rot[:, BODY.index("left_thigh") - 1]
    assert gait(changed(limp, joint_rot=joints))["step_asymmetry"] > 5


def posed(frames: int, knee: float, height: torch.Tensor | float, terrain: Terrain | None = None) -> Clip:
    """Legs bent by `knee` degrees with level soles at a height over (2, 2); arms out."""
    joints = torch.zeros(frames, BODY.num_joints, 4)
    joints[..., 3] = 1
    place = torch.zeros(frames, 3) + torch.tensor([2.0, 2.0, 0.0])
    motion = Motion(place, joints[:, 0].clone(), joints, torch.zeros(frames, BODY.num_bodies), 30.0)
    clip = bent(
        bent(bent(Clip("posed", motion, terrain or Terrain.flat((12, 12))), "thigh", -knee / 2), "shin", knee), "foot", -knee / 2
    )
    ankle = float(clip.motion.body_poses(BODY).pos[0, BODY.index("left_foot"), 2])
    place[:, 2] = torch.as_tensor(height) + 0.05 - ankle
    return changed(clip, root_pos=place)


def test_the_standing_knee_is_that_of_the_pose() -> None:
    found = gait(posed(20, 35.0, 0.0))
    assert found["standing_knee"] == pytest.approx(35, abs=0.1)
    assert found["strides"] == 0
    assert np.isnan(found["cadence"]) and np.isnan(found["heel_first"]) and np.isnan(found["straight_speed"])
    assert np.isnan(gait(posed(4, 35.0, 0.0))["standing_knee"])


@pytest.mark.parametrize(("speed", "knee"), [(2.5, 40.0), (1.8, 15.0)])
def test_a_jump_takes_off_as_fast_as_it_rises(speed: float, knee: float) -> None:
    t = torch.arange(14) / 30
    flight = (speed * t - 0.5 * 9.81 * t * t).clamp_min(0)
    clip = posed(30, knee, torch.cat([torch.zeros(8), flight, torch.zeros(8)]))
    found = gait(clip)
    # the first frame without support is the first above 5 cm, gravity has pulled until then
    first = float(t[int((flight > 0.05).nonzero()[0])])
    assert found["takeoff_speed"] == pytest.approx(speed - 9.81 * first, abs=0.02)
    assert found["takeoff_knee"] == pytest.approx(knee, abs=0.1)


def test_a_drop_is_no_jump_and_a_clip_that_begins_in_the_air_has_no_take_off() -> None:
    t = torch.arange(12) / 30
    fall = 1.5 - 0.5 * 9.81 * t * t
    heights = torch.zeros(12, 12)
    heights[:, :5] = 1.5
    ledge = posed(24, 50.0, torch.cat([torch.full((8,), 1.499), fall, fall[-1:].expand(4)]), Terrain(heights, torch.zeros(2)))
    place = ledge.motion.root_pos.clone()
    place[:8, 1], place[8:, 1] = 1.4, 2.6
    joints = ledge.motion.joint_rot.clone()
    joints[8:] = posed(1, 5.0, 0.0).motion.joint_rot  # legs are stretched in the air
    found = gait(changed(ledge, root_pos=place, joint_rot=joints))
    assert found["takeoff_knee"] == pytest.approx(50, abs=0.1)
    assert np.isnan(found["takeoff_speed"])
    falling = changed(
        ledge, root_pos=place[9:], **{k: getattr(ledge.motion, k)[9:] for k in ("root_rot", "joint_rot", "contacts")}
    )
    batch = ClipBatch.stack([falling], BODY)
    assert len(take_offs(batch, signals_of(batch)).clip) == 0


def test_paces_are_told_apart(strolling) -> None:
    clips = [strolling(0.6, 0.4), strolling(1.2, 0.5), strolling(2.0, 0.5)]
    parts = [level_strides(signals_of(ClipBatch.stack([c], BODY))) for c in clips]
    table = gait_by_pace(parts)
    assert list(table) == ["slow", "walking", "fast"]
    for row, clip, part in zip(table.values(), clips, parts, strict=True):
        assert row["strides"] == len(part.clip)
        assert row["cadence"] == pytest.approx(float(part.values["cadence"].median())), clip
    assert gait_by_pace([]) == {}


def test_climbed_steps_are_no_level_strides(strolling) -> None:
    clip = strolling()
    heights = clip.terrain.heights + 0.1 * torch.arange(30).unsqueeze(1)
    rise = 0.25 * (clip.motion.root_pos[:, 0] - 0.4)
    up = changed(clip, root_pos=clip.motion.root_pos + torch.stack([0 * rise, 0 * rise, rise], -1))
    assert gait(replace(up, terrain=clip.terrain.with_heights(heights)))["strides"] == 0


def test_a_character_without_arms_has_no_gait(strolling) -> None:
    bodies = tuple(replace(b, is_key=b.is_foot) for b in BODY.bodies)
    armless = replace(BODY, bodies=bodies)
    assert limbs_of(armless) is None
    found = measure_gait(ClipBatch.stack([strolling()], armless))
    assert set(found) == set(UNITS) and all(v.isnan().all() for v in found.values())


def test_limbs_are_found_left_before_right() -> None:
    limbs = limbs_of(BODY)
    assert limbs is not None
    names = [[BODY.names[b] for b in pair] for pair in limbs[:6]]
    parts = ("thigh", "shin", "foot", "upper_arm", "lower_arm", "hand")
    assert names == [[f"left_{p}", f"right_{p}"] for p in parts]
    assert BODY.names[limbs.head] == "head"
    np.testing.assert_allclose(limbs.sole[0, 0], [-0.0435, -0.045, -0.05], atol=1e-4)


def test_masked_statistics_are_numpys() -> None:
    rng = np.random.default_rng(3)
    values, mask = rng.normal(size=(5, 17)), rng.random((5, 17)) < 0.6
    mask[4] = False
    x, m = torch.tensor(values), torch.tensor(mask)
    for q in (0.0, 0.3, 0.5, 0.95):
        expected = [np.quantile(v[w], q) if w.any() else np.nan for v, w in zip(values, mask, strict=True)]
        np.testing.assert_allclose(masked_quantile(x, m, q), expected)
    expected = [np.ptp(v[w]) if w.any() else np.nan for v, w in zip(values, mask, strict=True)]
    np.testing.assert_allclose(masked_range(x, m), expected)
    other = rng.normal(size=(5, 17))
    expected = [np.corrcoef(v[w], o[w])[0, 1] if w.any() else np.nan for v, o, w in zip(values, other, mask, strict=True)]
    np.testing.assert_allclose(masked_correlation(x, torch.tensor(other), m), expected)


def test_filters_do_what_they_say() -> None:
    rng = np.random.default_rng(4)
    mask = rng.random((3, 60, 2)) < 0.6
    shape = np.ones((1, 3, 1))
    padded = np.pad(mask, ((0, 0), (6, 6), (0, 0)), mode="edge")
    expected = ndimage.binary_opening(ndimage.binary_closing(padded, shape), shape)[:, 6:-6]
    np.testing.assert_array_equal(tidied(torch.tensor(mask), 3), expected)
    t = torch.arange(200) / 30
    slow, quick = (torch.sin(2 * np.pi * f * t).view(1, -1, 1) for f in (1.0, 12.0))
    kept, gone = (low_pass(x, 30.0, 6.0)[:, 20:-20] for x in (slow, quick))
    assert float((kept - slow[:, 20:-20]).abs().max()) < 0.02
    assert float(gone.abs().max()) < 0.02
    angles = torch.tensor(rng.normal(scale=60, size=(2, 50)).cumsum(1))
    wrapped = (angles + 180) % 360 - 180
    np.testing.assert_allclose(unwrapped(wrapped), np.unwrap(wrapped.numpy(), axis=1, period=360))
