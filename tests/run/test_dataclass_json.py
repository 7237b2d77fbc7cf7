"""Settings and notes survive JSON; what does not fit the types of a class is refused in one sentence."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from parc.errors import DatasetError, SettingsError
from parc.run.dataclass_json import from_json, reader, to_json
from parc.run.hashing import hash_bytes, hash_file, hash_json, hash_parts, hash_settings, hash_text


@dataclass(frozen=True)
class Inner:
    size: tuple[int, int] = (1, 2)
    kind: Literal["a", "b"] = "a"


@dataclass(frozen=True)
class OtherInner:
    weight: float = 1.0


@dataclass(frozen=True)
class Outer:
    name: str
    part: Inner | OtherInner | None = None
    files: tuple[Path, ...] = ()
    skills: frozenset[str] = frozenset()
    numbers: dict[str, float] = field(default_factory=dict)
    rows: list[str] = field(default_factory=list)
    anything: Any = None


WHOLE = Outer(
    "x", Inner((3, 4), "b"), (Path("a/b"),), frozenset({"run", "climb"}), {"n": 1.5, "m": 2}, ["r"], {"deep": [1, None]}
)


@pytest.mark.parametrize("value", [WHOLE, Outer("y", OtherInner(2)), Outer("z")])
def test_what_was_written_is_read(value: Outer) -> None:
    assert from_json(Outer, json.loads(json.dumps(to_json(value)))) == value
    assert reader(Outer)(to_json(value)) == value


def test_a_part_that_was_read_before_is_taken_as_it_is() -> None:
    part = OtherInner(7.0)
    assert from_json(Outer, {"name": "x", "part": part}).part is part


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([], "Outer is \\[\\], expected an object"),
        ({}, "Outer lacks name"),
        ({"name": "x", "colour": 1}, "Outer has no field colour; it has anything, files"),
        ({"name": 5}, "Outer.name is '5', expected str"),
        ({"name": "x", "part": {"size": [1, 2, 3]}}, "Inner.size is '\\[1, 2, 3\\]'"),
        ({"name": "x", "part": {"size": [1, True]}}, "Inner.size is 'True'"),
        ({"name": "x", "part": {"kind": "c"}}, "Inner.kind is 'c'"),
        ({"name": "x", "numbers": {"n": "1"}}, r"Outer.numbers\.n is '1'"),
        ({"name": "x", "rows": "text"}, "Outer.rows is 'text'"),
    ],
)
def test_what_does_not_fit_is_one_sentence(values: Any, sentence: str) -> None:
    with pytest.raises(DatasetError, match=sentence) as caught:
        from_json(Outer, values, DatasetError)
    assert "\n" not in str(caught.value)
    with pytest.raises(SettingsError, match=sentence):
        from_json(Outer, values)


def test_all_ways_to_hash_agree(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of "abc", from FIPS 180-2
    assert hash_file(tmp_path / "f") == hash_bytes(b"abc") == hash_text("abc") == hash_parts([b"a", b"", b"bc"]) == known
    assert hash_json({"a": 1, "b": [2]}) == hash_json({"b": [2], "a": 1}) == hash_text('{"a": 1, "b": [2]}')


def test_settings_of_another_class_with_equal_fields_have_another_hash() -> None:
    @dataclass(frozen=True)
    class Twin:
        weight: float = 1.0

    assert hash_settings(OtherInner()) != hash_settings(Twin())
    assert hash_settings(OtherInner(), [1, (2, 3)]) == hash_settings(OtherInner(1.0), (1, [2, 3]))
