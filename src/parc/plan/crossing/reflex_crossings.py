"""What shapes a crossing by reflex, how far bodies have come along their paths, and what became of them.

A body's place along its path only grows. Headway is worth (`parc.plan.path_progress.worth`) that was never had before.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from parc.errors import SettingsError
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.path.path_batch import PathBatch
from parc.plan.crossing.get_up import GetUpSettings
from parc.plan.path_progress import at_goal, walk, worth
from parc.track.follow.outcome import FallSettings

OUTCOMES = ("running", "arrived", "fallen", "stuck", "late")
"""what may become of a body, by `Crossings.outcome`"""
RUNNING, ARRIVED, FALLEN, STUCK, LATE = range(len(OUTCOMES))


@dataclass(frozen=True)
class ReflexSettings:
    """All that shapes the loop."""

    every: int = 5
    """control steps from one plan of a body to its next"""
    windows: int = 3
    """windows in a plan; the tracker looks 30 frames ahead, and past the plan's end its last frame stays"""
    candidates: int = 1
    """plans written each time, of which the tracker's critic takes the best"""
    rollout: RolloutSettings = field(default_factory=lambda: RolloutSettings(keep=13, overlap=0))
    """how windows are sampled; of it `radius`, `seconds` and `slowest` are not used here"""
    fall: FallSettings = field(default_factory=FallSettings.at_once)
    """who is down by this has fallen"""
    get_up: GetUpSettings = field(default_factory=GetUpSettings)
    """where there are motions to get up by"""
    radius: float = 0.5
    """m in the plane from the goal within which a root at standing height has arrived"""
    stuck: float = 5.0
    """s without `headway` that end a run"""
    headway: float = 0.25
    """m of worth (`parc.plan.path_progress.worth`) that a body must gain in that time"""
    climb: float = 1.5
    """m of worth of a metre up"""
    seconds: float = 30.0
    """s of a run"""
    slowest: float = 0.5
    """m/s: a path that takes longer than `seconds` at this speed gets that much time"""

    def __post_init__(self) -> None:
        if self.every < 1 or self.windows < 1 or self.candidates < 1:
            raise SettingsError(
                f"{self.candidates} plans of {self.windows} windows every {self.every} control steps, expected at least 1 of each"
            )
        if self.every >= self.length:
            raise SettingsError(f"a plan of {self.length} frames is followed for {self.every} steps, expected a longer plan")
        if not (self.stuck > 0 and self.headway > 0 and self.seconds > 0 and self.slowest > 0):
            raise SettingsError("the times and speeds of a run are expected to be greater than 0")

    @property
    def length(self) -> int:
        """Frames of a plan."""
        return 1 + self.windows * self.rollout.keep


class Crossings:
    """Where N bodies are on their paths, and what became of them. Tensor code in place: it may be part of a CUDA graph."""

    def __init__(self, paths: PathBatch, count: int, settings: ReflexSettings, fps: float, size: float = 1.0) -> None:
        """`paths` are of all cases; each body is on one of them; `size` of the bodies."""
        device = paths.length.device
        self.all_paths, self.settings, self._fps, self._size = paths, settings, fps, size
        self._stuck_after = round(settings.stuck * fps)
        self._all_limits = self._limits_of(paths.length)

        def zeros(dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(count, dtype=dtype, device=device)

        self.case, self.steps, self.outcome = (zeros(torch.long) for _ in range(3))
        """[N] which path, control steps since its beginning, index into `OUTCOMES`"""
        self.progress, self.best = zeros(), zeros()
        """[N] m along the path; most worth so far"""
        self.gain = zeros()
        """[N] m of new best worth in this control step"""
        self._mark, self._since, self._limit = zeros(), zeros(torch.long), zeros(torch.long)
        self.paths = paths.select(self.case)
        """[N] of each body"""

    @property
    def runs(self) -> Tensor:
        """[N] bool, not over."""
        return self.outcome == RUNNING

    @property
    def limits(self) -> Tensor:
        """[N] control steps after which who is not there yet is late."""
        return self._limit

    def begin(self, mask: Tensor, case: Tensor, progress: Tensor, root_z: Tensor) -> None:
        """Bodies where mask [N] is true begin on path `case` [N] at `progress` [N] m with roots at heights [N]."""
        self.case.copy_(torch.where(mask, case, self.case))
        points, length = self.all_paths.points, self.all_paths.length
        self.paths.points.copy_(torch.where(mask.view(-1, 1, 1), points.index_select(0, case), self.paths.points))
        self.paths.length.copy_(length.index_select(0, self.case))
        self._limit.copy_(self._all_limits.index_select(0, self.case))
        self.progress.copy_(torch.where(mask, progress, self.progress))
        value = worth(self.paths, self.progress, root_z, self.settings.climb, self._size)
        for buffer in (self.best, self._mark):
            buffer.copy_(torch.where(mask, value, buffer))
        for buffer in (self.steps, self.outcome, self._since):
            buffer.masked_fill_(mask, 0)

    def replace_paths(self, rows: Tensor, paths: PathBatch) -> None:
        """Other paths [K] of as many points in rows [K] of all, in place. Bodies on these rows must begin anew."""
        self.all_paths.points.index_copy_(0, rows, paths.points)
        self.all_paths.length.index_copy_(0, rows, paths.length)
        self._all_limits.index_copy_(0, rows, self._limits_of(paths.length))

    def _limits_of(self, length: Tensor) -> Tensor:
        """[K] control steps that paths of lengths [K] m may take."""
        seconds = (length / self.settings.slowest).clamp_min(self.settings.seconds)
        return (seconds * self._fps).round().long()

    def has_headway(self, seconds: float) -> Tensor:
        """[N] bool, gained `headway` m of worth in the last so many seconds, or has not been on its way for so long."""
        return self._since < seconds * self._fps

    def look(self, root_pos: Tensor, fallen: Tensor, rising: Tensor | None = None) -> None:
        """After a control step that brought the roots to [N, 3]; `fallen` [N] bool.

        rising: [N] bool, who gets up; no time counts as without headway for them.
        """
        runs, settings = self.runs, self.settings
        root = torch.nan_to_num(root_pos)
        self.steps.add_(runs)
        walked = walk(self.paths, self.progress, root[:, None], self._size)
        self.progress.copy_(torch.where(runs, walked[:, 0], self.progress))
        there = at_goal(self.paths, root[:, None], self.progress[:, None], settings.radius, self._size)[:, 0]
        # Headway: worth that was never had before, and how long ago the last `headway` metres of it were gained.
        value = worth(self.paths, self.progress, root[:, 2], settings.climb, self._size)
        counts = runs & ~fallen
        self.gain.copy_((value - self.best).clamp_min(0.0) * counts)
        self.best.add_(self.gain)
        gets_on = self.best > self._mark + settings.headway
        self._mark.copy_(torch.where(gets_on, self.best, self._mark))
        self._since.copy_(torch.where(gets_on, 0, self._since + (1 if rising is None else (~rising).long())))
        # What comes first counts; in the same step a fall comes before an arrival.
        ends = ((LATE, self.steps >= self._limit), (STUCK, self._since >= self._stuck_after), (ARRIVED, there), (FALLEN, fallen))
        for outcome, holds in ends:
            self.outcome.copy_(torch.where(runs & holds, outcome, self.outcome))
