"""A job of many items that is stopped anywhere goes on and ends as one that was never stopped."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from parc.errors import SettingsError
from parc.run.resumable_items import ResumableItems
from parc.run.settings_guard import agree
from parc.run.work_items import LOCAL


class Stop(Exception):
    pass


class Squares:
    def __init__(self, done: list[int], stop_at: int = -1) -> None:
        self.done, self.stop_at = done, stop_at

    def open(self) -> Callable[[int], int]:
        def work(item: int) -> int:
            if item == self.stop_at:
                raise Stop
            self.done.append(item)
            return item * item

        return work


def items(folder: Path, merged: bool = False) -> ResumableItems[dict[str, int]]:
    return ResumableItems(
        folder / "notes", dict, lambda v: {"square": int(v["square"])}, folder / "all.jsonl" if merged else None
    )


def run(folder: Path, order: list[int], done: list[int], stop_at: int = -1) -> list[int]:
    keys = [f"{n:03d}" for n in order]
    notes = items(folder)
    each = notes.each(keys, Squares(done, stop_at), order.__getitem__, lambda _, square: {"square": square}, LOCAL)
    return [note["square"] for note, _ in each]


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (folder / "notes").iterdir()}


@pytest.mark.parametrize("stop_at", [0, 2, 3])
def test_a_stopped_job_goes_on_and_ends_the_same_in_any_order(tmp_path: Path, stop_at: int) -> None:
    whole: list[int] = []
    assert run(tmp_path / "whole", [0, 1, 2, 3], whole) == [0, 1, 4, 9] and whole == [0, 1, 2, 3]
    torn: list[int] = []
    with pytest.raises(Stop):
        run(tmp_path / "torn", [0, 1, 2, 3], torn, stop_at)
    assert run(tmp_path / "torn", [3, 2, 1, 0], torn) == [9, 4, 1, 0]
    assert sorted(torn) == [0, 1, 2, 3], "nothing is done twice"
    assert contents(tmp_path / "torn") == contents(tmp_path / "whole")


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"square": "x"}', b"\xff"])
def test_a_damaged_note_is_made_again(tmp_path: Path, damage: bytes) -> None:
    done: list[int] = []
    run(tmp_path, [0, 1], done)
    (tmp_path / "notes" / "001.json").write_bytes(damage)
    assert run(tmp_path, [0, 1], done) == [0, 1] and done == [0, 1, 1]


def test_what_begins_and_what_is_new_is_told(tmp_path: Path) -> None:
    run(tmp_path, [1], [])
    begun: list[int] = []
    keys, order = ["000", "001", "002"], [0, 1, 2]
    each = items(tmp_path).each(keys, Squares([]), order.__getitem__, lambda _, square: {"square": square}, LOCAL, begun.append)
    assert [new for _, new in each] == [True, False, True] and begun == [0, 2]


def test_an_item_counts_only_when_all_that_belongs_to_it_is_stored(tmp_path: Path) -> None:
    def fails(_: int, square: int) -> dict[str, int]:
        raise Stop

    notes = items(tmp_path)
    with pytest.raises(Stop):
        next(notes.each(["000"], Squares([]), [0].__getitem__, fails, LOCAL))
    assert "000" not in notes


def steps_of(folder: Path) -> Iterator[str]:
    notes = items(folder, merged=True)
    for key in ("b", "a"):
        notes.add(key, {"square": ord(key)})
    yield "added"
    notes.merge()
    yield "merged"
    notes.add("c", {"square": 9})
    notes.forget(["a"])
    yield "changed"
    notes.merge()
    yield "merged again"


def test_merged_notes_are_one_file_and_are_found_as_before(tmp_path: Path) -> None:
    expected = {"added": "ab", "merged": "ab", "changed": "bc", "merged again": "bc"}
    for step in steps_of(tmp_path):
        found = items(tmp_path, merged=True).notes()
        assert "".join(sorted(found)) == expected[step], step
        assert (tmp_path / "notes").exists() == (step in ("added", "changed"))
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert lines == [{"item": "b", "square": ord("b")}, {"item": "c", "square": 9}]


def test_a_merge_that_was_stopped_loses_nothing_and_a_torn_line_does_not_count(tmp_path: Path) -> None:
    notes = items(tmp_path, merged=True)
    for key in ("a", "b"):
        notes.add(key, {"square": 1})
    left = contents(tmp_path)
    notes.merge()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.json").write_bytes(left["a.json"])  # stopped while it removed the files
    assert sorted(items(tmp_path, merged=True).notes()) == ["a", "b"]
    (tmp_path / "all.jsonl").write_bytes((tmp_path / "all.jsonl").read_bytes()[:-5])
    assert sorted(items(tmp_path, merged=True).notes()) == ["a"]


def test_a_folder_is_made_with_one_kind_of_settings(tmp_path: Path) -> None:
    wanted = {"seed": 1, "settings": {"count": 3, "part": {"size": (1, 2)}}}
    for _ in range(2):
        agree(tmp_path / "made.json", wanted)
    with pytest.raises(SettingsError, match=r"begun otherwise \(seed and settings\.part\.size\); choose another folder"):
        agree(tmp_path / "made.json", {"seed": 2, "settings": {"count": 3, "part": {"size": (1, 3)}}})
