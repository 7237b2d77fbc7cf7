"""What became of a body that follows a reference: each word has one meaning, here.

*Lost*: the pose is too far from the reference's. Feet are free: where exactly they step is the body's business.
*Broken*: the simulation diverged, or what is computed from it is not finite.
*Failed*: lost or broken. *Reached the end*: not failed until two frames before the reference's end.
*Down*, *fallen*: not about the reference. A body is down where its pelvis is low or tilted, and has fallen where it was down for
a while: climbing, crawling and rolling bring a pelvis low or tilt it for a moment. *Arrived*: `parc.path.goal_reached`, also for
motions that nobody simulates.

Training ends an episode that has failed (nothing is earned afterwards), that is at the clip's end, or whose time is up; the last
two only stop the recording of an episode that could go on, so the value function is asked what would have followed.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from parc.character.character import Character
from parc.errors import SettingsError

END_SLACK = 2
"""frames at the end of a reference that need not be tracked"""


@dataclass(frozen=True)
class TerminationSettings:
    """How far from the reference a body may be."""

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


def is_broken(diverged: Tensor, *computed: Tensor) -> Tensor:
    """[N] bool of worlds that diverged [N] or gave numbers [N] that are not finite."""
    for numbers in computed:
        diverged = diverged | ~torch.isfinite(numbers)
    return diverged


def reached_end(survived: Tensor, frames_left: Tensor | int) -> Tensor:
    """[R] of bodies that had so many frames of reference before them and did not fail for so many steps."""
    return survived >= frames_left - END_SLACK


@dataclass(frozen=True)
class FallSettings:
    """When a body has fallen.

    Who is watched for a while may be judged by either sign. Who is judged at once, as in a search, needs both: `at_once`.
    """

    height: float = 0.35
    """m: a pelvis nearer to the ground under it than this is low; of the humanoid, of others in proportion"""
    upright: float = 0.25
    """cosine of the pelvis's tilt below which it is tilted"""
    both: bool = False
    """low and tilted is down; else either of them"""
    head: bool = False
    """a head that touches the ground is down too"""
    patience: float = 0.6
    """s in a row that it has to be down; 0: the first control step is enough"""

    def __post_init__(self) -> None:
        if not 0 <= self.patience < math.inf:
            raise SettingsError(f"a body has fallen after {self.patience} s on the ground, expected at least 0")

    @classmethod
    def at_once(cls) -> "FallSettings":
        """Down within 15 degrees of lying and near the ground, or on the head; no patience."""
        return cls(height=0.5, upright=0.26, both=True, head=True, patience=0.0)


def is_down(height: Tensor, upright: Tensor, head_touches: Tensor | None, settings: FallSettings) -> Tensor:
    """[...] of pelvis heights [...] over the ground, in m, z of their up axes [...] and contacts of heads [...]."""
    low, tilted = ~(height >= settings.height), ~(upright >= settings.upright)  # so that what is not finite is down
    down = low & tilted if settings.both else low | tilted
    return down | head_touches if settings.head and head_touches is not None else down


class FallWatch:
    """Counts control steps in a row that bodies are down, [N]."""

    def __init__(self, settings: FallSettings, control_hz: float, count: int = 1, device: torch.device | str = "cpu") -> None:
        self._limit = max(1, round(settings.patience * control_hz))
        self._down = torch.zeros(count, dtype=torch.long, device=device)

    def reset(self, mask: Tensor | None = None) -> None:
        """As if all, or those where mask [N] is true, had stood up."""
        if mask is None:
            self._down.zero_()
        else:
            self._down.masked_fill_(mask, 0)

    def look(self, down: Tensor, broken: Tensor) -> Tensor:
        """[N] bool, fallen as of this control step; a body whose simulation broke has fallen at once."""
        self._down.copy_(torch.where(down | broken, self._down + 1, 0))
        return broken | (self._down >= self._limit)
