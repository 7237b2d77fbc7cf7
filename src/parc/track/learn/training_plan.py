"""How much training is wanted, and how much was done: time without milestones, carried over a resume."""

import math
import time
from dataclasses import dataclass, field

from parc.errors import SettingsError


@dataclass(frozen=True)
class TrainingPlan:
    """How much, how often, on what."""

    worlds: int = 8192
    """simulated characters, on each rank"""
    seconds: float = 300.0
    """of training; evaluations, checkpoints and compilation are not counted"""
    iterations: int = 0
    """rollouts and updates; 0: as many as fit into `seconds`"""
    wall_seconds: float = 0.0
    """stop (with a last milestone) after this time since the start, all included; 0: no such limit"""
    milestone_seconds: float = 60.0
    """of training between milestones"""
    milestone_iterations: int = 0
    """iterations between milestones; 0: by `milestone_seconds`"""
    log_seconds: float = 10.0
    """between lines of the log"""
    seed: int = 0
    """same seed, same result on one machine with a budget of iterations"""
    threads: int = 0
    """of the CPU engine; 0: all"""
    graphs: bool = True
    """record CUDA graphs"""

    def __post_init__(self) -> None:
        if self.seed < 0 or self.threads < 0:
            raise SettingsError(f"seed {self.seed} and {self.threads} threads were asked for, expected numbers of at least 0")
        if self.worlds < 1 or self.iterations < 0 or (self.iterations == 0 and not 0 < self.seconds < math.inf):
            raise SettingsError(f"{self.worlds} worlds for {self.seconds} s or {self.iterations} iterations is no training")
        if not (self.milestone_seconds > 0 and self.milestone_iterations >= 0 and self.wall_seconds >= 0):
            raise SettingsError(
                f"milestones every {self.milestone_seconds} s or {self.milestone_iterations} iterations, an end after "
                f"{self.wall_seconds} s: expected time between milestones and no end before the start"
            )


@dataclass
class TrainingClock:
    """Runs from `resume` to `pause`; tells also how much was done, and when the process began."""

    seconds: float = 0.0
    iterations: int = 0
    samples: int = 0
    born: float = field(default_factory=time.monotonic)
    _since: float = 0.0

    def resume(self) -> None:
        """From now on time counts."""
        self._since = time.monotonic()

    def pause(self) -> None:
        """What has passed counts; the clock goes on."""
        self.seconds += time.monotonic() - self._since
        self._since = time.monotonic()

    def state(self) -> dict[str, float]:
        """For a checkpoint; `load_state` takes it back."""
        return {"seconds": self.seconds, "iterations": self.iterations, "samples": self.samples}

    def load_state(self, state: dict) -> None:
        """What `state` told."""
        self.seconds, self.iterations, self.samples = state["seconds"], state["iterations"], state["samples"]
