"""How well a clip was made from its take, and whether to keep it.

feet, hands      distance of ankles and palms to the landmarks, mean over frames, cm
gap              distance of held parts to the ground they stand on, median over contact frames, mm
penetration      deepest point of a frame, mean over frames, mm
self_deep        frames with two bodies more than 1 cm in each other, %
slide            speed of the slowest point of a touching sole, mean, cm/s
skate            speed of the corners of a touching sole, the lowest counting most, median, cm/s
jerk             99th percentile over frames and bodies, m/s3
ballistic        |a_z + 9.81| of the centre of mass in flight, mean, m/s2; NaN without flight
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.fit.unknowns import pad
from parc.metrics.body_fit import self_penetration_frames
from parc.metrics.clip_batch import ClipBatch
from parc.metrics.foot_skate import skate
from parc.metrics.free_flight import flight
from parc.metrics.jerk import jerk
from parc.metrics.terrain_fit import deep_frames, penetration_mm
from parc.mocap.read.joint_naming import SIDES
from parc.mocap.subject.calibrate_subject import Fitted
from parc.mocap.subject.human_anatomy import Anatomy

UNITS = {
    "seconds": "s", "feet": "cm", "hands": "cm", "gap": "mm", "penetration": "mm", "deep": "% of frames",
    "self_deep": "% of frames", "slide": "cm/s", "skate": "cm/s", "jerk": "m/s3", "ballistic": "m/s2",
    "floating": "% of frames", "conflict": "m",
}  # fmt: skip


@dataclass(frozen=True)
class MocapLimits:
    feet: float = 6.0
    """cm"""
    hands: float = 10.0
    """cm"""
    gap: float = 10.0
    """mm"""
    penetration: float = 8.0
    """mm"""
    deep: float = 10.0
    """% of frames deeper than 2 cm"""
    self_deep: float = 20.0
    """% of frames with bodies more than 1 cm in each other; fewer can be corrected"""
    slide: float = 15.0
    """cm/s"""
    jerk: float = 4000.0
    """m/s3"""
    floating: float = 10.0
    """% of frames in the air that do not fall"""
    seconds: float = 0.7
    """s, the shortest clip worth keeping"""
    conflict: float = 6.0
    """m, contacts that no cell could serve"""


@dataclass(frozen=True)
class Quality:
    seconds: float
    feet: float
    hands: float
    gap: float
    penetration: float
    deep: float
    self_deep: float
    slide: float
    skate: float
    jerk: float
    ballistic: float
    floating: float
    conflict: float

    def faults(self, limits: MocapLimits = MocapLimits()) -> tuple[str, ...]:
        """Why not to keep the clip; empty if there is no reason."""
        found = [f"{self.seconds:.2f} s is shorter than {limits.seconds} s"] if self.seconds < limits.seconds else []
        for name, limit in asdict(limits).items():
            value = getattr(self, name)
            if name != "seconds" and value > limit:
                found.append(f"{name} {value:.4g} is over {limit:g} {UNITS[name]}")
        return tuple(found)

    def as_losses(self) -> dict[str, float]:
        """For a clip's provenance; values that have no meaning are left out."""
        return {f"mocap_{key}": float(value) for key, value in asdict(self).items() if np.isfinite(value)}


def measure_quality(clip: Clip, fitted: Fitted, character: Character, conflict: float = 0.0) -> Quality:
    """Of a clip against its take in the clip's frame and at its rate."""
    return measure_qualities(ClipBatch.stack([clip], character), [fitted], [conflict])[0]


def measure_qualities(batch: ClipBatch, fitted: Sequence[Fitted], conflicts: Sequence[float]) -> list[Quality]:
    """Of clips side by side, each against its own take."""
    anatomy = Anatomy.of(batch.character)
    pos, device = batch.pose.pos, batch.pose.pos.device
    valid = batch.valid

    def error(part: str) -> Tensor:
        """[N] cm"""
        off = torch.zeros(len(batch), device=device)
        for side in SIDES:
            place = f"{side}_{part}"
            wanted = pad([torch.as_tensor(f.landmarks[place]).float() for f in fitted]).to(device)
            off += ((pos[:, :, anatomy.body[place]] - wanted).norm(dim=-1) * valid).sum(1) / batch.frames
        return 100 * off / len(SIDES)

    ends = [anatomy.body[f"{side}_{part}"] for part in ("ankle", "wrist") for side in SIDES]
    touching = (batch.contacts[..., ends] > 0.5) & valid.unsqueeze(-1)
    gaps = torch.where(touching, batch.body_clearance[..., ends], torch.nan).flatten(1).nanmedian(1).values
    ballistic, floating = flight(batch)
    found = {
        "seconds": batch.frames / batch.fps,
        "feet": error("ankle"),
        "hands": error("wrist"),
        "gap": 1000 * gaps.nan_to_num(0.0),
        "penetration": penetration_mm(batch),
        "deep": deep_frames(batch),
        "self_deep": self_penetration_frames(batch),
        "slide": 100 * skate(batch, tuple(ends[:2]))[1].nan_to_num(0.0),
        "skate": _lowest_part_speed(batch, anatomy),
        "jerk": _high_jerk(batch),
        "ballistic": ballistic,
        "floating": floating,
    }
    rows = torch.stack(list(found.values()), 1).double().tolist()
    return [Quality(**dict(zip(found, row, strict=True)), conflict=c) for row, c in zip(rows, conflicts, strict=True)]


def _high_jerk(batch: ClipBatch) -> Tensor:
    """[N] 99th percentile over frames and bodies; NaN where there are not four frames"""
    jerks = jerk(batch.pose.pos, batch.fps)
    if jerks.shape[1] == 0:
        return torch.full((len(batch),), torch.nan, device=jerks.device)
    known = torch.where(batch.valid[:, 3:, None], jerks, torch.nan).flatten(1)
    return torch.stack([row.nanquantile(0.99) for row in known])


def _lowest_part_speed(batch: ClipBatch, anatomy: Anatomy) -> Tensor:
    """[N] cm/s, median over contact frames of the mean speed of the corners, weighted towards the lowest"""
    pose, valid = batch.pose, batch.valid
    if pose.pos.shape[1] < 2:
        return torch.zeros(len(batch), device=pose.pos.device)
    feet = [anatomy.body[f"{side}_ankle"] for side in SIDES]
    sole = torch.as_tensor(anatomy.sole, device=pose.pos.device).float()
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
