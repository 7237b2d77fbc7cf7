"""Laws of the ledger, on stages that add numbers."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from parc.loop.ledger import LEDGER, NOTHING, Ledger, LoopError, Stage, locked, working_process
from parc.run.hashing import hash_settings


class Sums:
    """source -> double -> total, and source -> negative; counts how often each is done."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.done = folder, []

    def run(self, source: int, factor: int = 2, over_again: bool = False) -> None:
        ledger = Ledger(self.folder, over_again)
        file = self.stage(ledger, "source", {"value": str(source)}, lambda: source)
        double = self.stage(
            ledger, "double", {"factor": str(factor), "in": ledger.hash_of(file)}, lambda: factor * int(file.read_text())
        )
        self.stage(ledger, "total", {"in": ledger.hash_of(double)}, lambda: 1 + int(double.read_text()))
        self.stage(ledger, "negative", {"in": ledger.hash_of(file)}, lambda: -int(file.read_text()))

    def stage(self, ledger: Ledger, name: str, inputs: dict[str, str], value) -> Path:
        def work(folder: Path) -> dict:
            self.done.append(name)
            (folder / "value").write_text(str(value()))
            return {"value": value()}

        ledger.run(Stage(name, inputs, work, lambda folder: [folder / "value"]))
        return self.folder / name / "value"

    def did(self) -> list[str]:
        done, self.done = self.done, []
        return done


@pytest.fixture
def sums(tmp_path: Path) -> Sums:
    sums = Sums(tmp_path)
    sums.run(3)
    assert sums.did() == ["source", "double", "total", "negative"]
    return sums


def test_nothing_is_done_twice(sums: Sums) -> None:
    sums.run(3)
    assert sums.did() == []


def test_a_changed_setting_runs_what_depends_on_it(sums: Sums) -> None:
    sums.run(3, factor=5, over_again=True)
    assert sums.did() == ["double", "total"]
    sums.run(4, factor=5, over_again=True)
    assert sums.did() == ["source", "double", "total", "negative"]


def test_a_change_stops_where_the_result_is_the_same(sums: Sums) -> None:
    sums.run(6, factor=1, over_again=True)
    assert sums.did() == ["source", "double", "negative"], "6 = 2 x 3: the total's input is as before"


def test_a_lost_output_is_made_again(sums: Sums) -> None:
    (sums.folder / "double" / "value").unlink()
    sums.run(3)
    assert sums.did() == ["double"]


def test_an_output_that_was_changed_stops_the_run_and_nothing_is_made_from_it(sums: Sums) -> None:
    """Of another size, at another time, and as a disk does it: one bit, at the old size and time."""
    file = sums.folder / "double" / "value"
    assert file.read_text() == "6"
    made = file.stat().st_mtime_ns
    for text, time in (("70", 1), ("7", 1), ("7", made)):
        file.write_text(text)
        os.utime(file, ns=(time, time))
        with pytest.raises(LoopError, match=r"double.value is no longer what double made"):
            sums.run(3)
        assert sums.did() == []
    assert Ledger(sums.folder).faults() == ["double/value is no longer what was written: it was changed or is damaged"]
    file.write_text("6")
    sums.run(3)
    assert sums.did() == [] and Ledger(sums.folder).faults() == []


def test_a_change_is_refused_unless_it_is_asked_for_and_moves_the_old_stages_with_all_files(sums: Sums) -> None:
    note = sums.folder / "double" / "my_notes.txt"
    note.write_text("a finding")
    ledger = (sums.folder / LEDGER).read_bytes()
    with pytest.raises(LoopError, match=r"double was made otherwise \(factor differ.*--over-again.*old-1"):
        sums.run(3, factor=5)
    assert sums.did() == [] and note.exists() and (sums.folder / LEDGER).read_bytes() == ledger
    sums.run(3, factor=5, over_again=True)
    assert sums.did() == ["double", "total"]
    old = sums.folder / "old-1"
    assert (old / "double" / "my_notes.txt").read_text() == "a finding" and (old / "double" / "value").read_text() == "6"
    assert {f.name for f in old.iterdir()} == {"double", "total", LEDGER} and (old / LEDGER).read_bytes() == ledger
    assert [f.name for f in (sums.folder / "double").iterdir()] == ["value"]
    sums.run(3, factor=7, over_again=True)
    assert (sums.folder / "old-2" / "double" / "value").read_text() == "15"


def test_a_stage_folder_that_is_a_link_moves_and_what_it_points_to_stays(sums: Sums, tmp_path: Path) -> None:
    big_disk = tmp_path / "big"
    (sums.folder / "double").rename(big_disk)
    (sums.folder / "double").symlink_to("big", target_is_directory=True)
    sums.run(3)
    assert sums.did() == []
    sums.run(3, factor=5, over_again=True)
    assert (big_disk / "value").read_text() == "6" and (sums.folder / "double" / "value").read_text() == "15"
    assert (sums.folder / "old-1" / "double" / "value").read_text() == "6" and not (sums.folder / "double").is_symlink()


def test_files_that_the_ledger_does_not_know_are_not_begun_upon(sums: Sums) -> None:
    (sums.folder / LEDGER).unlink()
    with pytest.raises(LoopError, match=r"source holds files, and ledger\.json does not say"):
        sums.run(3)
    assert sums.did() == [] and (sums.folder / "source" / "value").read_text() == "3"


def test_an_unfinished_stage_goes_on_in_its_folder_and_another_one_begins_anew(tmp_path: Path) -> None:
    def stage(inputs: str, fails: bool) -> Stage:
        def work(folder: Path) -> dict:
            units = len(list(folder.iterdir()))
            (folder / f"unit-{units}").write_text("done")
            if fails:
                raise RuntimeError("killed")
            return {"units": units + 1}

        return Stage("units", {"settings": inputs}, work, lambda folder: sorted(folder.iterdir()))

    for _ in range(2):
        with pytest.raises(RuntimeError):
            Ledger(tmp_path).run(stage("a", fails=True))
    assert Ledger(tmp_path).run(stage("a", fails=False)).result == {"units": 3}
    assert Ledger(tmp_path).changed_inputs(stage("b", fails=False)) == ["settings"]
    assert Ledger(tmp_path, over_again=True).run(stage("b", fails=False)).result == {"units": 1}
    assert len(list((tmp_path / "old-1" / "units").iterdir())) == 3


def test_a_damaged_or_foreign_ledger_is_one_sentence(sums: Sums) -> None:
    file = sums.folder / LEDGER
    values = json.loads(file.read_text())
    for text in (
        "{",
        "[]",
        json.dumps(values | {"schema": 99}),
        json.dumps({"schema": 1, "stages": {"a": {"odd": 1}}}),
        "[" * 100_000,
    ):
        file.write_text(text)
        with pytest.raises(LoopError, match=r"damaged|schema 99"):
            Ledger(sums.folder)


@pytest.mark.parametrize("name", ["../value", "/etc/value", "a" * 300, "b/" * 600, "", "c\0d"])
def test_a_ledger_that_names_a_place_outside_or_an_impossible_one_is_refused(sums: Sums, name: str) -> None:
    values = json.loads((sums.folder / LEDGER).read_text())
    entry = values["stages"]["total"]
    mark = entry["outputs"]["total/value"]
    for stages in ({"total": entry | {"outputs": {name: mark}}}, {name: entry}):
        (sums.folder / LEDGER).write_text(json.dumps(values | {"stages": stages}))
        with pytest.raises(LoopError, match="impossible name"):
            Ledger(sums.folder)


def test_values_that_are_not_finite_stay_json(tmp_path: Path) -> None:
    Ledger(tmp_path).run(Stage("a", {}, lambda folder: {"x": float("nan")}, lambda folder: []))
    assert json.loads((tmp_path / LEDGER).read_text(), parse_constant=pytest.fail)["stages"]["a"]["result"] == {"x": None}


def test_settings_of_another_class_have_another_hash() -> None:
    @dataclass(frozen=True)
    class A:
        x: int = 1

    @dataclass(frozen=True)
    class B:
        x: int = 1

    assert hash_settings(A()) == hash_settings(A()) != hash_settings(B())
    assert hash_settings(A(2)) != hash_settings(A())
    assert hash_settings((A(),)) != hash_settings((A(), A()))


def test_a_missing_file_has_the_hash_of_nothing(tmp_path: Path) -> None:
    assert Ledger(tmp_path).hash_of(tmp_path / "none") == NOTHING


def test_the_lock_names_its_holder_and_is_given_back(tmp_path: Path) -> None:
    assert working_process(tmp_path) is None
    with locked(tmp_path):
        assert working_process(tmp_path) is not None
        with pytest.raises(LoopError, match="worked on by process"), locked(tmp_path):
            pass
    assert working_process(tmp_path) is None
