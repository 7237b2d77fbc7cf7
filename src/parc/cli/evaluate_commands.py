"""`parc evaluate` and its parts: the paper's tables on a set of terrains."""

import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from parc.character import Character
from parc.cli.base_command import tell
from parc.cli.character_option import OfCharacter
from parc.cli.set_options import SetOptions
from parc.correct.select_candidates import SelectSettings
from parc.dataset.clip_reading import read_clips
from parc.errors import DatasetError, SettingsError
from parc.evaluate.evaluation_job import EvaluationSettings, Evaluator, check_models, dataset_figures, describe
from parc.evaluate.evaluation_result import EvaluationResult
from parc.evaluate.generator_measurement import GeneratorTest
from parc.evaluate.models_under_test import Contender, ModelsUnderTest, find_contenders
from parc.evaluate.terrain_families import Family
from parc.evaluate.terrain_sets import set_title
from parc.evaluate.tracker_measurement import TrackerTest
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.report.evaluation_page import write_evaluation
from parc.run.choose_device import use_threads
from parc.run.work_items import workers_at

_COLUMNS = ("fwd", "tpl", "tcl", "hjf_paper", "hjf_code", "goal", "foot_skate", "foot_f1", "floating", "pen_mm", "seam_jerk")
_GAIT_COLUMNS = ("stance_knee", "cadence", "walk_r", "human_n")
"""printed beside them"""
_NOT_PRINTED = ("cases", "displacement", "goal_by_terrain", "by_motion", "by_clip", "settings", "took")
"""too long (they are in evaluation.json), or, as the time it took, not the same when measured again"""


@dataclass(frozen=True, kw_only=True)
class _Evaluation(OfCharacter, SetOptions):
    """What the commands share: which models, on what, how much of it."""

    sources: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    """folders of `parc loop`, or models (.safetensors, or folders of a training); the models in the box if none is given"""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """folder for results, where a stopped evaluation goes on; RUN/evaluation, or out/evaluation, if not given"""
    preset: Literal["default", "quick", "paper", "paper-quick"] = "default"
    """quick: 10 terrains of each family x 4 motions, 10 s: minutes on a CPU. paper: windows as the network gives them, s = 0.65,
    a target 2.8 m ahead, no repair of feet, no gravity, no overlapping windows, and the best motion of a terrain by the paper's
    heuristic; what is sampled, and in how many steps, is the generator's own and is told with its numbers: one of train-generator
    --preset paper is a DDPM, the one in the box a few-step flow. paper-quick: both"""
    terrains: int = EvaluationSettings.terrains
    """of each family"""
    generator: GeneratorTest = field(default_factory=lambda: EvaluationSettings().generator)
    tracker: TrackerTest = field(default_factory=TrackerTest)
    threads: int = 0
    """of the CPU engine and of the networks on a CPU; 0: all cores"""
    cluster: str | None = None
    """measure parts on a Ray cluster: local, auto (the one this machine belongs to) or HOST:PORT"""

    @property
    def usual_families(self) -> tuple["Family", ...]:
        """The paper's."""
        return ("walks",)

    def run(self) -> dict[str, Any]:
        use_threads(self.threads)
        character, settings = self.body(*self.sources), self._settings()
        models = find_contenders(self.sources, character.name)
        check_models(models, character)
        if self._uses_the_set and not models.generators:
            raise SettingsError(
                f"there is no generator of character '{character.name}' to make motions with: name one, or measure trackers on a "
                "data set (`parc evaluate tracker --dataset`)"
            )
        out = self.out or (Path("out/evaluation") if models.run is None else models.run / "evaluation")
        _check_folder(out)
        with workers_at(self.cluster, self.torch_device) as workers:
            evaluator = Evaluator(out, settings, character, self.torch_device, self.threads, _tell, workers)
            if not self._uses_the_set:
                return self._evaluate(models, evaluator, out, character)
            with self.noted(settings.terrains, evaluator.model_hashes(models)) as noted:
                result = self._evaluate(models, evaluator, out, character)
                noted.update(result)
            return {"test_set": settings.choice.facts(settings.terrains), **result}

    def _evaluate(self, models: "ModelsUnderTest", evaluator: "Evaluator", out: Path, character: "Character") -> dict[str, Any]:
        raise NotImplementedError

    @property
    def _uses_the_set(self) -> bool:
        return True

    @classmethod
    def of_preset(cls, preset: str, device: str) -> dict[str, Any]:
        """How much, and by which sampler."""
        usual = EvaluationSettings.quick() if "quick" in preset else EvaluationSettings()
        test = usual.generator
        if "paper" in preset:
            test = replace(test, rollout=RolloutSettings.paper(), select=SelectSettings.paper())
        return {"terrains": usual.terrains, "generator": test, "tracker": usual.tracker}

    def _settings(self) -> EvaluationSettings:
        """Motions last as long as the longest limit."""
        test = self.generator
        if not test.limits:
            raise SettingsError("no time limit is given, expected --generator.limits 10 20, as an example")
        rollout = replace(test.rollout, seconds=max(test.limits))
        return EvaluationSettings(
            self.terrains,
            self.choice(),
            replace(test, rollout=rollout, seed=self.seed + 1),
            replace(self.tracker, seed=self.seed + 1),
        )


@dataclass(frozen=True, kw_only=True)
class Evaluate(_Evaluation):
    """Everything: the paper's Tables 1, 2 and 3 for each iteration's models, and a page with replays beside the paper's numbers.

    `parc evaluate generator`, `tracker` and `blending` do parts of it. The same command goes on after a stop, and what has been
    measured once is not measured again.
    """

    dataset: Path | None = None
    """data set or folder of motion files: also track its clips, and compare generated motions with them"""
    blending: bool = True
    """the sweep of Table 3, for the last generator"""

    def _evaluate(self, models: "ModelsUnderTest", evaluator: "Evaluator", out: Path, character: "Character") -> dict[str, Any]:
        data, source = _clips(self.dataset, character), self.dataset
        generators = [evaluator.generator_row(c) for c in models.generators]
        trackers = [evaluator.tracker_row(c) for c in models.trackers if c.generator is not None]
        on_dataset = likeness = None
        if source is not None:
            on_dataset = {"clips": len(data), "rows": [evaluator.dataset_row(c, source, data) for c in models.trackers]}
        if source is None and models.start is not None:
            data, source = _clips(models.start, character), models.start
        if source is not None:
            rows = [evaluator.likeness_row(c, source, data) for c in models.generators]
            likeness = {"data": source.name, "clips": len(data), "rows": rows}
        blending = {"label": models.final.label, "rows": evaluator.blending_rows(models.final)} if self.blending else None
        result = EvaluationResult(
            **vars(describe(models, evaluator)), generators=generators, trackers=trackers, on_dataset=on_dataset,
            likeness=likeness, blending=blending, datasets=dataset_figures(models, character),
        )  # fmt: skip
        page = write_evaluation(out, result, models, evaluator, character)
        return {"report": str(page), "numbers": str(out / "evaluation.json"), **_printed(result.tables())}

    def show(self, result: dict[str, Any]) -> None:
        print(_set_line(result))
        _show_generators(result["generators"], "Table 1: generators")
        _show_trackers(result["trackers"], "Table 2: trackers, on the best generated motion of each terrain")
        if "on_dataset" in result:
            _show_trackers(result["on_dataset"]["rows"], f"trackers on {result['on_dataset']['clips']} clips")
        if "blending" in result:
            _show_generators(result["blending"]["rows"], f"Table 3: blending ({result['blending']['label']})")
        print(f"\n{result['report']}")


@dataclass(frozen=True, kw_only=True)
class EvaluateGenerator(_Evaluation):
    """Motions of generators on a set of terrains: FWD, TPL, TCL, HJF (Table 1) and what does not grow with length."""

    def _evaluate(self, models: "ModelsUnderTest", evaluator: "Evaluator", out: Path, character: "Character") -> dict[str, Any]:
        _check_generators(models)
        return _printed({"generators": [evaluator.generator_row(c) for c in models.generators]})

    def show(self, result: dict[str, Any]) -> None:
        print(_set_line(result))
        _show_generators(result["generators"], "Table 1: generators")


@dataclass(frozen=True, kw_only=True)
class EvaluateTracker(_Evaluation):
    """Success from the first frame and joint error of trackers (Table 2): on generated motions, or on a data set by skill.

    The engine is MuJoCo on the CPU and MuJoCo Warp on a GPU.
    """

    dataset: Path | None = None
    """data set or folder of motion files to track; the best generated motion of each terrain of the set if not given"""

    @property
    def _uses_the_set(self) -> bool:
        return self.dataset is None

    def _evaluate(self, models: "ModelsUnderTest", evaluator: "Evaluator", out: Path, character: "Character") -> dict[str, Any]:
        if not models.trackers:
            raise SettingsError(
                "there is no tracker among the models given; expected an actor.safetensors of `parc train-tracker`"
            )
        data = _clips(self.dataset, character)
        rows = [self._row(evaluator, c, data) for c in models.trackers]
        return {"engine": "MuJoCo" if evaluator.device.type == "cpu" else "MuJoCo Warp", **_printed({"trackers": rows})}

    def _row(self, evaluator: "Evaluator", contender: "Contender", data: list) -> dict[str, Any]:
        if self.dataset is None:
            return evaluator.tracker_row(contender)
        return evaluator.dataset_row(contender, self.dataset, data)

    def show(self, result: dict[str, Any]) -> None:
        if self._uses_the_set:
            print(_set_line(result))
        _show_trackers(result["trackers"], f"trackers in {result['engine']}")


@dataclass(frozen=True, kw_only=True)
class EvaluateBlending(_Evaluation):
    """The same for each blending coefficient of the paper's Table 3 and for annealed schedules, for the last generator given."""

    def _evaluate(self, models: "ModelsUnderTest", evaluator: "Evaluator", out: Path, character: "Character") -> dict[str, Any]:
        _check_generators(models)
        return _printed({"label": models.final.label, "rows": evaluator.blending_rows(models.final)})

    def show(self, result: dict[str, Any]) -> None:
        print(_set_line(result))
        _show_generators(result["rows"], f"Table 3: blending ({result['label']})")


def _check_generators(models: "ModelsUnderTest") -> None:
    """That the one measured is not the one in the box under the name of a tracker."""

    if all(c.lent for c in models.generators):
        raise SettingsError(
            "there is no generator among the models given; expected a generator.safetensors of `parc train-generator`"
        )


def _check_folder(out: Path) -> None:
    """That results can be written, before hours of measuring and not after."""

    there = next(place for place in (out.absolute(), *out.absolute().parents) if place.exists())
    if not there.is_dir():
        raise SettingsError(f"'{there}' is a file, expected a folder for the results")
    if not os.access(there, os.W_OK):
        raise SettingsError(f"'{there}' cannot be written to, expected a folder for the results; -o names another")


def _tell(what: str) -> None:
    tell(f"{time.strftime('%H:%M:%S')} {what}")


def _clips(source: Path | None, character: "Character") -> list:
    if source is None:
        return []
    if not source.exists():
        raise DatasetError(f"there is no '{source}': expected a data set, a folder of motion files, or one such file")
    clips = read_clips(source, character)
    if not clips:
        raise DatasetError(f"the data set '{source}' has no clips to evaluate on")
    return clips


def _printed(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _printed(v) for k, v in value.items() if k not in _NOT_PRINTED}
    return [_printed(v) for v in value] if isinstance(value, list | tuple) else value


def _show_generators(rows: list[dict[str, Any]], title: str) -> None:
    if not rows:
        return
    parts = [(name, part) for row in rows for name, part in [(row["label"], row), *_indented(row, "by_family")]]
    width = max(len(name) for name, _ in parts) + 2
    print(f"\n{title}, means over {rows[0]['motions']} motions")
    columns = (*_COLUMNS, *_GAIT_COLUMNS)
    print(f"{'':<{width}}{'limit':>7}" + "".join(f"{c:>12}" for c in columns))
    for name, part in parts:
        for limit, values in part["limits"].items():
            cells = "".join(f"{values['mean'][c]:12.4g}" for c in columns)
            print(f"{name:<{width}}{limit + ' s':>7}{cells}")
    for row in rows:
        if "sampler" in row:
            print(f"{row['label']}: {row['sampler']}")


def _show_trackers(rows: list[dict[str, Any]], title: str) -> None:
    if not rows:
        return
    kinds = ("by_family", "by_skill")
    parts = [(name, part) for row in rows for name, part in [(row["label"], row), *_indented(row, *kinds)]]
    width = max(len(name) for name, _ in parts) + 2
    print(f"\n{title}\n{'':<{width}}{'clips':>7}{'success %':>11}{'with noise':>12}{'tracked %':>11}{'joint error m':>15}")
    for name, part in parts:
        print(f"{name:<{width}}{_tracker_cells(part)}")


def _indented(row: dict[str, Any], *kinds: str) -> list[tuple[str, dict[str, Any]]]:
    """Parts of a row below it; a single family is the row itself."""
    found = {kind: row.get(kind, {}) for kind in kinds}
    return [
        (f"  {name}", part) for k, parts in found.items() if k != "by_family" or len(parts) > 1 for name, part in parts.items()
    ]


def _set_line(result: dict[str, Any]) -> str:
    return set_title(result["test_set"])


def _tracker_cells(row: dict[str, Any]) -> str:
    noisy = row["success_noisy"]
    repeated = f"{sum(noisy) / len(noisy):.1f}" if noisy else "-"
    return f"{row['clips']:>7}{row['success']:11.1f}{repeated:>12}{row['tracked']:11.1f}{row['joint_error']:15.4f}"
