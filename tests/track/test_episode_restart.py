from collections.abc import Callable

import pytest
import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.run.distributed import Group
from parc.track.env.episode_restart import Restart, RestartSettings
from parc.track.env.reference_library import ReferenceLibrary, build_library

ALONE = Group(0, 1, torch.device("cpu"))


@pytest.fixture(scope="module")
def library(character: Character, squats: Callable[..., Clip]) -> ReferenceLibrary:
    return build_library(character, [squats(frames=122, name="long"), squats(frames=40, name="short")])


def fail(restart: Restart, row: int, times: int, visits: int) -> None:
    rows = torch.full((visits,), row)
    failed = torch.arange(visits) < times
    restart.count(rows, failed, torch.ones(visits, dtype=torch.bool), torch.tensor(1.0))


def test_seconds_cover_each_clip_and_leave_two_frames(library: ReferenceLibrary) -> None:
    restart = Restart(library, RestartSettings())
    assert restart.first_row.tolist() == [0, 30, 60, 90, 122]
    assert restart.size.tolist() == [30, 30, 30, 30, 38]
    assert restart.successor.tolist() == [1, 2, 3, 3, 4]
    assert restart.unit_of_row[[0, 29, 30, 121, 122, 161]].tolist() == [0, 0, 1, 3, 4, 4]


def test_draws_follow_the_rates_and_respect_the_floor(library: ReferenceLibrary) -> None:
    settings = RestartSettings(unit="clip", floor=0.01, decay=0.0)
    restart = Restart(library, settings)
    fail(restart, 5, times=3, visits=30)
    fail(restart, 130, times=0, visits=30)
    restart.refresh(ALONE)
    torch.testing.assert_close(restart.rates(), torch.tensor([0.1, 0.01]))
    uniform = torch.rand(200_000, 2, generator=torch.Generator().manual_seed(0))
    rows = restart.draw(uniform)
    share = (rows >= 122).float().mean()
    assert abs(float(share) - 0.01 / 0.11) < 0.003
    short = rows[rows >= 122] - 122
    assert short.min() == 0 and short.max() == 37


@pytest.mark.parametrize("ceiling", [1.0, 0.4])
def test_a_second_before_a_hard_one_is_drawn_more_often_up_to_the_ceiling(library: ReferenceLibrary, ceiling: float) -> None:
    restart = Restart(library, RestartSettings(decay=0.0, successor=0.5, floor=0.01, ceiling=ceiling))
    for row in (0, 30, 60, 122):
        fail(restart, row, times=0, visits=30)
    fail(restart, 90, times=1, visits=30)
    restart.refresh(ALONE)
    weights = restart.cumulative.diff(prepend=torch.zeros(1)) / restart.size
    torch.testing.assert_close(weights, torch.tensor([0.01, 0.01, 0.5 * ceiling, ceiling, 0.01]), rtol=1e-4, atol=1e-5)


def test_counts_decay_and_a_weight_of_zero_counts_nothing(library: ReferenceLibrary) -> None:
    restart = Restart(library, RestartSettings(unit="clip", decay=0.5))
    before = restart.rates().clone()
    restart.count(torch.zeros(8, dtype=torch.long), torch.zeros(8).bool(), torch.ones(8).bool(), torch.tensor(0.0))
    restart.refresh(ALONE)
    torch.testing.assert_close(restart.rates(), before)
    fail(restart, 0, times=0, visits=3)
    restart.refresh(ALONE)
    torch.testing.assert_close(restart.rates()[0], torch.tensor(0.25 / 3.25))


def test_the_ends_of_the_interval_stay_inside(library: ReferenceLibrary) -> None:
    restart = Restart(library, RestartSettings())
    rows = restart.draw(torch.tensor([[0.0, 0.0], [1.0 - 6e-8, 1.0 - 6e-8], [1.0, 1.0]]))
    assert rows.tolist() == [0, 159, 159]
