"""`paper` on the command line: what a command stores is the paper's settings, and a sampler is told by its own name."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from parc.character import humanoid
from parc.cli.evaluate_commands import EvaluateGenerator
from parc.cli.main import called, main
from parc.cli.read_options import read_options
from parc.correct.select_candidates import SelectSettings
from parc.correct.synthesise_clips import SynthesisSettings
from parc.dataset import Dataset, DatasetWriter
from parc.evaluate.generator_measurement import GeneratorTest
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.noise_schedule import DdpmSchedule
from parc.generate.model.paper_encoder import EncoderSettings
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.generate.training.generator_training import CHECKPOINT_FILE, TrainSettings
from parc.loop import preset
from parc.loop.initial_dataset import walks
from parc.models import shipped_generator
from parc.run.checkpoint import load_checkpoint
from parc.terrain import Terrain, save_terrain


def plain(settings: Any) -> dict[str, Any]:
    return json.loads(json.dumps(asdict(settings)))


def last_line(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return json.loads(capsys.readouterr().out.splitlines()[-1])


@pytest.fixture(scope="module")
def ddpm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    made = Generator(humanoid(), GeneratorSettings(EncoderSettings(32, 1, 2, 32, 0.1), DdpmSchedule(21, 5), "exp"))
    file = tmp_path_factory.mktemp("model") / "ddpm.safetensors"
    made.save(file)
    return file


def test_generate_tells_which_sampler_it_was(ddpm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ground = tmp_path / "flat.terrain"
    save_terrain(Terrain.flat((16, 16)), ground)
    for model, sampler in ((ddpm, "DDIM with stride 5 over K = 21, 5 steps"), (shipped_generator(), "few-step flow, 5 steps")):
        command = ["generate", str(ground), "-o", str(tmp_path / "a.motion"), "--generator", str(model), "--preset", "paper"]
        assert main([*command, "--candidates", "2", "--rollout.seconds", "1", "--device", "cpu", "--json"]) == 0
        assert last_line(capsys)["sampler"] == sampler


def test_synthesise_record_and_train_store_the_papers_settings(
    ddpm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "made"
    small = ["--terrains-per-unit", "1", "--candidates", "2", "--optimise.iterations", "1", "--device", "cpu", "--json"]
    assert main(["synthesise", "-o", str(made), "--generator", str(ddpm), "--preset", "paper", *small]) == 0
    assert last_line(capsys)["sampler"].startswith("DDIM")
    paper = SynthesisSettings.paper()
    expected = replace(paper, terrains_per_unit=1, candidates=2, optimise=replace(paper.optimise, iterations=1))
    assert json.loads((made / "synthesis.json").read_bytes())["settings"] == plain(expected)
    clips = tmp_path / "clips"
    with DatasetWriter(clips, humanoid()) as writer:
        writer.append([replace(walks(preset("tiny").start, 0, humanoid())[0], name="walk")])
    recorded = tmp_path / "recorded"
    assert main(["record", str(clips), "-o", str(recorded), "--preset", "paper", "--device", "cpu", "--threads", "1"]) == 0
    assert json.loads((recorded / "recording.json").read_bytes())["settings"] == plain(preset("paper").plan(1).record)
    assert not any(name.endswith("_m") for name in Dataset.open(recorded).names)


def test_evaluate_with_the_papers_sampler_selects_by_the_papers_heuristic_too() -> None:
    paper, ours = (evaluation("--preset", preset) for preset in ("paper", "default"))
    assert paper.rollout == RolloutSettings.paper() and paper.select == SelectSettings.paper()
    assert ours.rollout == RolloutSettings() and ours.select == SelectSettings()
    assert evaluation("--preset", "paper", "--generator.rollout.blend.end", "0.25").rollout.blend.end == 0.25


def evaluation(*words: str) -> GeneratorTest:
    """What a call with a limit of 10 s measures."""
    command = called("evaluate generator")
    words = ("--generator.limits", "10", *words)
    return read_options(EvaluateGenerator, words, command.call, command.options)._settings().generator


def test_the_papers_generator_is_trained_by_the_papers_recipe_on_any_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a network that a CPU can train; batch, windows and their odds are the recipe's."""
    small = GeneratorSettings(EncoderSettings(32, 1, 2, 32, 0.1), DdpmSchedule(21, 5), "exp")
    monkeypatch.setattr(GeneratorSettings, "paper", classmethod(lambda cls: small))
    clips = tmp_path / "clips"
    with DatasetWriter(clips, humanoid()) as writer:
        writer.append([replace(walks(preset("tiny").start, 0, humanoid())[0], name="walk")])
    out = tmp_path / "out"
    assert main(["train-generator", str(clips), "-o", str(out), "--preset", "paper", "--steps", "1", "--device", "cpu"]) == 0
    stored = load_checkpoint(out / CHECKPOINT_FILE)[1]["settings"]
    recipe = TrainSettings.paper()
    assert stored["window"] == plain(recipe.window) and stored["step"] == plain(recipe.step) and recipe.step.batch == 64
