"""What a crossing says happened is what physics does."""

import numpy as np
import pytest
import torch

from parc.character import humanoid
from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import PathError, SettingsError
from parc.motion.frame_state import FrameState
from parc.motion.mujoco_qpos import motion_to_qpos
from parc.path import TerrainPath
from parc.physics.choose_engine import make_world
from parc.plan import Models, PlainSettings, SearchSettings, Traverse, TraverseSettings, plan_route, traverse
from parc.plan.future_tree import Branch, Tree, spread_out
from parc.plan.least_effort_route import cells_ahead
from parc.plan.offline_retries import TOGETHER, _earlier, _standing_cell
from parc.plan.offline_search import SearchTry
from parc.terrain import Terrain, TerrainBatch
from parc.track.env.body_tables import BodyTables
from parc.track.follow.plan_reference import PlanReference
from parc.track.follow.trace import Snapshot


def test_flat_ground_is_crossed(crossing: Traverse) -> None:
    assert crossing.reached and crossing.simulated is not None
    goal = crossing.simulated.path.goal  # type: ignore[union-attr]
    away = (crossing.simulated.motion.root_pos[:, :2] - goal[:2]).norm(dim=-1)
    assert float(away.min()) <= 0.5
    assert crossing.progress == pytest.approx(crossing.simulated.path.length)  # type: ignore[union-attr]
    assert crossing.wall > 0 and crossing.rounds >= 1


def test_every_frame_follows_from_the_one_before_by_physics(crossing: Traverse, models: Models, character: Character) -> None:
    """One world for each frame, all put into the recorded states and stepped once with the recorded motor targets."""
    assert crossing.simulated is not None and crossing.qvel is not None and crossing.targets is not None
    motion = crossing.simulated.motion
    qpos = motion_to_qpos(character, motion)
    steps = len(motion) - 1
    assert len(crossing.targets) == steps and len(crossing.qvel) == steps + 1
    world = make_world(character, models.tracker.contract, steps, "cpu", 1)
    world.set_terrains(TerrainBatch.stack([crossing.simulated.terrain]))
    world.reset(torch.ones(steps, dtype=torch.bool), qpos[:-1], crossing.qvel[:-1])
    world.step(crossing.targets)
    torch.testing.assert_close(world.qpos[:, :3], qpos[1:, :3], atol=2e-3, rtol=0)
    assert torch.equal(world.contacts[:, 0] > 0, motion.contacts[1:, 0] > 0)


def test_plan_and_body_are_side_by_side(crossing: Traverse, models: Models) -> None:
    assert crossing.simulated is not None and crossing.plan is not None
    assert len(crossing.plan.motion) == len(crossing.simulated.motion)
    apart = (crossing.plan.motion.root_pos - crossing.simulated.motion.root_pos).norm(dim=-1)
    assert float(apart.max()) <= models.tracker.settings.termination.root_distance


def test_a_goal_out_of_reach_is_not_claimed(models: Models) -> None:
    """On a pillar of 2 m, beside which a body can only stand."""
    heights = torch.zeros(8, 5)
    heights[6, 2] = 2.0
    ground = Terrain(heights, torch.zeros(2))
    path = plan_route(ground, (4, 2), (6, 2), np.random.default_rng(0))
    few = TraverseSettings(1, SearchSettings(candidates=2, beam=1, stall=1, seconds=300.0), threads=1)
    result = traverse(ground, path, models, few, torch.Generator().manual_seed(0))
    assert not result.reached and result.progress < path.length


def test_the_plain_way_tells_the_same_story(models: Models, character: Character) -> None:
    from parc.generate.rollout.path_rollout import RolloutSettings

    ground = Terrain.flat((10, 5))
    path = plan_route(ground, (1, 2), (5, 2), np.random.default_rng(0))
    plain = PlainSettings(2, RolloutSettings(seconds=3.0), optimise=None)
    result = traverse(ground, path, models, TraverseSettings(1, plain, threads=1), torch.Generator().manual_seed(0))
    assert result.simulated is not None and result.plan is not None and result.tries == 1
    near = (result.simulated.motion.root_pos[:, :2] - path.goal[:2]).norm(dim=-1).min() <= 0.5
    assert result.reached == bool(near)


def test_a_path_of_another_map_is_refused(models: Models) -> None:
    away = TerrainPath(torch.tensor([[0.0, 0.0, 0.0], [50.0, 0.0, 0.0]]))
    with pytest.raises(PathError, match="another map"):
        traverse(Terrain.flat((8, 8)), away, models)


@pytest.mark.parametrize(
    "wrong",
    [
        {"beam": 20},
        {"commit": 40},
        {"windows": 2},
        {"continued": 1.5},
        {"shortest": 1},
        {"held": 1},
        {"candidates": 0, "beam": 0},
    ],
)
def test_settings_that_cannot_work_are_refused(wrong: dict) -> None:
    with pytest.raises(SettingsError):
        SearchSettings(**wrong)


def body(walk: Clip, at: float, height: float = 0.87, parent: Branch | None = None) -> Branch:
    qpos = torch.zeros(3, 7)
    qpos[:, 0], qpos[:, 2] = at, height
    reference = PlanReference.of(BodyTables(humanoid(), "cpu"), FrameState.stack([FrameState.of_motion(walk.motion.slice(0, 2))]))
    none = torch.zeros(2)
    return Branch(Snapshot(*[qpos] * 6), none, none, none, reference, 0, 2, 2, progress=at, parent=parent)


def test_the_next_try_begins_before_the_farthest_body(walk: Clip) -> None:
    rounds = [[body(walk, x)] for x in (0.5, 1.1, 2.1, 3.0, 2.9)]
    trial = SearchTry(Tree(rounds), rounds[3][0], False, 5, 0.0)
    assert _earlier(trial, 1.0, False).rounds == rounds[:2]
    assert _earlier(trial, 2.0, False).rounds == rounds[:1]
    assert _earlier(trial, 8.0, False).rounds == [] and _earlier(trial, 1.0, True).rounds == []


def test_cells_beyond_a_dead_end_are_those_just_ahead(walk: Clip) -> None:
    ground = Terrain.flat((12, 5))
    way = plan_route(ground, (0, 2), (10, 2), np.random.default_rng(0))
    arcs = [float(arc) for arc in way.arc_length]
    assert len(set(cells_ahead(ground, way, 1.0))) == sum(1.0 < arc <= 2.2 for arc in arcs)


def test_a_body_at_a_ledge_stands_where_its_height_says(walk: Clip) -> None:
    heights = torch.zeros(6, 3)
    heights[3:] = 1.0
    ground = Terrain(heights, torch.zeros(2))
    assert _standing_cell(ground, body(walk, 1.05, 0.87))[0] == 2
    assert _standing_cell(ground, body(walk, 0.95, 1.87))[0] == 3


def test_bodies_elsewhere_do_not_take_the_new_way(walk: Clip) -> None:
    tree = Tree([[body(walk, 0.2)], [body(walk, 2.0), body(walk, 1.5), body(walk, 0.4)]])
    moved = tree.on_new_path(TOGETHER)
    assert [float(leaf.last.qpos[0]) for leaf in moved.leaves] == [2.0, 1.5]
    assert all(leaf.progress == 0.0 for leaf in moved.leaves) and moved.rounds[0] == tree.rounds[0]
    assert tree.leaves[0].progress == 2.0 and Tree().on_new_path(TOGETHER).farthest is None


def test_no_parent_takes_more_than_half_of_the_beam_while_others_can(walk: Clip) -> None:
    first, second, third = (body(walk, 0.0) for _ in range(3))
    parents = [first, first, first, first, second, third]
    bodies = [body(walk, 1.0, parent=parent) for parent in parents]
    scores = [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    assert spread_out(bodies, scores, 4) == [0, 1, 4, 5]
    few = [bodies[k] for k in (0, 1, 2, 4)]
    assert spread_out(few, scores[:4], 4) == [0, 1, 3, 2], "the best of each parent, then who fills up"
    assert spread_out([bodies[0], bodies[3]], [1.0, 2.0], 4) == [1, 0] and spread_out([], [], 4) == []
