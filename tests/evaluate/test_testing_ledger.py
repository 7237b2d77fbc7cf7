"""Every look at the test set leaves a line; other sets leave none."""

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from parc import __version__
from parc.character import humanoid
from parc.cli.evaluate_commands import Evaluate, EvaluateGenerator
from parc.cli.main import called, main
from parc.cli.read_options import read_options
from parc.cli.set_options import command_line
from parc.evaluate.evaluation_job import EvaluationSettings, Evaluator
from parc.evaluate.generator_measurement import GeneratorTest
from parc.evaluate.models_under_test import Contender
from parc.evaluate.terrain_families import Family
from parc.evaluate.terrain_sets import SetChoice
from parc.evaluate.testing_ledger import noted_test_run, source_version
from parc.evaluate.tracker_measurement import TrackerTest
from parc.run.hashing import hash_file

SMALL = ["--terrains", "2", "--generator.candidates", "2", "--generator.limits", "0.6"]
SMALL += ["--tracker.trials", "1", "--tracker.episodes", "1"]
SMALL += ["--device", "cpu", "--threads", "1"]


def lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_run_on_the_test_set_is_written_down_and_told(models: Path, tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    generator, tracker = models / "a.safetensors", models / "s.safetensors"
    words = [str(generator), str(tracker), *SMALL, "-o", "out", "--set", "test", "--json"]
    assert main(["evaluate", "generator", *words, "--families", "boxes", "stairs"]) == 0
    captured = capsys.readouterr()
    assert captured.err.endswith("This run on the test set is written down in results/test_runs.jsonl.\n")
    printed = json.loads(captured.out.splitlines()[-1])
    facts = {"set": "test", "version": 1, "families": ["boxes", "stairs"], "terrains": 2}
    assert printed["test_set"] == facts
    assert main(["evaluate", "tracker", *words, "--ledger", "results/test_runs.jsonl"]) == 0
    begun, first, _, second = lines(tmp_path / "results" / "test_runs.jsonl")
    assert (begun["run"], begun["state"], begun["numbers"]) == (first["run"], "begun", {}) and first["state"] == "finished"
    assert first["test_set"] == facts and first["code"] == source_version()
    assert first["models"] == {"a: generator": hash_file(generator), "a: tracker": hash_file(tracker)}
    assert first["command"].startswith(
        f"parc evaluate generator {generator} {tracker} --device cpu --json --set test --families boxes"
    )
    (row,) = printed["generators"]
    numbers = first["numbers"]["generators"]["a"]
    assert set(numbers) == {"boxes 0.6 s", "stairs 0.6 s"}
    assert numbers["stairs 0.6 s"]["fwd"] == pytest.approx(row["by_family"]["stairs"]["limits"]["0.6"]["mean"]["fwd"], rel=1e-5)
    assert second["test_set"]["families"] == ["walks"] and set(second["numbers"]["trackers"]["a"]) == {"walks"}


def test_other_sets_and_data_sets_leave_no_line(models: Path, walk, tmp_path: Path, capsys, monkeypatch) -> None:
    from parc.dataset import save_clip

    monkeypatch.chdir(tmp_path)
    save_clip(walk, tmp_path / "clips" / "walk.motion")
    words = [str(models / "a.safetensors"), *SMALL, "-o", "out"]
    assert main(["evaluate", "generator", *words]) == 0
    assert "development set, version 1: 2 each of walks" in capsys.readouterr().out
    assert main(["evaluate", "generator", *words, "--set", "first"]) == 0
    assert "first set, version 1, on which settings were tuned" in capsys.readouterr().out
    tracker = [str(models / "s.safetensors"), *SMALL, "-o", "out", "--set", "test", "--dataset", "clips"]
    assert main(["evaluate", "tracker", *tracker]) == 0
    assert not (tmp_path / "results").exists() and "test set" not in "".join(capsys.readouterr())


def test_a_run_is_written_down_before_it_sees_anything_and_when_it_is_stopped(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    with pytest.raises(KeyboardInterrupt), noted_test_run(file, "parc x", {"set": "test"}, {}) as numbers:
        (begun,) = lines(file)  # all that is left of a run that is killed
        assert (begun["state"], begun["command"]) == ("begun", "parc x")
        numbers["fwd"] = 1.0
        raise KeyboardInterrupt
    begun, line = lines(file)
    assert (line["state"], line["run"], line["numbers"]) == ("stopped", begun["run"], {"fwd": 1.0})


def test_a_ledger_that_cannot_be_written_is_told_before_the_work(models: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "file").write_text("")
    words = ["evaluate", "generator", str(models / "a.safetensors"), *SMALL, "-o", str(tmp_path / "out"), "--set", "test"]
    assert main([*words, "--ledger", str(tmp_path / "file" / "runs.jsonl")]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "file" in line and not (tmp_path / "out").exists()


def test_a_family_is_measured_alike_with_others_or_without(models: Path, tmp_path: Path) -> None:
    """Terrain by terrain a group of its own: random numbers go by a group's place in its family."""
    contender = Contender("a", models / "a.safetensors", models / "s.safetensors")
    test = GeneratorTest(candidates=2, limits=(0.6,), terrains_at_once=1)

    def rows(out: str, *families: Family) -> tuple[dict, dict]:
        settings = EvaluationSettings(2, SetChoice("test", families), test, TrackerTest(trials=2, episodes=2))
        evaluator = Evaluator(tmp_path / out, settings, humanoid(), threads=1)
        return evaluator.generator_row(contender), evaluator.tracker_row(contender)

    both, alone = rows("both", "stairs", "walks"), rows("alone", "walks")
    for some, one in zip(both, alone, strict=True):
        assert some["by_family"]["walks"] == one["by_family"]["walks"]
        assert set(some["by_family"]) == {"stairs", "walks"}
    assert alone[0]["limits"] == alone[0]["by_family"]["walks"]["limits"]
    mean = [both[0]["by_family"][family]["limits"]["0.6"]["mean"]["fwd"] for family in ("stairs", "walks")]
    assert both[0]["limits"]["0.6"]["mean"]["fwd"] == pytest.approx(sum(mean) / 2)
    made = {file: file.stat().st_mtime_ns for file in (tmp_path / "both").rglob("*.json")}
    rows("both", "walks")
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "both").rglob("*.json")} == made, "nothing is measured again"


def test_a_family_that_a_set_has_not_is_refused(tmp_path: Path, capsys) -> None:
    assert main(["evaluate", "generator", "--set", "first", "--families", "stairs", "-o", str(tmp_path / "out")]) == 2
    assert "the set 'first' has no stairs, only boxes and walks" in capsys.readouterr().err


def test_the_command_line_can_be_typed_again() -> None:
    test = GeneratorTest(limits=(10.0,))
    command = Evaluate(sources=(Path("a b"), Path("c")), set="test", families=("boxes", "walks"), blending=False, generator=test)
    typed = "parc evaluate 'a b' c --set test --families boxes walks --generator.limits 10.0 --no-blending"
    assert sorted(command_line(command).split()) == sorted(typed.split())
    for words in (
        ["--preset", "quick"],
        ["--set", "test", "--preset", "paper", "--generator.rollout.no-half", "--terrains", "3"],
    ):
        asked = called("evaluate generator")
        read = read_options(EvaluateGenerator, words, asked.call, asked.options)
        again = shlex.split(command_line(read))[3:]
        assert read_options(EvaluateGenerator, again, asked.call, asked.options) == read and len(again) == len(words)


def test_code_is_named_by_its_commit_where_git_tracks_it() -> None:
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True)
    told = source_version()
    if told.startswith("commit "):
        assert found.stdout.startswith(told.split()[1].rstrip(","))
    else:
        assert told == f"parc {__version__}"
