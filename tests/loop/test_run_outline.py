"""What a run would do is told without doing it; and every combination of options that a preset asks for runs."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from parc.character import humanoid
from parc.cli.main import main
from parc.dataset import Dataset
from parc.loop import LoopSettings, RunSources, preset, run_loop
from parc.loop.loop_plan import PRESETS
from parc.loop.run_outline import outline

TINY = preset("tiny").plan(1)


def test_a_dry_run_tells_the_plan_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    assert main(["loop", str(run), "--preset", "paper", "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert len(told["stages"]) == 4 + 4 * 5 and told["seconds"] == sum(row["seconds"] for row in told["stages"])
    synthesis = [row["does"] for row in told["stages"] if row["stage"].endswith("synthesis")]
    assert [text.split(";")[0] for text in synthesis] == [
        *2 * ["1000 clips up to 10 s on random boxes"],
        *2 * ["2000 clips up to 10 s on slices of the course"],
    ]
    assert main(["loop", str(run), "--preset", "gpu", "--dry-run", "--no-physics-correction", "--iterations", "1"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:-1]] == [
        *(f"iteration-00/{stage}" for stage in ("variation", "tracker", "recording", "dataset")),
        *(f"iteration-01/{stage}" for stage in ("generator", "synthesis", "dataset", "evaluation")),
    ]
    assert not run.exists()


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_has_an_outline(name: str) -> None:
    settings = preset(name)
    told = outline(settings, RunSources())
    assert told["seconds"] > 0 and all(row["does"] for row in told["stages"])
    assert f"{settings.start.clips} walks" in told["start"]


def shrunk(settings: LoopSettings) -> LoopSettings:
    """The same options with small counts, networks and budgets."""

    def small(plan):
        made = plan.synthesis.settings
        step = replace(plan.generator.step, batch=8, warm_up=2, statistics_windows=100)
        tracker = plan.tracker.settings
        ppo = replace(tracker.ppo, steps=4, minibatch=32)
        policy = replace(tracker.policy, hidden=(16,) * len(tracker.policy.hidden))
        training = replace(plan.tracker.training, worlds=8, seconds=1.0, milestone_seconds=0.5)
        synthesis = replace(
            made, terrains_per_unit=2, candidates=2, rollout=replace(made.rollout, seconds=2.0),
            optimise=replace(made.optimise, iterations=5), only_valid=False, boxes=TINY.synthesis.settings.boxes,
            plan=TINY.synthesis.settings.plan,
        )  # fmt: skip
        return replace(
            plan,
            generator=replace(plan.generator, seconds=1.0, generator=TINY.generator.generator, step=step, log_steps=1),
            synthesis=replace(plan.synthesis, clips=2, most_units=2, settings=synthesis),
            tracker=replace(plan.tracker, settings=replace(tracker, ppo=ppo, policy=policy), training=training),
            record=replace(plan.record, clips_per_unit=2),
        )

    plans = tuple(small(plan) for plan in settings.plans)
    return replace(settings, plans=plans, start=replace(settings.start, clips=2), torch_threads=1)


def test_the_stages_of_the_gpu_preset_run_in_small(tmp_path: Path) -> None:
    """Iteration 3 is the first on the course; all options but the counts are the preset's."""
    settings = replace(shrunk(preset("gpu").with_variations(0)), shipped_motions=False)
    run_loop(tmp_path, replace(settings, plans=(settings.plan(1), settings.plan(3)), iterations=2), humanoid())
    for i in (1, 2):
        assert (tmp_path / f"iteration-{i:02d}" / "tracker" / "actor.safetensors").is_file()
        assert len(Dataset.open(tmp_path / f"iteration-{i:02d}" / "dataset" / "dataset")) >= 2
        assert len(Dataset.open(tmp_path / f"iteration-{i:02d}" / "synthesis"))
