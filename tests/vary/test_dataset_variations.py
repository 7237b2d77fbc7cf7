import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from parc.character import Character
from parc.dataset.clip import Clip
from parc.dataset.dataset_store import Dataset, DatasetWriter
from parc.errors import DatasetError, SettingsError
from parc.mocap.subject.landmark_fit import FitSettings
from parc.mocap.terrain.refine_on_terrain import RefineSettings
from parc.run.on_progress import OnProgress
from parc.vary.dataset_variations import VarySetSettings, vary_dataset
from parc.vary.variation_ranges import VariationRanges
from parc.vary.vary_clips import VarySettings

FEW = VarySetSettings(
    vary=VarySettings(
        refine=RefineSettings(fit=FitSettings(iterations=10, foot_turn=0.02), renew=5), ranges=VariationRanges(rise=(0.9, 1.1))
    ),
    workers=1,
)


@pytest.fixture(scope="module")
def source(character: Character, step_walk: Clip, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source") / "set"
    with DatasetWriter(folder, character) as writer:
        writer.append([replace(step_walk, name="walk", motion=step_walk.motion.slice(0, 30))])
    return folder


def test_a_larger_count_adds_to_what_is_there_and_seeds_are_per_item(character: Character, source: Path, tmp_path: Path) -> None:
    vary_dataset(source, tmp_path / "a", character, 1, 7, FEW)
    before = (tmp_path / "a" / "vary" / "report.jsonl").read_text()
    report = vary_dataset(source, tmp_path / "a", character, 2, 7, FEW)
    lines = (tmp_path / "a" / "vary" / "report.jsonl").read_text()
    assert lines.startswith(before) and len(lines.splitlines()) == 2
    assert [r.name for r in report.results] == ["walk_v000", "walk_v001"]
    kept = Dataset.open(tmp_path / "a", character)
    assert kept.names == [r.name for r in report.named("kept")]
    vary_dataset(source, tmp_path / "b", character, 2, 7, FEW)
    both = Dataset.open(tmp_path / "b", character)
    for name in kept.names:
        torch.testing.assert_close(kept[name].terrain.heights, both[name].terrain.heights)
        torch.testing.assert_close(kept[name].motion.root_pos, both[name].motion.root_pos, atol=1e-3, rtol=0)
    status = {json.loads(line)["name"]: json.loads(line)["status"] for line in lines.splitlines()}
    assert set(status.values()) <= {"kept", "rejected"}


def test_a_run_killed_between_two_batches_goes_on_with_the_next(character: Character, step_walk: Clip, tmp_path: Path) -> None:
    with DatasetWriter(tmp_path / "source", character) as writer:
        short = step_walk.motion.slice(0, 24)
        writer.append([replace(step_walk, name=name, motion=short) for name in ("a", "b")])
    seen: list[float] = []

    def stops(done: float, total: float, note: str = "") -> None:
        seen.append(done)
        if len(seen) == 1:
            raise KeyboardInterrupt

    def run(out: str, on_progress: OnProgress | None = None) -> list[tuple[str, str, str]]:
        report = vary_dataset(
            tmp_path / "source", tmp_path / out, character, 1, 7, replace(FEW, at_once=1), on_progress=on_progress
        )
        return [(r.name, r.status, r.key) for r in report.results]

    with pytest.raises(KeyboardInterrupt):
        run("torn", stops)
    notes = tmp_path / "torn" / "vary" / "rows"
    assert len(list(notes.glob("*.json"))) == 1
    assert run("torn", stops) == run("whole") and seen == [1, 2], "nothing is made twice"
    assert not notes.exists()
    torn, whole = (Dataset.open(tmp_path / name, character) for name in ("torn", "whole"))
    assert torn.names == whole.names
    for name in whole.names:
        torch.testing.assert_close(torn[name].motion.root_pos, whole[name].motion.root_pos, atol=0, rtol=0)


def test_another_seed_into_the_same_folder_is_refused(character: Character, source: Path, tmp_path: Path) -> None:
    vary_dataset(source, tmp_path / "a", character, 1, 7, FEW)
    with pytest.raises(SettingsError, match=r"a was begun otherwise \(seed\)"):
        vary_dataset(source, tmp_path / "a", character, 1, 8, FEW)


def test_bad_requests_are_one_sentence(character: Character, source: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="0 variations"):
        vary_dataset(source, tmp_path, character, 0)
    with pytest.raises(DatasetError, match="no such clips of skill swim; their skills are walk"):
        vary_dataset(source, tmp_path, character, 1, skills=("swim",))
    with pytest.raises(DatasetError, match="no clip 'wlak' among its 1; did you mean 'walk'"):
        vary_dataset(source, tmp_path, character, 1, names=("wlak",))


def test_only_clips_named_are_varied_and_those_that_changed_are_varied_again(
    character: Character, step_walk: Clip, tmp_path: Path
) -> None:
    def write(first_frame_of_b: int) -> None:
        shutil.rmtree(tmp_path / "source", ignore_errors=True)
        with DatasetWriter(tmp_path / "source", character) as writer:
            for name, first in (("a", 0), ("b", first_frame_of_b)):
                writer.append([replace(step_walk, name=name, motion=step_walk.motion.slice(first, first + 24))])

    def run(*names: str) -> dict[str, str]:
        report = vary_dataset(tmp_path / "source", tmp_path / "out", character, 1, 7, FEW, names=names)
        return {r.name: r.key for r in report.results}

    write(0)
    assert list(run("b")) == ["b_v000"]
    first = run()
    lines = (tmp_path / "out" / "vary" / "report.jsonl").read_text().splitlines()
    assert [json.loads(line)["name"] for line in lines] == ["b_v000", "a_v000"]
    write(6)
    second = run()
    again = (tmp_path / "out" / "vary" / "report.jsonl").read_text().splitlines()
    assert again[0] == lines[1] and json.loads(again[1])["name"] == "b_v000" and len(again) == 2
    assert second["a_v000"] == first["a_v000"] and second["b_v000"] != first["b_v000"]
    assert run() == second and (tmp_path / "out" / "vary" / "report.jsonl").read_text().splitlines() == again
