"""The tracker follows clips in simulation, from several starts each, and every control step is kept.

A reference that cannot be tracked from its first frame can often be tracked from a later one. The paper starts at 0, 10, .. 50 %
of a clip and keeps the earliest run that reaches the end. Here two rounds give the same result at less cost, and more:

    round 1   every clip from frame 0
    round 2   every clip that round 1 lost, from all other starts at once: the paper's, and one every half second to the end
              of the clip, so that a stretch behind a fall in the middle is found too (`parc.record.choose_segments` chooses)

All runs of a round are one batch of worlds, longest first. Actions are the policy's means, starts have no noise, the
terminations are those of training.

Frame k of an attempt is frame start + k of the reference. Its frame 0 *is* the reference's, put there and not simulated; the
first frames after it are still busy getting out of the ground. `settle` of them are never recorded.
"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.motion.motion import Motion
from parc.track.env.reference_library import ReferenceLibrary
from parc.track.follow.runner import Episodes, Runner


@dataclass(frozen=True)
class AttemptSettings:
    """From which frames a clip is tracked."""

    starts: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
    """shares of a clip at which the paper starts"""
    every: float = 0.5
    """s between the further starts of a clip that was lost; 0: only the paper's starts"""
    shortest: float = 2.0
    """s of the reference that must be left after a start"""
    settle: int = 3
    """frames after a start that are not recorded, at least 1"""

    def __post_init__(self) -> None:
        if not self.starts or min(self.starts) != 0.0 or max(self.starts) >= 1.0:
            raise SettingsError(f"starts are {self.starts}, expected shares of a clip from 0 on, below 1")
        if self.every < 0 or self.shortest <= 0 or self.settle < 1:
            raise SettingsError(
                f"every is {self.every} s, shortest {self.shortest} s, settle {self.settle} frames; expected >= 0, > 0, >= 1"
            )


@dataclass(frozen=True, eq=False)
class Attempt:
    """One run: what was simulated until the pose was lost or the clip was over."""

    clip: int
    """which of the clips"""
    start: int
    """frame of the reference it began in"""
    motion: Motion
    """the simulated states and the simulator's contacts; frame 0 is the reference's own"""
    errors: Tensor
    """[T] m, mean root-relative distance of the bodies from the reference's"""
    reached_end: bool
    """tracked to within two frames of the clip's end"""
    diverged: bool
    """stopped because the simulation broke, not the pose"""

    @property
    def stop(self) -> int:
        """One past the last frame of the reference that was tracked."""
        return self.start + len(self.motion)


def attempt_clips(
    runner: Runner,
    clips: list[Clip],
    settings: AttemptSettings = AttemptSettings(),
    is_enough: Callable[[Clip, Attempt], bool] = lambda clip, attempt: attempt.reached_end,
) -> list[list[Attempt]]:
    """Attempts at each clip, earliest start first; none for a clip that is too short. All clips at the control rate.

    A clip whose attempt from frame 0 `is_enough` is not tried again.
    """
    library = runner.library(clips)
    lengths = library.length.tolist()
    assert lengths == [len(clip.motion) for clip in clips], "clips must be at the control rate"
    found: list[list[Attempt]] = [[] for _ in clips]
    first_round = [(c, 0) for c, length in enumerate(lengths) if 0 in start_frames(length, runner.fps, settings)]
    for attempt in run_attempts(runner, library, first_round):
        found[attempt.clip].append(attempt)
    lost = [c for c, attempts in enumerate(found) if attempts and not is_enough(clips[c], attempts[0])]
    second_round = [(c, start) for c in lost for start in start_frames(lengths[c], runner.fps, settings)[1:]]
    for attempt in run_attempts(runner, library, second_round):
        found[attempt.clip].append(attempt)
    for attempts in found:
        attempts.sort(key=lambda attempt: attempt.start)
    return found


def start_frames(frames: int, fps: float, settings: AttemptSettings) -> list[int]:
    """Where to begin a clip of so many frames, early to late; empty if the clip is too short."""
    last = frames - round(settings.shortest * fps)
    starts = {round(share * (frames - 1)) for share in settings.starts}
    if settings.every > 0:
        starts |= set(range(0, frames, max(1, round(settings.every * fps))))
    return sorted(start for start in starts if start <= last)


def run_attempts(
    runner: Runner, library: ReferenceLibrary, runs: list[tuple[int, int]], on_step: Callable[[], object] | None = None
) -> list[Attempt]:
    """Runs of (clip, start frame), in the order given; on_step after each control step."""
    trace = runner.run(library, Episodes.of(runs), keep=True, on_step=on_step)
    reached, broken = trace.reached_end.tolist(), trace.broken.tolist()
    rows = zip(runs, trace.motions, trace.errors, reached, broken, strict=True)
    return [Attempt(clip, start, motion, errors, end, broke) for (clip, start), motion, errors, end, broke in rows]
