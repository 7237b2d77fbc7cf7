import numpy as np
import pytest
import torch

from parc.errors import PathError, SettingsError
from parc.path.navigation_graph import NavigationGraph
from parc.path.path_planning import PlanSettings, plan_path, plan_random_path
from parc.terrain.terrain import Terrain


def hills(seed: int, size: int = 16) -> Terrain:
    rng = np.random.default_rng([7, seed])
    return Terrain(torch.tensor(rng.uniform(-1, 1, (size, size)), dtype=torch.float32), torch.tensor([3.0, -2.0]))


def islands() -> Terrain:
    """Two platforms with a deep trench of 4 cells between them."""
    heights = torch.zeros(6, 12)
    heights[:, 4:8] = -8.0
    heights[:, 8:] = 0.4
    return Terrain(heights, torch.tensor([1.0, 2.0]))


def test_waypoints_are_cell_centres_at_terrain_height():
    terrain = hills(0)
    path = plan_path(terrain, (1, 1), (14, 13))
    cells = terrain.cell_of(path.nodes[:, :2])
    assert cells[0].tolist() == [1, 1] and cells[-1].tolist() == [14, 13]
    plain = torch.isclose(path.nodes[:, :2], terrain.centre_of(cells), atol=1e-5).all(-1)
    assert plain.float().mean() > 0.5
    assert torch.equal(path.nodes[plain, 2], terrain.height_at(path.nodes[plain, :2]))


def test_a_jump_is_filled_with_waypoints_on_its_line():
    terrain = islands()
    path = plan_path(terrain, (2, 1), (2, 10))
    steps = path.nodes[1:] - path.nodes[:-1]
    assert (steps[:, :2].norm(dim=-1) < 1.5 * terrain.cell).all()
    over = terrain.height_at(path.nodes[:, :2]) < -1
    assert over.sum() >= 4
    assert (path.nodes[over, 2] > 0).all() and (path.nodes[over, 2] < 0.4).all()
    ends = path.nodes[over][[0, -1]]
    line = ends[0] + torch.linspace(0, 1, int(over.sum()))[:, None] * (ends[1] - ends[0])
    torch.testing.assert_close(path.nodes[over], line)


def test_same_seed_same_path_other_seed_other_path():
    terrain = hills(1)
    first, again, other = (plan_path(terrain, (1, 1), (14, 14), seed) for seed in (5, 5, 6))
    assert torch.equal(first.nodes, again.nodes)
    assert first.nodes.shape != other.nodes.shape or not torch.equal(first.nodes, other.nodes)
    graph = NavigationGraph.of(terrain)
    assert torch.equal(first.nodes, plan_path(terrain, (1, 1), (14, 14), 5, graph=graph).nodes)


def test_start_at_the_goal_is_one_waypoint():
    path = plan_path(hills(2), (3, 4), (3, 4))
    assert len(path) == 1 and path.length == 0


def test_errors():
    tower = torch.zeros(9, 9)
    tower[4, 4] = 10
    with pytest.raises(PathError, match="cannot be reached"):
        plan_path(Terrain(tower, torch.zeros(2)), (0, 0), (4, 4))
    with pytest.raises(PathError, match="off the map"):
        plan_path(hills(0), (0, 0), (16, 0))
    with pytest.raises(PathError, match="the graph belongs to a map of"):
        plan_path(hills(0), (0, 0), (1, 1), graph=NavigationGraph.of(Terrain.flat((3, 3))))
    with pytest.raises(SettingsError, match="tries is 0"):
        PlanSettings(tries=0)
    with pytest.raises(SettingsError, match="tries is 0"):
        plan_random_path(hills(0), np.random.default_rng(0), tries=0)


def test_random_paths_are_seeded_and_go_on_after_a_bad_pair():
    split = hills(3, 20)
    heights = split.heights.clone()
    heights[:, 9:11] = 20.0
    terrain = split.with_heights(heights)  # many pairs lie on different sides of the wall
    for seed in range(5):
        path = plan_random_path(terrain, np.random.default_rng(seed), PlanSettings(tries=100))
        assert torch.equal(path.nodes, plan_random_path(terrain, np.random.default_rng(seed), PlanSettings(tries=100)).nodes)
        assert (path.nodes[0, :2] - path.goal[:2]).norm() >= 5 - 1e-4
    noise = Terrain(torch.rand(16, 16, generator=torch.Generator().manual_seed(0)) * 4000, torch.zeros(2))
    with pytest.raises(PathError, match="none of 3 random pairs"):
        plan_random_path(noise, np.random.default_rng(0), tries=3)
