"""The ring of hard starts: what is kept, what is drawn, and what leaves."""

import torch

from parc.reflex.hard_starts import HardStarts, StartState
from parc.reflex.reflex_settings import ReflexStarts
from parc.track.follow.trace import Snapshot

SETTINGS = ReflexStarts(kept=6, tries=4, hopeless=0.3, easy=0.9)


def starts(*marks: float) -> StartState:
    """States that are told apart by a number."""
    column = torch.tensor(marks, dtype=torch.float32).unsqueeze(1)
    return StartState(Snapshot(*(column.repeat(1, n) for n in (35, 34, 15, 35, 15, 28))), column[:, 0].long(), column[:, 0])


def ring(*marks: float) -> HardStarts:
    found = HardStarts(SETTINGS, starts(0.0).states)
    found.insert(torch.ones(len(marks), dtype=torch.bool), starts(*marks))
    found.refresh()
    return found


def held(found: HardStarts) -> list[int]:
    return found.store.case[found.live].tolist()


def test_the_newest_replace_the_oldest_and_void_ones_change_nothing() -> None:
    found = ring(1, 2, 3, 4)
    found.insert(torch.tensor([False, True, False, True]), starts(9, 5, 9, 6))
    assert held(found) == [1, 2, 3, 4, 5, 6]
    found.insert(torch.tensor([True, False, True]), starts(7, 9, 8))
    assert held(found) == [7, 8, 3, 4, 5, 6]
    assert torch.equal(found.store.take(torch.tensor([1])).states.qpos, torch.full((1, 35), 8.0))


def test_an_empty_ring_gives_the_void_row() -> None:
    found = HardStarts(SETTINGS, starts(0.0).states)
    assert found.draw(torch.rand(5)).tolist() == [found.void] * 5


def test_all_that_are_there_are_drawn_alike() -> None:
    found = ring(1, 2, 3, 4)
    rows = found.draw(torch.arange(400) / 400)
    assert torch.bincount(rows).tolist() == [100] * 4


def test_hopeless_and_easy_states_leave() -> None:
    """Four tries each: none succeeds, a quarter, half, all."""
    found = ring(1, 2, 3, 4)
    rows, over = torch.arange(4), torch.ones(4, dtype=torch.bool)
    for won in ([0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]):
        found.settle(rows, found.serial[rows].clone(), over, torch.tensor(won).float())
        found.refresh()
        assert held(found) == [1, 2, 3, 4], "three tries say nothing yet"
    found.settle(rows, found.serial[rows].clone(), torch.tensor([True, True, True, False]), torch.zeros(4))
    found.refresh()
    assert held(found) == [3, 4] and int(found.dropped) == 2
    found.settle(rows[3:], found.serial[rows[3:]].clone(), over[:1], torch.ones(1))
    found.refresh()
    assert held(found) == [3] and set(found.draw(torch.rand(50)).tolist()) == {2}


def test_episodes_from_a_state_that_was_replaced_do_not_count_for_the_next() -> None:
    found = ring(1, 2, 3, 4, 5, 6)
    old = found.serial[:1].clone()
    found.insert(torch.tensor([True]), starts(7))
    found.settle(torch.tensor([0]), old, torch.tensor([True]), torch.zeros(1))
    assert float(found.tries[0]) == 0
    void = torch.tensor([found.void])
    found.settle(void, torch.tensor([0]), torch.tensor([True]), torch.ones(1))
    assert float(found.tries.sum()) == 0


def test_states_on_ground_that_is_gone_leave_and_a_checkpoint_has_it_all() -> None:
    found = ring(1, 2, 3, 4)
    found.forget(torch.tensor([2, 4]))
    assert held(found) == [1, 3] and set(found.draw(torch.rand(50)).tolist()) == {0, 2}
    other = HardStarts(SETTINGS, starts(0.0).states)
    other.load_state({name: tensor.clone() for name, tensor in found.state().items()})
    assert held(other) == [1, 3] and torch.equal(other.cumulative, found.cumulative)
    for each in (found, other):
        each.insert(torch.tensor([True]), starts(5))
        assert held(each) == [1, 3, 5]
