"""The suite is the same everywhere, and its results can be gone on with but never mixed."""

import json
from pathlib import Path

import pytest
import torch

from parc.errors import FormatError
from parc.evaluate.traverse_measurement import evaluate_traverse, read_results, summary, traverse_case
from parc.plan import Models, SearchSettings, TraverseSettings

FEW = TraverseSettings(1, SearchSettings(candidates=2, beam=1, stall=1, seconds=1e-9), threads=1)
"""a deadline that has passed: no round is run"""
PUBLISHED = ([-71.66, -388.11], [6.03, 13.66])
"""sums of heights and lengths of routes, m"""


def test_an_item_is_the_same_every_time_and_unlike_the_next() -> None:
    a, again, other = traverse_case("first", "boxes", 3), traverse_case("first", "boxes", 3), traverse_case("first", "boxes", 4)
    assert torch.equal(a.terrain.heights, again.terrain.heights) and torch.equal(a.path.nodes, again.path.nodes)
    assert not torch.equal(a.terrain.heights, other.terrain.heights)
    assert traverse_case("first", "walks", 0).terrain.size == (32, 32)


def test_the_first_items_are_the_published_ones() -> None:
    """Another terrain is a new suite: raise VERSION. Lengths change with the planner of routes; say so in LOG.md."""
    sums = [round(float(traverse_case("first", kind, 0).terrain.heights.double().sum()), 2) for kind in ("boxes", "walks")]
    lengths = [round(traverse_case("first", kind, 0).path.length, 2) for kind in ("boxes", "walks")]
    assert (sums, lengths) == PUBLISHED


def test_results_are_gone_on_with(models: Models, tmp_path: Path) -> None:
    file, calls = tmp_path / "r.jsonl", []
    cases = [traverse_case("first", "boxes", i) for i in range(2)]
    evaluate_traverse(models, cases[:1], FEW, file, 0, lambda case, _: calls.append(case.name))
    with file.open("a") as lines:
        lines.write('{"name": "torn')
    table = evaluate_traverse(models, cases, FEW, file, 0, lambda case, _: calls.append(case.name))
    assert calls == ["boxes_000", "boxes_001"] and table["terrains"] == 2 and table["reached"] == 0
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [row["name"] for row in rows] == calls
    assert all((row["set"], row["version"], row["family"]) == ("first", 1, "boxes") for row in rows)
    assert all({"climb", "drop", "gap"} <= set(row) for row in rows)


def test_results_of_other_settings_or_other_files_are_refused(models: Models, tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    cases = [traverse_case("first", "boxes", 0)]
    evaluate_traverse(models, cases, FEW, file)
    with pytest.raises(FormatError, match="other settings"):
        evaluate_traverse(models, cases, FEW, file, seed=1)
    with pytest.raises(FormatError, match="another set"):
        evaluate_traverse(models, [traverse_case("development", "boxes", 0)], FEW, file)
    file.write_text("hello\n")
    with pytest.raises(FormatError, match="not a file of traverse results"):
        read_results(file, {})


def test_the_summary_by_hand() -> None:
    row = {"motion_seconds": 5.0, "survival": 0.5, "cpu": 10.0}
    rows = [
        row | {"reached": True, "tries": 1, "length": 6.0, "progress": 5.6, "wall": 10.0, "walk_r": 1.2, "human_n": 80.0},
        row | {"reached": True, "tries": 3, "length": 6.0, "progress": 6.0, "wall": 20.0, "walk_r": 1.8, "human_n": float("nan")},
        row | {"reached": False, "tries": 5, "length": 8.0, "progress": 4.0, "wall": 30.0},
    ]
    table = summary(rows)
    assert (table["reached"], table["first_try"], table["tries"]) == (2, pytest.approx(1 / 3), 2.0)
    assert table["share_of_path"] == pytest.approx((1 + 1 + 0.5) / 3) and table["wall"] == 20.0
    assert table["walk_r"] == pytest.approx(1.5) and table["human_n"] == 80.0


@pytest.mark.parametrize(
    "content", [b"my notes, without an end", b"first line\nsecond", b'{"name": "x"}\n{"na', b"\xff\xfe", b"[" * 100_000 + b"\n"]
)
def test_a_file_of_another_kind_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes(content)
    with pytest.raises(FormatError, match=r"notes\.txt is not a file of traverse results"):
        read_results(file, {})
    assert file.read_bytes() == content
