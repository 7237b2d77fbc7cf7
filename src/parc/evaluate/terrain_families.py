"""Families of terrain to evaluate on, each a function of a numpy Generator to a terrain and a path across it.

boxes      the paper's training kind: random boxes on 16 x 16 cells
walks      the paper's test kind: random walks on 32 x 32 cells
platforms  chains of towers that only leaps cross; gaps of 0.4 to 1.6 m on four of five terrains, to 2.4 m on the others
stairs     flights of steps of 0.12 to 0.22 m, straight or with landings between, up, down, or both
course     slices of 24 x 24 cells of the hand-made course

A PathError says that no path leads across what was drawn; draw again. Paths cost what the paper's cost.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Literal

import numpy as np

from parc.errors import PathError
from parc.path import EndpointSettings, PlanSettings, TerrainPath, plan_path, plan_random_path
from parc.terrain import RandomBoxes, RandomWalks, Stairs, Terrain, flights, parkour_park, platform_chain
from parc.terrain.procedural_terrain import random_boxes, random_slice, random_walks
from parc.terrain.random_platforms import REACHABLE

Family = Literal["boxes", "walks", "platforms", "stairs", "course"]
Crossing = tuple[Terrain, TerrainPath]

USUAL_GAPS = (0.4, 1.6)
"""m"""
WIDE = 0.2
"""share of platform terrains with gaps as wide as the planner can leap"""
_PLATFORM_RISES = (0.0, 0.4, 0.8)
"""m, the largest height difference between towers; one of them for each terrain"""
_SLICE = (24, 24)
"""cells"""


def cross_boxes(rng: np.random.Generator) -> Crossing:
    """A way across random boxes."""
    return _across(random_boxes(RandomBoxes(), rng), rng)


def cross_walks(rng: np.random.Generator) -> Crossing:
    """A way across terrain of random walks."""
    return _across(random_walks(RandomWalks(), rng), rng)


def cross_platforms(rng: np.random.Generator) -> Crossing:
    """Three to five gaps; the whole range that the planner can leap on one of five terrains. Short chains are drawn again."""
    gaps = REACHABLE.gaps if rng.random() < WIDE else USUAL_GAPS
    most = float(rng.choice(_PLATFORM_RISES))
    rise = (-most, min(most, REACHABLE.rise[1]))
    chain = platform_chain(replace(REACHABLE, count=int(rng.integers(3, 6)), gaps=gaps, rise=rise), rng)
    if chain.terrain.cell * math.dist(chain.start, chain.goal) < EndpointSettings().min_distance:
        raise PathError("start and goal are too near to each other")
    return chain.terrain, plan_path(chain.terrain, chain.start, chain.goal, rng, PlanSettings())


def cross_stairs(rng: np.random.Generator) -> Crossing:
    """One flight, or two or three with landings between; all of one rise and tread, each up or down."""
    rise, tread = float(rng.uniform(0.12, 0.22)), int(rng.integers(1, 3))
    along: Literal["x", "y"] = "x" if rng.random() < 0.5 else "y"
    width, landing = int(rng.integers(5, 11)), int(rng.integers(5, 8))
    fewest, most = (6, 12) if tread == 1 else (4, 8)
    parts = [
        Stairs(int(rng.integers(fewest, most + 1)), rise * (1 if rng.random() < 0.5 else -1), tread, landing, width, along)
        for _ in range(int(rng.integers(1, 4)))
    ]
    terrain = flights(parts)
    last = terrain.size[0 if along == "x" else 1] - 1
    here, there = (1, int(rng.integers(1, width - 1))), (last - 1, int(rng.integers(1, width - 1)))
    start, goal = (here, there) if along == "x" else ((here[1], here[0]), (there[1], there[0]))
    return terrain, plan_path(terrain, start, goal, rng, PlanSettings())


def cross_course(rng: np.random.Generator) -> Crossing:
    """A way across a random slice of the parkour park."""
    return _across(random_slice(_park(), _SLICE, rng), rng)


FAMILIES: dict[Family, Callable[[np.random.Generator], Crossing]] = {
    "boxes": cross_boxes,
    "walks": cross_walks,
    "platforms": cross_platforms,
    "stairs": cross_stairs,
    "course": cross_course,
}
"""in the order of their random streams: a new one goes to the end"""


def _across(terrain: Terrain, rng: np.random.Generator) -> Crossing:
    return terrain, plan_random_path(terrain, rng, PlanSettings())


_park = cache(parkour_park)
