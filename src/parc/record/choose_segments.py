"""Which parts of which attempts become clips: non-overlapping stretches of the reference with the most recorded time.

An attempt that reaches the end of the clip is worth all its frames, and the earliest such attempt is the paper's recording: it
is taken as it is. Frames before its start, or all of the clip where no attempt reached the end, are left for salvage: an
attempt that lost the pose still holds good motion until shortly before. `cut_before_failure` of it is thrown away, because a
fall begins before the pose counts as lost.

Salvage is a cover problem: attempts i hold frames [s_i, e_i); pieces are parts of them of at least m frames, and no two pieces
may share a frame. With best(t) the most frames recorded before t,

    best(t) = max( best(t - 1),  max_i max_{s_i <= a <= t - m} best(a) + t - a   over i with e_i >= t )

and of equal totals the one with fewer pieces, which is exact and linear in frames times attempts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from parc.errors import SettingsError
from parc.record.tracking_attempts import Attempt

_PIECE_COST = 1e-4
"""frames; smaller than a frame for any number of pieces: of equal totals the one with fewer pieces wins"""


@dataclass(frozen=True)
class StretchSettings:
    """Which parts of attempts may become recordings."""

    shortest: float = 2.0
    """s of a recorded stretch"""
    cut_before_failure: float = 0.5
    """s thrown away before the pose was lost"""
    salvage: bool = True
    """keep stretches of clips that were not tracked to their end; False: the paper's recordings only"""

    def __post_init__(self) -> None:
        if self.shortest <= 0 or self.cut_before_failure < 0:
            raise SettingsError(
                f"shortest is {self.shortest} s and cut_before_failure {self.cut_before_failure} s, expected > 0 and >= 0"
            )


@dataclass(frozen=True)
class RecordedStretch:
    """Frames begin .. stop-1 of the reference as an attempt simulated them."""

    attempt: Attempt
    begin: int
    stop: int
    complete: bool
    """the paper's recording: one attempt from its start to the clip's end"""

    def __len__(self) -> int:
        return self.stop - self.begin


def choose_stretches(attempts: Sequence[Attempt], settle: int, fps: float, settings: StretchSettings) -> list[RecordedStretch]:
    """From attempts at one clip, in order of time. Attempts whose simulation broke are not used."""
    usable = sorted((a for a in attempts if not a.diverged), key=lambda a: a.start)
    least = round(settings.shortest * fps)
    final = next((a for a in usable if a.reached_end and len(a.motion) - settle >= least), None)
    kept: list[RecordedStretch] = []
    limit: int | None = None
    if final is not None:
        kept = [RecordedStretch(final, final.start + settle, final.stop, True)]
        limit = kept[0].begin
    if not settings.salvage or not usable:
        return kept
    lost = round(settings.cut_before_failure * fps)
    held = []
    for attempt in usable:
        stop = attempt.stop if attempt.reached_end else attempt.stop - lost
        held.append((attempt.start + settle, stop if limit is None else min(stop, limit)))
    pieces = most_covered(held, least)
    return [RecordedStretch(usable[i], begin, stop, False) for i, begin, stop in pieces] + kept


def most_covered(intervals: Sequence[tuple[int, int]], least: int) -> list[tuple[int, int, int]]:
    """Disjoint parts (interval, begin, stop) of intervals [begin, stop), each at least `least` long, that cover the most."""
    end = max((stop for _, stop in intervals), default=0)
    best = [0.0] * (end + 1)
    taken: list[tuple[int, int] | None] = [None] * (end + 1)
    running: list[tuple[float, int] | None] = [None] * len(intervals)
    for t in range(1, end + 1):
        best[t] = best[t - 1]
        for i, (begin, stop) in enumerate(intervals):
            a = t - least
            if not begin <= a <= stop - least:
                continue
            candidate, previous = (best[a] - a, a), running[i]
            here = candidate if previous is None or candidate[0] > previous[0] else previous
            running[i] = here
            value = here[0] + t - _PIECE_COST
            if value > best[t]:
                best[t], taken[t] = value, (i, here[1])
    pieces = []
    t = end
    while t > 0:
        choice = taken[t]
        if choice is None:
            t -= 1
        else:
            pieces.append((choice[0], choice[1], t))
            t = choice[1]
    return pieces[::-1]
