"""Frames to features and back, for any character; moving and turning a motion with its terrain changes nothing."""

import math

import pytest
import roma
import torch

from parc.character import humanoid, rotation
from parc.character.joint_coordinates import dof_to_joints
from parc.errors import SettingsError
from parc.generate.model.canonical_frame import CanonicalFrame
from parc.generate.model.feature_layout import FeatureLayout, Statistics
from parc.motion.frame_state import FrameState
from parc.terrain.heightmap import HeightmapGrid
from parc.terrain.terrain import Terrain, TerrainBatch


def random_state(character, shape, seed=0) -> FrameState:
    g = torch.Generator().manual_seed(seed)
    dof = torch.rand(*shape, character.num_dof, generator=g) * 2 - 1
    joints = rotation.to_matrix(dof_to_joints(character, dof))
    root = rotation.to_matrix(rotation.normalize(torch.randn(*shape, 4, generator=g)))
    return FrameState(torch.randn(*shape, 3, generator=g), root, joints, torch.rand(*shape, character.num_bodies, generator=g))


@pytest.mark.parametrize("encoding", ["sixd", "exp"])
@pytest.mark.parametrize("which", ["humanoid", "hopper"])
def test_decode_undoes_encode(which, encoding, hopper):
    character = humanoid() if which == "humanoid" else hopper
    layout = FeatureLayout(character, encoding)
    state = random_state(character, (3, 5))
    features = layout.encode(state)
    decoded = layout.decode(features)
    assert features.shape == (3, 5, layout.width) and layout.width % layout.multiple == 0
    for a, b in zip(decoded.state, state, strict=True):
        torch.testing.assert_close(a, b, atol=2e-5, rtol=0)
    torch.testing.assert_close(decoded.joint_pos, state.body_pose(character).pos[..., 1:, :])
    assert (features[..., layout.used :] == 0).all()


def test_humanoid_widths_are_those_of_the_paper():
    paper = FeatureLayout(humanoid(), "exp")
    assert paper.used == 3 + 3 + 28 + 14 * 3 + 15 == 91
    fast = FeatureLayout(humanoid())
    assert fast.slices["joint_rot"].stop - fast.slices["joint_rot"].start == 8 * 6 + 4 * 2
    assert fast.width == 128


def test_exponential_maps_agree_with_roma():
    layout = FeatureLayout(humanoid(), "exp")
    state = random_state(humanoid(), (20,))
    expected = roma.rotmat_to_rotvec(state.root_rot)
    torch.testing.assert_close(layout.encode(state)[..., layout.slices["root_rot"]], expected, atol=1e-4, rtol=0)


def test_noise_decodes_to_rotations(layout):
    joints = layout.decode(torch.randn(50, layout.width, generator=torch.Generator().manual_seed(1))).state.joint_rot
    identity = rotation.matrix_multiply(joints, joints.mT)
    torch.testing.assert_close(identity, torch.eye(3).expand_as(identity), atol=1e-4, rtol=0)
    torch.testing.assert_close(torch.linalg.det(joints), torch.ones(50, 14), atol=1e-4, rtol=0)


def test_unknown_encoding_is_named():
    with pytest.raises(SettingsError, match="'euler'"):
        FeatureLayout(humanoid(), "euler")


def test_features_do_not_change_when_motion_moves_and_turns(layout, walk):
    state = FrameState(*(part[10:25].unsqueeze(0) for part in FrameState.of_motion(walk.motion)))
    moved = walk.motion.moved(torch.tensor([3.0, -2.0, 0.7]), torch.tensor(1.234))
    other = FrameState(*(part[10:25].unsqueeze(0) for part in FrameState.of_motion(moved)))

    def canonical(s: FrameState) -> torch.Tensor:
        return layout.encode(CanonicalFrame.of(s.root_pos[:, 1], s.root_rot[:, 1]).to_local(s))

    torch.testing.assert_close(canonical(other), canonical(state), atol=2e-5, rtol=0)
    assert canonical(state)[0, 1, :2].abs().max() < 1e-6


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_heightmap_turns_with_the_ground(quarters):
    """A terrain turned by a quarter about the origin, and the walker with it: the same view."""
    g = torch.Generator().manual_seed(0)
    heights = torch.randn(41, 41, generator=g)
    ground = Terrain(heights, torch.full((2,), -8.0))
    turned = Terrain(torch.rot90(heights, quarters), torch.full((2,), -8.0))
    grid = HeightmapGrid()
    angle = torch.tensor(math.pi / 2 * quarters)
    frame = CanonicalFrame(torch.tensor([[0.13, -0.21, 0.9]]), torch.tensor([0.3]))
    spun = CanonicalFrame(rotation.rotate(rotation.from_yaw(angle), frame.origin), frame.yaw + angle)
    a = frame.heightmap(TerrainBatch.stack([ground]), grid)
    b = spun.heightmap(TerrainBatch.stack([turned]), grid)
    # a sample on the border between two cells may fall to either side
    assert (a - b).abs().gt(1e-4).float().mean() < 0.01


def test_to_world_undoes_to_local():
    state = random_state(humanoid(), (4, 3))
    frame = CanonicalFrame.of(state.root_pos[:, 1], state.root_rot[:, 1])
    back = frame.to_world(frame.to_local(state))
    torch.testing.assert_close(back.root_pos, state.root_pos, atol=1e-5, rtol=0)
    torch.testing.assert_close(back.root_rot, state.root_rot, atol=1e-5, rtol=0)


def test_direction_is_local_and_dies_near_the_target():
    frame = CanonicalFrame(torch.zeros(2, 3), torch.full((2,), math.pi / 2))
    direction = frame.direction_to(torch.tensor([[0.0, 2.0], [0.05, 0.05]]))
    torch.testing.assert_close(direction, torch.tensor([[1.0, 0.0], [0.0, 0.0]]), atol=1e-6, rtol=0)


def test_statistics_standardise(layout):
    features = 3 + 2 * torch.randn(500, layout.width, generator=torch.Generator().manual_seed(0))
    stats = Statistics.of(layout, features)
    standard = stats.standardise(features)[:, : layout.used]
    torch.testing.assert_close(standard.mean(0), torch.zeros(layout.used), atol=1e-5, rtol=0)
    torch.testing.assert_close(standard.std(0), torch.ones(layout.used), atol=1e-5, rtol=0)
    torch.testing.assert_close(stats.restore(stats.standardise(features)), features)
    assert (stats.mean[layout.used :] == 0).all() and (stats.std[layout.used :] == 1).all()


def test_rare_contacts_are_not_blown_up(layout):
    features = torch.zeros(1000, layout.width)
    features[0, layout.slices["contacts"]] = 1.0
    stats = Statistics.of(layout, features)
    assert stats.standardise(features)[..., layout.slices["contacts"]].max() <= 4.0
