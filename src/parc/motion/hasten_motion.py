"""Slow passages played faster, flights untouched.

Recorded walks over obstacles are careful: people look, shift their weight, wait. A generator that learns them hesitates. Each
moment is played at the rate

    r = clamp(wanted speed / speed, 1, fastest)

where the speed is the root's, over half a second, up and down counted. No body may come to move faster than `body_speed`. A
flight and the push before it keep rate 1, for gravity cannot be hurried. The rate changes smoothly, and frames between the
recorded ones are taken from cubic splines, so that the new motion has no kinks.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy import ndimage
from scipy.interpolate import CubicSpline, PchipInterpolator
from torch import Tensor

from parc.character.character import Character
from parc.errors import SettingsError
from parc.motion.motion import Motion


@dataclass(frozen=True)
class HastenSettings:
    """How far slow passages are hurried."""

    speed: float = 1.2
    """m/s, what slow passages come to"""
    fastest: float = 2.0
    """highest rate"""
    body_speed: float = 3.5
    """m/s, no body is hurried beyond this"""
    window: float = 0.5
    """s over which the speed is taken"""
    around_flight: float = 0.3
    """s before and after a flight that keep their rate"""

    def __post_init__(self) -> None:
        if self.fastest < 1 or self.speed <= 0:
            raise SettingsError(f"motion cannot be hastened to {self.speed} m/s at a rate of at most {self.fastest}")


def hasten(motion: Motion, character: Character, settings: HastenSettings = HastenSettings()) -> Motion:
    """The motion with its slow passages hurried; fps stays."""
    if len(motion) < 4:
        return motion
    rate = playing_rate(motion, character, settings)
    clock = np.concatenate([[0.0], np.cumsum(2 / (rate[1:] + rate[:-1]))])
    at = PchipInterpolator(clock, np.arange(len(motion)))(np.arange(int(clock[-1] + 1e-9) + 1))
    return _sampled(motion, at)


def playing_rate(motion: Motion, character: Character, settings: HastenSettings) -> np.ndarray:
    """[T] >= 1: recorded frames for each new one."""
    frames = max(1, round(settings.window * motion.fps))
    pos = motion.root_pos.double().numpy()
    t = np.arange(len(motion))
    before, after = np.maximum(t - frames // 2, 0), np.minimum(t + (frames + 1) // 2, len(motion) - 1)
    speed = np.linalg.norm(pos[after] - pos[before], axis=1) * motion.fps / (after - before)
    rate = settings.speed / np.maximum(speed, 1e-3)
    bodies = motion.body_poses(character).pos.double().numpy()
    fastest_body = np.linalg.norm(np.gradient(bodies, axis=0), axis=-1).max(1) * motion.fps
    rate = np.clip(np.minimum(rate, settings.body_speed / np.maximum(fastest_body, 1e-3)), 1, settings.fastest)
    flight = (motion.contacts < 0.5).all(1).numpy()
    reach = round(settings.around_flight * motion.fps)
    rate[ndimage.binary_dilation(flight, iterations=max(reach, 1))] = 1.0
    smooth = ndimage.uniform_filter1d(ndimage.minimum_filter1d(rate, frames // 2 + 1), frames // 2 + 1, mode="nearest")
    return np.where(flight, 1.0, np.maximum(smooth, 1.0))


def _sampled(motion: Motion, at: np.ndarray) -> Motion:
    def spline(values: Tensor) -> Tensor:
        return torch.as_tensor(CubicSpline(np.arange(len(motion)), values.double().numpy())(at), dtype=values.dtype)

    def turns(q: Tensor) -> Tensor:
        against = (q[1:] * q[:-1]).sum(-1, keepdim=True) < 0
        sign = torch.cat([torch.ones_like(q[:1, ..., :1]), torch.where(against, -1.0, 1.0)]).cumprod(0)
        return torch.nn.functional.normalize(spline(q * sign), dim=-1)

    nearest = torch.as_tensor(np.clip(np.round(at), 0, len(motion) - 1)).long()
    return replace(
        motion,
        root_pos=spline(motion.root_pos),
        root_rot=turns(motion.root_rot),
        joint_rot=turns(motion.joint_rot),
        contacts=motion.contacts[nearest],
    )
