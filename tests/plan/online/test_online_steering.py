"""Wishes as paths."""

import pytest
import torch

from parc.errors import PathError
from parc.path import TerrainPath
from parc.plan import RouteSettings
from parc.plan.online_steering import Steering, SteerSettings
from parc.terrain import Terrain

FLAT = Terrain.flat((20, 20))


def walled() -> Terrain:
    """A wall too high to climb across the whole map, but for a gate at its end."""
    heights = torch.zeros(20, 20)
    heights[10, :17] = 5.0
    return Terrain(heights, torch.zeros(2))


def test_nothing_asked_for_means_to_stay() -> None:
    path, progress = Steering().route(FLAT, torch.tensor([2.0, 3.0]))
    assert len(path) == 1 and progress == 0.0
    torch.testing.assert_close(path.goal, torch.tensor([2.0, 3.0, 0.0]))


def test_a_goal_is_planned_to_around_walls() -> None:
    steering, terrain = Steering(), walled()
    here, goal = torch.tensor([2.0, 2.0]), torch.tensor([6.1, 2.1])
    path = steering.to_goal(terrain, here, goal)
    torch.testing.assert_close(path.goal[:2], goal)
    assert float(path.nodes[:, 1].max()) > 16.5 * 0.4
    assert path.length > 9.0
    assert not steering.has_arrived(here) and steering.has_arrived(goal + 0.3)
    above, below = (torch.cat([goal, torch.tensor([height])]) for height in (0.1, -1.0))
    assert steering.has_arrived(above) and not steering.has_arrived(below)


def test_an_easy_way_round_is_taken_before_a_high_step() -> None:
    step = torch.zeros(20, 20)
    step[10:12, :17] = 1.5
    terrain = Terrain(step, torch.zeros(2))
    here, goal = torch.tensor([2.0, 4.0]), torch.tensor([6.0, 4.0])
    around = Steering().to_goal(terrain, here, goal)
    assert float(around.nodes[:, 2].max()) == 0.0
    over = Steering(SteerSettings(route=RouteSettings(climb=0.0, drop=0.0), clearance=0.0)).to_goal(terrain, here, goal)
    step[10:12] = 1.5
    only_over = Steering().to_goal(Terrain(step, torch.zeros(2)), here, goal)
    assert float(only_over.nodes[:, 2].max()) == 1.5
    assert over.length < around.length - 1


def test_it_keeps_clear_of_walls_and_drops() -> None:
    """Two metres of free ground beside a wall, and beside a pit: nobody walks along its very edge."""
    for beside in (3.0, -3.0):
        heights = torch.zeros(20, 20)
        heights[4:16, 10:] = beside
        path = Steering().to_goal(Terrain(heights, torch.zeros(2)), torch.tensor([1.2, 3.6]), torch.tensor([6.8, 3.6]))
        passing = path.nodes[(path.nodes[:, 0] > 2.5) & (path.nodes[:, 0] < 5.5)]
        assert len(passing) and float(passing[:, 1].max()) < 8.5 * 0.4


def test_progress_grows_along_the_path_and_a_stray_gets_a_new_one() -> None:
    steering = Steering()
    steering.to_goal(FLAT, torch.tensor([1.0, 1.0]), torch.tensor([6.0, 1.0]))
    before, progress = steering.route(FLAT, torch.tensor([2.0, 1.1]))
    assert 0.8 <= progress <= 1.3
    same, _ = steering.route(FLAT, torch.tensor([2.3, 1.2]))
    assert same is before
    stray = torch.tensor([3.0, 4.0])
    path, progress = steering.route(FLAT, stray)
    assert path is not before and progress == 0.0
    assert float((path.nodes[0, :2] - stray).norm()) < 0.4
    torch.testing.assert_close(path.goal[:2], torch.tensor([6.0, 1.0]))


def test_where_it_fell_another_way_is_tried() -> None:
    """Two gates through a wall: the nearer one until it proved hard."""
    heights = torch.zeros(20, 20)
    heights[10, :] = 5.0
    heights[10, 5] = heights[10, 14] = 0.0
    terrain, here = Terrain(heights, torch.zeros(2)), torch.tensor([3.2, 2.2])
    steering = Steering()
    first = steering.to_goal(terrain, here, torch.tensor([6.8, 3.0]))
    assert float(first.nodes[:, 1].max()) < 9 * 0.4
    for _ in range(8):
        steering.block(terrain)
    edited = terrain.with_heights(heights.clone())
    other, _ = steering.route(edited, here)
    assert float(other.nodes[:, 1].max()) > 12 * 0.4
    fresh = steering.to_goal(terrain, here, torch.tensor([6.8, 3.0]))
    assert torch.equal(fresh.nodes, first.nodes), "a new wish forgets it"


def test_who_gets_nowhere_tries_another_way() -> None:
    steering, here = Steering(), torch.tensor([2.0, 2.0])
    first = steering.to_goal(FLAT, here, torch.tensor([6.0, 2.0]))
    paths = [steering.route(FLAT, here)[0] for _ in range(steering.settings.detour_after + 2)]
    assert paths[0] is first and paths[-1] is not first
    torch.testing.assert_close(paths[-1].goal, first.goal)
    moving = Steering()
    first = moving.to_goal(FLAT, here, torch.tensor([6.0, 2.0]))
    for k in range(20):
        path, _ = moving.route(FLAT, here + torch.tensor([0.15 * k, 0.0]))
    assert path is first


def test_caution_fades_while_nothing_is_gained_and_comes_back_with_headway() -> None:
    steering, here = Steering(), torch.tensor([2.0, 2.0])
    steering.to_goal(FLAT, here, torch.tensor([6.0, 2.0]))
    cautions = []
    for _ in range(steering.settings.patience + steering.settings.dares + 6):
        steering.route(FLAT, here)
        cautions.append(steering.caution)
    assert cautions[0] == 1.0 and cautions[-1] == 0.0, "another way that is tried meanwhile does not bring it back"
    assert cautions == sorted(cautions, reverse=True)
    steering.route(FLAT, here + torch.tensor([0.8, 0.0]))
    assert steering.caution == 1.0


def test_who_ends_up_above_or_below_its_path_gets_another() -> None:
    heights = torch.zeros(20, 20)
    heights[8:12] = 1.0
    terrain, here = Terrain(heights, torch.zeros(2)), torch.tensor([4.0, 4.0])
    for pelvis, new in ((1.9, False), (0.9, True), (3.2, True), (None, False)):
        steering = Steering()
        first = steering.to_goal(terrain, here, torch.tensor([4.0, 7.0]))
        assert (steering.route(terrain, here, pelvis)[0] is not first) is new


def test_long_jumps_are_avoided_and_nobody_begins_again_in_the_air() -> None:
    heights = torch.zeros(20, 20)
    heights[8:12, :17] = -3.0
    here, goal = torch.tensor([2.0, 4.8]), torch.tensor([6.0, 4.8])
    around = Steering().to_goal(Terrain(heights, torch.zeros(2)), here, goal)
    assert around.length > 6.0 and float(around.nodes[:, 2].min()) == 0.0
    heights[8:12, :] = 0.0
    heights[8:11] = -3.0
    terrain, steering = Terrain(heights, torch.zeros(2)), Steering()
    over = steering.to_goal(terrain, here, goal)
    assert float((over.nodes[:, 2] - terrain.height_at(over.nodes[:, :2])).max()) > 2.0, "it jumps where nothing else is left"
    for x in (2.6, 3.2, 3.7):
        steering.route(terrain, torch.tensor([x, 4.8]))
    begin = steering.restart_point(0.1)
    assert begin is not None and float(terrain.height_at(begin[0])) == 0.0 and float(begin[0][0]) < 3.1


def test_an_edit_of_the_ground_is_planned_around() -> None:
    steering = Steering()
    straight = steering.to_goal(FLAT, torch.tensor([2.0, 2.0]), torch.tensor([6.0, 2.0]))
    around, _ = steering.route(walled(), torch.tensor([2.0, 2.0]))
    assert around.length > straight.length + 3


def test_where_no_way_is_left_the_old_one_is_kept() -> None:
    steering = Steering()
    before = steering.to_goal(FLAT, torch.tensor([2.0, 2.0]), torch.tensor([6.0, 2.0]))
    closed = walled().heights.clone()
    closed[10] = 5.0
    path, _ = steering.route(Terrain(closed, torch.zeros(2)), torch.tensor([2.0, 2.0]))
    assert path is before


def test_impossible_wishes_leave_the_old_one() -> None:
    steering, closed = Steering(), walled().heights.clone()
    closed[10] = 5.0
    steering.to_goal(FLAT, torch.tensor([1.0, 1.0]), torch.tensor([3.0, 1.0]))
    with pytest.raises(PathError, match="off the terrain"):
        steering.to_goal(FLAT, torch.tensor([1.0, 1.0]), torch.tensor([30.0, 1.0]))
    with pytest.raises(PathError):
        steering.to_goal(Terrain(closed, torch.zeros(2)), torch.tensor([1.0, 1.0]), torch.tensor([6.0, 1.0]))
    with pytest.raises(PathError, match="too short"):
        steering.along(FLAT, TerrainPath(torch.zeros(2, 3)))
    with pytest.raises(PathError, match="leaves the terrain"):
        steering.along(FLAT, TerrainPath(torch.tensor([[1.0, 1.0, 0.0], [30.0, 1.0, 0.0]])))
    torch.testing.assert_close(steering.goal, torch.tensor([3.0, 1.0]))


def test_keys_mean_straight_ahead_and_stop_at_the_edge() -> None:
    steering, here = Steering(), torch.tensor([2.0, 2.0])
    assert steering.towards(torch.tensor([0.0, 2.0]))
    assert not steering.towards(torch.tensor([0.1, 2.0])), "a key that repeats is no new wish"
    assert steering.towards(torch.tensor([2.0, 0.0])) and steering.towards(torch.tensor([0.0, 2.0]))
    path, progress = steering.route(FLAT, here)
    torch.testing.assert_close(path.nodes[:, :2], torch.tensor([[2.0, 2.0], [2.0, 2.0 + steering.settings.key_reach]]))
    assert progress == 0.0 and steering.goal is None and not steering.has_arrived(here)
    moved, _ = steering.route(FLAT, torch.tensor([2.0, 7.0]))
    assert bool(FLAT.contains(moved.goal[:2]))
    assert steering.towards(torch.zeros(2)) and not steering.towards(torch.zeros(2))
    assert steering.wish == "stay"


def test_a_line_that_passes_its_end_early_has_not_arrived() -> None:
    steering = Steering()
    loop = torch.tensor([[1.0, 1.0], [4.0, 1.0], [4.0, 4.0], [1.0, 4.0], [1.0, 1.2]])
    steering.along(FLAT, TerrainPath(torch.cat([loop, torch.zeros(5, 1)], -1)))
    assert not steering.has_arrived(torch.tensor([1.0, 1.1]))
    for here in ([2.0, 1.0], [3.4, 1.0], [4.0, 2.0], [4.0, 3.4], [3.0, 4.0], [1.8, 4.0], [1.0, 3.0], [1.0, 1.9]):
        steering.route(FLAT, torch.tensor(here))
    assert steering.has_arrived(torch.tensor([1.0, 1.3]))


def test_after_a_fall_it_begins_again_on_the_path() -> None:
    steering = Steering()
    assert steering.restart_point() is None
    steering.to_goal(FLAT, torch.tensor([1.0, 1.2]), torch.tensor([6.0, 1.2]))
    steering.route(FLAT, torch.tensor([2.4, 1.5]))
    place, heading = steering.restart_point(0.4)
    assert 1.7 <= float(place[0]) <= 2.2 and abs(float(place[1]) - 1.2) < 0.3 and abs(heading) < 0.5
    steering.towards(torch.tensor([1.0, 0.0]))
    assert steering.restart_point() is None
