"""The loop in which a policy steps bodies that follow references, and what tracking, evaluation and recording call: `Runner`.

An episode begins on a frame of a clip. It ends when the clip is over or the body has failed (`parc.track.follow.outcome`); its
world then idles. Frame k of what an episode simulated is frame start + k of the reference. Its frame 0 *is* the reference's, put
there and not simulated.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from parc.dataset.clip import Clip
from parc.errors import MotionError
from parc.motion.motion import Motion
from parc.motion.mujoco_qpos import qpos_to_frames
from parc.physics.choose_engine import make_world
from parc.physics.simulated_world import World
from parc.quality.limit_profiles import TrackerInputLimits
from parc.track.env.reference_library import ReferenceLibrary, ReferenceSettings, build_library
from parc.track.follow.outcome import FallSettings, FallWatch, reached_end
from parc.track.follow.trace import Snapshot, Trace
from parc.track.follow.tracked_bodies import TrackedBodies
from parc.track.learn.inference_mode import inference
from parc.track.learn.policy import TrainedActor

Act = Callable[[Tensor], Tensor]
"""observations [N, size] to actions [N, D]"""
OnStep = Callable[[], object]
"""called after each control step; may raise to end them"""
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
        """Some of them."""
        return Episodes(*(column[which] for column in self))


class Runner:
    """Worlds for one policy. On a GPU they are made once; on the CPU as many as a call needs."""

    def __init__(self, trained: TrainedActor, device: torch.device | str = "cpu", worlds: int = 0, threads: int = 0) -> None:
        """worlds: 0 takes 4096 on a GPU, 256 on the CPU; threads (0: all cores) is for the CPU."""
        self.trained, self.device, self.threads = trained, torch.device(device), threads
        self.worlds = worlds or (256 if self.device.type == "cpu" else 4096)
        self._kept: World | None = None

    @property
    def fps(self) -> float:
        """Control steps a second."""
        return float(self.trained.contract.control_hz)

    def library(self, clips: list[Clip]) -> ReferenceLibrary:
        """Of clips as they are: none is refused."""
        unscreened = ReferenceSettings(TrackerInputLimits(enabled=False))
        return build_library(self.trained.character, clips, unscreened, self.device, self.fps)

    def world_for(self, runs: int, cell: float) -> World:
        """Worlds for so many episodes on terrain of such cells."""
        if self.device.type == "cpu":
            return self._make(min(runs, self.worlds), cell)
        if self._kept is None or abs(self._kept.cell - cell) > 1e-6:
            self._kept = self._make(self.worlds, cell)
        return self._kept

    def follow(self, clips: list[Clip], starts: Sequence[int] | None = None, on_step: OnStep | None = None) -> Trace:
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
        on_step: OnStep | None = None,
    ) -> Trace:
        """Episodes from the library, with the policy's mean action; `seed` is that of the start noise."""
        if not len(episodes.clip):
            return Trace.empty(0)
        last = library.length.cpu()[episodes.clip] - 1
        for clip, start, end in zip(*(column.tolist() for column in (episodes.clip, episodes.start, last)), strict=True):
            if not 0 <= start < max(end, 1):
                raise MotionError(f"clip '{library.names[clip]}' cannot be tracked from frame {start}, it has {end + 1}")
        world = self.world_for(len(episodes.clip), library.bank.cell)
        with world.on_stream():
            generator = torch.Generator(device=world.device).manual_seed(seed)
            bodies = TrackedBodies(world, library, library.bank, self.trained.settings, generator, puts_back=True)
            return run_episodes(bodies, self.trained.act, episodes, keep, on_step)

    def _make(self, count: int, cell: float) -> World:
        world = make_world(self.trained.character, self.trained.contract, count, self.device, self.threads, cell)
        world.contract.check_matches(self.trained.contract)
        return world


@torch.no_grad()
def run_episodes(bodies: TrackedBodies, act: Act, episodes: Episodes, keep: bool = False, on_step: OnStep | None = None) -> Trace:
    """Longest first, as many side by side as there are worlds; `keep` the motions; on_step after each control step.

    Takes over the worlds; call `restart_all` before training goes on.
    """
    left = bodies.reference.length.cpu()[episodes.clip] - 1 - episodes.start
    trace = Trace.empty(len(left))
    kept: dict[int, tuple[Motion, Tensor]] = {}
    device, count = bodies.world.device, bodies.num_worlds
    for part in torch.argsort(left, descending=True, stable=True).split(count):
        # Worlds left over repeat the episodes; they idle.
        runs = len(part)
        bodies.begin(*(c.to(device) for c in episodes.rows(part[torch.arange(count) % runs])))
        alive = torch.arange(count, device=device) < runs
        found = follow_steps(bodies, act, int(left[part].max()), alive, "motion" if keep else "nothing", on_step=on_step)
        trace.survived[part], trace.mean_error[part] = found.survived[:runs].cpu(), found.mean_error[:runs].cpu()
        trace.broken[part] = found.broken[:runs].cpu()
        if keep:
            kept |= dict(zip(part.tolist(), _motions(bodies, found, runs), strict=True))
    trace.reached_end = reached_end(trace.survived, left)
    trace.motions, trace.errors = [kept[k][0] for k in sorted(kept)], [kept[k][1] for k in sorted(kept)]
    return trace


def follow_steps(
    bodies: TrackedBodies,
    act: Act,
    steps: int,
    alive: Tensor,
    keep: Literal["nothing", "motion", "everything"],
    fall: FallSettings | None = None,
    on_step: OnStep | None = None,
) -> Trace:
    """So many control steps of bodies of which `alive` [N] count, from where they are; on the device.

    Without `fall` they are episodes: each ends with its reference, what is over idles, and when all are over nothing is stepped.
    With it they are a rehearsal: a body that has fallen survives no longer either, but all are simulated to the end.
    """
    world, is_rehearsal = bodies.world, fall is not None
    watch = FallWatch(fall, world.contract.control_hz, len(alive), world.device) if fall is not None else None
    survived, broken, total = torch.zeros_like(bodies.frame), torch.zeros_like(alive), torch.zeros_like(bodies.error)
    kept: dict[str, list[Tensor]] = defaultdict(list)

    def note(**seen: Tensor) -> None:
        for name, value in seen.items():
            kept[name].append(value.clone())

    if keep == "motion":
        note(qpos=world.qpos, contacts=bodies.contacts)
    elif keep == "everything":
        note(**bodies.states()._asdict(), observations=bodies.observation)
    if not is_rehearsal:
        world.idle.copy_(~alive)
    with inference(world.device):  # what is kept is copied after it
        for step in range(steps):
            if not is_rehearsal and step % _LOOK_EVERY[world.device.type] == 0 and not bool(alive.any()):
                break
            # One control step; a motion is read before `judge` may put bodies whose episode is over somewhere else.
            bodies.simulate(act(bodies.observation))
            if keep == "motion":
                note(qpos=world.qpos, contacts=world.contacts)
            bodies.judge()
            if keep == "motion":
                note(error=bodies.error)
            elif keep == "everything":
                note(**bodies.states()._asdict(), observations=bodies.observation)
                note(error=bodies.error, drift=bodies.drift, targets=bodies.targets)
            # Who still counts?
            broken |= alive & bodies.broken
            alive = alive & ~bodies.failed
            if watch is not None and fall is not None:
                alive = alive & ~watch.look(bodies.down(fall), bodies.broken)
            survived += alive
            total += bodies.error * alive
            if not is_rehearsal:
                alive = alive & ~bodies.at_end
                world.idle.copy_(~alive)
            if on_step is not None:
                on_step()
    mean = torch.where(survived > 0, total / survived.clamp_min(1), torch.nan)
    trace = Trace(survived, mean, reached_end(survived, steps), broken)
    columns = {name: torch.stack(rows, 1) for name, rows in kept.items()}
    trace.states = Snapshot(*(columns.pop(name, trace.error) for name in Snapshot._fields))
    for name, column in columns.items():
        setattr(trace, name, column)
    return trace


def _motions(bodies: TrackedBodies, trace: Trace, runs: int) -> list[tuple[Motion, Tensor]]:
    """Motion and errors of each of the first R episodes, as far as it survived."""
    used = int(trace.survived[:runs].max()) + 1
    qpos, touch, error = (part[:runs, :used] for part in (trace.states.qpos, trace.states.contacts, trace.error))
    error = torch.cat([torch.zeros_like(error[:, :1]), error], 1)
    columns = [part.cpu() for part in (*qpos_to_frames(bodies.world.character, qpos), touch, error)]
    found = []
    for k, stop in enumerate((trace.survived[:runs] + 1).tolist()):
        # clones let go of the whole batch
        pos, rot, joints, touched, off = (column[k, :stop].clone() for column in columns)
        found.append((Motion(pos, rot, joints, touched, fps=float(bodies.world.contract.control_hz)), off))
    return found
