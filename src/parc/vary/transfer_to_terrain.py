"""A clip carried to new ground: where everything should be before it is fitted.

1. Flights are given their new time (`parc.vary.retime_flights`), all else keeps its own.
2. The body is turned and moved along its new way (`parc.vary.bent_route`).
3. Contacts go where their ground goes, and from there onto cells (`parc.mocap.terrain.snap_footholds`).
4. Each limb follows its contacts, eased in between; the trunk follows the limbs; in flight the centre of mass falls freely.

All of it is small arrays and no fit: milliseconds a variation, in any process.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from parc.character import rotation
from parc.character.character import Character
from parc.character.inertia import centre_of_mass
from parc.dataset.clip import Clip
from parc.fit.held_parts import SIDES
from parc.mocap.contact.clip_supports import Footing, retimed_supports
from parc.mocap.contact.support_levels import Held, Supports
from parc.mocap.subject.body_landmarks import Landmarks, turned_xy
from parc.mocap.subject.calibrate_subject import Fitted
from parc.mocap.subject.closed_form_pose import StartPose
from parc.mocap.subject.human_anatomy import Anatomy
from parc.mocap.terrain.shift_contacts import WarpSettings, follow_contacts, limb_tracks, shift_of_place
from parc.mocap.terrain.snap_footholds import FootingSettings, heights_under, settle
from parc.motion.motion import Motion
from parc.motion.motion_edits import sample
from parc.terrain.terrain import Terrain
from parc.vary.bent_route import BentRoute
from parc.vary.retime_flights import ballistic_shift, flight_factor, new_times
from parc.vary.variation_ranges import Variation
from parc.vary.varied_terrain import Footholds, GroundSettings, varied_ground
from parc.vary.walk_terraces import terrace_frames, terrace_lift

Array = NDArray[np.float64]
_SHORT = 0.03
"""share of a flight's time that is not worth a change"""
_NEAR = 15
"""frames from a flight within which a contact is its start or end"""
_FAR = 0.3
"""m along the ground of a flight that goes somewhere"""
_HURDLE = 0.1
"""m that ground in between is higher than the ends of a flight over it"""


@dataclass(frozen=True)
class CarrySettings:
    """Of the parts of a transfer."""

    ground: GroundSettings = GroundSettings()
    footing: FootingSettings = FootingSettings()
    warp: WarpSettings = WarpSettings()


@dataclass(frozen=True, eq=False)
class Carried:
    """What to fit, in the frame of the new ground."""

    variation: Variation
    """without what the clip gives no occasion for"""
    motion: Motion
    """the old joints on the new way: a start"""
    goals: Landmarks
    turns: NDArray[np.float32]
    """[T, B, 3, 3] how bodies should be turned in the world"""
    supports: Supports
    terrain: Terrain
    flying: NDArray[np.bool_]
    """[T]"""
    conflict: float
    """% of contact frames whose ground is not at their level"""

    @property
    def fitted(self) -> Fitted:
        """The goals as a take in the character's size."""
        return Fitted(self.goals, 0.0, 1.0)

    @property
    def start(self) -> StartPose:
        """The poses to begin with."""
        m = self.motion
        return StartPose(m.root_pos, m.root_rot, m.joint_rot, torch.as_tensor(self.turns))


def carry(
    clip: Clip, footing: Footing, variation: Variation, character: Character, settings: CarrySettings = CarrySettings()
) -> Carried:
    """The four steps above."""
    anatomy = Anatomy.of(character)

    # what the clip gives no occasion for is left out
    chosen = footing.long_flight(variation.flight, clip.motion.fps)
    if chosen is not None or not variation.leap:
        variation = replace(variation, leap=0.0)
    else:
        chosen = footing.jump_in_place(clip.motion.fps)
    if chosen is None:
        variation = replace(variation, lift=0.0, pit=0.0, leap=0.0)
    places = terrace_frames(footing, _busy(clip, anatomy), clip.motion.fps)
    if not places:
        variation = replace(variation, terraces=())

    # flights take their time, the body its way, contacts their places on cells
    lift = _lift(footing, variation, chosen) + terrace_lift(len(clip.motion), places, variation.terraces)
    motion, footing, lift = _retimed(clip, footing, variation, lift)
    pose = motion.body_poses(character)
    pos = pose.pos.double().numpy()
    ground = footing.ground
    route = BentRoute.of(pos[:, 0], footing, variation, motion.fps, _leap(motion, footing, variation, chosen))
    if not np.ptp(route.turn):
        variation = replace(variation, bend=0.0)
    footholds = _footholds(footing.supports, route, variation, ground, lift)
    raised = lift - _pit(footing, variation, chosen)
    terrain = varied_ground(clip.terrain, route, variation, ground, footholds, raised, settings.ground)
    shifts = settle(footholds.supports, terrain, settings.footing)
    supports = footholds.supports.shifted(shifts)

    # limbs follow their contacts, the trunk the limbs; in flight the centre of mass falls
    body = route.body(pos)
    tracks = limb_tracks(footing.supports, _limb_shifts(footing.supports, footholds, supports, route, pos, body, anatomy), 4)
    trunk, ends = follow_contacts(*tracks, settings.warp, motion.fps, _lying(clip, motion, variation, ground, lift))
    mass = centre_of_mass(character, pose)[:, 2].double().numpy() + trunk[:, 2]
    falling, pushing = ballistic_shift(mass, list(footing.flights), motion.fps)
    trunk[:, 2] += pushing
    for end in ends.values():
        end[:, 2] += falling
    joints = [joint for limb in anatomy.limbs for joint in limb]
    at = {joint: body[:, anatomy.body[joint]] + shift_of_place(joint, trunk, ends) for joint in joints}

    # bodies turn with the way, feet with the ground they stand on
    yaw = np.tile(route.turn[:, None], (1, len(character)))
    for side in SIDES:
        yaw[:, anatomy.body[f"{side}_ankle"]] += ends[side, "foot"][:, 3]
    turn = rotation.from_yaw(torch.as_tensor(yaw).float())
    turns = rotation.to_matrix(rotation.multiply(turn, pose.rot)).numpy()
    start = replace(
        motion,
        root_pos=torch.as_tensor(body[:, 0] + trunk[:, :3]).float(),
        root_rot=rotation.multiply(turn[:, 0], motion.root_rot),
    )
    flying = np.zeros(len(motion), bool)
    for a, b in footing.flights:
        flying[a:b] = True
    goals = Landmarks(clip.name, at, motion.fps)
    return Carried(variation, start, goals, turns, supports, terrain, flying, _conflict(supports, terrain, settings.footing))


def _lift(footing: Footing, variation: Variation, chosen: int | None) -> Array:
    """[T] m by which the ground is raised after the chosen flight."""
    lift = np.zeros(footing.supports.frames)
    if chosen is not None:
        a, b = footing.flights[chosen]
        lift[(a + b) // 2 :] = variation.lift
    return lift


def _pit(footing: Footing, variation: Variation, chosen: int | None) -> Array:
    """[T] m by which the ground under the middle of the chosen flight is lowered."""
    depth = np.zeros(footing.supports.frames)
    if chosen is not None and variation.pit:
        a, b = footing.flights[chosen]
        edge = round(0.25 * (b - a))
        depth[a + edge : b - edge] = variation.pit
    return depth


def _leap(motion: Motion, footing: Footing, variation: Variation, chosen: int | None) -> tuple[tuple[int, int], Array] | None:
    """The chosen flight and the way it goes farther, forward."""
    if chosen is None or not variation.leap:
        return None
    flight = footing.flights[chosen]
    yaw = float(rotation.yaw(motion.root_rot[flight[0]]))
    return flight, variation.leap * np.array([np.cos(yaw), np.sin(yaw)])


def _busy(clip: Clip, anatomy: Anatomy) -> NDArray[np.bool_]:
    """[T] whether something else than a foot touches."""
    others = clip.motion.contacts.clone()
    others[:, anatomy.feet] = 0
    return (others > 0.5).any(1).numpy()


def _retimed(clip: Clip, footing: Footing, variation: Variation, lift: Array) -> tuple[Motion, Footing, Array]:
    """With the time that flights take on the new ground; `lift` [T] in the time of before and then of now."""
    motion = clip.motion
    factors = [_factor(clip, footing, variation, (a, b), float(lift[b] - lift[a - 1])) for a, b in footing.flights]
    if all(abs(f - 1) < _SHORT for f in factors):
        return motion, footing, lift
    starts = new_times(len(motion), list(footing.flights), factors)
    at = np.interp(np.arange(int(np.floor(starts[-1] + 1e-6)) + 1), starts, np.arange(len(motion)))
    flights = [(int(np.ceil(starts[a] - 1e-6)), min(int(np.ceil(starts[b] - 1e-6)), len(at) - 1)) for a, b in footing.flights]
    supports = retimed_supports(footing.supports, starts, at)
    changed = lift[np.floor(at + 1e-6).astype(int)]
    return sample(motion, torch.as_tensor(at)), Footing(supports, tuple(flights), footing.reach), changed


def _factor(clip: Clip, footing: Footing, variation: Variation, flight: tuple[int, int], lift: float) -> float:
    a, b = flight
    motion, held = clip.motion, footing.supports.held
    before = [h.level for h in held if h.event.start < a and h.event.stop >= a - _NEAR]
    after = [h.level for h in held if h.event.stop > b and h.event.start <= b + _NEAR]
    if not before or not after:
        return 1.0
    under = float(clip.terrain.height_at(motion.root_pos[a:b, :2]).max())
    old = np.array([np.mean(before), np.mean(after), under])
    new = variation.height(old, footing.ground) + np.array([0.0, lift, 0.0])
    way = (motion.root_pos[b, :2] - motion.root_pos[a - 1, :2]).double().numpy()
    far = float(np.linalg.norm(way))
    reach = float(np.linalg.norm(way * variation.stretch)) / far if far > _FAR else 1.0
    rise = float(motion.root_pos[b, 2] - motion.root_pos[a - 1, 2])
    hurdle = float(new[2] - new[:2].max() - (old[2] - old[:2].max())) if old[2] > old[:2].max() + _HURDLE else 0.0
    change = new - old
    return flight_factor((b - a + 1) / motion.fps, rise, rise + float(change[1] - change[0]), reach, hurdle)


def _footholds(supports: Supports, route: BentRoute, variation: Variation, ground: float, lift: Array) -> Footholds:
    """Each contact turned and moved with the ground it stands on."""
    held, frames = [], []
    for h in supports.held:
        e = h.event
        frame = (e.start + e.stop) // 2
        centre = e.centre[:2]
        place = route.place(centre, np.array(frame))
        level = float(variation.height(np.array(h.level), ground) + lift[frame])
        xy = place + turned_xy(e.points[..., :2] - centre, route.turn[frame])
        z = e.points[..., 2:] + (level - h.level)
        held.append(Held(e.moved(np.concatenate([xy, z], -1)), level))
        frames.append(frame)
    return Footholds(Supports.of(supports.frames, held), np.array(frames, dtype=np.int64))


def _limb_shifts(
    before: Supports, footholds: Footholds, after: Supports, route: BentRoute, pos: Array, body: Array, anatomy: Anatomy
) -> list[Array]:
    """For each contact how far its limb's end is from where the body takes it: x, y, z and heading [F, 4]."""
    shifts = []
    for old, new, frame in zip(before.held, after.held, footholds.frame, strict=True):
        e = old.event
        end = anatomy.body[f"{e.side}_{'wrist' if e.part == 'hand' else 'ankle'}"]
        span, angle = slice(e.start, e.stop), route.turn[frame]
        xy = new.event.centre[:2] + turned_xy(pos[span, end, :2] - e.centre[:2], angle) - body[span, end, :2]
        lift = np.full(e.stop - e.start, new.event.height - e.height)
        shifts.append(np.column_stack([xy, lift, angle - route.turn[span]]))
    return shifts


def _lying(clip: Clip, motion: Motion, variation: Variation, ground: float, lift: Array) -> tuple[Array, NDArray[np.bool_]]:
    """How far the ground under the root goes up [T], and where something touches it [T], be it the back in a roll."""
    under = heights_under(clip.terrain, motion.root_pos[:, :2])
    return variation.height(under, ground) - under + lift, (motion.contacts > 0.5).any(1).numpy()


def _conflict(supports: Supports, terrain: Terrain, settings: FootingSettings) -> float:
    """A contact is wrong if the ground under its middle is not at its level, or any of it is inside higher ground."""
    if not supports.held:
        return 0.0
    wrong = total = 0
    for h in supports.held:
        frames = h.event.stop - h.event.start
        points = np.concatenate([h.event.centre[None, :2], np.median(h.event.points, axis=0)[:, :2]])
        above = heights_under(terrain, points) - h.level
        wrong += frames * bool(abs(above[0]) > settings.same or above.max() > settings.same)
        total += frames
    return 100 * wrong / total
