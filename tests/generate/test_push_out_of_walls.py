"""Walls: a root that is planned through one stays beside it, one that keeps outside is left alone."""

import torch

from parc.character import humanoid
from parc.generate.repair.push_out_of_walls import push_out_of_walls
from parc.generate.repair.repair_settings import RepairSettings
from parc.generate.repair.repair_window import repair
from parc.motion.frame_state import FrameState
from parc.terrain.terrain import Terrain, TerrainBatch

HEIGHTS = torch.zeros(12, 12)
HEIGHTS[8:] = 2.0
WALL = TerrainBatch.stack([Terrain(HEIGHTS, torch.zeros(2), 0.4)])
FACE = 7.5 * 0.4


def test_into_a_wall_and_over_it():
    x = torch.linspace(2.0, 3.3, 14)
    into, over = (torch.stack([x, torch.full_like(x, 2.0), torch.full_like(x, z)], -1)[None] for z in (0.9, 2.9))
    shift = push_out_of_walls(into, WALL)
    torch.testing.assert_close((into + shift)[0, :, 0], x.clamp_max(FACE))
    assert (shift[..., 1:] == 0).all()
    assert (push_out_of_walls(over, WALL) == 0).all()


def test_each_row_is_on_its_own_terrain():
    both = TerrainBatch.stack([Terrain.flat((12, 12)), Terrain(HEIGHTS, torch.zeros(2), 0.4)])
    root = torch.tensor([3.1, 2.0, 0.9]).repeat(4, 2, 1)
    shift = push_out_of_walls(root, both)
    assert (shift[:2] == 0).all()
    torch.testing.assert_close(shift[2:, :, 0], torch.full((2, 2), FACE - 3.1))


def test_a_walk_is_left_alone(walk):
    assert (push_out_of_walls(walk.motion.root_pos[None], TerrainBatch.stack([walk.terrain])) == 0).all()


def test_a_window_planned_through_a_wall_ends_before_it(walk):
    character = humanoid()
    state = FrameState(*(part[None, 20:34] for part in FrameState.of_motion(walk.motion)))
    towards = torch.tensor([FACE + 0.25, 2.0, 0.0]) - state.root_pos[:, -1:] * torch.tensor([1.0, 1.0, 0.0])
    state = state._replace(root_pos=state.root_pos + towards)
    past, rest = state.narrow(0, 2), state.narrow(2, 12)
    assert float(rest.root_pos[..., 0].max()) > FACE + 0.2
    ends = {}
    for falls in (False, True):
        poses = (past, past.body_pose(character), torch.ones(()), WALL)
        done, _ = repair(character, rest, rest.body_pose(character), *poses, RepairSettings(gravity=falls))
        ends[falls] = float(done.root_pos[..., 0].max())
    assert ends[True] < FACE + 0.05 < ends[False]
