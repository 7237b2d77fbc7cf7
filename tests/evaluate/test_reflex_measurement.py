"""Crossing without rehearsal, measured: what becomes of runs, and that a number does not depend on who made it."""

import json
import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from parc.character import humanoid
from parc.cli.evaluate_reflex_command import EvaluateReflex
from parc.cli.main import called, main
from parc.cli.read_options import read_options
from parc.dataset import load_clip
from parc.errors import SettingsError
from parc.evaluate.cluster_jobs import CrossingJob
from parc.evaluate.crossing_evaluation import CrossingEvaluator, WorkShard
from parc.evaluate.crossing_summary import EDGES, OUTCOMES, CrossingRun, by_difficulty, summarise_crossings
from parc.evaluate.disturbances import Disturbance
from parc.evaluate.reflex_measurement import CrossedGroup, CrossingTest, cross_group
from parc.evaluate.terrain_sets import TestCase, set_case
from parc.metrics.naturalness import naturalness_of
from parc.path.terrain_path import TerrainPath
from parc.plan import Models, PlainSettings, SearchSettings, TraverseSettings
from parc.plan.crossing.get_up import GetUpSettings
from parc.plan.crossing.reflex_crossings import ReflexSettings
from parc.terrain import Terrain

AHEAD = TerrainPath(torch.tensor([[0.8, 0.8, 0.0], [2.4, 0.8, 0.0], [6.2, 0.8, 0.0]]))
FLAT = [TestCase("development", "boxes", k, Terrain.flat((18, 5)), AHEAD) for k in range(2)]
"""five metres and a half straight ahead, twice"""
WALKING = CrossingTest(runs=2, reflex=ReflexSettings(every=5))
BRIEF = CrossingTest(runs=2, reflex=ReflexSettings(every=6, windows=1, stuck=0.6, seconds=1.0), terrains_at_once=1)
"""for models that know nothing"""


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def able() -> Models:
    """Those in the box."""
    return Models.load(humanoid(), half=False)


@pytest.fixture(scope="module")
def ignorant(models: Path) -> Models:
    return Models.load(humanoid(), generator=models / "a.safetensors", tracker=models / "s.safetensors", half=False)


@pytest.fixture(scope="module")
def flat(able: Models) -> CrossedGroup:
    return cross_group(able, FLAT, WALKING, threads=1)


def told(runs: list[CrossingRun]) -> str:
    """For comparison: what has no value is not equal to itself."""
    return repr(runs)


def test_flat_ground_is_crossed_and_what_was_done_is_told(flat: CrossedGroup) -> None:
    assert [(run.case, run.run) for run in flat.runs] == [(f"boxes_00{k}", run) for k in range(2) for run in range(2)]
    assert [run.outcome for run in flat.runs] == ["arrived"] * 4
    for run, clip in zip(flat.runs, flat.clips, strict=True):
        assert clip.name == f"{run.case}_{run.run}" and run.pushes == 0
        assert len(clip.motion) == round(30 * run.seconds) + 1
        assert float((clip.motion.root_pos[-1, :2] - AHEAD.goal[:2]).norm()) <= 0.5 + 1e-3
        assert float(clip.motion.root_pos.diff(dim=0).norm(dim=-1).max()) < 0.15, "nothing is taken back"
        human = naturalness_of(clip, humanoid())
        assert {name: run.motion[name] for name in human} == pytest.approx(human, nan_ok=True, rel=1e-3)
        assert run.motion["human_r"] > 0.5 and (run.climb, run.drop, run.gap) == (0.0, 0.0, 0.0)
    assert len({run.seconds for run in flat.runs}) > 1, "runs are not copies"


def test_a_seed_says_how_and_ground_that_is_known_is_ground_without_noise(able: Models, flat: CrossedGroup) -> None:
    """So small a share of missing cells that there is none, but the way of the blurred map is taken."""
    again = cross_group(able, FLAT, replace(WALKING, disturbance=Disturbance(missing=1e-12)), threads=1)
    assert told(again.runs) == told(flat.runs)
    for one, other in zip(again.clips, flat.clips, strict=True):
        assert torch.equal(one.motion.root_pos, other.motion.root_pos)
    other = cross_group(able, FLAT[:1], replace(WALKING, seed=2), threads=1)
    assert not torch.equal(other.clips[0].motion.root_pos[:20], flat.clips[0].motion.root_pos[:20])


def test_who_is_pushed_off_falls(able: Models) -> None:
    test = replace(WALKING, runs=3, disturbance=Disturbance(push=9.0, push_gap=0.6))
    found = cross_group(able, FLAT[:1], test, threads=1)
    assert [run.outcome for run in found.runs] == ["fallen"] * 3
    assert all(run.pushes >= 1 and run.seconds < 5 for run in found.runs)
    summary = summarise_crossings(found.runs)
    assert summary["falls_per_second"] == pytest.approx(3 / sum(run.seconds for run in found.runs))


def test_who_may_get_up_has_not_fallen_at_once_and_what_it_did_is_counted(able: Models, flat: CrossedGroup) -> None:
    """By a walk, which is no way to get up: it is followed for as long as there is."""
    brief = replace(WALKING.reflex, get_up=GetUpSettings(seconds=0.4))
    test = replace(WALKING, runs=1, reflex=brief, disturbance=Disturbance(push=9.0, push_gap=0.6))
    fallen = cross_group(able, FLAT[:1], test, threads=1).runs[0]
    rising = cross_group(replace(able, get_ups=(flat.clips[0],)), FLAT[:1], replace(test, get_up=True), threads=1).runs[0]
    assert fallen.outcome == rising.outcome == "fallen" and (fallen.downs, rising.downs, rising.ups) == (0, 1, 0)
    assert rising.seconds == pytest.approx(fallen.seconds + 0.4 - 1 / 30)
    assert replace(test, get_up=True).label.endswith(", getting up")
    with pytest.raises(SettingsError, match="getting up are for reflexes"):
        CrossingTest("search", get_up=True)
    runs = [replace(rising, downs=2, ups=1), replace(fallen, downs=1, ups=1)]
    assert summarise_crossings(runs)["got_up"] == 2 / 3 and math.isnan(summarise_crossings([fallen])["got_up"])


def test_the_open_loop_stands_beside(able: Models) -> None:
    from parc.generate.rollout.path_rollout import RolloutSettings

    way = TraverseSettings(1, PlainSettings(1, RolloutSettings(seconds=2.0), optimise=None))
    found = cross_group(able, FLAT[:1], CrossingTest("open-loop", open_loop=way), threads=1)
    (run,), (clip,) = found.runs, found.clips
    assert run.outcome in ("arrived", "lost") and run.seconds == pytest.approx(clip.motion.duration)
    with pytest.raises(SettingsError, match="for reflexes"):
        CrossingTest("search", disturbance=Disturbance(push=1.0))


# ---- who measures it does not matter --------------------------------------------------------------------------------------

Make = Callable[..., tuple[CrossingEvaluator, list[str]]]


@pytest.fixture(scope="module")
def evaluator(ignorant: Models) -> Make:
    cases = [set_case("development", family, k) for family in ("boxes", "stairs") for k in range(3)]

    def make(out: Path, **wishes) -> tuple[CrossingEvaluator, list[str]]:
        told: list[str] = []
        return CrossingEvaluator(out, lambda: ignorant, {"generator": "a"}, cases, threads=1, on_part=told.append, **wishes), told

    return make


def test_shards_together_are_the_whole(evaluator: Make, tmp_path: Path) -> None:
    test = replace(BRIEF, terrains_at_once=2)
    alone, parts = evaluator(tmp_path / "alone")
    whole = alone.row(test)
    assert parts == [f"reflex, every 6: {part}" for part in ("boxes 0 to 1", "boxes 2 to 2", "stairs 0 to 1", "stairs 2 to 2")]
    rows = [evaluator(tmp_path / "shared", shard=WorkShard(k, 3))[0].row(test) for k in range(3)]
    assert sum(row["all"]["runs"] for row in rows) == whole["all"]["runs"] == 12
    together, parts = evaluator(tmp_path / "shared")
    joined = together.row(test)
    assert parts == [], "nothing is measured anew"
    assert {k: v for k, v in repr_of(joined).items() if k != "took"} == {k: v for k, v in repr_of(whole).items() if k != "took"}
    assert sorted(run["case"] for row in rows for run in row["runs"]) == sorted(run["case"] for run in whole["runs"])
    with pytest.raises(SettingsError, match="shard 3 of 3"):
        WorkShard(3, 3)


def repr_of(row: dict) -> dict[str, str]:
    return {key: repr(value) for key, value in row.items()}


def test_every_run_ends_in_one_way_and_is_in_one_class(evaluator: Make, tmp_path: Path) -> None:
    row = evaluator(tmp_path)[0].row(BRIEF)
    for numbers in (row["all"], *row["by_family"].values()):
        assert sum(numbers[f"{outcome}_runs"] for outcome in OUTCOMES) == numbers["runs"]
    assert sum(numbers["runs"] for numbers in row["by_family"].values()) == row["all"]["runs"] == 12
    for measure, classes in row["by_difficulty"].items():
        assert measure in EDGES and sum(c["runs"] for c in classes) == 12


def test_motions_are_kept_where_they_are_asked_for(evaluator: Make, tmp_path: Path) -> None:
    plain, _ = evaluator(tmp_path)
    assert plain.motions(BRIEF) == []
    keeping, parts = evaluator(tmp_path, keeps_motions=True)
    clips = keeping.motions(BRIEF)
    assert len(clips) == 12 and len(parts) == 6
    seconds = [run["seconds"] for run in keeping.row(BRIEF)["runs"]]
    assert [clip.motion.duration for clip in clips] == pytest.approx(seconds, abs=1e-4)


def test_a_job_that_has_travelled_finds_the_same(ignorant: Models) -> None:
    job = CrossingJob(lambda: ignorant, BRIEF, threads=1)
    here, there = (j.open()(FLAT[:1]) for j in (job, pickle.loads(pickle.dumps(job))))
    assert told(here.runs) == told(there.runs)


# ---- sums by hand ---------------------------------------------------------------------------------------------------------


def run_of(case: str, outcome: str, seconds: float, climb: float = 0.0) -> CrossingRun:
    return CrossingRun(case, "boxes", 0, outcome, seconds, 8.0, 4.0, climb, 0.0, 0.0, motion={"walk_r": math.nan})


def test_the_summary_by_hand() -> None:
    runs = [run_of("a", "arrived", 4.0), run_of("a", "fallen", 1.0), run_of("b", "arrived", 6.0), run_of("c", "stuck", 9.0, 1.5)]
    table = summarise_crossings(runs)
    assert (table["terrains"], table["runs"], table["success"], table["stuck"]) == (3, 4, 0.5, 0.25)
    assert table["success_error"] == pytest.approx(np.std([0.5, 1.0, 0.0], ddof=1) / math.sqrt(3)), "terrains are what was drawn"
    assert table["falls_per_second"] == 1 / 20 and table["seconds_to_goal"] == 5.0 and table["speed"] == 16 / 20
    assert table["share_of_path"] == (1 + 0.5 + 1 + 0.5) / 4 and math.isnan(table["walk_r"])
    classes = by_difficulty(runs)["climb"]
    assert [(c["from"], c["to"], c["runs"], c["success"]) for c in classes] == [(0.0, 0.3, 3, 2 / 3), (1.4, 1.85, 1, 0.0)]
    assert math.isnan(summarise_crossings([])["success"])


# ---- the command ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def words(models: Path, tmp_path: Path) -> list[str]:
    """One terrain, models that know nothing."""
    files = ["--generator", str(models / "a.safetensors"), "--tracker", str(models / "s.safetensors")]
    small = ["--families", "stairs", "--terrains", "1", "--threads", "1", "--device", "cpu"]
    return ["evaluate", "reflex", "-o", str(tmp_path / "out"), *files, *small]


def test_the_command_writes_its_table_and_goes_on(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*words, "--every", "5", "9", "--height-noise", "0.05", "--save-motions", str(tmp_path / "motions")]
    assert main([*words, "--json"]) == 0
    first = capsys.readouterr()
    printed = json.loads(first.out.splitlines()[-1])
    noisy = ", height noise 0.05 m"
    labels = [row["label"] for row in printed["crossings"]]
    assert labels == [f"reflex, every {k}{noise}" for k in (5, 9) for noise in ("", noisy)]
    assert printed["test_set"] == {"set": "development", "version": 1, "families": ["stairs"], "terrains": 1}
    written = json.loads((tmp_path / "out" / "reflex.json").read_text())
    assert [len(row["runs"]) for row in written["crossings"]] == [1] * 4
    saved = sorted((tmp_path / "motions").rglob("*.motion"))
    assert len(saved) == 4 and len(load_clip(saved[0], humanoid()).motion) > 1
    assert main([*words, "--json"]) == 0
    second = capsys.readouterr()
    assert "stairs 0 to 0" in first.err and "stairs 0 to 0" not in second.err
    assert json.loads(second.out.splitlines()[-1]) == printed
    assert main(words) == 0
    assert "by climb" in capsys.readouterr().out


def test_every_setting_of_a_way_to_cross_is_an_option() -> None:
    command = called("evaluate reflex")
    given = "-o x --every 5 9 --push 1 --reflex.windows 4 --disturbance.push-gap 2 --methods reflex search --search.candidates 20"
    read = read_options(command.load(), given.split(), command.call, command.options)
    assert isinstance(read, EvaluateReflex)
    *reflexes, search = read.tests()
    assert [(row.reflex.every, row.disturbance.push) for row in reflexes] == [(5, 0), (5, 1), (9, 0), (9, 1)]
    assert {(row.reflex.windows, row.disturbance.push_gap) for row in reflexes} == {(4, 2)}
    assert search.search == TraverseSettings(method=SearchSettings(candidates=20)) and search.disturbance == Disturbance()


def test_a_run_on_the_test_set_is_written_down(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--set", "test", "--ledger", str(tmp_path / "ledger.jsonl"), "--json"]) == 0
    begun, finished = (json.loads(line) for line in (tmp_path / "ledger.jsonl").read_text().splitlines())
    assert (begun["state"], finished["state"]) == ("begun", "finished")
    assert finished["numbers"]["crossings"]["reflex, every 5"]["stairs"]["runs"] == 1
