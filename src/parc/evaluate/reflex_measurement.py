"""Crossing terrain without rehearsal, measured: every body goes its route once, and what becomes of it counts.

The generator is fed with the body's own last two frames every `every` control steps, the tracker follows with its mean action,
nothing is tried out first and nothing is taken back (`parc.plan.reflex`). Beside it stand the paper's way, a whole motion planned
and followed without looking back (`open-loop`, `parc.plan.open_loop`, one try), and the search through simulated futures, which
forgets those that fail (`search`, `parc.plan.offline_search`).

Runs are simulated in groups: some terrains of a family, all runs of each, side by side. A group has random numbers of its own,
drawn for its first case, so a run does not depend on which other groups are measured, or where. It does depend on the group that
it is in: bodies draw the generator's noise from one stream, and networks round differently for another number of rows. Pushes
and height noise are drawn for each run alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import torch

from parc.character.character import Character
from parc.dataset.clip import Clip, Provenance
from parc.errors import SettingsError
from parc.evaluate.crossing_summary import GAIT, HUMAN, CrossingRun
from parc.evaluate.disturbances import GENERATOR, Disturbance, believed, pushes, run_stream
from parc.evaluate.terrain_sets import TestCase
from parc.metrics.body_signals import signals_of
from parc.metrics.clip_batch import ClipBatch, groups
from parc.metrics.gait_measures import measure_gait
from parc.metrics.naturalness import measure_naturalness
from parc.motion.motion import Motion
from parc.motion.mujoco_qpos import qpos_to_frames
from parc.plan import Models, PlainSettings, TraverseSettings, traverse
from parc.plan.reflex import OUTCOMES as REFLEX_OUTCOMES
from parc.plan.reflex import Reflex, ReflexSettings
from parc.terrain.terrain import TerrainBatch

Method = Literal["reflex", "open-loop", "search"]
_LOOK_EVERY = {"cpu": 1, "cuda": 15}
"""control steps after which it is asked whether anybody still runs; on a GPU that waits"""


@dataclass(frozen=True)
class CrossingTest:
    """One way to cross, under some conditions: a row of the table."""

    method: Method = "reflex"
    runs: int = 1
    """on each terrain"""
    reflex: ReflexSettings = field(default_factory=ReflexSettings)
    disturbance: Disturbance = field(default_factory=Disturbance)
    """of reflexes only"""
    search: TraverseSettings = field(default_factory=TraverseSettings)
    """of the search; its wall time limit makes a busy machine find less"""
    open_loop: TraverseSettings = field(default_factory=lambda: TraverseSettings(1, PlainSettings()))
    """of the paper's way: one try"""
    terrains_at_once: int = 20
    """of a group; other methods than reflexes have groups of one"""
    seed: int = 1

    def __post_init__(self) -> None:
        if self.runs < 1 or self.terrains_at_once < 1:
            raise SettingsError(f"{self.runs} runs on each terrain were asked for, expected at least 1")
        if self.method != "reflex" and self.disturbance != Disturbance():
            raise SettingsError(f"pushes and height noise are for reflexes, not for '{self.method}'")

    @property
    def label(self) -> str:
        """A few words for a table."""
        if self.method != "reflex":
            return self.method
        what = self.disturbance
        words = [f"reflex, every {self.reflex.every}"]
        words += [f"push {what.push:g} m/s"] if what.push else []
        words += [f"height noise {what.height_noise:g} m"] if what.height_noise else []
        words += [f"{100 * what.missing:g} % missing"] if what.missing else []
        return ", ".join(words)

    @property
    def group_size(self) -> int:
        """Terrains of a group."""
        return self.terrains_at_once if self.method == "reflex" else 1


@dataclass(frozen=True, eq=False)
class CrossedGroup:
    """What became of a group: terrain by terrain, run by run."""

    runs: list[CrossingRun]
    clips: list[Clip]
    """what the bodies did, named as their case and run"""


def cross_group(
    models: Models,
    cases: Sequence[TestCase],
    test: CrossingTest,
    threads: int = 0,
    graphs: bool = True,
    on_step: Callable[[], object] = lambda: None,
) -> CrossedGroup:
    """All runs on these terrains of one family; `threads` (0: all cores) are the CPU engine's."""
    if test.method == "reflex":
        return _by_reflex(models, cases, test, threads, graphs, on_step)
    settings = replace(test.search if test.method == "search" else test.open_loop, threads=threads)
    runs, clips = [], []
    for case in cases:
        for run in range(test.runs):
            random = _random(models, case, test, run)
            result = traverse(case.terrain, case.path, models, settings, random, _name(case, run))
            outcome = "arrived" if result.reached else "lost"
            runs.append(_run_of(case, run, outcome, result.seconds, result.progress))
            clips.append(result.simulated)
            on_step()
    return _measured(runs, clips, models.tracker.character)


def _by_reflex(
    models: Models,
    cases: Sequence[TestCase],
    test: CrossingTest,
    threads: int,
    graphs: bool,
    on_step: Callable[[], object],
) -> CrossedGroup:
    who = [(k, run) for k in range(len(cases)) for run in range(test.runs)]
    what, seed = test.disturbance, test.seed
    seen = TerrainBatch.stack([believed(cases[k], run, what, seed) for k, run in who]) if what.blurs else None
    reflex = Reflex(
        models.generator,
        models.tracker,
        [case.terrain for case in cases],
        [case.path for case in cases],
        [k for k, _ in who],
        test.reflex,
        _random(models, cases[0], test, 0),
        seen,
        threads,
        graphs,
    )
    crossings, count, device = reflex.crossings, reflex.count, reflex.world.device
    reflex.begin()
    # Pushes are drawn before anybody moves, so that nothing of a run decides over them; bodies that fill up are not pushed.
    limit = int(crossings.limits.max()) + 1
    pushed = torch.zeros(limit, reflex.world.num_worlds, 3)
    if what.push:
        pushed[:, :count] = torch.stack([pushes(cases[k], run, what, limit, reflex.fps, seed) for k, run in who], 1)
    is_push = pushed.any(-1).any(1).tolist()
    pushed, given = pushed.to(device), torch.zeros(reflex.world.num_worlds, dtype=torch.long, device=device)
    qpos, contacts = [reflex.world.qpos.clone()], [reflex.bodies.contacts.clone()]
    look_every = _LOOK_EVERY[device.type]
    for step in range(limit):
        if step % look_every == 0 and reflex.is_over():
            break
        if is_push[step]:
            who_is_pushed = pushed[step].any(-1) & crossings.runs
            reflex.push(who_is_pushed, pushed[step])
            given += who_is_pushed
        reflex.step()
        qpos.append(reflex.world.qpos.clone())
        contacts.append(reflex.bodies.contacts.clone())
        on_step()
    states, touches = (torch.stack(column, 1)[:count].cpu() for column in (qpos, contacts))
    columns = (crossings.outcome, crossings.steps, crossings.progress, given)
    runs, clips = [], []
    for n, (outcome, steps, progress, times) in enumerate(zip(*(c[:count].tolist() for c in columns), strict=True)):
        case, run = cases[who[n][0]], who[n][1]
        made = _run_of(case, run, REFLEX_OUTCOMES[outcome], steps / reflex.fps, progress)
        runs.append(replace(made, pushes=times))
        clips.append(_clip(case, run, states[n, : steps + 1], touches[n, : steps + 1], models, reflex.fps))
    return _measured(runs, clips, models.tracker.character)


def _run_of(case: TestCase, run: int, outcome: str, seconds: float, progress: float) -> CrossingRun:
    return CrossingRun(case.name, case.family, run, outcome, seconds, case.path.length, progress, *case.difficulty)


def _name(case: TestCase, run: int) -> str:
    return f"{case.name}_{run}"


def _clip(case: TestCase, run: int, qpos: torch.Tensor, contacts: torch.Tensor, models: Models, fps: float) -> Clip | None:
    """What a body did, as long as its simulation held; None for less than two frames."""
    broken = ~qpos.isfinite().all(-1)
    frames = int(broken.int().argmax()) if bool(broken.any()) else len(qpos)
    if frames < 2:
        return None
    character = models.tracker.character
    motion = Motion(*qpos_to_frames(character, qpos[:frames]), contacts[:frames], fps)
    origin = Provenance(source="reflex", skill="generated")
    return Clip(_name(case, run), motion, case.terrain, case.path, character.fingerprint, origin)


def _measured(runs: list[CrossingRun], clips: Sequence[Clip | None], character: Character) -> CrossedGroup:
    """With the measures of each motion, on the CPU."""
    known = [(k, clip) for k, clip in enumerate(clips) if clip is not None]
    rows = iter(known)
    for some in groups([clip for _, clip in known]):
        batch = ClipBatch.stack(some, character)
        signals = signals_of(batch)
        values = {**measure_naturalness(batch, signals), **measure_gait(batch, signals)}
        told = {name: values[name].tolist() for name in (*HUMAN, *GAIT)}
        for row in range(len(some)):
            k, _ = next(rows)
            runs[k] = replace(runs[k], motion={name: column[row] for name, column in told.items()})
    return CrossedGroup(runs, [clip for _, clip in known])


def _random(models: Models, case: TestCase, test: CrossingTest, run: int) -> torch.Generator:
    stream = run_stream(case, run, GENERATOR, test.seed)
    return torch.Generator(models.generator.device).manual_seed(int(stream.integers(1 << 62)))
