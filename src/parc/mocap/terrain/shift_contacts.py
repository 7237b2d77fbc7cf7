"""Moving contacts and taking the body along.

Every contact event is given a shift. A limb follows its own: constant over an event, an ease from one event's shift to the next's
in between. The trunk follows the feet (and hands, less), smoothly. Knees and elbows go half and half. With it a foothold is put
onto a cell, a flight of stairs is stretched, a box is made higher, a gap wider; what the limbs then cannot reach the fit sorts
out.

In flight the trunk's shift changes at a constant rate: adding a constant velocity to a fall leaves it a fall.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from parc.fit.held_parts import SIDES
from parc.mocap.contact.support_levels import Supports
from parc.mocap.subject.body_landmarks import Landmarks

Array = NDArray[np.float64]


@dataclass(frozen=True)
class WarpSettings:
    """How the body follows its contacts."""

    hand_share: float = 0.35
    """weight of hands against feet in what the trunk follows"""
    trunk_smoothing: float = 0.1
    """s"""
    hand_memory: float = 0.4
    """s after which a free hand follows the trunk alone"""


LIMBS: tuple[tuple[str, str], ...] = tuple((side, limb) for side in SIDES for limb in ("foot", "hand"))
Tracks = dict[tuple[str, str], Array]
"""[T, C] of each limb: x, y, z and whatever else its end is moved by"""
Touching = dict[tuple[str, str], NDArray[np.bool_]]
"""[T] of each limb: where it touches"""


def warp(
    marks: Landmarks,
    supports: Supports,
    shifts: Sequence[Array],
    levels: Sequence[float] | None = None,
    settings: WarpSettings = WarpSettings(),
) -> tuple[Landmarks, Supports]:
    """Landmarks at the rate of the supports, and the supports, with event i moved by `shifts[i]` [3] and then said to be on
    `levels[i]` (by default the level it was on)."""
    trunk, ends = follow_contacts(*limb_tracks(supports, shifts), settings, marks.fps)
    moved = {place: track + shift_of_place(place, trunk, ends) for place, track in marks.at.items()}
    return replace(marks, at=moved), supports.shifted(shifts, levels)


def limb_tracks(supports: Supports, shifts: Sequence[Array], columns: int = 3) -> tuple[Tracks, Touching]:
    """What each limb is moved by: shifts[i] ([C], or [F, C] of each of its frames) while event i is held, eased in between."""
    tracks: Tracks = {}
    held: Touching = {}
    for side, limb in LIMBS:
        total, count = np.zeros((supports.frames, columns)), np.zeros(supports.frames)
        for h, shift in zip(supports.held, shifts, strict=True):
            e = h.event
            if e.side == side and (e.part == "hand") == (limb == "hand"):
                total[e.start : e.stop] += shift
                count[e.start : e.stop] += 1
        touching = count > 0
        tracks[side, limb], held[side, limb] = filled(total / np.maximum(count, 1)[:, None], touching), touching
    return tracks, held


def follow_contacts(
    tracks: Tracks, held: Touching, settings: WarpSettings, fps: float, lying: tuple[Array, NDArray[np.bool_]] | None = None
) -> tuple[Array, Tracks]:
    """What the trunk is moved by [T, 3], and the limbs' ends [T, C].

    The trunk follows the limbs that are held; while only other bodies touch, `lying` (height [T], where [T]). Limbs that never
    touch follow the trunk, and so do hands some time before and after a hold.
    """
    frames, columns = tracks[LIMBS[0]].shape
    total, weight = np.zeros((frames, 3)), np.full((frames, 1), 1e-6)
    for key in LIMBS:
        w = (1.0 if key[1] == "foot" else settings.hand_share) * held[key][:, None]
        total, weight = total + w * tracks[key][:, :3], weight + w
    known = weight[:, 0] > 0.01
    if lying is not None:
        alone = lying[1] & ~known
        total[alone, 2], weight[alone], known = lying[0][alone], 1.0, known | alone
    trunk = filled(total / weight, known, eased=False)
    trunk = ndimage.gaussian_filter1d(trunk, settings.trunk_smoothing * fps, axis=0, mode="nearest")
    as_trunk = np.concatenate([trunk, np.zeros((frames, columns - 3))], -1)
    ends = {}
    for key, track in tracks.items():
        share = np.zeros((frames, 1))
        if not held[key].any():
            share = np.ones((frames, 1))
        elif key[1] == "hand" and not held[key].all():
            away = ndimage.distance_transform_edt(~held[key]) / fps
            share = np.clip(away / settings.hand_memory, 0, 1)[:, None]
        ends[key] = (1 - share) * track + share * as_trunk
    return trunk, ends


def filled(track: Array, known: NDArray[np.bool_], eased: bool = True) -> Array:
    """Unknown stretches led from the known frame before to the one after; the nearest known one at the ends."""
    if not known.any():
        return np.zeros_like(track)
    at = np.nonzero(known)[0]
    t = np.arange(len(track))
    after = np.searchsorted(at, t).clip(0, len(at) - 1)
    before = np.where(at[after] == t, after, (after - 1).clip(0))
    first, last = at[before], at[after]
    share = np.where(last > first, (t - first) / np.maximum(last - first, 1), 0.0).clip(0, 1)
    ease = (share * share * (3 - 2 * share) if eased else share)[:, None]
    return (1 - ease) * track[first] + ease * track[last]


def shift_of_place(place: str, trunk: Array, ends: Tracks) -> Array:
    """What a place of the body is moved by, [T, 3]: knees and elbows go half and half."""
    side, _, part = place.partition("_")
    limb = "foot" if part in ("ankle", "toe", "knee") else "hand" if part in ("wrist", "elbow") else None
    if limb is None:
        return trunk
    end = ends[side, limb][:, :3]
    return 0.5 * (end + trunk) if part in ("knee", "elbow") else end
