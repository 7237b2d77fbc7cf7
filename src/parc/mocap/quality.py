"""How well a clip was made from its take, and whether to keep it.

feet, hands      distance of ankles and palms to the landmarks, mean over frames, cm
gap              distance of held parts to the ground they stand on, median over contact frames, mm
penetration      deepest point of a frame, mean over frames, mm
slide            speed of the slowest point of a touching sole, mean, cm/s
skate            speed of the corners of a touching sole, the lowest counting most, median, cm/s
jerk             99th percentile over frames and bodies, m/s3
ballistic        |a_z + 9.81| of the centre of mass in flight, mean, m/s2; NaN without flight
"""

from dataclasses import asdict, dataclass

import numpy as np
import torch

from parc.character import rotation
from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.metrics.batch import ClipBatch
from parc.metrics.flight import flight
from parc.metrics.jerk import jerk
from parc.metrics.skate import skate
from parc.metrics.terrain_fit import deep_frames, penetration_mm
from parc.mocap.anatomy import Anatomy
from parc.mocap.calibrate import Fitted
from parc.mocap.naming import SIDES


@dataclass(frozen=True)
class QualityLimits:
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
    slide: float
    skate: float
    jerk: float
    ballistic: float
    floating: float
    conflict: float

    def faults(self, limits: QualityLimits = QualityLimits()) -> tuple[str, ...]:
        """Why not to keep the clip; empty if there is no reason."""
        found = [f"{self.seconds:.2f} s is shorter than {limits.seconds} s"] if self.seconds < limits.seconds else []
        for name, limit in asdict(limits).items():
            value = getattr(self, name)
            if name != "seconds" and value > limit:
                found.append(f"{name} {value:.3g} is over {limit:g}")
        return tuple(found)

    def as_losses(self) -> dict[str, float]:
        """For a clip's provenance; values that have no meaning are left out."""
        return {f"mocap_{key}": float(value) for key, value in asdict(self).items() if np.isfinite(value)}


def measure_quality(clip: Clip, fitted: Fitted, character: Character, conflict: float = 0.0) -> Quality:
    """Of a clip against its take in the clip's frame and at its rate."""
    anatomy = Anatomy.of(character)
    batch = ClipBatch.stack([clip], character)
    pos = batch.pose.pos[0]

    def error(part: str) -> float:
        """cm"""
        off = [
            np.linalg.norm(pos[:, anatomy.body[f"{s}_{part}"]].numpy() - fitted.landmarks[f"{s}_{part}"], axis=-1) for s in SIDES
        ]
        return 100 * float(np.mean(off))

    ends = [anatomy.body[f"{side}_{part}"] for part in ("ankle", "wrist") for side in SIDES]
    feet = tuple(ends[:2])
    touching = batch.contacts[0][:, ends] > 0.5
    gaps = batch.body_clearance[0][:, ends][touching]
    jerks = jerk(pos, batch.fps)
    ballistic, floating = flight(batch)
    return Quality(
        seconds=len(clip.motion) / clip.motion.fps,
        feet=error("ankle"),
        hands=error("wrist"),
        gap=1000 * float(gaps.median()) if len(gaps) else 0.0,
        penetration=float(penetration_mm(batch)),
        deep=float(deep_frames(batch)),
        slide=100 * float(skate(batch, feet)[1].nan_to_num(0.0)),
        skate=_lowest_part_speed(clip, character, anatomy),
        jerk=float(jerks.flatten().quantile(0.99)) if len(jerks) and jerks.numel() < 1 << 24 else float("nan"),
        ballistic=float(ballistic),
        floating=float(floating),
        conflict=conflict,
    )


def _lowest_part_speed(clip: Clip, character: Character, anatomy: Anatomy) -> float:
    """cm/s, median over contact frames of the mean speed of the corners, weighted towards the lowest"""
    pose = clip.motion.body_poses(character)
    sole = torch.as_tensor(anatomy.sole).float()
    speeds = []
    for side in SIDES:
        foot = anatomy.body[f"{side}_ankle"]
        corners = pose.pos[:, None, foot] + torch.einsum("tij,cj->tci", rotation.to_matrix(pose.rot[:, foot]), sole)
        if len(corners) < 2:
            continue
        weight = torch.softmax(-60 * corners[..., 2], 1)
        (velocity,) = torch.gradient(corners, dim=0)
        speed = (velocity.norm(dim=-1) * weight).sum(1) * clip.motion.fps
        speeds.append(speed[clip.motion.contacts[:, foot] > 0.5])
    together = torch.cat(speeds) if speeds else torch.zeros(0)
    return 100 * float(together.median()) if len(together) else 0.0
