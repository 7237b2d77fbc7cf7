"""Gravity: what touches nothing falls, onto the ground and no deeper; what is carried or truly flies is left alone."""

import pytest
import torch

from parc.character import humanoid
from parc.character.body_surface import world_points
from parc.character.kinematics import BodyPose
from parc.generate.data.body_sample_points import probe_points, sole_points
from parc.generate.repair.apply_gravity import apply_gravity
from parc.generate.repair.repair_settings import RepairSettings
from parc.generate.training.window_losses import FALL_PER_FRAME
from parc.motion.frame_state import FrameState
from parc.terrain.terrain import Terrain, TerrainBatch

ONE = torch.ones(())
SLACK = RepairSettings().flight_slack
FLAT = TerrainBatch.stack([Terrain.flat((12, 12))])
LEDGE = torch.where(torch.arange(12)[:, None] < 6, 1.0, 0.0).expand(12, 12)


def standing(heights: torch.Tensor, ahead: torch.Tensor | float = 0.0) -> BodyPose:
    """The zero pose [1, T, ...] with its soles at `heights` [T] over zero, near the middle of the map."""
    character = humanoid()
    frames = len(heights)
    root = torch.stack([2.0 + ahead * torch.ones(frames), torch.full((frames,), 2.0), torch.zeros(frames)], -1)
    eye = torch.eye(3)
    state = FrameState(root, eye.expand(frames, 3, 3), eye.expand(frames, 14, 3, 3), torch.zeros(frames, 15))
    pose = state.body_pose(character)
    sole = sole_points(probe_points(character, torch.device("cpu")), pose)[0, ..., 2].min()
    shift = torch.zeros(frames, 1, 3)
    shift[..., 0, 2] = heights - sole
    return BodyPose((pose.pos + shift)[None], pose.rot[None])


def fall(pose: BodyPose, has_past: torch.Tensor = ONE, terrain: TerrainBatch = FLAT, walls_carry: bool = False) -> torch.Tensor:
    """The rise of all frames but the first two, which are the past."""
    past, rest = (BodyPose(*(part[:, a:b] for part in pose)) for a, b in ((0, 2), (2, None)))
    return apply_gravity(humanoid(), rest, past, has_past, terrain, RepairSettings(walls_carry=walls_carry))[0]


def test_a_walk_is_left_alone(walk):
    state = FrameState(*(part[10:60].unsqueeze(0) for part in FrameState.of_motion(walk.motion)))
    assert fall(state.body_pose(humanoid()), terrain=TerrainBatch.stack([walk.terrain])).abs().max() < 1e-3


def test_a_body_that_hangs_in_the_air_falls():
    t = torch.arange(1, 11)
    expected = -(1 - SLACK) * FALL_PER_FRAME * t * (t + 1) / 2
    torch.testing.assert_close(fall(standing(torch.full((12,), 2.0))), expected)


def test_a_flight_is_left_alone():
    t = torch.arange(12.0)
    flight = 1.0 + 0.06 * t - 0.5 * FALL_PER_FRAME * t * t
    assert fall(standing(flight)).abs().max() < 1e-5


def test_a_fall_that_is_too_fast_is_slowed():
    t = torch.arange(8.0)
    rise = fall(standing(3.0 - FALL_PER_FRAME * t * t))
    assert (rise > 0).all()
    frames = torch.arange(1, 7)
    torch.testing.assert_close(rise, (1 - SLACK) * FALL_PER_FRAME * frames * (frames + 1) / 2, atol=1e-5, rtol=1e-4)


def test_the_ground_ends_a_fall():
    rise = fall(standing(torch.full((14,), 0.1)))
    assert (rise >= -0.1 - 1e-6).all() and rise[-1] < -0.06
    assert (rise.diff() <= 1e-6).all()


def test_beyond_a_ledge_there_is_nothing_to_stand_on():
    """Walking on at the height of the ledge: carried while the feet are over it, then falling."""
    pose = standing(torch.full((14,), 1.0), torch.linspace(-0.6, 1.2, 14))
    rise = fall(pose, terrain=TerrainBatch.stack([Terrain(LEDGE.clone(), torch.zeros(2))]))
    assert rise[:2].abs().max() < 1e-6 and rise[-1] < -0.05


def test_without_a_past_a_body_begins_on_the_ground():
    rise = fall(standing(torch.full((6,), 0.2)), has_past=0 * ONE)
    torch.testing.assert_close(rise, torch.full((4,), -0.2))


def test_rising_ground_raises_a_fallen_body_by_steps():
    """From the air over the low side to a stand on the ledge, as planned: what it has fallen comes back bit by bit."""
    heights = torch.cat([torch.full((8,), 1.3), torch.full((12,), 1.0)])
    ahead = torch.cat([torch.full((8,), 1.0), torch.full((12,), -1.0)])
    rise = fall(standing(heights, ahead), terrain=TerrainBatch.stack([Terrain(LEDGE.clone(), torch.zeros(2))]))
    assert rise[5] < -0.1 and rise[-1] == pytest.approx(0, abs=1e-6)
    assert rise.diff().max() <= RepairSettings.push_step + 1e-6


def test_a_face_beside_it_carries_no_body():
    """2 cm from a wall four metres high, a body that is lifted as planned would be near the ground all the time."""
    wall = torch.where(torch.arange(12)[:, None] < 6, 0.0, 4.0).expand(12, 12)
    pose = standing(1.0 + 0.03 * torch.arange(12))
    front = world_points(probe_points(humanoid(), torch.device("cpu")).surface, pose)[..., 0].max()
    beside = BodyPose(pose.pos + torch.tensor([6 * 0.4 - 0.2 - 0.02, 0.0, 0.0]) - torch.tensor([front, 0.0, 0.0]), pose.rot)
    t = torch.arange(1, 11)
    expected = -(1 - SLACK) * FALL_PER_FRAME * t * (t + 1) / 2
    ground = TerrainBatch.stack([Terrain(wall.clone(), torch.zeros(2))])
    torch.testing.assert_close(fall(beside, terrain=ground), expected)
    assert fall(beside, terrain=ground, walls_carry=True).abs().max() == 0
    away = BodyPose(beside.pos - torch.tensor([0.2, 0.0, 0.0]), beside.rot)
    torch.testing.assert_close(fall(away, terrain=ground, walls_carry=True), expected)


@pytest.mark.parametrize("deep", [0.25, 0.3, 0.5])
def test_a_body_in_a_wall_does_not_fall_through_the_floor(deep):
    """The way out is sideways, so nothing carries it; what is below it is wall, down to the floor and further."""
    wall = torch.where(torch.arange(12)[:, None] < 4, 0.0, 4.0).expand(12, 12)
    inside = standing(torch.full((12,), 1.0), ahead=1.4 + deep - 2.0)
    assert fall(inside, terrain=TerrainBatch.stack([Terrain(wall.clone(), torch.zeros(2))])).min() >= -1.0
    inside = standing(torch.full((12,), -1.0), ahead=1.4 + deep - 2.0)
    assert fall(inside, terrain=TerrainBatch.stack([Terrain(wall.clone(), torch.zeros(2))])).min() == 0
