"""Changes of a motion by hand over a range of frames: the root moved, a joint bent, contacts labelled.

A change of frames start .. stop-1 is full inside the range and fades to nothing over `fade` frames outside it, so that the pose
does not jump at its ends (a cosine ramp, 0.5 (1 + cos(pi k / (fade + 1))) at k frames outside).
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import MotionError
from parc.metrics.clip_batch import ClipBatch


def ramp(frames: int, start: int, stop: int, fade: int) -> Tensor:
    """Weight [T] of a change: 1 in start .. stop-1, falling to 0 over `fade` frames on both sides."""
    _check_range(frames, start, stop)
    if fade < 0:
        raise MotionError(f"a change fades over {fade} frames, expected 0 or more")
    at = torch.arange(frames)
    outside = torch.maximum(start - at, at - (stop - 1)).clamp(0, fade + 1)
    return 0.5 * (1 + torch.cos(math.pi * outside / (fade + 1)))


def offset_root(
    clip: Clip, shift: tuple[float, float, float], turn: float = 0.0, start: int = 0, stop: int | None = None, fade: int = 0
) -> Clip:
    """The root shifted by metres and turned by `turn` rad about the vertical through where it is."""
    motion = clip.motion
    stop = len(motion) if stop is None else stop
    if not all(map(math.isfinite, (*shift, turn))):
        raise MotionError(f"the root cannot be moved by {shift} m and {turn} rad")
    weight = ramp(len(motion), start, stop, fade).to(motion.root_pos)
    root_pos = motion.root_pos + weight[:, None] * motion.root_pos.new_tensor(shift)
    root_rot = rotation.normalize(rotation.multiply(rotation.from_yaw(weight * turn), motion.root_rot))
    moved = ", ".join(f"{x:g}" for x in shift)
    label = f"offset root {moved} m {math.degrees(turn):g} deg {start}..{stop}"
    return clip.derived(clip.name, label, motion=replace(motion, root_pos=root_pos, root_rot=root_rot))


def bend_joint(
    clip: Clip,
    character: Character,
    body: str,
    angles: Sequence[float],
    start: int = 0,
    stop: int | None = None,
    fade: int = 0,
) -> Clip:
    """A joint turned further by angles (rad): one about a hinge's axis, or an exponential map [3] in the parent's frame."""
    motion = clip.motion
    stop = len(motion) if stop is None else stop
    joint = character.bodies[character.index(body)].joint
    if joint.dof == 0:
        raise MotionError(f"'{body}' is the root or has a fixed joint, so it cannot be bent")
    if len(angles) != joint.dof or not all(map(math.isfinite, angles)):
        raise MotionError(f"the joint of '{body}' needs {joint.dof} angles, got {list(angles)}")
    turn = sum(a * torch.tensor(axis, dtype=motion.joint_rot.dtype) for a, axis in zip(angles, joint.axes, strict=True))
    weight = ramp(len(motion), start, stop, fade).to(motion.joint_rot)
    row = character.index(body) - 1
    joint_rot = motion.joint_rot.clone()
    bent = rotation.multiply(rotation.from_exp(weight[:, None] * turn), joint_rot[:, row])
    joint_rot[:, row] = torch.where(weight[:, None] > 0, rotation.normalize(bent), joint_rot[:, row])
    degrees = ", ".join(f"{math.degrees(a):g}" for a in angles)
    return clip.derived(clip.name, f"bend {body} {degrees} deg {start}..{stop}", motion=replace(motion, joint_rot=joint_rot))


def label_contacts(clip: Clip, character: Character, bodies: Sequence[str], start: int, stop: int, touching: bool) -> Clip:
    """Contact labels of some bodies set or cleared in frames start .. stop-1."""
    _check_range(len(clip.motion), start, stop)
    if not bodies:
        raise MotionError(f"no body was named to label; known are {', '.join(character.names)}")
    contacts = clip.motion.contacts.clone()
    contacts[start:stop, [character.index(name) for name in bodies]] = float(touching)
    label = f"contacts of {', '.join(bodies)} {'on' if touching else 'off'} {start}..{stop}"
    return clip.derived(clip.name, label, motion=replace(clip.motion, contacts=contacts))


def label_by_geometry(
    clip: Clip, character: Character, distance: float = 0.03, speed: float = 0.5, bodies: Sequence[str] | None = None
) -> Clip:
    """A body touches where it is nearer to the ground than `distance` m and its nearest point slower than `speed` m/s."""
    if not (distance >= 0 and speed >= 0):
        raise MotionError(f"contacts cannot be found with a distance of {distance} m and a speed of {speed} m/s")
    clip.check_fits(character)
    batch = ClipBatch.stack([clip], character)
    columns = [character.index(name) for name in bodies] if bodies else list(character.key_bodies)
    rows = batch.surface.by_body[columns]
    points = batch.points[0][:, rows.flatten()].unflatten(1, tuple(rows.shape))
    clearance = batch.point_clearance[0][:, rows.flatten()].unflatten(1, tuple(rows.shape))
    if len(clip.motion) > 1:
        velocity = (points[1:] - points[:-1]).norm(dim=-1) * batch.fps
        slowest = torch.minimum(torch.cat([velocity[:1], velocity]), torch.cat([velocity, velocity[-1:]]))
    else:
        slowest = torch.zeros_like(clearance)
    touching = ((clearance < distance) & (slowest < speed)).any(-1)
    contacts = clip.motion.contacts.clone()
    contacts[:, columns] = touching.to(contacts)
    label = f"contacts from geometry {distance:g} m {speed:g} m/s"
    return clip.derived(clip.name, label, motion=replace(clip.motion, contacts=contacts))


def _check_range(frames: int, start: int, stop: int) -> None:
    if not 0 <= start < stop <= frames:
        raise MotionError(f"frames {start}..{stop} are not inside a motion of {frames} frames")
