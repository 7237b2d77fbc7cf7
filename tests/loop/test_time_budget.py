"""A run cut to a time: its trainings give way, in the same proportion, and all the rest stays as it was."""

import json
import math
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from parc.cli.main import main
from parc.errors import SettingsError
from parc.evaluate.iteration_evaluation import evaluation_of
from parc.loop import LoopSettings, preset
from parc.loop.budget.time_budget import scaled, within
from parc.loop.run_outline import expected_seconds
from parc.reflex.loop_stage import closed_loop_of


@pytest.mark.parametrize("name", ["gpu", "paper"])
@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_a_run_takes_the_minutes_asked_for(name: str, factor: float) -> None:
    settings = with_leaves(preset(name))
    seconds = factor * expected_seconds(settings)
    cut = within(settings, seconds / 60)
    assert expected_seconds(cut) == pytest.approx(seconds)
    share = cut.stretch
    assert share is not None and (share < 1 - 1e-6, share > 1 + 1e-6) == (factor < 1, factor > 1)
    root = math.sqrt(min(share, 1.0))
    for i in (1, 3):
        before, after = settings.plan(i), cut.plan(i)
        assert after.generator.seconds == pytest.approx(share * before.generator.seconds)
        assert after.tracker.training.seconds == pytest.approx(share * before.tracker.training.seconds)
        assert abs(after.synthesis.clips - root * before.synthesis.clips) < 1 + 1e-6
        same = replace(
            after, expected=before.expected, generator=before.generator, tracker=before.tracker, synthesis=before.synthesis
        )
        assert same == before
    assert settings.variations is not None and cut.variations is not None and cut.closed_loop is not None
    assert cut.variations.count == settings.variations.count
    assert cut.variations.tracker.training.seconds == pytest.approx(share * settings.variations.tracker.training.seconds)
    assert settings.closed_loop is not None
    assert cut.closed_loop.plan.seconds == pytest.approx(share * settings.closed_loop.plan.seconds)


def test_iterations_that_are_added_leave_those_before_as_they_are() -> None:
    begun = within(with_leaves(preset("gpu")), 28.0)
    more = within(replace(with_leaves(preset("gpu")), iterations=8), 28.0, begun.stretch)
    assert more.plans == begun.plans and more.variations == begun.variations and more.closed_loop == begun.closed_loop


def with_leaves(settings: LoopSettings) -> LoopSettings:
    return replace(settings, closed_loop=closed_loop_of(settings), evaluation=evaluation_of(settings))


@pytest.mark.parametrize("minutes", [3.0, -1.0, float("nan"), float("inf")])
def test_too_few_minutes_and_presets_of_steps_are_refused(minutes: float) -> None:
    with pytest.raises(SettingsError, match="leaves no time to train"):
        within(preset("gpu"), minutes)
    with pytest.raises(SettingsError, match="counts steps"):
        within(preset("quick"), 3.0)


def test_a_run_goes_on_with_the_minutes_it_was_begun_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    begun = within(preset("gpu"), 77.0)
    run.mkdir()
    (run / "run.json").write_text(json.dumps({"settings": asdict(begun), "sources": {}}))
    for options in ([], ["--minutes", "77"]):
        assert main(["loop", str(run), "--dry-run", "--json", *options]) == 0
        assert json.loads(capsys.readouterr().out.splitlines()[-1])["seconds"] == pytest.approx(77 * 60)
    assert main(["loop", str(run), "--dry-run", "--json", "--iterations", "5"]) == 0
    added = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert added["seconds"] > 77 * 60 and len(added["stages"]) == 5 * 5 + 4


@pytest.mark.parametrize("name", ["gpu", "paper"])
def test_a_scale_makes_the_work_a_share_of_it_and_leaves_networks_and_settings(name: str) -> None:
    whole, small = preset(name), scaled(preset(name), 0.01)
    for i in (1, 3):
        before, after = whole.plan(i), small.plan(i)
        assert after.generator == replace(before.generator, seconds=0.01 * before.generator.seconds)
        assert after.tracker.settings == before.tracker.settings and after.record == before.record and after.guard == before.guard
        assert after.tracker.training.seconds == 0.01 * before.tracker.training.seconds
        assert after.synthesis.clips == before.synthesis.clips / 10
        made, full = after.synthesis.settings, before.synthesis.settings
        counts = {"candidates": made.candidates, "terrains_per_unit": made.terrains_per_unit}
        assert made == replace(full, **counts) and made.candidates == max(2, round(full.candidates / 10))
        assert sum(asdict(after.expected).values()) == pytest.approx(0.01 * sum(asdict(before.expected).values()))
    if whole.variations is not None:
        assert small.variations is not None and small.variations.count == max(1, round(whole.variations.count / 10))
    assert scaled(whole, 1.0) == replace(whole, scale=1.0)
    for wrong in (0.0, -1.0, 1.5, float("nan")):
        with pytest.raises(SettingsError, match="the scale is"):
            scaled(whole, wrong)
    with pytest.raises(SettingsError, match="counts steps, not a scale"):
        scaled(preset("quick"), 0.5)


def test_a_run_goes_on_with_the_scale_and_the_variations_it_was_begun_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(run: Path, *options: str) -> list[dict]:
        assert main(["loop", str(run), "--dry-run", "--json", *options]) == 0
        return json.loads(capsys.readouterr().out.splitlines()[-1])["stages"]

    def begun(settings) -> Path:
        run = tmp_path / str(len(list(tmp_path.iterdir())))
        run.mkdir()
        (run / "run.json").write_text(json.dumps({"settings": asdict(settings), "sources": {}}))
        return run

    new = tmp_path / "new"
    rows = told(new, "--preset", "paper", "--scale", "0.01")
    assert told(begun(scaled(preset("paper"), 0.01))) == rows and rows[0]["does"].startswith("5 spatial variations")
    rows = told(new, "--preset", "paper", "--scale", "0.01", "--variations", "7")
    assert rows[0]["does"].startswith("7 spatial variations"), "a number that was asked for is not scaled"
    assert told(begun(scaled(preset("paper"), 0.01).with_variations(7))) == rows
    rows = told(new, "--preset", "paper", "--variations", "0")
    assert rows[0]["stage"] == "iteration-01/generator" and told(begun(preset("paper").with_variations(0))) == rows
    rows = told(new, "--preset", "scratch", "--variations", "3")
    assert [row["stage"] for row in rows[:4]] == [f"iteration-00/{s}" for s in ("variation", "tracker", "recording", "dataset")]
    assert rows[1]["does"] == rows[6]["does"], "tracked as motions of iteration 1 are"
    assert told(begun(preset("scratch").with_variations(3))) == rows
    assert main(["loop", str(new), "--variations", "-1"]) == 2


def test_a_run_goes_on_without_the_corrections_it_was_begun_without(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for kinematic in (False, True):
        run = tmp_path / str(kinematic)
        run.mkdir()
        settings = replace(preset("gpu"), physics_correction=False, kinematic_correction=kinematic)
        (run / "run.json").write_text(json.dumps({"settings": asdict(settings), "sources": {}}))
        assert main(["loop", str(run), "--dry-run", "--json"]) == 0
        rows = json.loads(capsys.readouterr().out.splitlines()[-1])["stages"]
        assert not any("tracker" in row["stage"] for row in rows if "iteration-00" not in row["stage"])
        made = next(row for row in rows if row["stage"] == "iteration-01/synthesis")
        assert ("iterations of correction" in made["does"]) == kinematic
