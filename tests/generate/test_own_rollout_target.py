"""The target after a model's own past: no jump at the seam, back to the recorded pose, and planted feet stay planted."""

import torch

from parc.character import humanoid, rotation
from parc.generate.training.own_rollout_target import follow_own_past
from parc.motion.frame_state import FrameState


def recorded(walk, start=20) -> FrameState:
    return FrameState(*(part[start : start + 15].unsqueeze(0) for part in FrameState.of_motion(walk.motion)))


def perturbed(data: FrameState, pose: float) -> FrameState:
    """The past moved by 0.2 m, turned by 0.3 rad, lifted by 3 cm, and its joints turned by about `pose` rad."""
    turn = rotation.to_matrix(rotation.from_yaw(torch.tensor(0.3)))
    root = rotation.matrix_rotate(turn, data.root_pos[:, :2]) + torch.tensor([0.2, -0.1, 0.03])
    noise = torch.randn(1, 1, 14, 3, generator=torch.Generator().manual_seed(0)) * pose
    wiggle = rotation.to_matrix(rotation.from_exp(noise))
    hinged_and_fixed = torch.tensor([b.joint.dof < 3 for b in humanoid().bodies[1:]])[:, None, None]
    wiggle = torch.where(hinged_and_fixed, torch.eye(3), wiggle)
    joints = rotation.matrix_multiply(data.joint_rot[:, :2], wiggle)
    return FrameState(root, rotation.matrix_multiply(turn, data.root_rot[:, :2]), joints, data.contacts[:, :2])


def test_own_past_equal_to_the_data_gives_the_data(layout, walk):
    data = recorded(walk)
    past, target, frame = follow_own_past(layout, data.narrow(0, 2), data)
    world = frame.to_world(layout.decode(torch.cat([past, target], 1)).state)
    torch.testing.assert_close(world.root_pos, data.root_pos, atol=1e-5, rtol=0)
    torch.testing.assert_close(world.joint_rot, data.joint_rot, atol=1e-4, rtol=0)


def test_place_and_heading_are_kept_height_and_pose_return(layout, walk):
    data = recorded(walk)
    own = perturbed(data, 0.1)
    _, target, frame = follow_own_past(layout, own, data)
    world = frame.to_world(layout.decode(target).state)
    joints = (world.joint_rot - data.joint_rot[:, 2:]).abs().amax((2, 3, 4))[0]
    assert joints[-1] < 0.12 * joints[0]
    height = (world.root_pos - data.root_pos[:, 2:])[0, :, 2].abs()
    assert height[0] > 0.02 and height[-1] < 0.005
    # the recorded step from the last past frame on, seen from the model's own position and heading
    turn = rotation.to_matrix(rotation.from_yaw(torch.tensor(0.3)))
    expected = own.root_pos[:, 1:] + rotation.matrix_rotate(turn, data.root_pos[:, 2:] - data.root_pos[:, 1:2])
    assert (world.root_pos - expected)[..., :2].norm(dim=-1).max() < 0.08


def test_no_jump_at_the_seam(layout, walk):
    data = recorded(walk)
    past, target, _ = follow_own_past(layout, perturbed(data, 0.1), data)
    positions = torch.cat([past, target], 1)[0, :, layout.slices["joint_pos"]].unflatten(-1, (-1, 3))
    plain_past, plain_target, _ = follow_own_past(layout, data.narrow(0, 2), data)
    plain = torch.cat([plain_past, plain_target], 1)[0, :, layout.slices["joint_pos"]].unflatten(-1, (-1, 3))
    step = (positions - plain).diff(dim=0).norm(dim=-1)
    assert step.max() < 0.03  # against 0.1 m and more if the pose snapped back


def test_planted_foot_stays_while_the_pose_returns(layout, walk):
    feet = list(humanoid().feet)
    contacts = walk.motion.contacts[:, feet] > 0.5
    frames = range(5, len(walk.motion) - 20)
    start = next(t for t in frames if contacts[t : t + 8, 0].all() and not contacts[t : t + 8, 1].any())
    data = recorded(walk, start)
    past, target, _ = follow_own_past(layout, perturbed(data, 0.1), data)
    joints = torch.cat([past, target], 1)[0, :, layout.slices["joint_pos"]].unflatten(-1, (-1, 3))
    foot = joints[1:8, feet[0] - 1, :2]
    assert foot.diff(dim=0).norm(dim=-1).max() < 1e-3
