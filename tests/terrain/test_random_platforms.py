"""Towers are as far apart as their gaps say, and nothing but leaps leads from the first to the last."""

from itertools import combinations

import numpy as np
import pytest
from scipy.ndimage import label

from parc.errors import PathError, TerrainError
from parc.path import GraphSettings, PlanSettings, plan_path
from parc.terrain.random_platforms import REACHABLE, PlatformChain, RandomPlatforms, platform_chain


def draw(seed: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence([seed, 0, 0]))


def towers_of(chain: PlatformChain) -> list[np.ndarray]:
    """Cells [K, 2] of each tower; they touch nowhere, not even at corners."""
    heights = chain.terrain.heights.numpy()
    number, count = label(heights > heights.min(), np.ones((3, 3)))
    return [np.argwhere(number == k) for k in range(1, count + 1)]


def cells_between(a: np.ndarray, b: np.ndarray) -> tuple[int, int]:
    """Along each axis, -1 or less where they overlap."""
    apart = np.maximum(a.min(0) - b.max(0), b.min(0) - a.max(0)) - 1
    return int(apart[0]), int(apart[1])


def test_the_seed_decides() -> None:
    settings = RandomPlatforms()
    first, same, other = (platform_chain(settings, draw(seed)).terrain.heights for seed in (3, 3, 4))
    assert np.array_equal(first, same) and not np.array_equal(first, other)


@pytest.mark.parametrize("seed", range(12))
def test_neighbours_face_each_other_across_a_gap_and_no_others_are_nearer(seed: int) -> None:
    settings = RandomPlatforms(count=6, gaps=(0.8, 2.0), width=(1, 3), run_up=(2, 5))
    towers = towers_of(platform_chain(settings, draw(seed)))
    assert len(towers) == 7
    facing = []
    for a, b in combinations(range(7), 2):
        near, far = sorted(cells_between(towers[a], towers[b]))
        assert far >= 2
        facing.append(near < 0 and 2 <= far <= 5)
    assert sum(facing) >= 6
    for cells in towers:
        width, length = sorted(cells.max(0) - cells.min(0) + 1)
        assert len(cells) == width * length and (1 <= width <= 3 or (width, length) == (4, 4)) and length <= 5


def test_a_row_of_equal_gaps_for_a_curve() -> None:
    settings = RandomPlatforms(count=4, gaps=(1.2, 1.2), width=(3, 3), run_up=(2, 2), rise=(0.0, 0.0), turn=0.0, landing=3)
    heights = platform_chain(settings, draw(0)).terrain.heights.numpy()
    profiles = [(heights > heights.min()).any(axis) for axis in (0, 1)]
    along = max(profiles, key=lambda profile: np.count_nonzero(profile[:-1] != profile[1:]))
    assert "".join("#" if top else "." for top in along).strip(".") == "###...##...##...##...###"


@pytest.mark.parametrize("seed", range(6))
def test_only_leaps_cross_and_the_planner_can_leap(seed: int) -> None:
    chain = platform_chain(REACHABLE, draw(seed))
    heights = chain.terrain.heights
    assert heights[chain.start] > heights.min() + 2.1 and heights[chain.goal] > heights.min() + 2.1
    plan_path(chain.terrain, chain.start, chain.goal)
    with pytest.raises(PathError):
        plan_path(chain.terrain, chain.start, chain.goal, settings=PlanSettings(GraphSettings(jump_distance=0.0)))


def test_heights_and_depth_are_within_their_ranges() -> None:
    for seed in range(20):
        settings = RandomPlatforms(count=1, rise=(-0.3, 0.7), depth=(2.5, 3.0))
        levels = platform_chain(settings, draw(seed)).terrain.heights.unique()
        assert len(levels) == 3 and 2.5 <= levels[1] - levels[0] <= 3.0 and levels[2] - levels[1] <= 0.7
        assert levels[1] >= -0.3 - 1e-6


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"gaps": (1.3, 1.5)}, "no gap of 1.3 to 1.5 m is a whole number of cells"),
        ({"gaps": (0.0, 0.0)}, "no gap of 0 to 0 m"),
        ({"gaps": (2.0, 1.2)}, "gaps of platforms"),
        ({"width": (0, 3)}, "width of towers"),
        ({"run_up": (4, 3)}, "run_up of towers"),
        ({"rise": (0.0, float("nan"))}, "rise of platforms"),
        ({"depth": (-1.0, 2.0)}, "floor"),
        ({"turn": 1.5}, "turns"),
        ({"count": 0}, "0 gaps"),
        ({"count": 200, "turn": 1.0}, "turn less"),
    ],
)
def test_wrong_settings_are_named(wrong: dict, sentence: str) -> None:
    with pytest.raises(TerrainError, match=sentence):
        platform_chain(RandomPlatforms(**wrong), draw(0))
