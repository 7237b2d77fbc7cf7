"""The thin thread: terrain, path, generate, correct, track, record, data set, report, in seconds; and what a change does over."""

import dataclasses
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from parc.character import Character, humanoid
from parc.character.body_shape import Sphere
from parc.character.character import Body
from parc.cli.main import main
from parc.dataset import Dataset, DatasetWriter
from parc.errors import CharacterError, DatasetError, ParcError, SettingsError
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.loop import LoopError, LoopSettings, RunSources, preset, run_loop
from parc.loop.initial_dataset import walks

ITERATION = "iteration-01"
STAGES = ["generator", "synthesis", "tracker", "recording", "dataset"]


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.fixture
def done_over(began) -> Callable[..., list[str]]:
    def call(folder: Path, settings: LoopSettings, sources: RunSources = RunSources(), over_again: bool = True) -> list[str]:
        """Stages that a further call does."""
        before = began(folder)
        run_loop(folder, settings, humanoid(), sources, over_again=over_again)
        return [name for name, when in began(folder).items() if before.get(name) != when]

    return call


def changed(**parts) -> LoopSettings:
    tiny = preset("tiny")
    return replace(tiny, plans=(replace(tiny.plans[0], **parts),))


def test_the_whole_thread_leaves_recorded_clips_and_a_report(finished: Path) -> None:
    result = json.loads((finished / "result.json").read_text())
    assert result["recorded"] >= 1 and result["added"] >= 1
    start, end = Dataset.open(finished / "start", humanoid()), Dataset.open(result["dataset"], humanoid())
    assert len(end) == result["clips"] == len(start) + result["added"]
    assert end.names[: len(start)] == start.names
    new = [clip for clip in end if clip.provenance.source == "simulation"]
    assert len(new) == result["added"]
    generated = Dataset.open(finished / ITERATION / "synthesis").names
    for clip in new:
        assert clip.provenance.iteration == 1 and clip.provenance.parent in generated
        assert set(clip.provenance.models) == {"generator", "tracker"}
    page = Path(result["report"]).read_text()
    assert new[0].name in page and 'class="replay"' in page
    order = [page.index(part) for part in ("new clips joined", 'class="replay"', "<table>", "Stages")]
    assert order == sorted(order), "a sentence, a replay, the numbers"
    shown = page[: page.index("<summary>hashes")]
    assert not [made for clip in new for made in clip.provenance.models.values() if made[:8] in shown], "hashes are folded away"
    numbers = json.loads((finished / "report.json").read_text())
    assert [s["stage"] for s in numbers["stages"]] == ["start", *(f"{ITERATION}/{s}" for s in STAGES)]
    (iteration,) = numbers["iterations"]
    assert set(iteration["metrics"]) == {"generated", "corrected", "recorded", "joined"}
    assert [row["clip"] for row in iteration["lineage"]] == iteration["joined"]


def test_a_finished_run_is_left_alone(copied: Path, done_over) -> None:
    assert done_over(copied, preset("tiny"), over_again=False) == []


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"guard": replace(preset("tiny").plans[0].guard, nearest=0.5)}, ["dataset"]),
        ({"record": replace(preset("tiny").plans[0].record, margin=1.0)}, ["recording", "dataset"]),
        ({"expected": replace(preset("tiny").plans[0].expected, tracker=99.0)}, []),
    ],
)
def test_a_changed_setting_runs_its_dependents_and_nothing_else(
    copied: Path, done_over, parts: dict, expected: list[str]
) -> None:
    assert done_over(copied, changed(**parts)) == [f"{ITERATION}/{stage}" for stage in expected]


def test_another_tracker_runs_what_follows_it_and_changes_provenance(copied: Path, done_over, dataset_hashes) -> None:
    plan = preset("tiny").plans[0].tracker
    settings = changed(tracker=replace(plan, training=replace(plan.training, iterations=3)))
    before = dataset_hashes(copied)
    assert done_over(copied, settings) == [f"{ITERATION}/{stage}" for stage in STAGES[2:]]
    assert dataset_hashes(copied) != before


@pytest.mark.parametrize(
    "lost",
    [
        "generator/generator.safetensors", "synthesis/index.json", "synthesis/shard-000001.safetensors",
        "tracker/actor.safetensors", "recording/shard-000002.safetensors", "dataset/admission.json", "dataset/dataset/index.json",
        "dataset/dataset/shard-000001.safetensors",
    ],
)  # fmt: skip
def test_a_lost_output_is_made_again_and_is_the_same(copied: Path, done_over, dataset_hashes, lost: str) -> None:
    before = dataset_hashes(copied)
    (copied / ITERATION / lost).unlink()
    assert done_over(copied, preset("tiny"), over_again=False) == [f"{ITERATION}/{lost.split('/')[0]}"]
    assert dataset_hashes(copied) == before


def test_a_second_iteration_goes_on_from_the_first(copied: Path, began) -> None:
    first = began(copied)
    run_loop(copied, replace(preset("tiny"), iterations=2), humanoid())
    now = began(copied)
    assert {name: now[name] for name in first} == first, "the first iteration is not touched"
    assert [name for name in now if name not in first] == [f"iteration-02/{stage}" for stage in STAGES]
    one, two = (Dataset.open(copied / f"iteration-0{i}" / "dataset" / "dataset").names for i in (1, 2))
    assert two[: len(one)] == one and len(two) > len(one)


def test_without_physics_correction_generated_clips_join_directly(copied: Path, done_over) -> None:
    over = done_over(copied, replace(preset("tiny"), physics_correction=False))
    assert over == [f"{ITERATION}/dataset"]
    names = Dataset.open(copied / ITERATION / "dataset" / "dataset").names
    assert set(Dataset.open(copied / ITERATION / "synthesis").names) <= set(names)


def test_a_data_set_or_folder_of_the_users_is_the_start(finished: Path, tmp_path: Path) -> None:
    missing = tmp_path / "nothing"
    with pytest.raises(DatasetError, match="neither a data set nor a folder"):
        run_loop(tmp_path / "a", preset("tiny"), humanoid(), RunSources(dataset=missing))
    clips = walks(replace(preset("tiny").start, clips=1), 5, humanoid())
    with DatasetWriter(tmp_path / "mine", humanoid()) as writer:
        writer.append([replace(clips[0], name="it1_u000000_t00_0_sim")])
    result = run_loop(tmp_path / "b", preset("tiny"), humanoid(), RunSources(dataset=tmp_path / "mine"))
    names = Dataset.open(result.dataset).names
    assert names[0] == "it1_u000000_t00_0_sim" and len(set(names)) == len(names)
    assert not (tmp_path / "b" / "start").exists()


def test_models_of_another_body_or_kind_are_one_sentence(finished: Path, tmp_path: Path) -> None:
    ball = Character("ball", (Body("trunk", -1, (0, 0, 0), shapes=(Sphere((0, 0, 0), 0.1, 1000),), is_foot=True),))
    wrong = tmp_path / "wrong.safetensors"
    Generator(ball, GeneratorSettings(network=PrefixSettings(32, 1, 2, 64))).save(wrong)
    with pytest.raises(CharacterError, match="trained for character 'ball'"):
        run_loop(tmp_path / "a", preset("tiny"), humanoid(), RunSources(generator=wrong))
    with pytest.raises(ParcError, match="expected a tracker actor"):
        run_loop(tmp_path / "a", preset("tiny"), humanoid(), RunSources(tracker=wrong))
    with pytest.raises(DatasetError, match="is for character 'humanoid'"):
        run_loop(tmp_path / "c", preset("tiny"), ball, RunSources(dataset=finished / "start"))


def test_given_models_are_gone_on_with(copied: Path, done_over) -> None:
    """A wider generator than the preset's is taken as it is."""
    wide = copied / "wide.safetensors"
    torch.manual_seed(0)
    Generator(humanoid(), GeneratorSettings(network=PrefixSettings(width=48, layers=1, heads=2, hidden=64))).save(wide)
    over = done_over(copied, preset("tiny"), RunSources(generator=wide))
    assert over[0] == f"{ITERATION}/generator"
    made = Generator.load(copied / ITERATION / "generator" / "generator.safetensors", humanoid())
    assert made.settings.network.width == 48


def test_a_given_tracker_is_gone_on_with(copied: Path, finished: Path, done_over) -> None:
    actor = finished / ITERATION / "tracker" / "actor.safetensors"
    assert done_over(copied, preset("tiny"), RunSources(tracker=actor)) == [f"{ITERATION}/{stage}" for stage in STAGES[2:]]


def test_motions_that_the_tracker_loses_are_left_out_of_its_training(copied: Path, finished: Path, done_over) -> None:
    actor, tracker = finished / ITERATION / "tracker" / "actor.safetensors", preset("tiny").plans[0].tracker
    sources, names = RunSources(tracker=actor), Dataset.open(finished / ITERATION / "synthesis").names
    counts = {}
    for least in (0.0, 1.0):
        done_over(copied, changed(tracker=replace(tracker, least_followed=least)), sources)
        ledger = json.loads((copied / "ledger.json").read_text())
        counts[least] = ledger["stages"][f"{ITERATION}/tracker"]["result"]
    shares = json.loads((copied / ITERATION / "tracker" / "followed.json").read_text())
    lost = sum(share < 1.0 for share in shares.values())
    assert set(shares) == set(names) and counts[0.0]["left_out"] == 0
    assert counts[1.0]["left_out"] == lost > 0
    assert counts[1.0]["clips"] == counts[0.0]["clips"] - lost
    with pytest.raises(SettingsError, match="least_followed is 1"):
        replace(tracker, least_followed=1.5)


def test_two_processes_cannot_work_on_one_run(copied: Path) -> None:
    from parc.loop.ledger import locked

    with locked(copied), pytest.raises(LoopError, match="being worked on by process"):
        run_loop(copied, preset("tiny"), humanoid())


def test_presets_are_what_they_say() -> None:
    paper = preset("paper")
    assert [paper.plan(i).synthesis.clips for i in (1, 2, 3, 4)] == [1000, 1000, 2000, 2000]
    assert [paper.plan(i).synthesis.settings.ground for i in (1, 2, 3, 4)] == ["boxes", "boxes", "course", "course"]
    assert [preset("gpu").plan(i).synthesis.settings.ground for i in (1, 2, 3, 4)] == ["boxes", "mixed", "course", "course"]
    assert paper.iterations == 4 and paper.plan(1).synthesis.settings.rollout.seconds == 10.0
    assert paper.plan(1).synthesis.settings.candidates == 64
    for name in ("tiny", "scratch", "quick"):
        for plan in preset(name).plans:
            assert plan.generator.steps and plan.tracker.training.iterations and plan.tracker.training.milestone_iterations
    with pytest.raises(SettingsError, match="no preset 'huge'"):
        preset("huge")
    with pytest.raises(SettingsError, match="0 iterations"):
        dataclasses.replace(preset("tiny"), iterations=0)
    assert main(["loop", "nowhere", "--iterations", "0"]) == 2
    assert not Path("nowhere").exists()
