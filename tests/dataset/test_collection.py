"""Merging, weighting and describing data sets."""

import json
from dataclasses import asdict, replace

import pytest
import torch

from parc.character import humanoid
from parc.dataset import Dataset, DatasetWriter, card_markdown, data_card, merge
from parc.dataset.clip_entry import ClipEntry
from parc.errors import DatasetError
from parc.run.dataclass_json import from_json


def store(folder, clips):
    with DatasetWriter(folder, humanoid()) as writer:
        writer.append(clips)
    return folder


def entry(clip_maker, skill: str, frames: int) -> ClipEntry:
    return ClipEntry.of(clip_maker("x", frames=frames, skill=skill))


def test_merge_keeps_every_clip_in_order(tmp_path, make_clip, same, character):
    first, second = [make_clip(f"a{i}", i) for i in range(3)], [make_clip(f"b{i}", 10 + i) for i in range(2)]
    merged = merge([store(tmp_path / "1", first), store(tmp_path / "2", second)], tmp_path / "out", character)
    assert all(map(same, merged, first + second)) and len(merged) == 5


def test_merge_of_equal_names(tmp_path, make_clip, character):
    sources = [store(tmp_path / "1", [make_clip("a", 1)]), store(tmp_path / "2", [make_clip("a", 2)])]
    with pytest.raises(DatasetError, match="clip 'a' is in"):
        merge(sources, tmp_path / "out", character)
    assert merge(sources, tmp_path / "renamed", character, rename=True).names == ["a", "a_2"]


def test_merge_chooses_and_checks_before_it_writes(tmp_path, make_clip, character):
    source = store(tmp_path / "1", [make_clip(str(i), i, skill="climb" if i % 2 else "run") for i in range(6)])
    assert merge([source], tmp_path / "out", character, keep=lambda e: e.skill == "climb").names == ["1", "3", "5"]
    with pytest.raises(DatasetError, match="not a data set"):
        merge([source, tmp_path / "none"], tmp_path / "out2", character)
    assert not (tmp_path / "out2").exists()


def test_card_counts(tmp_path, make_clip):
    clips = [make_clip(f"c{i}", i, frames=30 * (i + 1), skill="climb" if i else "run", path=i == 0) for i in range(3)]
    store(tmp_path / "set", clips)
    card = data_card(Dataset.open(tmp_path / "set"))
    assert card["clips"] == 3 and card["frames"] == 180 and card["minutes"] == pytest.approx(0.1)
    assert card["skills"] == {
        "climb": {"clips": 2, "minutes": pytest.approx(5 / 60)},
        "run": {"clips": 1, "minutes": pytest.approx(1 / 60)},
    }
    assert card["with_path"] == 1 and card["fps"] == {"30": 3}
    assert list(card["lineage"]) == ["0", "1", "2"] and card["lineage"]["1"]["edits"] == {"cut": 1}
    relief = max(float(c.terrain.heights.max() - c.terrain.heights.min()) for c in clips)
    assert card["terrain_heights"]["relief"]["most"] == pytest.approx(relief)
    mean = torch.cat([c.motion.contacts for c in clips]).mean()
    assert card["contact_share"] == pytest.approx(float(mean), rel=1e-5)
    assert json.loads(json.dumps(card)) == card
    text = card_markdown(card)
    assert "| climb | 2 | 0.08 |" in text and "3 clips, 180 frames" in text


def test_card_tells_edits_by_their_kind(tmp_path, make_clip):
    edits = (
        "20.19 s from frame 0",
        "cut: 3.00 s from frame 7",
        "retarget: scale 1.0066, leg 0.8260 m",
        "hasten to 1.2 m/s",
        "mirror",
    )
    clip = make_clip("a", 0)
    with DatasetWriter(tmp_path / "set", humanoid()) as writer:
        writer.append([replace(clip, provenance=replace(clip.provenance, edits=edits))])
    card = data_card(Dataset.open(tmp_path / "set"))
    assert card["lineage"]["0"]["edits"] == {"cut": 2, "retarget": 1, "hasten": 1, "mirror": 1}
    assert card_markdown(card).splitlines()[-1].endswith("| cut (2), retarget (1), hasten (1), mirror (1) |")


def test_card_of_nothing(tmp_path):
    DatasetWriter(tmp_path, humanoid()).close()
    card = data_card(Dataset.open(tmp_path))
    assert card["clips"] == 0 and "0 clips" in card_markdown(card) and json.loads(json.dumps(card)) == card


def test_an_entry_checks_itself(make_clip):
    good = ClipEntry.of(make_clip("x"))
    assert from_json(ClipEntry, json.loads(json.dumps(asdict(good))), DatasetError) == good
    for change, sentence in (
        ({"frames": 0}, "frames is 0"), ({"fps": 0}, "fps is 0"),
        ({"name": ""}, "name is ''"), ({"size": (0, 3)}, "size"),
        ({"path_nodes": -1}, "path_nodes"),
    ):  # fmt: skip
        with pytest.raises(DatasetError, match=sentence):
            replace(good, **change)
    for change, sentence in (({"frames": 1.5}, "frames is '1.5'"), ({"loops": 1}, "loops is '1'"), ({"size": (3,)}, "size is")):
        with pytest.raises(DatasetError, match=sentence):
            from_json(ClipEntry, asdict(good) | change, DatasetError)
    with pytest.raises(DatasetError, match="colour"):
        from_json(ClipEntry, asdict(good) | {"colour": 1}, DatasetError)
    with pytest.raises(DatasetError, match="iteration is 'two', expected int"):
        from_json(ClipEntry, asdict(good) | {"provenance": {"iteration": "two"}}, DatasetError)


def test_texts_of_files_are_no_markup_on_the_card(tmp_path, make_clip):
    clip = make_clip()
    hostile = "<script>alert(1)</script>|a\n# b [x](javascript:1) *b* `c` &lt;"
    with DatasetWriter(tmp_path / "set", humanoid()) as writer:
        writer.append([replace(clip, provenance=replace(clip.provenance, skill=hostile, source=hostile))])
    text = card_markdown(data_card(Dataset.open(tmp_path / "set")))
    assert (
        "<" not in text
        and sum(line.startswith("#") for line in text.splitlines()) == 1
        and "](" not in text
        and "*b*" not in text
    )
    rows = [line for line in text.splitlines() if "script" in line]
    assert len(rows) == 2 and all(row.count("|") == 4 for row in rows)
