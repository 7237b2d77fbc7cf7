"""Parts: made once, told apart by what they were made from, made again when damaged."""

import math
from pathlib import Path

import pytest
import torch

from parc.evaluate.result_cache import PartStore, part_key
from parc.run.dataclass_json import tidy


def test_a_part_is_made_once(tmp_path: Path, walk) -> None:
    calls = []

    def make():
        calls.append(1)
        return {"fwd": [1.0, math.nan, 1 / 3]}, [walk]

    for store in (PartStore(tmp_path), PartStore(tmp_path)):
        part = store.part("generator", {"model": "a"}, make)
        assert part.result["fwd"][0] == 1.0 and math.isnan(part.result["fwd"][1])
        assert part.result["fwd"][2] == pytest.approx(1 / 3, rel=1e-6)
        (clip,) = part.clips()
        torch.testing.assert_close(clip.motion.root_pos, walk.motion.root_pos)
    assert len(calls) == 1
    PartStore(tmp_path).part("generator", {"model": "b"}, make)
    assert len(calls) == 2, "another model is another part"


@pytest.mark.parametrize("damage", ["cut", "no clips", "other schema"])
def test_a_damaged_part_is_made_again(tmp_path: Path, walk, damage: str) -> None:
    inputs = {"model": "a"}
    store = PartStore(tmp_path)
    store.part("generator", inputs, lambda: ({"x": 1.0}, [walk]))
    file = tmp_path / "parts" / f"generator-{part_key(inputs)}.json"
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:20])
    elif damage == "no clips":
        file.with_suffix(".clips").unlink()
    else:
        file.write_text(file.read_text().replace('"schema": 1', '"schema": 0'))
    part = PartStore(tmp_path).part("generator", inputs, lambda: ({"x": 2.0}, [walk]))
    assert part.result == {"x": 2.0}


def test_what_was_just_made_reads_as_what_is_read_later(tmp_path: Path) -> None:
    made = PartStore(tmp_path).part("x", {}, lambda: ({"a": 0.123456789, "b": math.inf}, []))
    read = PartStore(tmp_path).part("x", {}, lambda: ({}, []))
    assert str(made.result) == str(read.result)


def test_json_has_no_nan() -> None:
    assert tidy({1: [math.nan, math.inf, 2.0], "n": (1, True)}, 7) == {"1": [None, None, 2.0], "n": [1, True]}
