"""Edits of a motion alone: cut, mirror, resample, stitch, take hesitations out.

`parc.dataset.clip_edits` does the same to a clip and carries terrain, path and provenance along.

Stitching shares one frame: the last of the first motion and the first of the second are the same moment. Where the two poses
differ, the difference at the seam,

    d = a_last b_0^-1    (rotations)        e = a_last - b_0    (root position)

is carried into the second motion and fades out over `blend` frames, q_i = d^(1 - w_i) b_i, w_i rising smoothly from 0 to 1.
Two pieces of one motion that overlap by a frame have no difference, so stitching them gives back the motion for any `blend`.
"""

import math
from dataclasses import replace

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.character.mirror_pose import mirror_contacts, mirror_joint_rotations, mirror_positions
from parc.errors import MotionError
from parc.motion.motion import Motion

HESITATION_DISTANCE = 0.15
"""m, norm over the coordinates of all bodies together"""
HESITATION_FRAMES = 4
"""shortest run of close frames that counts as a hesitation"""


def cut(motion: Motion, start: int, stop: int) -> Motion:
    """Frames start .. stop-1."""
    return motion.slice(start, stop)


def select(motion: Motion, frames: Tensor) -> Motion:
    """Frames by index [K] or by mask [T], in the order given."""
    return replace(
        motion,
        root_pos=motion.root_pos[frames],
        root_rot=motion.root_rot[frames],
        joint_rot=motion.joint_rot[frames],
        contacts=motion.contacts[frames],
    )


def mirror(motion: Motion, character: Character) -> Motion:
    """Left and right exchanged: the reflection in the world's plane y = 0."""
    motion.check_fits(character)
    return replace(
        motion,
        root_pos=mirror_positions(motion.root_pos),
        root_rot=rotation.reflect(motion.root_rot),
        joint_rot=mirror_joint_rotations(character, motion.joint_rot),
        contacts=mirror_contacts(character, motion.contacts),
    )


def resample(motion: Motion, fps: float) -> Motion:
    """The same motion at another frame rate: positions linear, rotations slerp, contacts of the nearest frame.

    The first frame is kept; up to one new frame's time is lost at the end where the duration is no multiple of it.
    """
    if not 0 < fps < math.inf:
        raise MotionError(f"fps is {fps}, expected a positive number")
    if fps == motion.fps:
        return motion
    frames = math.floor(motion.duration * fps + 1e-6) + 1
    at = torch.arange(frames, dtype=torch.float64, device=motion.root_pos.device) * (motion.fps / fps)
    return replace(sample(motion, at), fps=float(fps))


def sample(motion: Motion, at: Tensor) -> Motion:
    """The motion at fractional frame numbers `at` [K], clamped to its ends; fps is left as it is."""
    at = at.double().clamp(0, len(motion) - 1)
    left = at.floor().long().clamp_max(max(len(motion) - 2, 0))
    right = (left + 1).clamp_max(len(motion) - 1)
    t = (at - left).to(motion.root_pos.dtype)
    return replace(
        motion,
        root_pos=torch.lerp(motion.root_pos[left], motion.root_pos[right], t[:, None]),
        root_rot=rotation.slerp(motion.root_rot[left], motion.root_rot[right], t),
        joint_rot=rotation.slerp(motion.joint_rot[left], motion.joint_rot[right], t[:, None]),
        contacts=motion.contacts[torch.where(t < 0.5, left, right)],
    )


def alignment(a: Motion, b: Motion) -> tuple[Tensor, Tensor]:
    """Shift [3] (z = 0) and turn (rad) that put b's first root position and heading on a's last, for `Motion.moved`."""
    turn = rotation.yaw(a.root_rot[-1]) - rotation.yaw(b.root_rot[0])
    start = rotation.rotate(rotation.from_yaw(turn), b.root_pos[0])
    shift = a.root_pos[-1] - start
    return torch.stack([shift[0], shift[1], torch.zeros_like(shift[2])]), turn


def stitch(a: Motion, b: Motion, blend: int = 5, align: bool = True) -> Motion:
    """a, then b without its first frame, which is a's last: len(a) + len(b) - 1 frames.

    With `align`, b is first moved in the plane so that its root position and heading continue a's.
    """
    if a.num_bodies != b.num_bodies:
        raise MotionError(f"motions of {a.num_bodies} and {b.num_bodies} bodies cannot be stitched")
    if abs(a.fps - b.fps) > 1e-3:
        raise MotionError(f"motions of {a.fps:g} and {b.fps:g} fps cannot be stitched; resample one first")
    if blend < 0:
        raise MotionError(f"blend is {blend} frames, expected 0 or more")
    if align:
        b = b.moved(*alignment(a, b))
    fade = 1.0 - _smooth_step(torch.arange(len(b), device=b.root_pos.device, dtype=b.root_pos.dtype) / max(blend, 1))
    if blend == 0:
        fade = torch.zeros_like(fade)
    root_pos = b.root_pos + fade[:, None] * (a.root_pos[-1] - b.root_pos[0])
    return replace(
        a,
        root_pos=torch.cat([a.root_pos, root_pos[1:]]),
        root_rot=torch.cat([a.root_rot, _fade_rotation(a.root_rot[-1], b.root_rot, fade)[1:]]),
        joint_rot=torch.cat([a.joint_rot, _fade_rotation(a.joint_rot[-1], b.joint_rot, fade[:, None])[1:]]),
        contacts=torch.cat([a.contacts, b.contacts[1:]]),
        loops=False,
    )


def hesitation_frames(
    motion: Motion, character: Character, distance: float = HESITATION_DISTANCE, run: int = HESITATION_FRAMES
) -> Tensor:
    """Mask [T] of frames in which the body only lingers or returns to where it has been.

    A frame is close if the norm of the difference of all body positions to an earlier frame that is not itself close is under
    `distance`; runs of at least `run` close frames are hesitations. The search walks the frames that are kept, one row of the
    distance matrix at a time, because each of them decides which later ones still can be kept.
    """
    pos = motion.body_poses(character).pos.flatten(1).double()
    near = torch.cdist(pos, pos, compute_mode="donot_use_mm_for_euclid_dist") < distance
    near_later = near.triu(1).cpu().numpy()
    close = near_later[0] & False
    for i in range(len(motion)):
        if not close[i]:
            close |= near_later[i]
    return _long_runs(torch.from_numpy(close), run).to(motion.root_pos.device)


def remove_hesitation(
    motion: Motion, character: Character, distance: float = HESITATION_DISTANCE, run: int = HESITATION_FRAMES
) -> Motion:
    """The motion without the frames in which the body stands and waits."""
    return select(motion, ~hesitation_frames(motion, character, distance, run))


def _smooth_step(t: Tensor) -> Tensor:
    t = t.clamp(0, 1)
    return t * t * (3 - 2 * t)


def _fade_rotation(target: Tensor, q: Tensor, fade: Tensor) -> Tensor:
    """q [T, ..., 4] turned so that frame 0 meets `target` [..., 4], the turn fading with `fade` [T, ...]."""
    offset = rotation.to_exp(rotation.multiply(target, rotation.conjugate(q[0])))
    turned = rotation.multiply(rotation.from_exp(fade.unsqueeze(-1) * offset), q)
    return torch.where(fade.unsqueeze(-1) > 0, rotation.normalize(turned), q)


def _long_runs(mask: Tensor, least: int) -> Tensor:
    """The true stretches of a mask [T] that are at least `least` long."""
    value, count = torch.unique_consecutive(mask, return_counts=True)
    return torch.repeat_interleave(value & (count >= least), count)
