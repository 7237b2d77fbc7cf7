"""Search distilled: futures of visited states that hold, get on and look human become clips, to train generators on.

Bodies cross the terrains of a bank by reflex. Now and then their states are copied into other worlds, some copies of each; every
copy gets a plan of its own, is simulated for a second, and is judged:

    holds    never down, never farther from its plan than the tracker's limits
    gets on  has gained so many metres of worth (`parc.plan.path_progress`)
    human    R of the naturalness score is under a limit (`parc.metrics.naturalness`), where people are known to do the like

Of each state the most human ones are kept, as what the *body* did, the two frames before it included: pasts that are simulated,
also those of stumbles and pushes, with futures that work from there. Where no future holds nothing is kept.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character.posture import size_of
from parc.dataset.clip import Clip, Provenance
from parc.errors import SettingsError
from parc.generate.model.motion_generator import Generator
from parc.metrics.clip_batch import ClipBatch, groups
from parc.metrics.naturalness import measure_naturalness
from parc.motion.motion import Motion
from parc.motion.mujoco_qpos import qpos_to_frames
from parc.path.terrain_path import TerrainPath
from parc.physics.choose_engine import make_world
from parc.plan.crossing.reflex_crossings import ReflexSettings
from parc.plan.path_progress import walk, worth
from parc.plan.reflex import PlanWriter
from parc.reflex.reflex_env import ReflexEnv
from parc.reflex.terrain_bank import CrossingBank
from parc.track.env.body_tables import BodyTables
from parc.track.follow.outcome import FallSettings
from parc.track.follow.reference_table import WrittenTable
from parc.track.follow.trace import Snapshot
from parc.track.follow.tracked_bodies import TrackedBodies
from parc.track.learn.policy import TrainedActor


@dataclass(frozen=True)
class DistilSettings:
    """Which futures are tried, and which are kept."""

    futures: int = 16
    """plans written and simulated for each state"""
    seconds: float = 1.0
    """s that each is simulated"""
    between: int = 15
    """control steps of the reflex from one look at the states to the next"""
    gain: float = 0.3
    """m of worth that a future must gain"""
    human: float = 2.0
    """R above which a future is not human; one without people to compare with counts as this"""
    kept: int = 2
    """futures of each state at most"""

    def __post_init__(self) -> None:
        if min(self.futures, self.between, self.kept) < 1 or not (0 < self.seconds < math.inf and self.human > 0):
            raise SettingsError(
                f"{self.futures} futures of {self.seconds} s, {self.kept} of them kept: expected at least 1 of each"
            )


class Futures(NamedTuple):
    """What became of C futures of each of K states, rows state by state."""

    qpos: Tensor
    """[K C, S + 2, nq] before the state, the state, and after each control step"""
    contacts: Tensor
    """[K C, S + 2, B]"""
    holds: Tensor
    """[K C] bool"""
    gain: Tensor
    """[K C] m of worth"""


class FutureTrials:
    """Worlds in which K states are tried out, C futures of each."""

    def __init__(
        self,
        generator: Generator,
        tracker: TrainedActor,
        bank: CrossingBank,
        states: int,
        settings: DistilSettings,
        loop: ReflexSettings,
        random: torch.Generator,
        threads: int = 0,
        graphs: bool = True,
    ) -> None:
        """`random` lives on the generator's device."""
        device, character, count = generator.device, tracker.character, states * settings.futures
        fps = float(tracker.contract.control_hz)
        self.settings, self.tracker, self.bank, self._loop = settings, tracker, bank, loop
        self._steps = round(settings.seconds * fps)
        if self._steps >= loop.length:
            raise SettingsError(f"a plan of {loop.length} frames cannot be followed for {settings.seconds} s")
        world = make_world(character, tracker.contract, count, device, threads, bank.terrains.cell)
        table = WrittenTable.empty(BodyTables(character, device), count, loop.length, fps, velocities=False)
        self.bodies = TrackedBodies(world, table, bank.terrains, tracker.settings, graphs=graphs, keeps_past=True)
        self._writer = PlanWriter(generator, self.bodies, bank.terrains, replace(loop, candidates=1), random, graphs)
        self._all = torch.arange(count, device=device)

    @torch.no_grad()
    def run(self, states: Snapshot, case: Tensor, progress: Tensor) -> Futures:
        """Of states [K, ...] on rows [K] of the bank, `progress` [K] m along their paths."""
        bodies, world, each = self.bodies, self.bodies.world, self.settings.futures
        states = Snapshot(*(part.repeat_interleave(each, 0) for part in states))
        case, progress = case.repeat_interleave(each), progress.repeat_interleave(each)
        paths = self.bank.paths.select(case)
        world.idle.zero_()
        world.terrain_row.copy_(case)
        bodies.restore(states)
        bodies.place(0, 0)
        self._writer.write(self._all, self._all, paths, progress)
        bodies.observe()
        qpos, contacts = [states.qpos_before, states.qpos], [states.contacts_before, states.contacts]
        holds = torch.ones_like(world.diverged)
        for _ in range(self._steps):
            bodies.step(self.tracker.act(bodies.observation))
            holds &= ~(bodies.failed | bodies.down(FallSettings.at_once()))
            qpos.append(world.qpos.clone())
            contacts.append(bodies.contacts.clone())
        climb, size = self._loop.climb, size_of(world.character)
        walked = walk(paths, progress, torch.stack([row[:, :3] for row in qpos[2:]], 1), size)[:, -1]
        before = worth(paths, progress, states.qpos[:, 2], climb, size)
        gain = worth(paths, walked, world.qpos[:, 2], climb, size) - before
        return Futures(torch.stack(qpos, 1), torch.stack(contacts, 1), holds & gain.isfinite(), gain)


def distil(
    env: ReflexEnv,
    trials: FutureTrials,
    visits: int,
    name: str,
    provenance: Provenance,
    on_visit: Callable[[int, int], object] = lambda tried, kept: None,
) -> Iterator[list[Clip]]:
    """Clips of each of so many visits; `name` is what theirs begin with. `on_visit` is told how many were tried and kept."""
    settings, states = trials.settings, len(trials.bodies.world.idle) // trials.settings.futures
    for visit in range(visits):
        with torch.no_grad():
            for _ in range(settings.between):
                env.step(trials.tracker.act(env.observation))
        runs = env.crossings.runs.nonzero()[:, 0]  # between steps: this waits for the device
        if not len(runs):
            continue
        # Other bodies each time, some of them twice if few run.
        who = runs[(visit * states + torch.arange(states, device=runs.device)) % len(runs)]
        now = Snapshot(*(part.index_select(0, who) for part in env.states()))
        case = env.crossings.case.index_select(0, who)
        futures = trials.run(now, case, env.crossings.progress.index_select(0, who))
        clips = _clips(trials, futures, case, f"{name}_{visit:05d}", provenance)
        kept = _most_human(clips, trials)
        on_visit(len(futures.gain), len(kept))
        yield kept


def _clips(trials: FutureTrials, futures: Futures, case: Tensor, name: str, provenance: Provenance) -> list[tuple[int, Clip]]:
    """Those that hold and get on, with the state that each belongs to."""
    settings, character, bank = trials.settings, trials.tracker.character, trials.bank
    fps = float(trials.tracker.contract.control_hz)
    good = (futures.holds & (futures.gain >= settings.gain)).nonzero()[:, 0].tolist()
    qpos, contacts = futures.qpos.cpu(), futures.contacts.cpu()
    found = []
    for row in good:
        state, future = divmod(row, settings.futures)
        ground = int(case[state])
        points = bank.paths.points[ground].cpu()
        motion = Motion(*qpos_to_frames(character, qpos[row]), contacts[row], fps)
        length = math.ceil(float(bank.paths.length[ground]) / bank.paths.spacing) + 1
        path = TerrainPath(points[: max(2, length)])
        losses = {"gain": float(futures.gain[row])}
        origin = replace(provenance, losses=losses)
        terrain = bank.terrains[ground].to("cpu")
        clip = Clip(f"{name}_{state:03d}_{future:02d}", motion, terrain, path, character.fingerprint, origin)
        found.append((state, clip))
    return found


def _most_human(clips: list[tuple[int, Clip]], trials: FutureTrials) -> list[Clip]:
    """Of each state the few that look most like people, none of those that do not."""
    settings, ratios = trials.settings, []
    for some in groups([clip for _, clip in clips]):
        ratio = measure_naturalness(ClipBatch.stack(some, trials.tracker.character))["human_r"]
        ratios += torch.nan_to_num(ratio, settings.human).tolist()
    ranked = sorted(zip(ratios, range(len(clips)), strict=True))
    kept, count = [], dict.fromkeys((state for state, _ in clips), 0)
    for ratio, k in ranked:
        state, clip = clips[k]
        if ratio <= settings.human and count[state] < settings.kept:
            count[state] += 1
            losses = clip.provenance.losses | {"human_r": ratio}
            kept.append(replace(clip, provenance=replace(clip.provenance, losses=losses)))
    return sorted(kept, key=lambda clip: clip.name)
