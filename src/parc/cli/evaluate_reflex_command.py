"""`parc evaluate reflex`: the share of a set's terrains that is crossed without rehearsal, and what it takes to prevent it."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from parc.cli.base_command import number, tell
from parc.cli.character_option import OfCharacter
from parc.cli.pace_option import at_pace
from parc.cli.set_options import SetOptions
from parc.dataset.clip_reading import read_clips
from parc.dataset.convert.clip_files import save_clip
from parc.errors import SettingsError
from parc.evaluate.crossing_evaluation import CrossingEvaluator, WorkShard
from parc.evaluate.disturbances import Disturbance
from parc.evaluate.reflex_measurement import CrossingTest
from parc.evaluate.terrain_sets import set_title
from parc.evaluate.traverse_measurement import traverse_case
from parc.models import generator_file, shipped_tracker
from parc.plan import Models, PlainSettings, RouteSettings, SearchSettings, TraverseSettings
from parc.plan.crossing.reflex_crossings import ReflexSettings
from parc.run.atomic_files import write_bytes_atomically
from parc.run.choose_device import use_threads
from parc.run.dataclass_json import tidy
from parc.run.hashing import hash_file, hash_json
from parc.run.work_items import workers_at

_COLUMNS = ("runs", "success", "success_error", "falls_per_second", "stuck", "seconds_to_goal", "speed", "walk_r", "human_n")
_OUTCOMES = ("arrived_runs", "fallen_runs", "stuck_runs", "late_runs", "lost_runs")


@dataclass(frozen=True, kw_only=True)
class EvaluateReflex(OfCharacter, SetOptions):
    """How many terrains are crossed by reflex: plan, follow, look, plan again; nothing is rehearsed and nothing taken back.

    The generator is fed with the body's own last two frames every few control steps. Beside it, if wished for, the paper's way
    (open-loop) and the search. The same command goes on after a stop, and what has been measured once is not measured again.
    """

    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """folder for results, where a stopped evaluation goes on: reflex.json and parts"""
    methods: tuple[Literal["reflex", "open-loop", "search"], ...] = ("reflex",)
    """ways to cross, a row of the table each; the search costs a CPU half a minute and more for each terrain"""
    terrains: int = 100
    """of each family"""
    runs: int = 1
    """on each terrain"""
    every: tuple[int, ...] = ()
    """control steps from one plan of a body to its next, a row each; --reflex.every alone if not given"""
    pace: str | None = None
    """speed asked for: walk, jog, run, sprint, or m/s; for a generator that was trained with a pace"""
    push: tuple[float, ...] = ()
    """m/s, also with pushes of this strength about every 3 s in random directions, a row each"""
    height_noise: tuple[float, ...] = ()
    """m, also with this standard deviation of the believed height of each cell, a row each"""
    missing: tuple[float, ...] = ()
    """also with this share of cells whose height is not known, a row each"""
    get_up: tuple[Path, ...] = ()
    """motion files or data sets that get up from lying: who is down follows the nearest, a row beside each other one"""
    at_once: int = 20
    """terrains of a family that are simulated side by side; another number gives other runs"""
    save_motions: Path | None = None
    """folder for what the bodies did, a .motion file each"""
    generator: Path | None = None
    """model; the one in the box if not given"""
    tracker: Path | None = None
    """model; the one in the box if not given. The search takes the critic beside it"""
    shard: int = 0
    """measure only groups of terrains shard, shard + shards, ..."""
    shards: int = 1
    """number of calls that share the groups"""
    threads: int = 0
    """of the CPU engine and of the networks on a CPU; 0: all cores"""
    cluster: str | None = None
    """measure groups on a Ray cluster: local, auto (the one this machine belongs to) or HOST:PORT"""
    reflex: ReflexSettings = field(default_factory=ReflexSettings)
    disturbance: Disturbance = field(default_factory=Disturbance)
    """of reflexes, in all rows"""
    tries: int = TraverseSettings.tries
    """of the search; a try ends where no candidate gets on"""
    route: RouteSettings = field(default_factory=RouteSettings)
    """from start to goal, for all methods"""
    search: SearchSettings = field(default_factory=SearchSettings)
    open_loop: PlainSettings = field(default_factory=PlainSettings)

    def run(self) -> dict[str, Any]:
        use_threads(self.threads)
        tests, choice, shard = self.tests(), self.choice(), WorkShard(self.shard, self.shards)
        character = self.body(self.generator, self.tracker, *self.get_up)
        files = {
            "generator": generator_file(self.generator, self.pace, character.name),
            "tracker": self.tracker or shipped_tracker(character.name),
        }
        critic = files["tracker"].with_name("critic.safetensors")
        files |= {"critic": critic} if critic.is_file() else {}
        get_ups = tuple(clip for source in self.get_up for clip in read_clips(source, character))
        hashes = {kind: hash_file(file) for kind, file in files.items()}
        if get_ups:
            hashes["get_ups"] = hash_json([clip.motion.root_pos.tolist() + clip.motion.joint_rot.tolist() for clip in get_ups])
        device = self.torch_device

        def load() -> Models:
            return replace(Models.load(character, device, files["generator"], self.tracker), get_ups=get_ups)

        with workers_at(self.cluster, device) as workers, self.noted(self.terrains, hashes) as noted:
            cases = [traverse_case(self.set, f, i, self.route) for f in choice.families for i in range(self.terrains)]
            keeps = self.save_motions is not None
            evaluator = CrossingEvaluator(self.out, load, hashes, cases, device, self.threads, shard, keeps, tell, workers)
            noted["crossings"] = [evaluator.row(test) for test in tests]
        self._save(evaluator, tests)
        result = {"test_set": choice.facts(self.terrains), "shard": [self.shard, self.shards], "crossings": noted["crossings"]}
        return self._written(result)

    def tests(self) -> list[CrossingTest]:
        """The rows of the table."""
        if self.terrains < 1 or not self.methods:
            raise SettingsError("expected at least one terrain and one method")
        usual = CrossingTest(
            runs=self.runs, terrains_at_once=self.at_once, seed=self.seed + 1,
            search=TraverseSettings(self.tries, at_pace(self.search, self.pace), self.route),
            open_loop=TraverseSettings(1, at_pace(self.open_loop, self.pace), self.route),
        )  # fmt: skip
        harder = [replace(self.disturbance, push=value) for value in self.push]
        harder += [replace(self.disturbance, height_noise=value) for value in self.height_noise]
        harder += [replace(self.disturbance, missing=value) for value in self.missing]
        rows = []
        for method in dict.fromkeys(self.methods):
            if method != "reflex":
                rows.append(replace(usual, method=method))
                continue
            lying = (False, True) if self.get_up else (False,)
            for every in dict.fromkeys(self.every or (self.reflex.every,)):
                test = replace(usual, reflex=replace(at_pace(self.reflex, self.pace), every=every))
                rows += [replace(test, disturbance=what, get_up=up) for what in (self.disturbance, *harder) for up in lying]
        return rows

    def _save(self, evaluator: CrossingEvaluator, tests: list[CrossingTest]) -> None:
        if self.save_motions is None:
            return
        for test in tests:
            folder = self.save_motions / test.label.replace(", ", "_").replace(" ", "_").replace("/", "_per_")
            folder.mkdir(parents=True, exist_ok=True)
            for clip in evaluator.motions(test):
                save_clip(clip, folder / f"{clip.name}.motion", evaluator.models.tracker.character)

    def _written(self, result: dict[str, Any]) -> dict[str, Any]:
        """reflex.json holds every run; what is printed does not."""
        write_bytes_atomically(self.out / "reflex.json", json.dumps(tidy(result), indent=1).encode())
        rows = [{key: value for key, value in row.items() if key not in ("runs", "took")} for row in result["crossings"]]
        return result | {"crossings": rows}

    def show(self, result: dict[str, Any]) -> None:
        print(set_title(result["test_set"]))
        for row in result["crossings"]:
            print(f"\n{row['label']}")
            print(f"{'':<10}" + "".join(f"{column:>17}" for column in _COLUMNS) + "   ended: " + " ".join(_OUTCOMES))
            for family, numbers in (*row["by_family"].items(), ("all", row["all"])):
                ends = " ".join(str(numbers[name]) for name in _OUTCOMES)
                print(f"{family:<10}" + "".join(f"{number(numbers[c], '.4g'):>17}" for c in _COLUMNS) + f"   {ends}")
            for measure, classes in row["by_difficulty"].items():
                words = [f"{c['from']:g}-{c['to']:g} m {c['success']:.3f} ({c['runs']})" for c in classes]
                print(f"by {measure:<6} " + "   ".join(words))
