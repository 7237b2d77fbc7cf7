"""An iteration's models on the development set, as a stage of the loop: the paper's Tables 1 and 2, and crossings in physics.

    OUT/
      evaluation.json    {"numbers": {..}, "generators": [row], "trackers": [row], "blending": .. or null, "crossings": [row],
                          "models": {"generator": sha256, ..}, "settings": {..}}
      parts/             what has been measured so far (`parc.evaluate.result_cache`)

Rows are those of `parc evaluate` and `parc evaluate reflex`. Motions, trackers and reflexes are measured on the run's device. The
search runs on the CPU, its terrains shared out over processes.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from parc.character.character import Character
from parc.evaluate.crossing_evaluation import CrossingEvaluator, WorkShard
from parc.evaluate.evaluation_job import EvaluationSettings, Evaluator
from parc.evaluate.generator_measurement import GeneratorTest
from parc.evaluate.models_under_test import Contender
from parc.evaluate.reflex_measurement import CrossingTest
from parc.evaluate.terrain_families import Family
from parc.evaluate.terrain_sets import TestCase
from parc.evaluate.tracker_measurement import TrackerTest
from parc.evaluate.traverse_measurement import traverse_case
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.loop.iteration_numbers import NUMBERS
from parc.loop.leaf_stages import IterationModels
from parc.loop.loop_plan import LoopSettings
from parc.loop.run_stages import EVALUATION
from parc.plan import Models, SearchSettings, TraverseSettings
from parc.plan.crossing.reflex_crossings import ReflexSettings
from parc.run.atomic_files import write_bytes_atomically
from parc.run.dataclass_json import tidy
from parc.run.hashing import hash_file
from parc.run.process_pool import worker_pool

CRITIC = "critic.safetensors"


@dataclass(frozen=True)
class IterationEvaluation:
    """What `parc.loop.leaf_stages.Measurement` asks for."""

    tables: EvaluationSettings = field(default_factory=EvaluationSettings)
    """Tables 1 and 2"""
    blending: bool = False
    """the sweep of Table 3 too"""
    families: tuple[Family, ...] = ("boxes", "walks")
    """that are crossed in physics"""
    crossings: int = 10
    """terrains of each family that are crossed"""
    reflex: ReflexSettings = field(default_factory=ReflexSettings)
    runs: int = 4
    """by reflex on each terrain"""
    search: TraverseSettings = field(default_factory=TraverseSettings)
    expected: float = 60.0
    """s"""

    def measure(self, out: Path, models: IterationModels, character: Character, device: str, processes: int) -> dict[str, Any]:
        """Measure into `out`, going on with what lies there; returns the numbers of `parc.loop.iteration_numbers`."""
        evaluator = Evaluator(out, self.tables, character, device)
        contender = Contender("models", models.generator, models.tracker)
        generators = [evaluator.generator_row(contender)]
        trackers = [] if models.tracker is None else [evaluator.tracker_row(contender)]
        blending = evaluator.blending_rows(contender) if self.blending else None
        crossings = [] if models.tracker is None else self._crossings(out, models, character, device, processes)
        numbers = numbers_of(generators[0], trackers, crossings)
        files = {kind: file for kind, file in asdict(models).items() if file is not None}
        told = {
            "numbers": numbers,
            "generators": generators,
            "trackers": trackers,
            "blending": blending,
            "crossings": crossings,
            "models": {kind: hash_file(file) for kind, file in files.items()},
            "settings": asdict(self),
        }
        write_bytes_atomically(out / EVALUATION, json.dumps(tidy(told, 7), indent=1).encode())
        return numbers

    def _crossings(
        self, out: Path, models: IterationModels, character: Character, device: str, processes: int
    ) -> list[dict[str, Any]]:
        """By reflex, of the tracker that was trained for it if there is one, and by search."""
        cases = [traverse_case("development", family, i) for family in self.families for i in range(self.crossings)]
        usual = CrossingTest(runs=self.runs, reflex=self.reflex, search=self.search)
        assert models.tracker is not None
        rows = [crossing_row(out, models.generator, models.reflex or models.tracker, character, device, cases, usual)]
        test = replace(usual, method="search", runs=1)
        arguments = (out, models.generator, models.tracker, character, "cpu", cases, test)
        if processes > 1:
            with worker_pool(min(processes, len(cases))) as pool:
                shards = [WorkShard(k, min(processes, len(cases))) for k in range(min(processes, len(cases)))]
                list(pool.map(partial(crossing_row, *arguments), shards))
        return [*rows, crossing_row(*arguments)]


def crossing_row(
    out: Path,
    generator: Path,
    tracker: Path,
    character: Character,
    device: str,
    cases: Sequence[TestCase],
    test: CrossingTest,
    shard: WorkShard = WorkShard(),
) -> dict[str, Any]:
    """One way to cross terrains, or a share of them, measured into `out`."""
    files = {"generator": generator, "tracker": tracker}
    critic = tracker.with_name(CRITIC)
    files |= {"critic": critic} if critic.is_file() else {}
    hashes = {kind: hash_file(file) for kind, file in files.items()}
    load = partial(Models.load, character, device, generator, tracker)
    return CrossingEvaluator(out, load, hashes, cases, device, 1 if test.method == "search" else 0, shard).row(test)


def numbers_of(
    generator: dict[str, Any], trackers: Sequence[dict[str, Any]], crossings: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """What the loop's report and figure show of an iteration; None where it was not measured."""
    mean = next(iter(generator["limits"].values()))["mean"]
    found: dict[str, Any] = dict.fromkeys(NUMBERS)
    found |= {"fwd": mean["fwd"], "tpl": mean["tpl"], "tcl": mean["tcl"], "hjf": mean["hjf_code"], "goal": mean["goal"]}
    for row in trackers:
        found |= {"success": row["success"], "joint_error": row["joint_error"]}
    for row in crossings:
        found[row["method"]] = 100.0 * row["all"]["success"]
    return {name: value if value is None or math.isfinite(value) else None for name, value in found.items()}


def evaluation_of(loop: LoopSettings, blending: bool = False) -> IterationEvaluation:
    """For a preset of the loop: as much as fits beside its iterations."""
    if loop.name == "tiny":
        return _tiny(blending)
    if loop.plan(1).tracker.training.iterations:  # a CPU in minutes
        rollout = RolloutSettings(seconds=10.0)
        few = GeneratorTest(candidates=2, rollout=rollout, limits=(10.0,))
        tables = EvaluationSettings(4, generator=few, tracker=TrackerTest(trials=1, episodes=1))
        search = TraverseSettings(tries=1, method=SearchSettings(seconds=20.0))
        return IterationEvaluation(tables, blending, crossings=1, runs=1, search=search, expected=90.0)
    whole = loop.name == "paper"
    made = GeneratorTest(candidates=32 if whole else 8, rollout=RolloutSettings(seconds=20.0), limits=(20.0,))
    tables = EvaluationSettings(100 if whole else 40, generator=made, tracker=TrackerTest(trials=1, episodes=8))
    if whole:
        return IterationEvaluation(tables, blending, crossings=50, expected=1800.0)
    search = TraverseSettings(tries=3, method=SearchSettings(seconds=40.0))
    return IterationEvaluation(tables, blending, crossings=8, search=search, expected=80.0)


def _tiny(blending: bool) -> IterationEvaluation:
    """One terrain of everything, motions of a second."""
    rollout = RolloutSettings(seconds=1.0, steps=1, lock_feet=False)
    tables = EvaluationSettings(
        1, generator=GeneratorTest(candidates=1, rollout=rollout, limits=(1.0,)), tracker=TrackerTest(trials=1, episodes=1)
    )
    search = SearchSettings(candidates=2, beam=1, hard=1, stall=1, seconds=5.0, longest=1.0, rollout=RolloutSettings(steps=1))
    return IterationEvaluation(
        tables, blending, families=("boxes",), crossings=1, reflex=ReflexSettings(every=9, seconds=0.3, slowest=100.0), runs=1,
        search=TraverseSettings(tries=1, method=search), expected=10.0,
    )  # fmt: skip
