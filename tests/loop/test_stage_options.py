"""Settings of stages as options of the loop: in every iteration, known again when a run goes on, refused when they are others."""

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from parc.character import humanoid
from parc.cli.loop_commands import Loop
from parc.cli.main import called, main
from parc.cli.read_options import read_options
from parc.errors import SettingsError
from parc.loop import RunSources
from parc.loop.initial_models import prepare
from parc.loop.loop_plan import PRESETS, LoopSettings
from parc.loop.stage_options import asked_for, with_options
from parc.run.dataclass_json import from_json, to_json


def settings_of(words: str, folder: Path = Path("nowhere")) -> LoopSettings:
    command = called("loop")
    loop = read_options(command.load(), [str(folder), *shlex.split(words)], command.call, command.options)
    assert isinstance(loop, Loop)
    return loop._settings()[0]


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_without_options_is_the_preset(name: str) -> None:
    settings, told = PRESETS[name](), settings_of(f"--preset {name}")
    assert (told.closed_loop is not None) == (name == "gpu"), "the command adds it: presets come before it on the road"
    assert replace(told, closed_loop=None, evaluation=None) == settings == with_options(settings, {})
    for part in (*settings.plans, settings.start, *filter(None, [settings.variations])):
        assert from_json(type(part), json.loads(json.dumps(to_json(part)))) == part


def test_an_option_holds_in_every_iteration_even_if_the_first_has_it_anyway() -> None:
    grounds = [plan.synthesis.settings.ground for plan in settings_of("--preset gpu").plans]
    asked = settings_of("--preset gpu --synthesis.ground boxes --tracker.ppo.gamma .97 --record.margin=3")
    assert grounds == ["boxes", "mixed", "course"]
    assert [plan.synthesis.settings.ground for plan in asked.plans] == 3 * ["boxes"]
    for plan, usual in zip(asked.plans, PRESETS["gpu"]().plans, strict=True):
        ppo = replace(usual.tracker.settings.ppo, gamma=0.97)
        assert plan.tracker.continued is not None and usual.tracker.continued is not None
        continued = replace(usual.tracker.continued, gamma=0.97)
        assert plan.tracker == replace(usual.tracker, settings=replace(usual.tracker.settings, ppo=ppo), continued=continued)
        assert plan.record == replace(usual.record, margin=3.0) and plan.generator == usual.generator


def test_the_tracker_of_variations_is_asked_for_with_the_others() -> None:
    asked = settings_of("--preset paper --scale .01 --tracker.worlds 32 --vary.limits.penetration .2")
    assert {plan.tracker.training.worlds for plan in asked.plans} == {32}
    assert asked.variations is not None and asked.variations.tracker.training.worlds == 32
    assert asked.variations.vary.limits.penetration == 0.2


def test_what_differs_is_found_without_names() -> None:
    plan = PRESETS["tiny"]().plans[0]
    assert asked_for(plan, plan) == {}
    other = replace(plan, record=replace(plan.record, margin=9.0))
    assert asked_for(other, plan) == {"record.margin": 9.0}
    assert asked_for(plan, plan, ["record.mirrored"]) == {"record.mirrored": False}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--generator.seed 3", "--generator.seed is not free: every training"),
        ("--tracker.seed 3", "--tracker.seed is not free: every training"),
        ("--vary.limits.penetration .2", "expected --variations 1"),
        ("--record.margin=-1", "margin -1.0 m, expected 0 or more"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(words: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told.replace("(", r"\(")):
        settings_of(f"--preset tiny {words}")


def test_a_place_that_is_not_there_is_told() -> None:
    for place in ("nothing", "guard.quality.foot_skate", "record.margin.left"):
        with pytest.raises(SettingsError, match=rf"there is no --{place.replace('_', '-')} with the preset 'paper'"):
            with_options(PRESETS["paper"](), {place: 1.0})


def test_the_network_of_a_model_that_is_trained_on_is_its_own() -> None:
    for words, told in (
        ("--generator.generator.encoding exp", "generator.generator"),
        ("--tracker.policy.std .1", "tracker.policy.std"),
    ):
        with pytest.raises(SettingsError, match=f"--{told}.*is not free"):
            prepare(settings_of(f"--preset quick {words}"), RunSources(), humanoid())


def test_a_run_that_goes_on_has_the_options_it_was_begun_with(finished: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    begun = settings_of("--preset tiny --synthesis.clips 7")
    text = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(text | {"settings": to_json(begun)}))
    assert settings_of("", run) == begun
    assert settings_of("--record.margin 1", run) == with_options(begun, {"synthesis.clips": 7, "record.margin": 1.0})
    assert settings_of("--synthesis.clips 3", run).options == {"synthesis.clips": 3}


def test_another_value_does_over_what_depends_on_it(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = ["loop", str(finished), "--device", "cpu", "--dry-run", "--json"]
    assert main([*again, "--tracker.ppo.gamma", "0.5"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [name.split("/")[1] for name in told["moves"]] == ["tracker", "recording", "dataset"]
    assert main(["loop", str(finished), "--device", "cpu", "--tracker.ppo.gamma", "0.5"]) == 2
    assert "settings differ" in capsys.readouterr().err
