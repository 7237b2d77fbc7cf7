"""The whole evaluation as one resumable job: the paper's three tables, and what the page beside them needs.

    OUT/
      evaluation.json    every number (`parc.evaluate.evaluation_result`), the same to the byte when measured again on a CPU
      report.html        the page (`parc.report.evaluation_page`)
      parts/             what has been measured so far (`parc.evaluate.result_cache`)

A part is one group of terrains with one generator and one way of blending, the same motions with one tracker, or one
group of clips of a data set with one tracker.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.clip_reading import read_clips
from parc.errors import SettingsError
from parc.evaluate.cluster_jobs import GeneratorJob, TrackerJob
from parc.evaluate.evaluation_result import EvaluationHead
from parc.evaluate.generator_measurement import (
    BLENDS,
    GeneratorTest,
    GroupResult,
    Summary,
    Values,
    groups_of,
    join,
    summarise,
)
from parc.evaluate.models_under_test import Contender, ModelsUnderTest
from parc.evaluate.net_displacement import displacement_of, spread
from parc.evaluate.paper_results import paper_numbers
from parc.evaluate.result_cache import Measured, Part, PartStore, code_fingerprint
from parc.evaluate.terrain_sets import SetChoice, TestCase, set_cases
from parc.evaluate.tracker_measurement import ClipResult, TrackerTest, by_skill, summarise_tracker
from parc.evaluate.window_likeness import likeness
from parc.generate.model.motion_generator import Generator, read_settings
from parc.run.hashing import hash_file, hash_parts, hash_settings, hash_text
from parc.run.work_items import LOCAL, Workers
from parc.track.follow.runner import Runner
from parc.track.learn.policy import load_actor

_Motions = tuple[int, Callable[[], list[Clip]], dict[str, str]]
"""a group of motions to track: its number, by which random numbers are drawn, the motions, and what names them"""
_CLIPS_AT_ONCE = 32
"""of a data set, a part of its own"""
_MOST_POINTS = 1000
"""of a displacement figure"""


@dataclass(frozen=True)
class EvaluationSettings:
    """What is measured, and on how much."""

    terrains: int = 100
    """of each family"""
    choice: SetChoice = field(default_factory=SetChoice)
    generator: GeneratorTest = field(default_factory=lambda: GeneratorTest(limits=(10.0, 20.0)))
    tracker: TrackerTest = field(default_factory=TrackerTest)

    def __post_init__(self) -> None:
        if self.terrains < 1:
            raise SettingsError(f"{self.terrains} terrains of each family were asked for, expected at least 1")

    @classmethod
    def quick(cls) -> "EvaluationSettings":
        """Minutes on a CPU: the shape of the tables, not their last digit."""
        return cls(10, generator=GeneratorTest(candidates=4, limits=(10.0,)), tracker=TrackerTest(trials=2, episodes=4))


class Evaluator:
    """Measures contenders part by part; `on_part` is told what comes next."""

    def __init__(
        self,
        out: Path,
        settings: EvaluationSettings,
        character: Character,
        device: torch.device | str = "cpu",
        threads: int = 0,
        on_part: Callable[[str], object] = lambda what: None,
        workers: Workers = LOCAL,
    ) -> None:
        if threads < 0:
            raise SettingsError(f"{threads} threads were asked for, expected 0 (all cores) or more")
        self.settings, self.character, self.device, self.threads = settings, character, torch.device(device), threads
        self.store, self.on_part, self.workers = PartStore(out), on_part, workers
        self._cases: list[TestCase] | None = None
        self._models: dict[Path, Generator | Runner] = {}
        self._hashes: dict[Path, str] = {}

    # ---- tables ----------------------------------------------------------------------------------------------------

    def generator_row(self, contender: Contender) -> dict[str, Any]:
        """Table 1: {"label", "motions", "limits": {"10": {"mean": {..}, "error": {..}}}, "goal_by_terrain", "displacement",
        "by_family": {"walks": {"terrains", "limits"}}}."""
        parts = self._generator_parts(contender, self.settings.generator)
        values = {limit: join([p.result[f"{limit:g}"] for p in parts]) for limit in self.settings.generator.all_limits}
        row = {"label": contender.label, "sampler": self.sampler_of(contender.generator), **self._row(values)}
        return {**row, "took": sum(p.seconds for p in parts)}

    def sampler_of(self, file: Path | None) -> str:
        """How a generator's motions are sampled, in words: it is the generator's own, whatever sampler was asked for."""
        return "" if file is None else read_settings(file).schedule.describe(self.settings.generator.rollout.steps)

    def blending_rows(self, contender: Contender) -> list[dict[str, Any]]:
        """Table 3: a row like those of Table 1 for each way of blending."""
        rows = []
        for name, blend in BLENDS.items():
            test = self.settings.generator
            test = replace(test, rollout=replace(test.rollout, blend=blend))
            parts = self._generator_parts(contender, test, f"blend {name}")
            values = {limit: join([p.result[f"{limit:g}"] for p in parts]) for limit in test.all_limits}
            row = self._row(values)
            rows.append({"label": name} | {key: row[key] for key in ("motions", "limits", "by_family")})
        return rows

    def tracker_row(self, contender: Contender) -> dict[str, Any]:
        """Table 2, on the best motion of each terrain: summary, and {"success", "tracked", "joint_error"} of each motion."""
        parts = self._generator_parts(contender, self.settings.generator)
        numbers = [self.cases[g.start].index // self.settings.generator.terrains_at_once for g in self._groups]
        groups = [(k, p.clips, {"motions": p.name}) for k, p in zip(numbers, parts, strict=True)]
        results = self._tracked(contender, groups, "group")
        families = {f: summarise_tracker([results[k] for k in self._rows_of(f)]) for f in self.settings.choice.families}
        told = {"by_family": families, "by_motion": [_told(r) for r in results]}
        return {"label": contender.label, **summarise_tracker(results), **told}

    def dataset_row(self, contender: Contender, source: Path, clips: list[Clip]) -> dict[str, Any]:
        """A tracker on given clips, also by skill."""
        portions = [clips[first : first + _CLIPS_AT_ONCE] for first in range(0, len(clips), _CLIPS_AT_ONCE)]
        groups: list[_Motions] = [(k, partial(list, some), {"clips": _hash_clips(some)}) for k, some in enumerate(portions)]
        results = self._tracked(contender, groups, source.name)
        return {
            "label": contender.label,
            **summarise_tracker(results),
            "by_skill": by_skill(results),
            "by_clip": {r.name: _told(r) for r in results},
        }

    def likeness_row(self, contender: Contender, source: Path, data: list[Clip]) -> dict[str, Any]:
        """How like the data the best motions are: Frechet distance with its floor, and diversity."""
        parts = self._generator_parts(contender, self.settings.generator)
        inputs = {"motions": hash_text(" ".join(p.name for p in parts)), "clips": _hash_clips(data)}

        def make() -> tuple[dict[str, Any], list[Clip]]:
            self.on_part(f"{contender.label}: likeness to {source.name}")
            return likeness([c for p in parts for c in p.clips()], data, self.character, self.device), []

        return {"label": contender.label, **self.store.part("likeness", self._common() | inputs, make).result}

    # ---- motions for the page --------------------------------------------------------------------------------------

    def best_motions(self, contender: Contender) -> list[Clip]:
        """The best motion of each terrain, as Table 2 takes them."""
        return [clip for part in self._generator_parts(contender, self.settings.generator) for clip in part.clips()]

    def simulated(self, contender: Contender, clips: list[Clip]) -> list[Clip]:
        """What the contender's tracker makes of clips, each from its first frame until the pose is lost."""
        trace = self._simulator(contender).follow(clips)
        return [clip.derived(f"{clip.name}_sim", "track", motion=m) for clip, m in zip(clips, trace.motions, strict=True)]

    # ---- parts -----------------------------------------------------------------------------------------------------

    def _generator_parts(self, contender: Contender, test: GeneratorTest, what: str = "") -> list[Part]:
        file, cases = contender.generator, self.cases
        assert file is not None
        groups = self._groups
        common = self._common() | {"generator": self.hash_of(file)}
        inputs = [common | {"test": hash_settings(test, *self._told_of(group))} for group in groups]
        job = GeneratorJob(partial(self._generator, file), cases, test, self.hash_of(file)[:16])

        def measured(result: GroupResult) -> Measured:
            return {f"{limit:g}": values for limit, values in result.values.items()}, result.best

        def announce(number: int) -> None:
            _, _, family, first, last = self._told_of(groups[number])
            terrains = f"{family} {first + 1} to {last + 1} of {self.settings.terrains}"
            self.on_part(f"{contender.label}: {f'{what}, ' if what else ''}{terrains}")

        return self.store.parts("generator", inputs, job, groups.__getitem__, measured, self.workers, announce)

    def _tracked(self, contender: Contender, groups: Sequence[_Motions], what: str) -> list[ClipResult]:
        file, test = contender.tracker, self.settings.tracker
        assert file is not None
        common = self._common() | {"tracker": self.hash_of(file)}
        inputs = [common | named | {"test": hash_settings(test, number)} for number, _, named in groups]
        job = TrackerJob(partial(self._simulator, contender), test)

        def item(number: int) -> tuple[list[Clip], int]:
            of_data, clips, _ = groups[number]
            return clips(), of_data

        def measured(results: list[ClipResult]) -> Measured:
            return {"clips": [asdict(r) for r in results]}, []

        def announce(number: int) -> None:
            self.on_part(f"{contender.label}: tracking, {what} {number + 1}")

        parts = self.store.parts("tracker", inputs, job, item, measured, self.workers, announce)
        told = [row for part in parts for row in part.result["clips"]]
        return [ClipResult(**(r | {"noisy": tuple(r["noisy"])})) for r in told]

    def _row(self, values: dict[float, Values]) -> dict[str, Any]:
        candidates = self.settings.generator.candidates
        summaries = {limit: summarise(v, candidates) for limit, v in values.items()}
        families = {
            family: {
                "terrains": len(rows := self._rows_of(family)),
                "limits": {
                    f"{limit:g}": _mean_and_error(summarise(_of_terrains(v, rows, candidates), candidates))
                    for limit, v in values.items()
                },
            }
            for family in self.settings.choice.families
        }
        main = self.settings.generator.all_limits[0]
        points = [[round(a, 2), round(b, 2)] for a, b in zip(values[main]["ahead"], values[main]["left"], strict=True)]
        return {
            "motions": len(points),
            "limits": {f"{limit:g}": _mean_and_error(s) for limit, s in summaries.items()},
            "by_family": families,
            "goal_by_terrain": {f"{limit:g}": s.by_terrain["goal"] for limit, s in summaries.items()},
            "displacement": thinned(points),
            "spread": spread(points),
        }

    def _common(self) -> dict[str, str]:
        return {"character": self.character.fingerprint, "device": self.device.type, "code": code_fingerprint()}

    @property
    def cases(self) -> list[TestCase]:
        """Family by family."""
        if self._cases is None:
            self._cases = set_cases(self.settings.choice, self.settings.terrains)
        return self._cases

    @property
    def _groups(self) -> list[range]:
        return groups_of(self.cases, self.settings.generator)

    def _told_of(self, group: range) -> tuple[str, int, str, int, int]:
        """Set, version, family, first and last case of a group."""
        first, last = self.cases[group.start], self.cases[group.stop - 1]
        return first.set_name, self.settings.choice.version, first.family, first.index, last.index

    def _rows_of(self, family: str) -> list[int]:
        return [k for k, case in enumerate(self.cases) if case.family == family]

    def model_hashes(self, models: ModelsUnderTest) -> dict[str, str]:
        """Of every model, by its label."""
        kinds = [(c, kind, getattr(c, kind)) for c in models.contenders for kind in ("generator", "tracker")]
        return {f"{c.label}: {kind}": self.hash_of(file) for c, kind, file in kinds if file is not None}

    def hash_of(self, file: Path) -> str:
        """Of a model's file; read once."""
        if file not in self._hashes:
            self._hashes[file] = hash_file(file)
        return self._hashes[file]

    def _generator(self, file: Path) -> Generator:
        return self._loaded(file, lambda: Generator.load(file, self.character, self.device))

    def _simulator(self, contender: Contender) -> Runner:
        file = contender.tracker
        assert file is not None
        return self._loaded(
            file, lambda: Runner(load_actor(file, self.character, self.device), self.device, threads=self.threads)
        )

    def _loaded(self, file: Path, load: Callable[[], Any]) -> Any:
        """One model is held at a time: worlds and networks of a whole run would fill a GPU."""
        if file not in self._models:
            self._models = {}
            if self.device.type == "cuda":  # graphs and worlds of the last one hold the GPU's memory until collected
                gc.collect()
                torch.cuda.empty_cache()
            self._models = {file: load()}
        return self._models[file]


def _mean_and_error(summary: Summary) -> dict[str, dict[str, float]]:
    return {"mean": summary.mean, "error": summary.error}


def _of_terrains(values: Values, terrains: Sequence[int], candidates: int) -> Values:
    """The motions of some terrains."""
    rows = [k * candidates + c for k in terrains for c in range(candidates)]
    return {name: [column[row] for row in rows] for name, column in values.items()}


def check_models(models: ModelsUnderTest, character: Character) -> None:
    """Load every model once, so that a wrong one is refused before hours are spent on the others."""
    for contender in models.contenders:
        if contender.generator is not None:
            Generator.load(contender.generator, character)
        if contender.tracker is not None:
            load_actor(contender.tracker, character)


def describe(models: ModelsUnderTest, evaluator: Evaluator) -> EvaluationHead:
    """What was compared, and how."""

    def model(file: Path | None) -> dict[str, str] | None:
        return None if file is None else {"file": file.name, "sha256": evaluator.hash_of(file)}

    return EvaluationHead(
        test_set=evaluator.settings.choice.facts(evaluator.settings.terrains),
        cases=[{"name": c.name, "family": c.family, **c.difficulty._asdict()} for c in evaluator.cases],
        settings=asdict(evaluator.settings),
        device=evaluator.device.type,
        models=[
            {
                "label": c.label,
                "iteration": c.iteration,
                "physics_correction": c.corrected,
                "generator": model(c.generator),
                "sampler": evaluator.sampler_of(c.generator),
                "tracker": model(c.tracker),
            }
            for c in models.contenders
        ],
        paper=paper_numbers(),
    )


def dataset_figures(models: ModelsUnderTest, character: Character) -> list[dict[str, Any]]:
    """Where the clips of each data set go: D_0, D_1, ... of a run."""
    sets = [("D_0", models.start)] + [(f"D_{c.iteration}", c.dataset) for c in models.contenders if c.corrected and c.iteration]
    figures = []
    for label, place in sets:
        if place is not None:
            clips = read_clips(place, character)
            points = displacement_of(clips)
            minutes = sum(c.motion.duration for c in clips) / 60
            figures.append(
                {
                    "label": label,
                    "clips": len(clips),
                    "minutes": minutes,
                    "displacement": thinned(points),
                    "spread": spread(points),
                }
            )
    return figures


def thinned(points: Sequence[list[float]]) -> list[list[float]]:
    """At most a thousand, evenly taken."""
    step = max(1, -(-len(points) // _MOST_POINTS))
    return list(points[::step])


def _told(result: ClipResult) -> dict[str, Any]:
    return {"success": result.success, "tracked": round(100 * result.tracked, 2), "joint_error": result.joint_error}


def _hash_clips(clips: Sequence[Clip]) -> str:
    """Of names, frames and ground."""

    def parts() -> Iterator[bytes]:
        for clip in clips:
            yield clip.name.encode()
            motion = clip.motion
            for tensor in (motion.root_pos, motion.root_rot, motion.joint_rot, motion.contacts, clip.terrain.heights):
                yield tensor.detach().cpu().contiguous().numpy().tobytes()

    return hash_parts(parts())
