"""When an episode ends: the pose is lost, the simulation broke down, the clip is over, or time is up.

The first two are failures (nothing is earned afterwards); the others only stop the recording of an episode that could go on,
so the value function is asked what would have followed. Feet are free: where exactly they step is the policy's business.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from parc.character.character import Character


@dataclass(frozen=True)
class TerminationSettings:
    root_distance: float = 0.6
    """m from the reference's root"""
    root_angle: float = math.radians(75.0)
    """rad from the reference's root rotation"""
    body_distance: float = 0.7
    """m from the reference's body, both relative to their roots; feet are exempt"""
    grace: int = 1
    """control steps after a start without pose termination"""
    longest: float = 6.0
    """s of an episode; the shorter, the more of the samples are starts, and starts go where the policy fails"""


def body_limits(character: Character, settings: TerminationSettings, device: torch.device | str) -> Tensor:
    """[B] allowed root-relative distance of each body, m."""
    free = set(character.feet)
    limits = [math.inf if i in free else settings.body_distance for i in range(character.num_bodies)]
    return torch.tensor(limits, device=device)


def pose_lost(
    root_distance: Tensor, root_angle: Tensor, body_distance: Tensor, limits: Tensor, age: Tensor, settings: TerminationSettings
) -> Tensor:
    """Errors [N], [N], [N, B] against the limits; age [N] in control steps."""
    lost = (body_distance > limits).any(-1) | (root_distance > settings.root_distance) | (root_angle > settings.root_angle)
    return lost & (age > settings.grace)
