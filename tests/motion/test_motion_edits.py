"""Laws of motion edits; forward kinematics and brute force are the oracles."""

import math

import pytest
import torch

from parc.character import humanoid
from parc.character.joint_coordinates import dof_to_joints
from parc.character.kinematics import forward_kinematics
from parc.character.mirror_pose import mirror_positions
from parc.character.rotation import angle, difference, from_exp, from_yaw, multiply, yaw
from parc.errors import MotionError
from parc.motion import Motion
from parc.motion.motion_edits import cut, hesitation_frames, mirror, remove_hesitation, resample, select, stitch

H = humanoid()


def walk(frames: int = 60, speed: float = 1.5, fps: float = 30.0, seed: int = 0) -> Motion:
    """A body gliding along a bent track with swinging joints: smooth, and never twice in one place."""
    generator = torch.Generator().manual_seed(seed)
    phase = torch.rand(H.num_dof, generator=generator) * 6.28
    t = torch.arange(frames) / fps
    heading = 0.4 * torch.sin(0.7 * t)
    step = torch.stack([heading.cos(), heading.sin(), torch.zeros(frames)], -1) * speed / fps
    root_pos = step.cumsum(0) + torch.tensor([0.0, 0.0, 0.9]) + 0.03 * torch.sin(6 * t)[:, None] * torch.tensor([0.0, 0.0, 1.0])
    tilt = from_exp(torch.stack([0.1 * torch.sin(3 * t), 0.1 * torch.cos(3 * t), torch.zeros(frames)], -1))
    contacts = (torch.sin(5 * t[:, None] + torch.arange(15)) > 0).float()
    dof = 0.4 * torch.sin(4 * t[:, None] + phase)
    return Motion(root_pos, multiply(from_yaw(heading), tilt), dof_to_joints(H, dof), contacts, fps)


def assert_same(a: Motion, b: Motion, atol: float = 1e-5) -> None:
    assert len(a) == len(b) and a.fps == b.fps
    assert torch.allclose(a.root_pos, b.root_pos, atol=atol)
    assert angle(difference(a.root_rot, b.root_rot)).max() < max(atol, 2e-3)
    assert torch.allclose(a.body_poses(H).pos, b.body_poses(H).pos, atol=2 * atol)
    assert torch.equal(a.contacts, b.contacts)


def test_mirror_twice_is_the_identity():
    motion = walk()
    twice = mirror(mirror(motion, H), H)
    assert torch.equal(twice.root_pos, motion.root_pos) and torch.equal(twice.joint_rot, motion.joint_rot)
    assert torch.equal(twice.contacts, motion.contacts) and torch.equal(twice.root_rot, motion.root_rot)


def test_mirror_commutes_with_forward_kinematics():
    motion = walk()
    reflected = mirror_positions(motion.body_poses(H).pos)[:, list(H.mirror_of)]
    assert torch.allclose(mirror(motion, H).body_poses(H).pos, reflected, atol=1e-5)


def test_mirror_moves_contacts_to_the_other_side():
    motion = walk()
    left, right = H.index("left_foot"), H.index("right_foot")
    assert torch.equal(mirror(motion, H).contacts[:, left], motion.contacts[:, right])


@pytest.mark.parametrize("blend", [0, 1, 7, 500])
def test_cut_then_stitch_gives_back_the_motion(blend):
    motion = walk()
    pieces = cut(motion, 0, 25), cut(motion, 24, 60)
    assert_same(stitch(*pieces, blend=blend), motion)


def test_stitch_puts_the_second_motion_where_the_first_ends():
    a, b = walk(seed=1), walk(40, seed=2).moved(torch.tensor([5.0, -3.0, 0.0]), torch.tensor(2.0))
    joined = stitch(a, b, blend=6)
    assert len(joined) == 60 + 40 - 1
    step = (joined.root_pos[1:] - joined.root_pos[:-1]).norm(dim=-1)
    assert step.max() < 1.3 * 1.5 / 30
    turn = angle(difference(joined.root_rot[:-1], joined.root_rot[1:]))
    assert turn.max() < 0.15
    # after the blend the second motion is itself, moved rigidly
    relative = joined.root_pos[70:] - joined.root_pos[70]
    heading = yaw(joined.root_rot[70]) - yaw(b.root_rot[11])
    c, s = heading.cos(), heading.sin()
    expected = (b.root_pos[11:] - b.root_pos[11]) @ torch.tensor([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    assert torch.allclose(relative, expected, atol=1e-4)
    assert torch.allclose(joined.joint_rot[70:], b.joint_rot[11:], atol=1e-6)


def test_stitch_blends_without_a_jump_in_the_pose():
    a, b = walk(seed=1), walk(seed=2)
    hard, soft = stitch(a, b, blend=0), stitch(a, b, blend=10)

    def largest_step(m: Motion) -> float:
        return float(angle(difference(m.joint_rot[:-1], m.joint_rot[1:])).max())

    assert largest_step(hard) > 0.3
    assert largest_step(soft) < 0.25


def test_stitch_refuses_other_rates_and_bodies():
    with pytest.raises(MotionError, match="30 and 60 fps"):
        stitch(walk(), walk(fps=60))
    other = Motion(torch.zeros(2, 3), torch.tensor([[0.0, 0, 0, 1]] * 2), torch.zeros(2, 0, 4), torch.zeros(2, 1))
    with pytest.raises(MotionError, match="15 and 1 bodies"):
        stitch(walk(), other)


def test_resample_up_then_down_is_about_the_identity():
    motion = walk()
    assert_same(resample(resample(motion, 120), 30), motion, atol=1e-5)


def test_resample_keeps_duration_and_lies_between_neighbours():
    motion = walk(61)
    slow = resample(motion, 20)
    assert len(slow) == 41 and slow.fps == 20
    assert math.isclose(slow.duration, motion.duration)
    assert torch.allclose(slow.root_pos[2::2], motion.root_pos[3::3], atol=1e-5)
    half = resample(motion, 60)
    middle = 0.5 * (motion.root_pos[1:] + motion.root_pos[:-1])
    assert torch.allclose(half.root_pos[1::2], middle, atol=1e-6)
    a, b = motion.joint_rot[:-1], motion.joint_rot[1:]
    whole, first = angle(difference(a, b)), angle(difference(a, half.joint_rot[1::2]))
    assert torch.allclose(first, 0.5 * whole, atol=2e-3)
    assert set(half.contacts.unique().tolist()) <= {0.0, 1.0}


def test_resample_of_one_frame_and_bad_rates():
    assert len(resample(walk(1), 60)) == 1
    for fps in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(MotionError, match="fps is"):
            resample(walk(), fps)


def brute_force_hesitation(motion: Motion, distance: float = 0.15, run: int = 4) -> list[bool]:
    pos = forward_kinematics(H, motion.root_pos, motion.root_rot, motion.joint_rot).pos.double()
    close: set[int] = set()
    for i in range(len(motion)):
        if i not in close:
            close |= {j for j in range(i + 1, len(motion)) if (pos[j] - pos[i]).norm() < distance}
    mask = [i in close for i in range(len(motion))]
    for i in range(len(mask)):
        if mask[i] and (i == 0 or not mask[i - 1]):
            end = next((j for j in range(i, len(mask)) if not mask[j]), len(mask))
            if end - i < run:
                mask[i:end] = [False] * (end - i)
    return mask


def with_pause(motion: Motion, at: int, frames: int) -> Motion:
    """The motion standing almost still for some frames."""
    order = torch.cat([torch.arange(at), torch.full((frames,), at), torch.arange(at, len(motion))])
    paused = select(motion, order)
    sway = torch.zeros(len(paused))
    sway[at : at + frames] = 0.005 * torch.sin(torch.arange(frames) * 0.5)
    paused.root_pos[:, 1] += sway
    return paused


def test_hesitation_is_what_the_definition_says():
    slow = walk(80, speed=0.15)
    for motion in (with_pause(walk(), 30, 20), slow, walk(seed=3)):
        assert hesitation_frames(motion, H).tolist() == brute_force_hesitation(motion)
    assert hesitation_frames(with_pause(walk(), 30, 20), H).any()


def test_removing_a_pause_gives_about_the_original():
    motion = walk()
    brisk = remove_hesitation(with_pause(motion, 30, 25), H)
    assert abs(len(brisk) - len(motion)) <= 3
    step = (brisk.root_pos[1:] - brisk.root_pos[:-1]).norm(dim=-1)
    assert step.max() < 3 * 1.5 / 30
    assert torch.allclose(brisk.root_pos[-1], motion.root_pos[-1])


@pytest.mark.parametrize("speed", [1.0, 1.5, 4.0])
def test_a_steady_motion_loses_no_frame(speed):
    motion = walk(90, speed)
    assert len(remove_hesitation(motion, H)) == 90


def test_a_body_that_does_not_move_keeps_its_first_frame():
    still = select(walk(1), torch.zeros(50, dtype=torch.long))
    assert len(remove_hesitation(still, H)) == 1


def test_cut_refuses_frames_outside():
    with pytest.raises(MotionError, match="not inside"):
        cut(walk(10), 5, 11)
