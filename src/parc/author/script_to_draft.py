"""From a script to a first motion: tracks of the trunk and of the four ends, limbs bent by two-bone inverse kinematics.

Feet stand as the script says and swing between their stances; hands hang beside the body, swing with the opposite foot, and
leave that for their holds: what is added to the hanging hand is interpolated between holds and falls to nothing `REACH` s before
the first and after the last. The draft breaks the laws of mechanics, reaches too far here and is inside a wall there; the fit
(`parc.author.solve_motions`) repairs that and keeps what it can of the draft.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import interpolate, ndimage

from parc.author.skill_script import SIGN, Array, Grip, Key, Script, Step, Via
from parc.character.character import Character
from parc.fit.held_parts import SIDES, held_labels
from parc.fit.two_bone_ik import limb_bones
from parc.mocap.subject.body_landmarks import Landmarks
from parc.mocap.subject.calibrate_subject import Fitted
from parc.mocap.subject.closed_form_pose import StartPose, start_pose, unit
from parc.mocap.subject.human_anatomy import Anatomy

NDBool = NDArray[np.bool_]
FPS = 30.0
REACH = 0.4
"""s in which a hand leaves its swing for a hold"""
_TOE_OFF = 0.75
"""rad, pitch of a foot (nose down) that leaves"""
_ANKLE = (-0.4, 0.75)
"""rad, pitch of a free foot against its shin"""
_LIFT = 0.07
"""m, height of a swinging ankle over the line between its stances"""


@dataclass(frozen=True, eq=False)
class Draft:
    """A script as tracks: how to begin, and what must be held where."""

    script: Script
    start: StartPose
    held: torch.Tensor
    """[T, 6] 1 where a part is held, in the order of PARTS"""
    place: torch.Tensor
    """[T, 6, 3] where: heel and toe edge of the sole, centre of the hand"""
    normal: torch.Tensor
    """[T, 6, 3] of the surface that holds it"""

    def __len__(self) -> int:
        return len(self.held)

    def contacts(self, character: Character) -> torch.Tensor:
        """[T, B] labels of hands and feet."""
        return held_labels(character, self.held)


def draft(script: Script, character: Character) -> Draft:
    """The first motion of a script, and what it holds."""
    anatomy = Anatomy.of(character)
    times = np.arange(round(script.duration * FPS) + 1) / FPS
    held, place, normal = np.zeros((len(times), 6)), np.zeros((len(times), 6, 3)), np.zeros((len(times), 6, 3))
    trunk = _Trunk(script.keys, times, character, anatomy)
    marks: dict[str, Array] = trunk.marks()

    # feet as the script says, knees between them and the hips
    feet = {side: _Foot(script, side, times, anatomy) for side in SIDES}
    for k, side in enumerate(SIDES):
        foot = feet[side]
        for row, part in ((k, "heel"), (2 + k, "toe")):
            held[:, row], place[:, row], normal[:, row] = foot.held[part], foot.place[part], foot.normal
        across = _spin(trunk.yaw, np.array([0.0, 1.0, 0.0]))
        pole = np.cross(unit(foot.ankle - marks[f"{side}_hip"]), across) + 0.12 * SIGN[side] * across
        knee = _bent(character, marks[f"{side}_hip"], foot.ankle, pole, f"{side}_knee", f"{side}_ankle")
        foot.keep_to_shin(knee)
        marks[f"{side}_knee"], marks[f"{side}_ankle"] = knee, foot.ankle
        marks[f"{side}_toe"] = foot.ankle + _spin(foot.yaw, _nod(foot.pitch, anatomy.toe))

    # hands that swing with the opposite foot, or hold
    for k, side in enumerate(SIDES):
        opposite = feet["right" if side == "left" else "left"].ankle
        free = _hanging_hand(trunk, marks[f"{side}_shoulder"], opposite, SIGN[side], script.brisk)
        hand, share, elbow = _hand(script, side, times, free, anatomy.palm_drop)
        grips = [g for g in script.grips if g.side == side]
        for grip in grips:
            at = _within(times, grip.start, grip.stop)
            held[at, 4 + k], normal[at, 4 + k] = 1, grip.normal
            place[at, 4 + k] = np.array(grip.place) + anatomy.palm_drop * np.array(grip.normal)
        loose = _spin(trunk.yaw, np.array([-0.7, 0.35 * SIGN[side], -0.6]))
        pole = (1 - share[:, None]) * loose + share[:, None] * _spin(trunk.yaw, elbow)
        marks[f"{side}_wrist"] = hand
        marks[f"{side}_elbow"] = _bent(character, marks[f"{side}_shoulder"], hand, pole, f"{side}_elbow", f"{side}_wrist")

    # joint angles of all that
    pitch = float(np.arctan2(-anatomy.toe[2], anatomy.toe[0]))
    start = start_pose(character, Fitted(Landmarks(script.name, marks, FPS), pitch, 1.0))

    def tensor(values: Array) -> torch.Tensor:
        return torch.as_tensor(values).float()

    return Draft(script, start, tensor(held), tensor(place), tensor(normal))


class _Trunk:
    def __init__(self, keys: Sequence[Key], times: Array, character: Character, anatomy: Anatomy) -> None:
        self.pos = np.stack([_channel(keys, name, times) for name in ("x", "y", "z")], -1)
        self.pelvis, self.chest, self.yaw = (_channel(keys, name, times) for name in ("pelvis", "chest", "yaw"))
        self.character, self.anatomy = character, anatomy

    def marks(self) -> dict[str, Array]:
        bodies, body = self.character.bodies, self.anatomy.body
        chest = self.character.parents[body["left_shoulder"]]
        low = {"pelvis": (0.0, 0.0, 0.0)} | {f"{s}_hip": bodies[body[f"{s}_hip"]].offset for s in SIDES}
        high = {f"{s}_shoulder": bodies[body[f"{s}_shoulder"]].offset for s in SIDES} | {"neck": bodies[body["head"]].offset}
        marks = {name: self.pos + _spin(self.yaw, _nod(self.pelvis, np.array(offset))) for name, offset in low.items()}
        waist = self.pos + _spin(self.yaw, _nod(self.pelvis, np.array(bodies[chest].offset)))
        marks |= {name: waist + _spin(self.yaw, _nod(self.chest, np.array(offset))) for name, offset in high.items()}
        marks["spine"] = waist
        marks["head"] = marks["neck"] + _spin(self.yaw, _nod(0.45 * self.chest, np.array([0.0, 0.0, 0.2])))
        return marks


class _Foot:
    """Ankle [T, 3], pitch [T] and yaw [T] of a foot, where its heel and toe are held, and on what."""

    def __init__(self, script: Script, side: str, times: Array, anatomy: Anatomy) -> None:
        steps = sorted((s for s in script.steps if s.side == side), key=lambda s: s.start)
        self.heel_local, self.toe_local = anatomy.sole[:2].mean(0), anatomy.toe
        t = len(times)
        self.ankle, self.pitch, self.yaw = np.zeros((t, 3)), np.zeros(t), np.zeros(t)
        self.held = {part: np.zeros(t) for part in ("heel", "toe")}
        self.place = {part: np.zeros((t, 3)) for part in ("heel", "toe")}
        self.normal = np.zeros((t, 3))
        for step in steps:
            at = _within(times, step.start, step.stop)
            self.ankle[at], self.pitch[at] = self._stance(step, times[at])
            self.yaw[at], self.normal[at] = step.yaw, step.normal
            heel, toe = self._points(step)
            flat, lift = _phases(step)
            self.place["heel"][at], self.place["toe"][at] = heel, toe
            on_toe, on_heel = (step.start, flat) if step.strike > 0 else (flat, step.start)
            self.held["toe"][at] = times[at] >= on_toe - 1e-9
            self.held["heel"][at] = 0.0 if step.toe_only else _within(times[at], on_heel, lift)
        for before, after in pairwise(steps):
            self._swing(before, after, [v for v in script.vias if v.part == f"{side}_foot"], times)
        if steps:
            self._hold_still(times < steps[0].start - 1e-9, steps[0], steps[0].start)
            self._hold_still(times > steps[-1].stop + 1e-9, steps[-1], steps[-1].stop)

    def _points(self, step: Step) -> tuple[Array, Array]:
        """Where heel and toe touch, [3]."""
        place = np.array(step.place)
        if step.toe_only:
            return place, place
        along = np.array([np.cos(step.yaw), np.sin(step.yaw), 0.0])
        return place + self.heel_local[0] * along, place + self.toe_local[0] * along

    def _stance(self, step: Step, times: Array) -> tuple[Array, Array]:
        heel, toe = self._points(step)
        flat, lift = _phases(step)
        if step.toe_only:
            pitch = np.full(len(times), step.pitch)
            return toe - _spin(step.yaw, _nod(pitch, self.toe_local)), pitch
        landing = np.clip((flat - times) / max(flat - step.start, 1e-6), 0, 1) if flat > step.start else np.zeros(len(times))
        leaving = np.clip((times - lift) / max(step.stop - lift, 1e-6), 0, 1) if lift < step.stop else np.zeros(len(times))
        pitch = step.strike * landing + _TOE_OFF * leaving**1.4
        on_heel = heel - _spin(step.yaw, _nod(pitch, self.heel_local))
        on_toe = toe - _spin(step.yaw, _nod(pitch, self.toe_local))
        return np.where((pitch > 0)[:, None], on_toe, on_heel), pitch

    def _swing(self, before: Step, after: Step, vias: list[Via], times: Array) -> None:
        at = (times > before.stop + 1e-9) & (times < after.start - 1e-9)
        if not at.any():
            return
        (a,), (pitch_a,) = self._stance(before, np.array([before.stop]))
        (b,), (pitch_b,) = self._stance(after, np.array([after.start]))
        on_way = sorted((v for v in vias if before.stop < v.time < after.start), key=lambda v: v.time)
        knots = [before.stop, *(v.time for v in on_way), after.start]
        u = (times[at] - before.stop) / (after.start - before.stop)
        if on_way:
            track = np.array([a, *(np.array(v.place) for v in on_way), b])
            pitches = [pitch_a, *(v.pitch for v in on_way), pitch_b]
            self.ankle[at] = interpolate.PchipInterpolator(knots, track, axis=0)(times[at])
            self.pitch[at] = interpolate.PchipInterpolator(knots, pitches)(times[at])
        else:
            ease = u * u * (3 - 2 * u)
            self.ankle[at] = a + ease[:, None] * (b - a)
            self.ankle[at, 2] += _LIFT * np.sin(np.pi * u)
            self.pitch[at] = pitch_a + ease * (pitch_b - pitch_a)
        turn = np.angle(np.exp(1j * (after.yaw - before.yaw)))
        self.yaw[at] = before.yaw + u * u * (3 - 2 * u) * turn

    def keep_to_shin(self, knee: Array) -> None:
        """A free foot turns no farther against its shin than an ankle can."""
        shin = knee - self.ankle
        ahead = _spin(self.yaw, np.array([1.0, 0.0, 0.0]))
        lean = np.arctan2((shin * ahead).sum(-1), shin[:, 2])
        free = np.maximum(self.held["heel"], self.held["toe"]) == 0
        self.pitch = np.where(free, np.clip(self.pitch, lean + _ANKLE[0], lean + _ANKLE[1]), self.pitch)

    def _hold_still(self, at: NDBool, step: Step, when: float) -> None:
        (ankle,), (pitch,) = self._stance(step, np.array([when]))
        self.ankle[at], self.pitch[at], self.yaw[at] = ankle, pitch, step.yaw


def _phases(step: Step) -> tuple[float, float]:
    """When the sole is down and when the heel leaves."""
    return step.start if step.flat is None else step.flat, step.stop if step.lift is None else step.lift


def _hanging_hand(trunk: _Trunk, shoulder: Array, opposite: Array, sign: float, brisk: float) -> Array:
    """Hands [T, 3] that hang and swing with the opposite foot."""
    ahead = _spin(trunk.yaw, np.array([1.0, 0.0, 0.0]))
    swing = 0.42 * ((opposite - trunk.pos) * ahead).sum(-1)
    swing = ndimage.gaussian_filter1d(np.clip(swing, -0.3, 0.3), 2.0, mode="nearest")
    down = -0.49 + 0.2 * brisk + 0.35 * swing**2 + 0.5 * brisk * np.maximum(swing, 0)
    local = np.stack([0.05 + 0.12 * brisk + swing, np.full_like(swing, sign * 0.06), down], -1)
    return shoulder + _spin(trunk.yaw, local)


def _hand(script: Script, side: str, times: Array, free: Array, radius: float) -> tuple[Array, Array, Array]:
    """Track [T, 3] of a hand, how far it has left its swing [T], and where its elbow points [T, 3] then."""
    grips: list[Grip] = sorted((g for g in script.grips if g.side == side), key=lambda g: g.start)
    vias = [v for v in script.vias if v.part == f"{side}_hand"]
    if not grips and not vias:
        return free, np.zeros(len(times)), np.zeros((len(times), 3))
    outwards = np.array([1.0, SIGN[side], 1.0])
    at_time = _sampler(times, free)
    knots: dict[float, Array] = {}
    for grip in grips:
        for when in np.arange(max(grip.start, times[0]), min(grip.stop, times[-1]) + 1e-6, 1 / FPS):
            knots[float(when)] = np.array(grip.place) + radius * np.array(grip.normal) - at_time(float(when))
    for via in vias:
        knots[via.time] = np.array(via.place) - at_time(via.time)
    busy = sorted(knots)
    for earlier, later in zip([-1e9, *busy], [*busy, 1e9], strict=True):
        gap = later - earlier
        if gap > 2 * REACH:
            for when in (earlier + REACH, later - REACH):
                if times[0] - REACH <= when <= times[-1] + REACH:
                    knots[when] = np.zeros(3)
    knots.setdefault(times[0] - 2 * REACH, np.zeros(3))
    knots.setdefault(times[-1] + 2 * REACH, np.zeros(3))
    order = sorted(knots)
    added = interpolate.PchipInterpolator(order, np.array([knots[k] for k in order]), axis=0)(times)
    size = np.array([float(np.any(knots[k] != 0)) for k in order])
    share = interpolate.PchipInterpolator(order, size)(times)
    elbow = np.zeros((len(times), 3))
    middles = [0.5 * (g.start + g.stop) for g in grips]
    for row, when in enumerate(times):
        elbow[row] = np.array(grips[int(np.argmin(np.abs(np.array(middles) - when)))].elbow) * outwards if grips else (-1, 0, 0)
    return free + added, share, elbow


def _sampler(times: Array, track: Array) -> Callable[[float], Array]:
    return lambda when: np.array([np.interp(when, times, track[:, k]) for k in range(3)])


def _channel(keys: Sequence[Key], name: str, times: Array) -> Array:
    known = {k.time: getattr(k, name) for k in sorted(keys, key=lambda k: k.time) if getattr(k, name) is not None}
    if len(known) < 2:
        return np.full(len(times), next(iter(known.values()), 0.0))
    when = np.array(list(known))
    inside = np.clip(times, when[0], when[-1])
    spline = interpolate.PchipInterpolator(when, np.array(list(known.values())))
    slope = spline.derivative()
    track = spline(inside) + slope(inside) * (times - inside)
    return ndimage.gaussian_filter1d(track, 0.07 * FPS, mode="nearest")


def _within(times: Array, start: float, stop: float) -> NDBool:
    return (times >= start - 1e-9) & (times <= stop + 1e-9)


def _nod(pitch: Array, v: Array) -> Array:
    """A vector [3] turned about y by angles [T]: [T, 3]."""
    c, s = np.cos(pitch), np.sin(pitch)
    return np.stack([c * v[0] + s * v[2], np.full_like(c, v[1]), c * v[2] - s * v[0]], -1)


def _spin(yaw: Array | float, v: Array) -> Array:
    """Vectors [T, 3] or [3] turned about z by angles [T]: [T, 3]."""
    c, s = np.cos(yaw), np.sin(yaw)
    return np.stack(np.broadcast_arrays(c * v[..., 0] - s * v[..., 1], s * v[..., 0] + c * v[..., 1], v[..., 2]), -1)


def _bent(character: Character, start: Array, end: Array, pole: Array, *places: str) -> Array:
    """The knee or elbow [T, 3] of a limb that bends towards `pole`; its bones end at the two places."""
    upper, lower = (Anatomy.of(character).bone(character, place) for place in places)
    first, _ = limb_bones(torch.as_tensor(end - start), torch.as_tensor(pole), upper, lower, nearest=0.05, straight=0.995)
    return start + first.numpy()
