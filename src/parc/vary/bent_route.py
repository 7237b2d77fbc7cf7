"""The way through the plane, bent and stretched, and what belongs to it taken along.

With r(t) the smoothed way of the root, S the stretch and R(t) the turn by the heading's change,

    r'(t) = r'(0) + integral of R S dr            a place x that belongs to time t goes to    r'(t) + R(t) S (x - r(t))

A leap moves all that comes after the middle of a flight by a way; the body goes it at a constant rate in flight, taken up while
pushing off and lost while landing.

A contact belongs to its own time, a piece of ground to the time at which the new way (or a contact) is nearest to where it ends
up. Without a bend all of it is one affine map of the plane. The body itself is turned, never stretched.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, spatial

from parc.mocap.contact.clip_supports import Footing
from parc.mocap.subject.body_landmarks import turned_xy
from parc.vary.variation_ranges import Variation

Array = NDArray[np.float64]
_SMOOTH = 0.25
"""s"""
_TURNING = 1.1
"""s that a bend takes"""
_PUSH = 0.3
"""s in which a leap's speed is taken up before the flight, and lost after"""
_EVERY = 3
"""frames between points of the way that ground is looked up by"""


@dataclass(frozen=True, eq=False)
class BentRoute:
    """The way of before, and what it becomes."""

    before: Array
    """[T, 2] the way, smoothed, m"""
    after: Array
    """[T, 2] what it becomes"""
    turn: Array
    """[T] rad"""
    stretch: Array
    """[2]"""
    leap: Array
    """[T, 2] what the body is moved by besides, m"""

    @classmethod
    def of(
        cls, root: Array, footing: Footing, variation: Variation, fps: float, leap: tuple[tuple[int, int], Array] | None = None
    ) -> "BentRoute":
        """The way of a variation; `leap` is a flight and the way [2] it goes farther."""
        # the turn of every frame, at its bend if it has one
        before = ndimage.gaussian_filter1d(root[:, :2], _SMOOTH * fps, axis=0, mode="nearest")
        turn = np.full(len(root), variation.yaw)
        if variation.bend:
            at = bend_frame(footing, len(root), variation.bend_at, fps)
            if at is not None:
                u = np.clip((np.arange(len(root)) - at) / (_TURNING * fps) + 0.5, 0, 1)
                turn = turn + variation.bend * u * u * (3 - 2 * u)

        # the way: its steps stretched and turned, and what a leap adds
        stretch = np.array(variation.stretch)
        steps = np.diff(before, axis=0) * stretch
        steps = turned_xy(steps, 0.5 * (turn[1:] + turn[:-1]))
        after = before[:1] + np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])
        smooth = np.zeros_like(after)
        if leap is not None:
            (a, b), way = leap
            frame, push = np.arange(len(root)), _PUSH * fps
            rate = np.clip(1 - np.maximum(a - frame, frame - b) / push, 0, 1)
            share = np.cumsum(rate) / rate.sum()
            there = (frame >= (a + b) // 2).astype(float)
            after = after + there[:, None] * turned_xy(way, turn[a])
            smooth = (share - there)[:, None] * turned_xy(way, turn[a])
        return cls(before, after, turn, stretch, smooth)

    def place(self, xy: Array, frame: NDArray[np.int64]) -> Array:
        """Where places [..., 2] of frames [...] go."""
        return self.after[frame] + turned_xy(self.stretch * (xy - self.before[frame]), self.turn[frame])

    def body(self, pos: Array) -> Array:
        """Positions [T, ..., 3] of the body, turned about the way, not stretched."""
        middle = (1,) * (pos.ndim - 2)
        away = pos[..., :2] - self.before.reshape(-1, *middle, 2)
        moved = (self.after + self.leap).reshape(-1, *middle, 2) + turned_xy(away, self.turn.reshape(-1, *middle))
        return np.concatenate([moved, pos[..., 2:]], -1)

    def origins(self, contacts: Array, frames: NDArray[np.int64], xy: Array) -> tuple[Array, NDArray[np.int64]]:
        """Where places [..., 2] of the new plane were, and the frames [...] they belong to; contacts [E, 2] of the new plane
        belong to `frames` [E]."""
        rows = np.concatenate([np.arange(0, len(self.after), _EVERY), frames])
        known = np.concatenate([self.after[::_EVERY], contacts.reshape(-1, 2)])
        row = rows[spatial.cKDTree(known).query(xy)[1]]
        return self.before[row] + turned_xy(xy - self.after[row], -self.turn[row]) / self.stretch, row


def bend_frame(footing: Footing, frames: int, share: float, fps: float) -> int | None:
    """A frame around which the body walks on one level and nobody holds on; None if there is none."""
    reach = round(0.6 * fps)
    level = np.full(frames, np.nan)
    bad = np.zeros(frames, bool)
    for h in footing.supports.held:
        span = slice(h.event.start, h.event.stop)
        bad[span] |= (h.event.part == "hand") | (np.abs(level[span] - h.level) > 0.05)
        level[span] = h.level
    for a, b in footing.flights:
        bad[a:b] = True
    known = np.nonzero(~np.isnan(level))[0]
    if not len(known):
        return None
    level = level[known[np.searchsorted(known, np.arange(frames)).clip(0, len(known) - 1)]]
    bad[1:] |= np.abs(np.diff(level)) > 0.05
    bad[:reach] = bad[frames - reach :] = True
    allowed = np.nonzero(~ndimage.binary_dilation(bad, iterations=reach // 2))[0]
    return int(allowed[min(int(share * len(allowed)), len(allowed) - 1)]) if len(allowed) else None
