"""When a search asks for the pace it was given."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from parc.generate.rollout.path_rollout import RolloutSettings
from parc.plan.offline_search import Search, SearchSettings


@pytest.mark.parametrize(
    ("pace", "times", "found", "asked"),
    [
        (2.5, 1, True, [2.5]),
        (2.5, 3, True, [2.5, None, 2.5]),
        (2.5, 1, False, [2.5, None]),
        (2.5, 2, False, [2.5, None, None]),
        (None, 2, False, [None, None]),
    ],
)
def test_where_a_pace_leads_nowhere_plans_are_made_without_one(
    pace: float | None, times: int, found: bool, asked: list[float | None]
) -> None:
    search = cast(Search, SimpleNamespace(settings=SearchSettings(rollout=RolloutSettings(pace=pace))))
    pool: list[Any] = []
    told = []
    for wanted in Search._paces(search, times, pool):
        told.append(wanted)
        pool += ["a body"] if found else []
    assert told == asked
