import numpy as np
import pytest
import torch

from parc.dataset.clip import Clip
from parc.mocap.contact.clip_supports import Footing
from parc.mocap.contact.support_levels import Supports
from parc.vary.bent_route import BentRoute
from parc.vary.variation_ranges import Variation
from parc.vary.varied_terrain import Footholds, varied_ground

NOTHING = Supports(60, (), ())
NOWHERE = np.zeros(0, dtype=np.int64)


def straight(variation: Variation) -> BentRoute:
    root = np.stack([np.linspace(0, 4, 60), np.full(60, 1.0), np.full(60, 0.9)], -1)
    return BentRoute.of(root, Footing(NOTHING, ()), variation, 30.0)


def test_without_a_bend_the_plane_is_mapped_affinely() -> None:
    route = straight(Variation(stretch=(1.2, 0.9), yaw=0.5))
    rng = np.random.default_rng(0)
    xy = rng.uniform(-1, 5, (40, 2))
    places = [route.place(xy, np.full(40, frame)) for frame in (0, 30, 59)]
    np.testing.assert_allclose(places[0], places[1], atol=1e-9)
    np.testing.assert_allclose(places[0], places[2], atol=1e-9)
    back, _ = route.origins(np.zeros((0, 2)), NOWHERE, places[0])
    np.testing.assert_allclose(back, xy, atol=1e-9)


def test_bodies_are_turned_not_stretched() -> None:
    route = straight(Variation(stretch=(1.2, 0.9), yaw=0.5))
    pos = np.random.default_rng(1).normal(size=(60, 15, 3))
    moved = route.body(pos)
    between = np.linalg.norm(moved[:, 1:] - moved[:, :1], axis=-1)
    np.testing.assert_allclose(between, np.linalg.norm(pos[:, 1:] - pos[:, :1], axis=-1), atol=1e-9)


def test_a_stretched_terrain_has_its_edges_where_they_should_be(step_walk: Clip) -> None:
    variation = Variation(rise=2.0, stretch=(1.5, 1.0))
    route = straight(variation)
    origin = route.before[0]
    got = varied_ground(step_walk.terrain, route, variation, 0.0, Footholds(NOTHING, NOWHERE), np.zeros(60))
    rng = np.random.default_rng(0)
    low, high = (c.numpy() for c in step_walk.terrain.extent)
    for p in rng.uniform(low + 0.3, high - 0.3, (200, 2)):
        edges = np.abs((p[0] - low[0]) % 1.6)
        if min(edges, 1.6 - edges) > 0.3:  # farther from a step than half a new cell
            there = origin + np.array([1.5, 1.0]) * (p - origin)
            old = float(step_walk.terrain.height_at(torch.tensor(p).float()))
            assert abs(float(got.height_at(torch.tensor(there).float())) - 2 * old) < 1e-5


def test_quarter_turns_keep_every_cell(step_walk: Clip) -> None:
    variation = Variation(yaw=np.pi / 2)
    got = varied_ground(step_walk.terrain, straight(variation), variation, 0.0, Footholds(NOTHING, NOWHERE), np.zeros(60))
    expected = step_walk.terrain.heights.T.flip(0)
    torch.testing.assert_close(got.heights, expected)


def test_ground_after_a_frame_is_lifted(step_walk: Clip) -> None:
    variation = Variation()
    lift = np.where(np.arange(60) < 30, 0.0, 0.5)
    got = varied_ground(step_walk.terrain, straight(variation), variation, 0.0, Footholds(NOTHING, NOWHERE), lift)
    change = got.heights - step_walk.terrain.heights
    x = step_walk.terrain.min_point[0] + 0.4 * torch.arange(got.heights.shape[0])
    assert (change[x < 1.8] == 0).all() and torch.allclose(change[x > 2.2], torch.tensor(0.5))


def test_a_leap_moves_what_comes_after_and_the_body_at_a_constant_rate() -> None:
    root = np.tile([0.0, 1.0, 0.9], (60, 1))
    way = np.array([0.8, 0.0])
    route = BentRoute.of(root, Footing(NOTHING, ()), Variation(yaw=np.pi / 2), 30.0, ((25, 35), way))
    foot = np.array([0.1, 1.2])
    before, after = (route.place(foot, np.array(frame)) for frame in (20, 40))
    np.testing.assert_allclose(after - before, [0.0, 0.8], atol=1e-9)
    np.testing.assert_allclose(route.place(foot, np.array(0)), before, atol=1e-9)
    body = route.body(root[:, None])[:, 0, 1]
    steps = np.diff(body)
    assert body[-1] - body[0] == pytest.approx(0.8) and (steps >= 0).all()
    np.testing.assert_allclose(steps[25:34], steps[29], rtol=1e-9)
    assert steps[:14].max() == 0 and steps[46:].max() == 0
