"""Kinematic correction that can be watched and stopped: `parc.correct.correct_motions`, looked into as it goes."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from parc.character.character import Character
from parc.correct.correct_motions import Correction, OptimiseSettings
from parc.dataset.clip import Clip
from parc.metrics.clip_batch import ClipBatch

Watch = Callable[[int, float, Callable[[], Clip]], bool]
"""iterations done, loss, a function that gives the clip as it is now -> whether to go on"""


class _Enough(Exception):
    pass


class _Watched(Correction):
    """Looks up before every iteration; in a captured graph on a GPU only when the solver itself reports."""

    def __init__(
        self, clip: Clip, character: Character, settings: OptimiseSettings, device: torch.device | str, watch: Watch
    ) -> None:
        super().__init__(ClipBatch.stack([clip], character, device), settings)
        self._clip, self._watch = clip, watch
        self.done = -1

    def weighted(self, change: Tensor) -> Tensor:
        if not self.change.is_cuda:
            self.done += 1
            if self.done:
                self._look()
        return super().weighted(change)

    def on_progress(self, done: int, loss: float) -> None:
        if self.change.is_cuda:
            self.done = done
            self._look()

    @torch.no_grad()
    def now(self) -> Clip:
        root_pos, root_rot, joint_rot = (x[0].detach().cpu().clone() for x in self.pose())
        motion = replace(self._clip.motion, root_pos=root_pos, root_rot=root_rot, joint_rot=joint_rot)
        return replace(self._clip, motion=motion)

    def _look(self) -> None:
        if not self._watch(self.done, float(self.total), self.now):
            raise _Enough


def correct_watched(
    clip: Clip, character: Character, settings: OptimiseSettings, device: torch.device | str, watch: Watch
) -> Clip:
    """The corrected clip; where `watch` ends it early, as far as it had come. Equal to `optimise([clip], ...)` if it does not."""
    problem = _Watched(clip, character, settings, device, watch)
    with torch.no_grad():
        before = problem.terms()
    label = "correct"
    try:
        problem.solve(problem.on_progress)
    except _Enough:
        label = f"correct {problem.done} iterations"
    return problem.corrected([clip], before, label)[0]
