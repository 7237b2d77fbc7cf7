"""Level ground made into terraces: a step up or down between one foothold and the next.

A place for a step is between two stances of different feet on one level, with nothing but feet on the ground around that time,
and without an early return: what is touched in the seconds after is apart from what was touched in those before, so that an edge
of cells can lie in between. All that comes after is higher or lower by the step.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial.distance import cdist

from parc.mocap.contact.clip_supports import Footing
from parc.mocap.terrain.snap_footholds import stances

_APART = 0.2
"""m along the ground between contacts before a step and after it"""
_SOON = 3.0
"""s before and after a step within which that is asked for"""
_LEVEL = 0.05
"""m between the heights of the two stances"""
_QUIET = 0.2
"""s around a step in which only feet touch"""


def terrace_frames(footing: Footing, busy: NDArray[np.bool_], fps: float) -> list[int]:
    """First frames of what would be after a step; `busy` [T] says when something else than a foot touches."""
    held = footing.supports.held
    groups = [[held[i] for i in group if held[i].event.part != "hand"] for group in stances(held)]
    feet = sorted((g for g in groups if g), key=lambda g: min(h.event.start for h in g))
    quiet = ~ndimage.binary_dilation(busy, iterations=max(round(_QUIET * fps), 1))
    middle = np.array([(h.event.start + h.event.stop) // 2 for h in held])
    centres = footing.supports.centres[:, :2]
    away = cdist(centres, centres)
    found = []
    for before, after in pairwise(feet):
        if before[0].event.side == after[0].event.side or abs(before[0].level - after[0].level) > _LEVEL:
            continue
        at = (max(h.event.stop for h in before) + min(h.event.start for h in after)) // 2
        soon = np.abs(middle - at) < _SOON * fps
        earlier, later = soon & (middle < at), soon & (middle >= at)
        if quiet[at] and earlier.any() and later.any() and away[earlier][:, later].min() > _APART:
            found.append(at)
    return found


def terrace_lift(frames: int, places: Sequence[int], steps: Sequence[tuple[float, float]]) -> NDArray[np.float64]:
    """[T] m by which the ground of each frame is raised; of several steps at one place the first counts.

    A step is a share 0..1 of the way through the places, and a height.
    """
    lift = np.zeros(frames)
    taken: set[int] = set()
    for share, height in steps:
        if places:
            at = places[min(int(share * len(places)), len(places) - 1)]
            lift[at:] += 0.0 if at in taken else height
            taken.add(at)
    return lift
