import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from parc.character import Character
from parc.dataset.clip import Clip
from parc.dataset.store import Dataset, DatasetWriter
from parc.errors import DatasetError, SettingsError
from parc.mocap.fit import FitSettings
from parc.mocap.refine import RefineSettings
from parc.mocap.variation import VariationRanges
from parc.mocap.vary import VarySettings
from parc.mocap.vary_set import VarySetSettings, vary_dataset

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


def test_another_seed_into_the_same_folder_is_refused(character: Character, source: Path, tmp_path: Path) -> None:
    (tmp_path / "a" / "vary").mkdir(parents=True)
    (tmp_path / "a" / "vary" / "settings.json").write_text("{}")
    with pytest.raises(DatasetError, match="another seed"):
        vary_dataset(source, tmp_path / "a", character, 1, 8, FEW)


def test_bad_requests_are_one_sentence(character: Character, source: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="0 variations"):
        vary_dataset(source, tmp_path, character, 0)
    with pytest.raises(DatasetError, match="no clips of skill swim; it has walk"):
        vary_dataset(source, tmp_path, character, 1, skills=("swim",))
