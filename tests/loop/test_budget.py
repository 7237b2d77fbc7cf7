"""An iteration cut to a time: its trainings give way, in the same proportion, and all the rest stays as it was."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from parc.cli.main import main
from parc.errors import SettingsError
from parc.loop import preset
from parc.loop.budget import within


@pytest.mark.parametrize("name", ["gpu", "paper"])
@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_an_iteration_takes_the_minutes_asked_for(name: str, factor: float) -> None:
    settings = preset(name)
    for i in (1, 3):
        before = settings.plan(i)
        seconds = factor * sum(asdict(before.expected).values())
        after = within(settings, seconds / 60).plan(i)
        assert sum(asdict(after.expected).values()) == pytest.approx(seconds)
        share = after.generator.seconds / before.generator.seconds
        assert after.tracker.training.seconds == pytest.approx(share * before.tracker.training.seconds)
        assert (share < 1, share > 1) == (factor < 1, factor > 1)
        same = replace(
            after, expected=before.expected, generator=before.generator, tracker=before.tracker
        )  # the seconds of both trainings are the only other change
        assert same == before


@pytest.mark.parametrize("minutes", [3.0, -1.0, float("nan"), float("inf")])
def test_too_few_minutes_and_presets_of_steps_are_refused(minutes: float) -> None:
    with pytest.raises(SettingsError, match="leaves no time to train"):
        within(preset("gpu"), minutes)
    with pytest.raises(SettingsError, match="counts steps"):
        within(preset("quick"), 3.0)


def test_a_run_goes_on_with_the_minutes_it_was_begun_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    begun = within(preset("gpu"), 17.0)
    run.mkdir()
    (run / "run.json").write_text(json.dumps({"settings": asdict(begun), "sources": {}}))
    assert main(["loop", str(run), "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["seconds"] == pytest.approx(4 * 17 * 60)
