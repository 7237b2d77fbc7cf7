"""Practice: trainings follow each other, what is made is trained on, and a stop changes nothing."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from parc.author.procedural_walk import stroll
from parc.character import humanoid
from parc.cli.main import main
from parc.correct.correct_motions import OptimiseSettings
from parc.correct.practise_generator import PracticeSettings, practise
from parc.correct.select_candidates import SelectSettings, select
from parc.correct.synthesise_clips import SynthesisSettings
from parc.dataset.clip import Clip
from parc.dataset.convert.clip_files import save_clip
from parc.dataset.dataset_store import Dataset
from parc.errors import SettingsError
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.generate.training.flat_adamw import AdamSettings
from parc.generate.training.generator_training import TrainSettings
from parc.generate.training.training_step import StepSettings
from parc.metrics.clip_batch import ClipBatch
from parc.path.terrain_path import TerrainPath
from parc.run.metrics_log import read_metrics
from parc.terrain.procedural_terrain import CrowdedBoxes, RandomBoxes
from parc.terrain.terrain import Terrain

LOW = RandomBoxes(size=(12, 12), boxes=1, height=(-0.03, 0.03))
TINY = PracticeSettings(
    train=TrainSettings(
        steps=8,
        generator=GeneratorSettings(network=PrefixSettings(width=32, layers=1, heads=2, hidden=32)),
        step=StepSettings(batch=6, levels=2, own_start=0.5, statistics_windows=50, adam=AdamSettings(rate=1e-3)),
    ),
    rounds=1,
    grounds=CrowdedBoxes(LOW, replace(LOW, boxes=2), None),
    units=1,
    synthesis=SynthesisSettings(
        terrains_per_unit=1,
        candidates=2,
        rollout=RolloutSettings(seconds=1.5),
        optimise=OptimiseSettings(iterations=2),
        mirrored=False,
        only_valid=False,
        shortest=10,
    ),
)


@pytest.fixture(scope="module")
def clips() -> list[Clip]:
    path = TerrainPath(torch.tensor([[1.0, 3.0, 0.0], [5.0, 3.0, 0.0]]))
    return [stroll(Terrain(torch.zeros(16, 16), torch.zeros(2)), path)]


@pytest.fixture(scope="module")
def whole(clips: list[Clip], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole")
    practise(TINY, clips, out, humanoid())
    return out


def test_every_training_knows_all_that_was_made(whole: Path) -> None:
    stages = read_metrics(whole / "practice.jsonl")
    made = sum(len(Dataset.open(folder)) for folder in (whole / "made").iterdir())
    assert made > 0
    assert [(s["stage"], s["clips"]) for s in stages] == [("training 0", 1), ("made 1", made), ("training 1", 1 + made)]
    names = [clip.name for folder in (whole / "made").iterdir() for clip in Dataset.open(folder)]
    assert len(set(names)) == len(names)
    first, last = (Generator.load(whole / f / "generator.safetensors", humanoid()) for f in ("0", "."))
    torch.testing.assert_close(first.mean, last.mean)
    assert not torch.equal(*(next(iter(g.network.parameters())) for g in (first, last)))


def test_a_practice_that_was_stopped_ends_the_same(whole: Path, clips: list[Clip], tmp_path: Path) -> None:
    torn = tmp_path / "torn"
    shutil.copytree(whole, torn)
    shutil.rmtree(torn / "1")
    (torn / "generator.safetensors").unlink()
    next((torn / "made" / "1_1" / "units").iterdir()).unlink()
    practise(TINY, clips, torn, humanoid())
    assert (torn / "generator.safetensors").read_bytes() == (whole / "generator.safetensors").read_bytes()


def test_a_practice_with_other_clips_or_settings_is_refused(whole: Path, clips: list[Clip], tmp_path: Path) -> None:
    before = {file: file.read_bytes() for file in whole.rglob("*") if file.is_file()}
    other = [replace(clips[0], name="other")]
    longer = replace(TINY, train=replace(TINY.train, steps=9))
    for settings, known, what in ((TINY, other, "otherwise .clips."), (longer, clips, "otherwise .settings.train.steps.")):
        with pytest.raises(SettingsError, match=f"{what}; choose another folder"):
            practise(settings, known, whole, humanoid())
    assert before == {file: file.read_bytes() for file in whole.rglob("*") if file.is_file()}


def test_a_practice_and_a_training_do_not_replace_each_others_weights(
    whole: Path, clips: list[Clip], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_clip(clips[0], tmp_path / "walk.motion", humanoid())
    weights = (whole / "generator.safetensors").read_bytes()
    assert main(["train-generator", str(tmp_path / "walk.motion"), "-o", str(whole), "--steps", "1", "--device", "cpu"]) == 2
    assert "is the folder of a practice" in capsys.readouterr().err
    assert (whole / "generator.safetensors").read_bytes() == weights and not (whole / "checkpoint.safetensors").exists()
    shutil.copytree(whole / "0", trained := tmp_path / "trained")
    with pytest.raises(SettingsError, match="is the folder of a training"):
        practise(TINY, clips, trained, humanoid())
    assert not (trained / "practice.json").exists()


def test_shares_of_the_training_and_wrong_settings() -> None:
    settings = replace(TINY, rounds=2, train=replace(TINY.train, steps=None, seconds=100.0), first_share=0.6)
    seconds = [settings.stage(k, given=k > 0).seconds for k in range(3)]
    assert seconds == pytest.approx([60, 20, 20])
    assert settings.stage(1, given=True).step.own_start == 0.0 < settings.stage(0, given=False).step.own_start
    for wrong in ({"rounds": 0}, {"units": 0}, {"first_share": 1.0}, {"rate": -1.0}):
        with pytest.raises(SettingsError):
            replace(TINY, **wrong)


def test_of_equal_motions_the_quicker_is_chosen(clips: list[Clip]) -> None:
    slow, quick = clips[0], replace(clips[0], motion=clips[0].motion.slice(0, len(clips[0].motion) - 30))
    batch, reached = ClipBatch.stack([slow, quick], humanoid()), torch.tensor([True, True])
    gap = [float(torch.diff(select(batch, reached, SelectSettings(slowness=s)).score)) for s in (0.0, 2.0)]
    assert gap[1] - gap[0] == pytest.approx(-2.0, abs=1e-4)
