"""The loop in which a policy follows clips, many episodes side by side: what tracking, evaluation and recording call.

An episode begins on a frame of a clip. It ends when the clip is over, the pose is lost (`parc.track.env.termination`) or the
simulation breaks; its world then idles. It *reaches the end* if it is tracked to within `END_SLACK` frames of the clip's end.

Frame k of what an episode simulated is frame start + k of the reference. Its frame 0 *is* the reference's, put there and not
simulated.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from parc.dataset.clip import Clip
from parc.errors import MotionError
from parc.motion.motion import Motion
from parc.motion.mujoco_qpos import qpos_to_frames
from parc.physics.choose_engine import make_world
from parc.physics.simulated_world import World
from parc.track.env.reference_library import ReferenceLibrary, ReferenceSettings, build_library
from parc.track.env.reject_bad_references import ScreenSettings
from parc.track.env.track_env import TrackEnv
from parc.track.learn.inference_mode import inference
from parc.track.learn.policy import TrainedActor

END_SLACK = 2
"""frames at the end of a clip that need not be tracked"""
_LOOK_EVERY = {"cpu": 1, "cuda": 32}
"""control steps between looks at whether all episodes are over (each waits for the device)"""


class Episodes(NamedTuple):
    """R episodes to run."""

    clip: Tensor
    """[R] of the library"""
    start: Tensor
    """[R] frame of the clip"""
    noisy: Tensor
    """[R] bool, begin with the training's start noise"""

    @classmethod
    def of(cls, runs: Sequence[tuple[int, int]]) -> "Episodes":
        """Of pairs (clip, start frame), without noise."""
        clip, start = (torch.tensor([run[k] for run in runs], dtype=torch.long) for k in range(2))
        return cls(clip, start, torch.zeros(len(runs), dtype=torch.bool))

    def rows(self, which: Tensor) -> "Episodes":
        return Episodes(*(column[which] for column in self))


@dataclass(eq=False)
class Trace:
    """What came of R episodes, on the CPU."""

    steps: Tensor
    """[R] control steps before the pose was lost, the simulation broke or the clip was over"""
    error: Tensor
    """[R] m, mean root-relative distance of the bodies from the reference's over these steps; NaN if there are none"""
    reached_end: Tensor
    """[R] bool"""
    broken: Tensor
    """[R] bool, stopped because the simulation broke, not the pose"""
    motions: list[Motion] = field(default_factory=list)
    """R, frames 0 to steps, with the simulator's contacts; only if states are kept"""
    errors: list[Tensor] = field(default_factory=list)
    """R of [steps + 1] m, error of each frame, 0 in the first; only if states are kept"""

    @classmethod
    def empty(cls, runs: int) -> "Trace":
        lost, none = torch.zeros(runs, dtype=torch.bool), torch.zeros(runs)
        return cls(torch.zeros(runs, dtype=torch.long), none, lost, lost.clone())


class Runner:
    """Worlds for one policy. On a GPU they are made once; on the CPU as many as a call needs."""

    def __init__(self, trained: TrainedActor, device: torch.device | str = "cpu", worlds: int = 0, threads: int = 0) -> None:
        """worlds: 0 takes 4096 on a GPU, 256 on the CPU; threads (0: all cores) is for the CPU."""
        self.trained, self.device, self.threads = trained, torch.device(device), threads
        self.act = trained.act
        self.worlds = worlds or (256 if self.device.type == "cpu" else 4096)
        self._kept: World | None = None

    @property
    def fps(self) -> float:
        return float(self.trained.contract.control_hz)

    def library(self, clips: list[Clip]) -> ReferenceLibrary:
        """Of clips as they are: none is refused."""
        unscreened = ReferenceSettings(ScreenSettings(enabled=False))
        return build_library(self.trained.character, clips, unscreened, self.device, self.fps)

    def world_for(self, runs: int, cell: float) -> World:
        """Worlds for so many episodes on terrain of such cells."""
        if self.device.type == "cpu":
            return self._make(min(runs, self.worlds), cell)
        if self._kept is None or abs(self._kept.cell - cell) > 1e-6:
            self._kept = self._make(self.worlds, cell)
        return self._kept

    def follow(
        self, clips: list[Clip], starts: Sequence[int] | None = None, on_step: Callable[[], object] | None = None
    ) -> Trace:
        """Each clip from its frame in `starts` (the first), without noise, states kept."""
        starts = [0] * len(clips) if starts is None else starts
        episodes = Episodes.of(list(zip(range(len(clips)), starts, strict=True)))
        return self.run(self.library(clips), episodes, keep=True, on_step=on_step)

    def run(
        self,
        library: ReferenceLibrary,
        episodes: Episodes,
        keep: bool = False,
        seed: int = 0,
        on_step: Callable[[], object] | None = None,
    ) -> Trace:
        """Episodes from the library, with the policy's mean action; `seed` is that of the start noise."""
        if not len(episodes.clip):
            return Trace.empty(0)
        last = library.length.cpu()[episodes.clip] - 1
        for clip, start, end in zip(*(column.tolist() for column in (episodes.clip, episodes.start, last)), strict=True):
            if not 0 <= start < max(end, 1):
                raise MotionError(f"clip '{library.names[clip]}' cannot be tracked from frame {start}, it has {end + 1}")
        world = self.world_for(len(episodes.clip), library.bank.cell)
        with getattr(world, "on_stream", nullcontext)():
            generator = torch.Generator(device=world.device).manual_seed(seed)
            env = TrackEnv(world, library, self.trained.settings, generator, rewards=False)
            return run_episodes(env, self.act, episodes, keep, on_step)

    def _make(self, count: int, cell: float) -> World:
        world = make_world(self.trained.character, self.trained.contract, count, self.device, self.threads, cell)
        world.contract.check_matches(self.trained.contract)
        return world


@torch.no_grad()
def run_episodes(
    env: TrackEnv,
    act: Callable[[Tensor], Tensor],
    episodes: Episodes,
    keep: bool = False,
    on_step: Callable[[], object] | None = None,
) -> Trace:
    """Longest first, as many side by side as there are worlds; `keep` the states; on_step after each control step.

    Takes over the environment's worlds; call `env.restart_all` before training goes on.
    """
    left = env.library.length.cpu()[episodes.clip] - 1 - episodes.start
    trace = Trace.empty(len(left))
    kept: dict[int, tuple[Motion, Tensor]] = {}
    for part in torch.argsort(left, descending=True, stable=True).split(env.num_worlds):
        steps, error, broken, rollouts = _run_part(env, act, episodes.rows(part), keep, on_step)
        trace.steps[part], trace.error[part], trace.broken[part] = steps, error, broken
        kept |= dict(zip(part.tolist(), rollouts, strict=False))
    trace.reached_end = trace.steps >= left - END_SLACK
    trace.motions, trace.errors = [kept[k][0] for k in sorted(kept)], [kept[k][1] for k in sorted(kept)]
    return trace


def _run_part(
    env: TrackEnv, act: Callable[[Tensor], Tensor], episodes: Episodes, keep: bool, on_step: Callable[[], object] | None
) -> tuple[Tensor, Tensor, Tensor, Iterator[tuple[Motion, Tensor]]]:
    """Steps, mean error and whether it broke [R] of at most as many episodes as there are worlds, and what is kept of them."""
    device, count, runs = env.world.device, env.num_worlds, len(episodes.clip)
    # Worlds left over repeat the episodes; they idle.
    clip, start, noisy = (c.to(device) for c in episodes.rows(torch.arange(count) % runs))
    env.begin(clip, start, noisy)
    alive = torch.arange(count, device=device) < runs
    env.world.idle.copy_(~alive)
    steps, broken, total = torch.zeros_like(clip), torch.zeros_like(alive), torch.zeros(count, device=device)
    states, contacts, errors = [env.world.qpos.clone()], [env.contacts.clone()], [torch.zeros(count, device=device)]
    with inference(device):
        for step in range(int((env.library.length[clip] - 1 - start).max())):
            if step % _LOOK_EVERY[device.type] == 0 and not bool(alive.any()):
                break
            env.simulate(act(env.observation))
            if keep:  # before `judge` puts worlds whose episode is over somewhere else
                states.append(env.world.qpos.clone())
                contacts.append(env.world.contacts.clone())
            env.judge()
            broken |= alive & env.broken
            alive = alive & ~env.failed
            steps += alive
            total += env.error * alive
            if keep:
                errors.append(env.error.clone())
            alive = alive & ~env.at_end
            env.world.idle.copy_(~alive)
            if on_step is not None:
                on_step()
    mean = torch.where(steps > 0, total / steps.clamp_min(1), torch.nan)
    steps, mean, broken = (column[:runs].cpu() for column in (steps, mean, broken))
    return steps, mean, broken, _rollouts(env, steps, states, contacts, errors) if keep else iter(())


def _rollouts(
    env: TrackEnv, steps: Tensor, states: list[Tensor], contacts: list[Tensor], errors: list[Tensor]
) -> Iterator[tuple[Motion, Tensor]]:
    """Motion and errors of each of R episodes, as far as its steps [R] go."""
    used = int(steps.max()) + 1
    qpos, touch, error = (torch.stack(rows[:used], 1)[: len(steps)] for rows in (states, contacts, errors))
    on_device = (*qpos_to_frames(env.world.character, qpos), touch, error)
    columns = [part.cpu() for part in on_device]
    for k, stop in enumerate((steps + 1).tolist()):
        # clones let go of the whole batch
        pos, rot, joints, touched, off = (column[k, :stop].clone() for column in columns)
        yield Motion(pos, rot, joints, touched, fps=float(env.world.contract.control_hz)), off
