"""Selection: of many candidates for one path, keep the best (paper, E.1).

    L_motion = L_pen + L_contact + 1000 (end of path not reached)

The paper's losses do not see a body that hangs in the air: a candidate that flies over a void touches nothing and penetrates
nothing. Ours adds a price and a limit for floating frames, and ranks candidates over any limit behind all others.
`SelectSettings.paper()` is the formula above alone; its limits only say which motions are thrown away once the best is chosen.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from parc.metrics.clip_batch import ClipBatch
from parc.metrics.free_flight import GRAVITY, flight_error
from parc.metrics.terrain_fit import contact_loss, penetration_loss

_BEHIND = 1e6


@dataclass(frozen=True)
class SelectSettings:
    """What makes a candidate good, and what makes it valid."""

    incomplete: float = 1000.0
    """added where the end of the path was not reached (paper)"""
    floating: float = 0.05
    """for each frame, per m/s2 that the centre of mass in flight misses free fall by; 0: the paper's heuristic"""
    slowness: float = 0.0
    """for each second of the motion"""
    largest_penetration: float = 80.0
    """m of TPL above which a candidate is not valid (released code)"""
    largest_contact: float = 30.0
    """m of TCL above which a candidate is not valid (released code)"""
    most_floating: int | None = 6
    """floating frames above which a candidate is not valid; a foot that pushes off a wall's face gives six at most; None: any"""
    absolute: bool = False
    """a labelled body inside the ground misses its contact too: |sd| in L_contact (paper), else max(0, sd) (released code)"""
    valid_first: bool = True
    """candidates that are not valid rank behind all others; False: the score alone decides (paper)"""

    @classmethod
    def paper(cls) -> "SelectSettings":
        """The paper's heuristic alone; the released code's limits (end reached, TPL, TCL) are told, and do not rank."""
        return cls(floating=0.0, slowness=0.0, most_floating=None, absolute=True, valid_first=False)


@dataclass(frozen=True, eq=False)
class Selection:
    """Candidates, judged."""

    score: Tensor
    """[N], lower is better"""
    rank: Tensor
    """[N] what candidates are chosen by, lower is better: the score, and more where one is not valid and that counts"""
    valid: Tensor
    """[N] bool: reached the end within all limits"""
    penetration: Tensor
    """[N] TPL, m summed"""
    contact: Tensor
    """[N] TCL, m summed"""

    def best(self, groups: Tensor, count: int = 1) -> list[list[int]]:
        """Rows of the `count` best candidates of each group [N] (0, 1, ...), best first."""
        order = torch.argsort(self.rank, stable=True).tolist()
        picked: list[list[int]] = [[] for _ in range(int(groups.max()) + 1)]
        for row in order:
            chosen = picked[int(groups[row])]
            if len(chosen) < count:
                chosen.append(row)
        return picked


def select(batch: ClipBatch, reached: Tensor, settings: SelectSettings = SelectSettings()) -> Selection:
    """Score candidates; `reached` [N] bool says which came to the end of their path."""
    penetration, contact = penetration_loss(batch), contact_loss(batch, settings.absolute)
    error, judged = flight_error(batch)
    score = penetration + contact + settings.incomplete * (~reached) + settings.floating * (error * judged).sum(1)
    score = score + settings.slowness * batch.frames / batch.fps
    floating = (judged & (error > GRAVITY / 2)).sum(1)
    valid = reached & (penetration < settings.largest_penetration) & (contact < settings.largest_contact)
    if settings.most_floating is not None:
        valid &= floating <= settings.most_floating
    rank = score + torch.where(valid, 0.0, _BEHIND) if settings.valid_first else score
    return Selection(score, rank, valid, penetration, contact)
