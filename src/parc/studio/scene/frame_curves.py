"""What changes from frame to frame: curves for the plots, colours for the trails, depth for the bodies."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from parc.character.body_surface import min_per_body
from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.metrics.clip_batch import ClipBatch
from parc.metrics.free_flight import flight_error

Derivative = Literal["speed", "acceleration", "jerk"]
_ORDER: dict[Derivative, int] = {"speed": 1, "acceleration": 2, "jerk": 3}
UNITS: dict[Derivative, str] = {"speed": "m/s", "acceleration": "m/s2", "jerk": "m/s3"}
_RAMP = np.array([(58, 82, 160), (46, 143, 168), (86, 184, 112), (240, 200, 70), (222, 72, 52)], float)
"""blue, teal, green, yellow, red: slow to fast"""


@dataclass(frozen=True, eq=False)
class Curves:
    """Per-frame figures of a clip; those without a meaning at a frame are NaN there."""

    time: NDArray[np.float64]
    """[T] s"""
    values: dict[str, NDArray[np.float64]]
    """by name with unit, [T] each"""
    depth: NDArray[np.float64]
    """[T, B] how deep each body is in the ground, m"""


def derivative(pos: NDArray[np.float64], fps: float, of: Derivative) -> NDArray[np.float64]:
    """Magnitude [T, ...] of a finite difference of points [T, ..., 3], centred where it can be and repeated at the ends."""
    order = _ORDER[of]
    if len(pos) <= order:
        return np.zeros(pos.shape[:-1])
    size = np.linalg.norm(np.diff(pos, order, axis=0), axis=-1) * fps**order
    before = (order + 1) // 2
    return np.concatenate([np.repeat(size[:1], before, 0), size, np.repeat(size[-1:], order - before, 0)])


def ramp_colours(values: NDArray[np.float64], top: float | None = None) -> NDArray[np.uint8]:
    """[..., 3] blue to red for 0 to `top` (by default the 98th percentile)."""
    finite = values[np.isfinite(values)]
    high = top if top is not None else (float(np.percentile(finite, 98)) if len(finite) else 1.0)
    level = np.clip(np.nan_to_num(values) / max(high, 1e-9), 0, 1) * (len(_RAMP) - 1)
    low = np.minimum(level.astype(int), len(_RAMP) - 2)
    share = (level - low)[..., None]
    return np.round(_RAMP[low] * (1 - share) + _RAMP[low + 1] * share).astype(np.uint8)


@torch.no_grad()
def clip_curves(clip: Clip, character: Character) -> Curves:
    """What is drawn over the time of a clip, by name with its unit."""
    batch = ClipBatch.stack([clip], character)
    frames = len(clip.motion)
    depth = -min_per_body(batch.surface, -batch.depth[0])
    pos = batch.pose.pos[0].double().numpy()
    feet = list(character.feet)
    error, judged = flight_error(batch)
    ground = clip.terrain.height_at(clip.motion.root_pos[:, :2])
    values = {
        "penetration, mm": 1000 * depth.amax(-1).double().numpy(),
        "root speed, m/s": derivative(pos[:, 0], clip.motion.fps, "speed"),
        "root above ground, m": (clip.motion.root_pos[:, 2] - ground).double().numpy(),
        "largest body jerk, m/s3": derivative(pos, clip.motion.fps, "jerk").max(-1),
        "bodies labelled in contact": (clip.motion.contacts > 0.5).sum(-1).double().numpy(),
        "flight error, m/s2": torch.where(judged, error, float("nan"))[0].double().numpy(),
    }
    if feet:
        values["lowest foot clearance, mm"] = 1000 * batch.body_clearance[0][:, feet].amin(-1).double().numpy()
    return Curves(np.arange(frames) / clip.motion.fps, values, depth.double().numpy())
