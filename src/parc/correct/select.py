"""Selection: of many candidates for one path, keep the best (the paper's appendix "Selection Heuristic").

    L_motion = L_pen + L_contact + 1000 (end of path not reached)

The paper's losses do not see a body that hangs in the air: a candidate that flies over a void touches nothing and penetrates
nothing. A term and a limit for floating frames are added for that; weight 0 and no limit give the paper's heuristic.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from parc.metrics.batch import ClipBatch
from parc.metrics.flight import GRAVITY, flight_error
from parc.metrics.terrain_fit import contact_loss, penetration_loss


@dataclass(frozen=True)
class SelectSettings:
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
    most_floating: int = 6
    """floating frames above which a candidate is not valid; a foot that pushes off a wall's face gives six at most"""


@dataclass(frozen=True, eq=False)
class Selection:
    score: Tensor
    """[N], lower is better"""
    valid: Tensor
    """[N] bool: reached the end within all limits"""
    penetration: Tensor
    """[N] TPL, m"""
    contact: Tensor
    """[N] TCL, m"""

    def best(self, groups: Tensor, count: int = 1) -> list[list[int]]:
        """Rows of the `count` best candidates of each group [N] (0, 1, ...), best first, valid ones before others."""
        key = self.score + torch.where(self.valid, 0.0, 1e6)
        order = torch.argsort(key, stable=True).tolist()
        picked: list[list[int]] = [[] for _ in range(int(groups.max()) + 1)]
        for row in order:
            chosen = picked[int(groups[row])]
            if len(chosen) < count:
                chosen.append(row)
        return picked


def select(batch: ClipBatch, reached: Tensor, settings: SelectSettings = SelectSettings()) -> Selection:
    """Score candidates; `reached` [N] bool says which came to the end of their path."""
    penetration, contact = penetration_loss(batch), contact_loss(batch)
    error, judged = flight_error(batch)
    score = penetration + contact + settings.incomplete * (~reached) + settings.floating * (error * judged).sum(1)
    score = score + settings.slowness * batch.frames / batch.fps
    floating = (judged & (error > GRAVITY / 2)).sum(1)
    valid = reached & (penetration < settings.largest_penetration) & (contact < settings.largest_contact)
    valid &= floating <= settings.most_floating
    return Selection(score, valid, penetration, contact)
