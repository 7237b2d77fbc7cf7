"""The fixed test set: 100 terrains nobody trains on, each with a path across it.

Random walks on 32 x 32 cells, a different generator from the training terrains (random boxes), as in the paper, whose seeds
are not public. The set is code: item i draws from SeedSequence([seed, version, i]), so it is the same everywhere; a change
of any number here is a new VERSION.
"""

from dataclasses import dataclass

import numpy as np

from parc.errors import PathError
from parc.path import PlanSettings, TerrainPath, plan_random_path
from parc.terrain import RandomBoxes, RandomWalks, Terrain, random_boxes, random_walks

VERSION = 1
SEED = 276


@dataclass(frozen=True, eq=False)
class TestCase:
    __test__ = False  # not a test class of pytest's

    terrain: Terrain
    path: TerrainPath


def walk_cases(count: int = 100) -> list[TestCase]:
    """The paper's kind of test terrain."""
    return [_case(i, lambda rng: random_walks(RandomWalks(), rng), SEED) for i in range(count)]


def box_cases(count: int = 100) -> list[TestCase]:
    """The training kind of terrain, with seeds of its own: how far the models carry on familiar ground."""
    return [_case(i, lambda rng: random_boxes(RandomBoxes(), rng), SEED + 1) for i in range(count)]


def _case(index: int, make, seed: int) -> TestCase:
    """Terrains on which no endpoints can be joined are drawn again from the same stream."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, VERSION, index]))
    while True:
        terrain = make(rng)
        try:
            return TestCase(terrain, plan_random_path(terrain, rng, PlanSettings()))
        except PathError:
            continue
