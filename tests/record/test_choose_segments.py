"""Stretches: the paper's recording first, then as much as can be had without overlap, against brute force."""

from functools import cache
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from parc.errors import SettingsError
from parc.motion.motion import Motion
from parc.record.choose_segments import StretchSettings, choose_stretches, most_covered
from parc.record.tracking_attempts import Attempt

FPS = 30.0


def attempt(start: int, stop: int, reached_end: bool = False, diverged: bool = False) -> Attempt:
    frames = stop - start
    one = torch.tensor([0.0, 0.0, 0.0, 1.0])
    motion = Motion(torch.zeros(frames, 3), one.expand(frames, 4), one.expand(frames, 1, 4), torch.zeros(frames, 2))
    return Attempt(0, start, motion, torch.zeros(frames), reached_end, diverged)


def brute_force(intervals: list[tuple[int, int]], least: int) -> int:
    """Most frames, by trying every next piece from every frame."""
    end = max((stop for _, stop in intervals), default=0)

    @cache
    def best(frame: int) -> int:
        if frame >= end:
            return 0
        options = [best(frame + 1)]
        for begin, stop in intervals:
            if begin <= frame:
                options += [t - frame + best(t) for t in range(frame + least, stop + 1)]
        return max(options)

    return best(0)


@given(st.lists(st.tuples(st.integers(0, 25), st.integers(0, 25)), max_size=5), st.integers(1, 8))
def test_cover_is_disjoint_long_enough_and_the_most(intervals: list[tuple[int, int]], least: int) -> None:
    pieces = most_covered(intervals, least)
    for (_, _, stop), (_, begin, _) in pairwise(pieces):
        assert stop <= begin
    for i, begin, stop in pieces:
        assert stop - begin >= least
        assert intervals[i][0] <= begin and stop <= intervals[i][1]
    assert sum(stop - begin for _, begin, stop in pieces) == brute_force(intervals, least)


def test_of_equal_covers_the_one_with_fewer_pieces() -> None:
    assert most_covered([(0, 60), (60, 120), (0, 120)], 20) == [(2, 0, 120)]


def test_the_earliest_start_that_reaches_the_end_wins() -> None:
    attempts = [attempt(0, 20), attempt(10, 50), attempt(20, 200, True), attempt(30, 200, True), attempt(40, 200, True)]
    kept = choose_stretches(attempts, 3, FPS, StretchSettings())
    assert [(s.begin, s.stop, s.complete) for s in kept] == [(23, 200, True)]
    assert kept[0].attempt is attempts[2]


def test_salvage_before_and_between_without_the_moments_before_a_fall() -> None:
    attempts = [attempt(0, 100), attempt(30, 160), attempt(150, 300), attempt(250, 400, True)]
    kept = choose_stretches(attempts, 3, FPS, StretchSettings())
    spans = [(s.begin, s.stop) for s in kept]
    assert spans[-1] == (253, 400)
    assert all(stop <= begin for (_, stop), (begin, _) in pairwise(spans))
    assert all(stop - begin >= 60 for begin, stop in spans)
    assert all(s.stop <= s.attempt.stop - 15 for s in kept if not s.attempt.reached_end)
    assert sum(stop - begin for begin, stop in spans) == (145 - 3) + (253 - 153) + (400 - 253)
    assert not choose_stretches(attempts[:-1], 3, FPS, StretchSettings(salvage=False))


def test_a_broken_simulation_is_not_used() -> None:
    assert choose_stretches([attempt(0, 200, True, diverged=True)], 3, FPS, StretchSettings()) == []
    with pytest.raises(SettingsError):
        StretchSettings(shortest=0.0)
