"""How much a training window counts by how it moves: level gait of people more, a shuffle in a crouch less.

A generator walks as its windows do. Motions that a simulated body made may be good climbs and bad walks at once: what is weighed
is not clips but seconds of them (`parc.metrics.gait_windows`). A second on level ground, standing to running, is judged by

    knee in stance      `KNEE` of its activity: as people up to the first number of degrees, as nobody from the second on
    R                   the same for the distance from people (`parc.metrics.naturalness`), if the statistics know the body

and counts from `unlike` to `like` (1 where it walks or runs too slowly for that), along the worse of the two. Steps, flights and
climbs count 1: there, knees must bend. Gait of people may also be played a little faster and slower, for the paces between.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.metrics.body_signals import signals_of
from parc.metrics.clip_batch import ClipBatch, groups
from parc.metrics.gait_windows import FEATURES, RUN, SLOW, STAND, WALK, WINDOW, gait_windows
from parc.metrics.people_statistics import people

KNEE = {STAND: (38.0, 46.0), SLOW: (38.0, 48.0), WALK: (38.0, 48.0), RUN: (50.0, 62.0)}
"""degrees, median of the knees that bear, by activity"""
RATIO = (1.5, 2.4)
"""R"""
_IN_STANCE = FEATURES.index("knee in stance")


@dataclass(frozen=True)
class GaitOdds:
    """What seconds of level gait count in training."""

    like: float = 1.0
    """of any other window, what one counts that walks or runs on level ground as people do"""
    unlike: float = 1.0
    """the same for one that stands, walks or runs there as nobody does"""
    tempos: tuple[float, ...] = ()
    """rates at which level walks and runs of people are also played, 1.1 is a tenth faster; together they count as one"""

    def __post_init__(self) -> None:
        if not (self.like > 0 and 0 < self.unlike <= self.like):
            raise SettingsError(f"gait counts from {self.unlike} to {self.like}, expected two numbers above 0, in order")
        if not all(0.5 <= tempo <= 2 and tempo != 1 for tempo in self.tempos):
            raise SettingsError(f"gait is played at rates {self.tempos}, expected numbers from .5 to 2 other than 1")

    @property
    def says_something(self) -> bool:
        """Whether windows are to be looked at."""
        return self != GaitOdds()


class GaitCounts(NamedTuple):
    """Of one clip, by the middle frame of a window."""

    counts: Tensor
    """[T] what it counts"""
    is_gait: Tensor
    """[T] 1 where people walk or run on the level, 0 elsewhere"""


def gait_counts(clips: Sequence[Clip], character: Character, odds: GaitOdds) -> list[GaitCounts]:
    """Of each clip; one shorter than a second counts 1."""
    result: list[GaitCounts] = []
    for group in groups(clips):
        batch = ClipBatch.stack(group, character)
        signals = signals_of(batch)
        found = None if signals is None else gait_windows(signals)
        if found is None or len(found.clip) == 0:
            result += [_as_any(len(c.motion)) for c in group]
            continue

        # how far each second is from people: 0 near, 1 far
        far, level = torch.zeros_like(found.features[:, 0]), torch.zeros_like(found.label, dtype=torch.bool)
        for label, knee in KNEE.items():
            mine = found.label == label
            level |= mine
            far = torch.where(mine, _between(found.features[:, _IN_STANCE], *knee), far)
        among = people()
        if among.character == character.fingerprint:
            left_out = among.row_of(batch.subjects)[found.clip]
            far = torch.maximum(far, _between(among.score(found.features, found.label, left_out).ratio, *RATIO))
        moves = (found.label == WALK) | (found.label == RUN)
        best = torch.where(moves, odds.like, min(1.0, odds.like))
        worth = torch.where(level, best + (odds.unlike - best) * far, 1.0)
        is_gait = moves * (1.0 - far)

        # each frame counts as the second whose middle is nearest
        middle = found.start + round(0.5 * WINDOW * batch.fps)
        for row, clip in enumerate(group):
            mine = found.clip == row
            frames = torch.arange(len(clip.motion))
            nearest = (frames[:, None] - middle[mine]).abs().argmin(1) if bool(mine.any()) else None
            known = nearest is not None
            result.append(GaitCounts(worth[mine][nearest], is_gait[mine][nearest]) if known else _as_any(len(frames)))
    return result


def _as_any(frames: int) -> GaitCounts:
    return GaitCounts(torch.ones(frames), torch.zeros(frames))


def _between(value: Tensor, none: float, full: float) -> Tensor:
    """0 up to `none`, 1 from `full` on; 0 for a number that is none."""
    return ((value - none) / (full - none)).clamp(0, 1).nan_to_num(0.0)
