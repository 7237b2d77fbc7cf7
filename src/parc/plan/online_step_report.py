"""What a drive tells of itself: the character after a step, and the run so far in figures."""

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor


class Moment(NamedTuple):
    """The character after a control step."""

    root_pos: Tensor
    """[3]"""
    root_rot: Tensor
    """[4] xyzw"""
    joint_rot: Tensor
    """[B-1, 4]"""
    contacts: Tensor
    """[B]"""
    error: float
    """m from the plan, mean over bodies, root-relative"""
    fell: bool
    """it has fallen, and the next step begins with it standing again"""
    arrived: bool
    """the goal was reached in this step"""


@dataclass
class DriveStatistics:
    """Of the run so far."""

    steps: int = 0
    falls: int = 0
    resets: int = 0
    arrivals: int = 0
    pushes: int = 0
    edits: int = 0
    plans: int = 0
    safe_plans: int = 0
    """whose best rehearsal was tracked to its end"""
    continued_plans: int = 0
    """that went on from the plan before, not from the simulated body"""
    stalls: int = 0
    """plans that were not there when they were due"""
    stalled: float = 0.0
    """s that were waited for them"""
    error: float = 0.0
    """m, sum over steps of the distance from the plan"""
    plan_seconds: list[float] = field(default_factory=list)
    """s each plan took"""
    answer_steps: list[int] = field(default_factory=list)
    """control steps from each wish to the plan that was made for it"""
    answer_seconds: list[float] = field(default_factory=list)
    """s of real time that this took"""

    def count(self, is_safe: bool, is_continued: bool, seconds: float) -> None:
        """A plan that took so many seconds."""
        self.plans += 1
        self.safe_plans += is_safe
        self.continued_plans += is_continued
        self.plan_seconds.append(seconds)

    def answer(self, steps: int, seconds: float) -> None:
        """A plan for a wish was taken, so many control steps and seconds after it."""
        self.answer_steps.append(steps)
        self.answer_seconds.append(seconds)

    def latency(self, quantile: float) -> float:
        """s, of making a plan."""
        return float(torch.tensor(self.plan_seconds).quantile(quantile)) if self.plan_seconds else float("nan")
