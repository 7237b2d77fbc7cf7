"""Moving contacts and taking the body along.

Every contact event is given a shift. A limb follows its own: constant over an event, an ease from one event's shift to the next's
in between. The trunk follows the feet (and hands, less), smoothly. Knees and elbows go half and half. With it a foothold is put
onto a cell, a flight of stairs is stretched, a box is made higher, a gap wider; what the limbs then cannot reach the fit sorts
out.

In flight the trunk's shift changes at a constant rate: adding a constant velocity to a fall leaves it a fall.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from parc.mocap.contact.find_contacts import Contacts
from parc.mocap.contact.support_levels import Held, Supports
from parc.mocap.read.joint_naming import SIDES
from parc.mocap.subject.body_landmarks import Landmarks

Array = NDArray[np.float64]


@dataclass(frozen=True)
class WarpSettings:
    hand_share: float = 0.35
    """weight of hands against feet in what the trunk follows"""
    trunk_smoothing: float = 0.1
    """s"""
    hand_memory: float = 0.4
    """s after which a free hand follows the trunk alone"""


def warp(
    marks: Landmarks,
    supports: Supports,
    shifts: Sequence[Array],
    levels: Sequence[float] | None = None,
    settings: WarpSettings = WarpSettings(),
) -> tuple[Landmarks, Supports]:
    """Landmarks at the rate of the supports, and the supports, with event i moved by shifts[i] [3] and then said to be on
    levels[i] (by default the level it was on)."""
    frames, fps = supports.contacts.frames, marks.fps
    limbs = {(side, limb): _limb_track(supports, shifts, side, limb) for side in SIDES for limb in ("foot", "hand")}
    total, weight = np.zeros((frames, 3)), np.full((frames, 1), 1e-6)
    for (_, limb), (track, touching) in limbs.items():
        w = (1.0 if limb == "foot" else settings.hand_share) * touching[:, None]
        total, weight = total + w * track, weight + w
    trunk = filled(total / weight, weight[:, 0] > 0.01, eased=False)
    trunk = ndimage.gaussian_filter1d(trunk, settings.trunk_smoothing * fps, axis=0, mode="nearest")
    offsets = {}
    for (side, limb), (track, touching) in limbs.items():
        if not touching.any():
            offsets[side, limb] = trunk
        elif limb == "hand":
            away = ndimage.distance_transform_edt(~touching) / fps if not touching.all() else np.zeros(frames)
            share = np.clip(away / settings.hand_memory, 0, 1)[:, None]
            offsets[side, limb] = (1 - share) * track + share * trunk
        else:
            offsets[side, limb] = track
    moved = {place: track + _offset(place, offsets, trunk) for place, track in marks.at.items()}
    on = [h.level for h in supports.held] if levels is None else levels
    held = tuple(
        Held(h.event.moved(h.event.points + shift), float(level))
        for h, shift, level in zip(supports.held, shifts, on, strict=True)
    )
    warped = Landmarks(marks.name, moved, marks.fps, marks.subject)
    return warped, Supports(Contacts(frames, tuple(h.event for h in held)), held, tuple(sorted({h.level for h in held})))


def _limb_track(supports: Supports, shifts: Sequence[Array], side: str, limb: str) -> tuple[Array, NDArray[np.bool_]]:
    """Shift [T, 3] of a limb and where it touches [T]."""
    total, count = np.zeros((supports.contacts.frames, 3)), np.zeros(supports.contacts.frames)
    for held, shift in zip(supports.held, shifts, strict=True):
        e = held.event
        if e.side == side and (e.part == "hand") == (limb == "hand"):
            total[e.start : e.stop] += shift
            count[e.start : e.stop] += 1
    touching = count > 0
    return filled(total / np.maximum(count, 1)[:, None], touching), touching


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


def _offset(place: str, offsets: dict[tuple[str, str], Array], trunk: Array) -> Array:
    side, _, part = place.partition("_")
    if part in ("ankle", "toe"):
        return offsets[side, "foot"]
    if part == "knee":
        return 0.5 * (offsets[side, "foot"] + trunk)
    if part == "wrist":
        return offsets[side, "hand"]
    if part == "elbow":
        return 0.5 * (offsets[side, "hand"] + trunk)
    return trunk
