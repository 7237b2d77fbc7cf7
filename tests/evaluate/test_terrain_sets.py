"""The sets are fixed and apart from each other, and every path can be walked."""

import hashlib
from typing import get_args, get_type_hints

import numpy as np
import pytest
import torch

from parc.cli.set_options import SetOptions
from parc.errors import SettingsError
from parc.evaluate.terrain_families import FAMILIES, Family
from parc.evaluate.terrain_sets import SETS, SetChoice, TestCase, case_stream, families_of, set_case, set_cases, set_title
from parc.evaluate.traverse_measurement import traverse_case
from parc.path import NavigationGraph
from parc.plan.least_effort_route import ends_of

PUBLISHED = {
    ("development", "boxes"): "e51e98066862",
    ("development", "walks"): "23501d0a9b99",
    ("development", "platforms"): "92cf06cd55ae",
    ("development", "stairs"): "18fc49c0dd68",
    ("development", "course"): "0554d6436253",
    ("test", "boxes"): "e16679a93722",
    ("test", "walks"): "8cd65858da53",
    ("test", "platforms"): "d8d9ab0782c6",
    ("test", "stairs"): "acf5b3fe6a46",
    ("test", "course"): "5f6afbb06997",
    ("first", "boxes"): "dd4bab7fa32f",
    ("first", "walks"): "f1ae835d7b7f",
}
"""hashes of heights and paths of cases 0 and 7, in mm; another one is a new VERSION"""


def digest(cases: list[TestCase]) -> str:
    whole = hashlib.sha256()
    for case in cases:
        whole.update(case.terrain.heights.mul(1000).round().int().numpy().tobytes())
        whole.update(case.path.nodes.mul(1000).round().int().numpy().tobytes())
    return whole.hexdigest()[:12]


def every_family() -> list[tuple]:
    return [(name, family) for name in SETS for family in families_of(name)]


@pytest.mark.parametrize(("name", "family"), every_family())
def test_the_cases_are_the_published_ones(name, family: Family) -> None:
    assert digest([set_case(name, family, i) for i in (0, 7)]) == PUBLISHED[name, family]


def test_cases_do_not_depend_on_how_many_and_which_others_are_asked_for() -> None:
    choice = SetChoice("development", ("platforms", "stairs"))
    found = set_cases(choice, 3)
    assert [case.name for case in found] == [f"{f}_{i:03d}" for f in ("platforms", "stairs") for i in range(3)]
    assert digest([found[0], found[4]]) == digest([set_case("development", "platforms", 0), set_case("development", "stairs", 1)])


def test_no_two_cases_share_their_random_numbers() -> None:
    """The streams of traverse routes are others again."""
    first = [case_stream(n, f, i, *more).integers(2**62) for n, f in every_family() for i in range(5) for more in ((), (1,))]
    of_first = 2 * 5 * len(families_of("first"))
    assert len(set(first)) == len(first) - of_first // 2, "the first set has no second stream"


@pytest.mark.parametrize(("name", "family"), [(n, f) for n, f in every_family() if n != "first"])
def test_paths_are_walked_in_the_graph_from_edge_to_edge(name, family: Family) -> None:
    for i in range(4):
        case = set_case(name, family, i)
        ground, nodes = case.terrain, case.path.nodes
        torch.testing.assert_close(ground.height_at(nodes[[0, -1], :2]), nodes[[0, -1], 2])
        assert (nodes[0, :2] - nodes[-1, :2]).norm() >= 5 - 1e-4
        graph = NavigationGraph.of(ground)
        on_ground = (ground.height_at(nodes[:, :2]) - nodes[:, 2]).abs() < 1e-3
        on_ground &= (ground.centre_of(ground.cell_of(nodes[:, :2])) - nodes[:, :2]).norm(dim=-1) < 1e-3
        places = [graph.node(tuple(cell)) for cell in ground.cell_of(nodes[on_ground, :2]).tolist()]
        is_reached = [True]  # a leap may pass over places that stand as high as its ends
        for k in range(1, len(places)):
            before = range(max(0, k - 8), k)
            is_reached.append(any(is_reached[j] and graph.edge(places[j], places[k]) is not None for j in before))
        assert is_reached[-1]


@pytest.mark.parametrize("name", ["development", "test"])
def test_families_are_as_hard_as_they_say(name) -> None:
    hardest = {family: np.array([set_case(name, family, i).difficulty for i in range(24)]) for family in FAMILIES}
    climb, drop, gap = hardest["platforms"].T
    assert gap.min() >= 0.4 - 1e-6 and gap.max() <= 3.0 and (gap <= 1.8).mean() >= 0.6
    assert climb.max() <= 0.5 + 1e-6 and drop.max() <= 1.0 + 1e-6
    climb, drop, gap = hardest["stairs"].T
    assert np.maximum(climb, drop).min() >= 0.12 - 1e-6 and max(climb.max(), drop.max()) <= 0.22 + 1e-6
    assert not gap.any() and (climb == 0).any() and (drop == 0).any() and ((climb > 0) & (drop > 0)).any()
    for family in ("boxes", "walks", "course"):
        climb, drop, _ = hardest[family].T
        assert np.median(climb) >= 0.3 and np.median(drop) >= 0.3 and max(climb.max(), drop.max()) <= 2.1 + 1e-5


def test_a_route_in_physics_joins_the_same_ends_and_keeps_the_terrain() -> None:
    case, route = set_case("development", "boxes", 2), traverse_case("development", "boxes", 2)
    assert torch.equal(case.terrain.heights, route.terrain.heights)
    assert ends_of(case.terrain, case.path) == ends_of(route.terrain, route.path)
    again = traverse_case("development", "boxes", 2)
    assert torch.equal(route.path.nodes, again.path.nodes)


def test_what_a_set_does_not_have_is_refused() -> None:
    with pytest.raises(SettingsError, match="'first' has no stairs, only boxes and walks"):
        SetChoice("first", ("boxes", "stairs"))
    with pytest.raises(SettingsError, match="each at most once"):
        SetChoice("test", ("boxes", "boxes"))
    assert "on which settings were tuned" in set_title(SetChoice("first").facts(3))
    assert set_title(SetChoice("test").facts(3)) == "test set, version 1: 3 each of walks"


def test_the_command_line_knows_all_sets_and_families() -> None:
    hints = get_type_hints(SetOptions, {"SetChoice": SetChoice, "Family": Family})
    assert get_args(hints["set"]) == SETS
    (families, _) = get_args(hints["families"])
    assert get_args(get_args(families)[0]) == tuple(FAMILIES)
