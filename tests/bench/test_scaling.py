"""The arithmetic, by hand, for numbers that are easy; and what one GPU takes is what the presets say."""

from dataclasses import replace
from pathlib import Path

import pytest

from parc.bench.scaling import Network, Rates, bench_scaling, stage_times
from parc.cli.main import main
from parc.errors import SettingsError
from parc.loop.loop_plan import preset

PLAN = preset("gpu").plan(1)


def test_one_gpu_takes_the_budgets_and_half_an_hour_in_all() -> None:
    times = stage_times(PLAN, 1)
    assert times.generator == PLAN.generator.seconds and times.tracker == PLAN.tracker.training.seconds
    assert 25 * 60 < times.total < 32 * 60


def test_an_exchange_that_takes_as_long_as_a_step_halves_the_speed() -> None:
    rates = Rates(generator_windows=1024, generator_bytes=1e9)
    step = PLAN.generator.step.batch / 1024
    network = Network(inside=2 * 7 / 8 * 1e9 / step, latency=0.0)
    assert stage_times(PLAN, 8, rates, network).generator == pytest.approx(PLAN.generator.seconds / 8 * 2)


def test_units_are_shared_out_whole() -> None:
    made = replace(PLAN.synthesis.settings, terrains_per_unit=10, candidates=10, optimise=None)
    plan = replace(PLAN, synthesis=replace(PLAN.synthesis, clips=90, settings=made))
    rates = Rates(valid=1.0, row_window=0.01, terrain=0.0)
    windows = made.rollout.seconds * 30 / made.rollout.keep
    unit = 10 * 10 * made.rollout.choices * windows * 0.01
    assert [round(stage_times(plan, n, rates).synthesis / unit) for n in (1, 4, 8, 9, 64)] == [9, 3, 2, 1, 1]


def test_a_synthesis_that_was_measured_takes_as_long() -> None:
    """LOG.md, fourth day: 1184 terrains in units of 32, best of 4, 300 iterations, in 111 s."""
    settings = PLAN.synthesis.settings
    assert settings.optimise is not None
    made = replace(settings, terrains_per_unit=32, optimise=replace(settings.optimise, iterations=300))
    plan = replace(PLAN, synthesis=replace(PLAN.synthesis, clips=1089, settings=made))
    assert stage_times(plan, 1).synthesis == pytest.approx(111.0, rel=0.02)


def test_more_gpus_are_never_slower_and_never_faster_than_their_number() -> None:
    for row in bench_scaling()["rows"]:
        assert 1.0 <= row["speed_up"] <= row["gpus"]


def test_impossible_questions_are_one_sentence() -> None:
    with pytest.raises(SettingsError, match="0 GPUs"):
        stage_times(PLAN, 0)
    with pytest.raises(SettingsError, match="preset 'tiny' has budgets in steps"):
        bench_scaling(("tiny",))
    with pytest.raises(SettingsError, match="preset 'paper' trains another network"):
        bench_scaling(("paper",))


def test_the_page_of_arithmetic_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "scaling"]) == 0
    table = capsys.readouterr().out
    assert "| gpu | 64 |" in table and table in (Path(__file__).parents[2] / "docs" / "cluster.md").read_text()
