"""The measures that only a judge asks for, of clips side by side (the others: `parc.metrics`)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.character.joint_coordinates import beyond_limits
from parc.dataset.clip import Clip
from parc.metrics.body_fit import deepest_pair, self_penetration_frames
from parc.metrics.clip_batch import ClipBatch
from parc.metrics.foot_skate import skate
from parc.metrics.free_flight import flight, flight_error
from parc.metrics.jerk import jerk, max_jerk
from parc.metrics.terrain_fit import deep_frames, penetration_mm
from parc.motion.mujoco_qpos import frames_to_qpos, qpos_to_qvel
from parc.quality.limit_check import ClipQuality
from parc.quality.limit_profiles import AuthoredLimits, MocapLimits
from parc.terrain.terrain_distance import penetration_depth


def measure_against_take(
    batch: ClipBatch, ankles: Sequence[int], wrists: Sequence[int], landmarks: Tensor, sole: Tensor, conflicts: Sequence[float]
) -> list[ClipQuality]:
    """Clips against their takes: bodies of both sides, their landmarks [N, T, 4, 3] in that order (ankles first), the corners
    [4, 3] of the sole in a foot's frame, and what the terrain could not serve (m)."""
    ends = [*ankles, *wrists]

    def error(rows: range) -> Tensor:
        """[N] cm, mean over frames and both sides"""
        off = [((batch.pose.pos[:, :, ends[k]] - landmarks[:, :, k]).norm(dim=-1) * batch.valid).sum(1) for k in rows]
        return 100 * sum(part / batch.frames for part in off) / len(off)

    touching = (batch.contacts[..., ends] > 0.5) & batch.valid.unsqueeze(-1)
    gaps = torch.where(touching, batch.body_clearance[..., ends], torch.nan).flatten(1).nanmedian(1).values
    ballistic, floating = flight(batch)
    found = {
        "seconds": batch.frames / batch.fps,
        "foot_error": error(range(len(ankles))),
        "hand_error": error(range(len(ankles), len(ends))),
        "contact_gap": 1000 * gaps.nan_to_num(0.0),
        "pen_mm": penetration_mm(batch),
        "pen_frames": deep_frames(batch),
        "self_pen_frames": self_penetration_frames(batch),
        "contact_slide": 100 * skate(batch, tuple(ankles))[1].nan_to_num(0.0),
        "sole_speed": _sole_speed(batch, list(ankles), sole),
        "jerk_99": _high_jerk(batch),
        "ballistic": ballistic,
        "floating": floating,
    }
    rows = torch.stack(list(found.values()), 1).double().tolist()
    return [
        ClipQuality({**dict(zip(found, row, strict=True)), "level_conflict": conflict}, MocapLimits)
        for row, conflict in zip(rows, conflicts, strict=True)
    ]


def measure_authored(clips: Sequence[Clip], efforts: Sequence[tuple[float, float]], character: Character) -> list[ClipQuality]:
    """Of each clip; `efforts` as the fit left them: missing force (weights) and largest torque (of the limits)."""
    found = []
    for clip, (push, torque) in zip(clips, efforts, strict=True):
        batch = ClipBatch.stack([clip], character)
        error, judged = (x[0] for x in flight_error(batch))
        held = batch.contacts[0].amax(-1) > 0.5
        gaps = batch.body_clearance[0][batch.contacts[0] > 0.5]
        turns = rotation.difference(clip.motion.joint_rot[:-1], clip.motion.joint_rot[1:])
        values = {
            "max_depth": 1000 * float(batch.depth.max()),
            "max_contact_gap": 1000 * float(gaps.max()) if len(gaps) else 0.0,
            "key_body_slide": 100 * float(skate(batch, character.key_bodies)[1].nan_to_num(0.0)),
            "max_ballistic": float((error * (judged & ~held)).nan_to_num(0.0).max()),
            "max_wall_lift": float((error * (judged & held)).nan_to_num(0.0).max()),
            "limit_excess": max(float(beyond_limits(character, clip.motion.joint_rot).max()), 0.0),
            "axis_speed": float(rotation.to_exp(turns).abs().max()) * clip.motion.fps,
            "max_jerk": float(max_jerk(batch)),
            "missing_force": push,
            "torque_share": torque,
            "self_pen_frames": float(self_penetration_frames(batch)),
        }
        found.append(ClipQuality(values, AuthoredLimits))
    return found


def worst_frames(batch: ClipBatch) -> dict[str, tuple[list[float], list[int]]]:
    """What a tracker's references are judged by: the worst value of each clip and the frame it is at."""
    depth = penetration_depth(batch.terrains, batch.points, border="open").amax(-1)
    step = torch.zeros_like(batch.pose.pos[..., 0])
    step[:, 1:] = batch.pose.pos.diff(dim=1).norm(dim=-1)
    rows = batch.valid
    qpos = frames_to_qpos(batch.character, batch.root_pos[rows], batch.root_rot[rows], batch.joint_rot[rows])
    speed = torch.zeros_like(depth)
    speed[rows] = qpos_to_qvel(batch.character, qpos, batch.frames, batch.fps)[:, 6:].abs().amax(-1)
    # a step is told at the frame before it
    series = {
        "terrain_depth": (depth, 0),
        "self_depth": (deepest_pair(batch), 0),
        "root_step": (step[..., 0], 1),
        "body_step": (step.amax(-1), 1),
        "coordinate_speed": (speed, 0),
    }
    found = {}
    for name, (values, earlier) in series.items():
        worst, frame = torch.max(values * rows, 1)
        found[name] = (worst.tolist(), (frame - earlier).tolist())
    return found


def _high_jerk(batch: ClipBatch) -> Tensor:
    """[N] 99th percentile over frames and bodies; NaN where there are not four frames"""
    jerks = jerk(batch.pose.pos, batch.fps)
    if jerks.shape[1] == 0:
        return torch.full((len(batch),), torch.nan, device=jerks.device)
    known = torch.where(batch.valid[:, 3:, None], jerks, torch.nan).flatten(1)
    return torch.stack([row.nanquantile(0.99) for row in known])


def _sole_speed(batch: ClipBatch, feet: list[int], sole: Tensor) -> Tensor:
    """[N] cm/s, median over contact frames of the mean speed of the corners, weighted towards the lowest"""
    pose, valid = batch.pose, batch.valid
    if pose.pos.shape[1] < 2:
        return torch.zeros(len(batch), device=pose.pos.device)
    turns = rotation.to_matrix(pose.rot[:, :, feet])
    corners = pose.pos[:, :, feet].unsqueeze(-2) + torch.einsum("ntfij,cj->ntfci", turns, sole)
    weight = torch.softmax(-60 * corners[..., 2], -1)
    (velocity,) = torch.gradient(corners, dim=1)
    last = torch.arange(valid.shape[1], device=valid.device) == batch.frames.unsqueeze(1) - 1
    padded = (last & (batch.frames.unsqueeze(1) < valid.shape[1]))[..., None]
    speed = (velocity.norm(dim=-1) * weight).sum(-1) * batch.fps
    speed = torch.where(padded, 2 * speed, speed)  # there the frame after is the same one again
    held = (batch.contacts[..., feet] > 0.5) & valid.unsqueeze(-1)
    return 100 * torch.where(held, speed, torch.nan).flatten(1).nanmedian(1).values.nan_to_num(0.0)
