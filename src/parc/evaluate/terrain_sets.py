"""Sets of evaluation terrain, each with a path across it: one to tune on, one to keep clean, and the first one.

development  to look at and to tune on
test         to quote, and not to tune on: `parc.evaluate.testing_ledger` writes down who looked
first        100 random walks and 100 random boxes of the time before there were two sets. Settings were tuned on them, so their
             numbers are too good; they serve for comparing with older numbers

A set is code, not data: case i of a family of a set draws from SeedSequence([seed, version, set, family, i]) and from nothing
else, so it is the same everywhere and does not depend on how many cases are made. A change of any terrain or path is a new
VERSION (`tests/evaluate/test_terrain_sets.py` holds hashes).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from parc.errors import PathError, SettingsError
from parc.evaluate.terrain_families import FAMILIES, Crossing, Family
from parc.path import Difficulty, TerrainPath, difficulty_of
from parc.terrain import Terrain

VERSION = 1
"""of development and test"""
SetName = Literal["development", "test", "first"]
SETS: tuple[SetName, ...] = get_args(SetName)

_SEED = 7_391_264_508_173
"""of development and test, and of nothing else"""
_FIRST_SEEDS: dict[Family, int] = {"walks": 276, "boxes": 277}
_FIRST_VERSION = 1


@dataclass(frozen=True, eq=False)
class TestCase:
    """A terrain and a path across it."""

    __test__ = False  # not a test class of pytest's

    set_name: SetName
    family: Family
    index: int
    """of its family in its set"""
    terrain: Terrain
    path: TerrainPath

    @property
    def name(self) -> str:
        """Family and number."""
        return f"{self.family}_{self.index:03d}"

    @cached_property
    def difficulty(self) -> Difficulty:
        """Highest climb, deepest drop and widest gap of the path, m."""
        return difficulty_of(self.terrain, self.path)


@dataclass(frozen=True)
class SetChoice:
    """Which terrains: a set and families of it."""

    name: SetName = "development"
    families: tuple[Family, ...] = ("walks",)

    def __post_init__(self) -> None:
        known = families_of(self.name)
        strange = [family for family in self.families if family not in known]
        if strange:
            raise SettingsError(f"the set '{self.name}' has no {strange[0]}, only {' and '.join(known)}")
        if not self.families or len(set(self.families)) < len(self.families):
            raise SettingsError(f"families of terrain are {' '.join(self.families) or 'none'}, expected each at most once")

    @property
    def version(self) -> int:
        return version_of(self.name)

    def facts(self, terrains: int) -> dict[str, Any]:
        """What a result says of where it was measured; `terrains` of each family."""
        return {"set": self.name, "version": self.version, "families": list(self.families), "terrains": terrains}


def set_title(facts: dict[str, Any]) -> str:
    """One line for a person, of what `SetChoice.facts` gives."""
    tuned = ", on which settings were tuned" if facts["set"] == "first" else ""
    return f"{facts['set']} set, version {facts['version']}{tuned}: {facts['terrains']} each of {', '.join(facts['families'])}"


def families_of(set_name: SetName) -> tuple[Family, ...]:
    """Families of terrain in a set."""
    return ("boxes", "walks") if set_name == "first" else tuple(FAMILIES)


def version_of(set_name: SetName) -> int:
    """Version of a set; it changes whenever its terrains do."""
    return _FIRST_VERSION if set_name == "first" else VERSION


def set_case(set_name: SetName, family: Family, index: int) -> TestCase:
    """Terrains that no path crosses are drawn again from the same stream."""
    terrain, path = drawn_crossing(FAMILIES[family], case_stream(set_name, family, index))
    return TestCase(set_name, family, index, terrain, path)


def set_cases(choice: SetChoice, count: int = 100) -> list[TestCase]:
    """The first `count` cases of each family, family by family."""
    return [set_case(choice.name, family, i) for family in choice.families for i in range(count)]


def case_stream(set_name: SetName, family: Family, index: int, *purpose: int) -> np.random.Generator:
    """The random numbers of one case; further ones of it by a `purpose` of at least 1."""
    if set_name == "first":
        entropy = [_FIRST_SEEDS[family], _FIRST_VERSION, index]
    else:
        entropy = [_SEED, VERSION, SETS.index(set_name), tuple(FAMILIES).index(family), index, *purpose]
    return np.random.default_rng(np.random.SeedSequence(entropy))


def drawn_crossing(make: Callable[[np.random.Generator], Crossing], rng: np.random.Generator) -> Crossing:
    """The first crossing of a generator's draws that has a path."""
    while True:
        try:
            return make(rng)
        except PathError:
            continue
