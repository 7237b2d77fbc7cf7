"""The tracker follows clips in simulation, from several starts each, and every control step is kept.

A reference that cannot be tracked from its first frame can often be tracked from a later one. The paper starts at 0, 10, .. 50 %
of a clip and keeps the earliest run that reaches the end. Here two rounds give the same result at less cost, and more:

    round 1   every clip from frame 0
    round 2   every clip that round 1 lost, from all other starts at once: the paper's, and one every half second to the end
              of the clip, so that a stretch behind a fall in the middle is found too (`parc.record.stretch` chooses)

All runs of a round are one batch of worlds, longest first. Actions are the policy's means, starts have no noise, the
terminations are those of training.

Frame k of an attempt is frame start + k of the reference. Its frame 0 *is* the reference's, put there and not simulated; the
first frames after it are still busy getting out of the ground. `settle` of them are never recorded.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.motion.motion import Motion
from parc.motion.qpos import qpos_to_frames
from parc.physics.engine import make_world
from parc.physics.world import World
from parc.track.env import TrackEnv
from parc.track.evaluate import END_SLACK
from parc.track.inference import inference
from parc.track.policy import TrainedActor
from parc.track.reference import ReferenceLibrary, ReferenceSettings, build_library
from parc.track.screen import ScreenSettings

_LOOK_EVERY = {"cpu": 1, "cuda": 32}
"""control steps between looks at whether all runs are over (each waits for the device)"""


@dataclass(frozen=True)
class AttemptSettings:
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


class Simulator:
    """Worlds for one policy. On a GPU they are made once; on the CPU as many as a round needs."""

    def __init__(self, trained: TrainedActor, device: torch.device | str = "cpu", worlds: int = 0, threads: int = 0) -> None:
        """worlds: 0 takes 4096 on a GPU, 256 on the CPU; threads (0: all cores) is for the CPU."""
        self.trained, self.device, self.threads = trained, torch.device(device), threads
        self.act = trained.act
        self.worlds = worlds or (256 if self.device.type == "cpu" else 4096)
        self._kept: World | None = None

    @property
    def fps(self) -> float:
        return float(self.trained.contract.control_hz)

    def world_for(self, runs: int, cell: float) -> World:
        if self.device.type == "cpu":
            return self._make(min(runs, self.worlds), cell)
        if self._kept is None or abs(self._kept.cell - cell) > 1e-6:
            self._kept = self._make(self.worlds, cell)
        return self._kept

    def _make(self, count: int, cell: float) -> World:
        world = make_world(self.trained.character, self.trained.contract, count, self.device, self.threads, cell)
        world.contract.check_matches(self.trained.contract)
        return world


def attempt_clips(
    simulator: Simulator,
    clips: list[Clip],
    settings: AttemptSettings = AttemptSettings(),
    is_enough: Callable[[Clip, Attempt], bool] = lambda clip, attempt: attempt.reached_end,
) -> list[list[Attempt]]:
    """Attempts at each clip, earliest start first; none for a clip that is too short. All clips at the control rate.

    A clip whose attempt from frame 0 `is_enough` is not tried again.
    """
    unscreened = ReferenceSettings(ScreenSettings(enabled=False))
    library = build_library(simulator.trained.character, clips, unscreened, simulator.device, simulator.fps)
    lengths = library.length.tolist()
    assert lengths == [len(clip.motion) for clip in clips], "clips must be at the control rate"
    found: list[list[Attempt]] = [[] for _ in clips]
    first_round = [(c, 0) for c, length in enumerate(lengths) if 0 in start_frames(length, simulator.fps, settings)]
    for attempt in run_attempts(simulator, library, first_round):
        found[attempt.clip].append(attempt)
    lost = [c for c, attempts in enumerate(found) if attempts and not is_enough(clips[c], attempts[0])]
    second_round = [(c, start) for c in lost for start in start_frames(lengths[c], simulator.fps, settings)[1:]]
    for attempt in run_attempts(simulator, library, second_round):
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


@torch.no_grad()
def run_attempts(
    simulator: Simulator, library: ReferenceLibrary, runs: list[tuple[int, int]], on_step: Callable[[], object] | None = None
) -> list[Attempt]:
    """Runs of (clip, start frame), as many side by side as there are worlds, in the order given; on_step after each step."""
    if not runs:
        return []
    world = simulator.world_for(len(runs), library.bank.cell)
    lengths = library.length.tolist()
    longest_first = sorted(range(len(runs)), key=lambda r: lengths[runs[r][0]] - runs[r][1], reverse=True)
    results: list[Attempt | None] = [None] * len(runs)
    with getattr(world, "on_stream", nullcontext)():
        generator = torch.Generator(device=world.device).manual_seed(0)  # nothing is drawn from it that is recorded
        env = TrackEnv(world, library, simulator.trained.settings, generator, rewards=False)
        for first in range(0, len(runs), world.num_worlds):
            part = longest_first[first : first + world.num_worlds]
            for place, attempt in zip(part, _run_part(simulator, env, [runs[r] for r in part], on_step), strict=True):
                results[place] = attempt
    return [attempt for attempt in results if attempt is not None]


def _run_part(
    simulator: Simulator, env: TrackEnv, runs: list[tuple[int, int]], on_step: Callable[[], object] | None
) -> list[Attempt]:
    device, count, act = env.world.device, env.num_worlds, simulator.act
    repeated = torch.tensor([runs[i % len(runs)] for i in range(count)], device=device)
    clip, start = repeated[:, 0].contiguous(), repeated[:, 1].contiguous()
    env.begin(clip, start, torch.zeros(count, device=device))
    left = env.library.length[clip] - 1 - start
    alive = torch.ones(count, dtype=torch.bool, device=device)
    steps, broke = torch.zeros_like(clip), torch.zeros_like(alive)
    states, contacts, errors = [env.world.qpos.clone()], [env.contacts.clone()], [torch.zeros(count, device=device)]
    with inference(device):
        for step in range(int(left.max())):
            if step % _LOOK_EVERY[device.type] == 0 and not bool(alive.any()):
                break
            env.simulate(act(env.observation))
            states.append(env.world.qpos.clone())
            contacts.append(env.world.contacts.clone())
            env.judge()
            errors.append(env.error.clone())
            broke |= alive & env.broken
            alive = alive & ~env.failed
            steps += alive
            alive = alive & ~env.at_end
            env.world.idle.copy_(~alive)
            if on_step is not None:
                on_step()
    reached = (steps >= left - END_SLACK).tolist()
    tracked, divergence = steps.tolist(), broke.tolist()
    used = max(tracked) + 1
    qpos, touch, error = (torch.stack(rows[:used], 1)[: len(runs)] for rows in (states, contacts, errors))
    on_device = (*qpos_to_frames(env.world.character, qpos), touch, error)
    root_pos, root_rot, joint_rot, touch, error = (part.cpu() for part in on_device)
    attempts = []
    for k, (clip_index, first) in enumerate(runs):
        stop = tracked[k] + 1
        # clones let go of the whole batch
        pos, rot, joints, touched = (part[k, :stop].clone() for part in (root_pos, root_rot, joint_rot, touch))
        motion = Motion(pos, rot, joints, touched, fps=simulator.fps)
        attempts.append(Attempt(clip_index, first, motion, error[k, :stop], reached[k], divergence[k]))
    return attempts
