"""Laws of the ledger, on stages that add numbers."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from parc.loop.ledger import LEDGER, NOTHING, Ledger, LoopError, Stage, hash_settings, locked, working_process


class Sums:
    """source -> double -> total, and source -> negative; counts how often each is done."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.done = folder, []

    def run(self, source: int, factor: int = 2) -> None:
        ledger = Ledger(self.folder)
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
    sums.run(3, factor=5)
    assert sums.did() == ["double", "total"]
    sums.run(4, factor=5)
    assert sums.did() == ["source", "double", "total", "negative"]


def test_a_change_stops_where_the_result_is_the_same(sums: Sums) -> None:
    sums.run(6, factor=1)
    assert sums.did() == ["source", "double", "negative"], "6 = 2 x 3: the total's input is as before"


def test_a_lost_output_is_made_again_and_a_touched_one_is_read_again(sums: Sums) -> None:
    (sums.folder / "double" / "value").unlink()
    sums.run(3)
    assert sums.did() == ["double"]
    (sums.folder / "double" / "value").write_text("70")
    sums.run(3)
    assert sums.did() == ["total"]
    assert (sums.folder / "total" / "value").read_text() == "71"


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
    assert Ledger(tmp_path).run(stage("b", fails=False)).result == {"units": 1}


def test_a_damaged_or_foreign_ledger_is_one_sentence(sums: Sums) -> None:
    file = sums.folder / LEDGER
    values = json.loads(file.read_text())
    for text in ("{", "[]", json.dumps(values | {"schema": 99}), json.dumps({"schema": 1, "stages": {"a": {"odd": 1}}})):
        file.write_text(text)
        with pytest.raises(LoopError, match=r"damaged|schema 99"):
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
