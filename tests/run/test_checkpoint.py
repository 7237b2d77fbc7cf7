from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from parc.errors import FormatError
from parc.run.checkpoint import fill, load_checkpoint, load_to_resume, read_description, save_checkpoint


def test_tensors_and_description_come_back(tmp_path: Path) -> None:
    base = torch.arange(6.0)
    tensors = {
        "half": base.half(),
        "view": base[2:4],
        "bytes": torch.tensor([1, 2], dtype=torch.uint8),
        "scalar": torch.tensor(3),
    }
    save_checkpoint(tmp_path / "new" / "a.safetensors", tensors, {"step": 7, "names": ["x"]})
    loaded, meta = load_checkpoint(tmp_path / "new" / "a.safetensors")
    assert meta == {"step": 7, "names": ["x"]} == read_description(tmp_path / "new" / "a.safetensors")
    for name, tensor in tensors.items():
        assert torch.equal(loaded[name], tensor) and loaded[name].dtype == tensor.dtype


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no checkpoint"):
        load_checkpoint(tmp_path / "none")
    (tmp_path / "junk").write_bytes(b"junk" * 100)
    for read in (load_checkpoint, read_description):
        with pytest.raises(FormatError, match="damaged"):
            read(tmp_path / "junk")


@pytest.mark.parametrize("entry", ["{bad", "[]"])
def test_a_header_that_describes_nothing_is_refused(entry: str, tmp_path: Path) -> None:
    save_file({"x": torch.zeros(1)}, tmp_path / "a", {"parc": entry})
    with pytest.raises(FormatError, match=r"entry in the header of .* is no.* JSON"):
        read_description(tmp_path / "a")


def test_weights_fill_what_they_fit(tmp_path: Path) -> None:
    layer, good = torch.nn.Linear(2, 3), torch.nn.Linear(2, 3).state_dict()
    fill(layer, good, "good")
    assert torch.equal(layer.weight, good["weight"])
    for wrong, told in (
        ({"weight": good["weight"]}, r"^wrong does not hold the weights .*\"bias\"$"),
        ({name: w[:2] for name, w in good.items()}, r"size mismatch for weight: .*, and 1 more$"),
        (good | {"bias": torch.tensor([0.0, float("nan"), 0.0])}, r"not finite \('bias'\)"),
    ):
        with pytest.raises(FormatError, match=told):
            fill(layer, wrong, "wrong")


def test_no_partial_file_is_left(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "a", {"x": torch.zeros(3)}, {})
    save_checkpoint(tmp_path / "a", {"x": torch.ones(3)}, {})
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert torch.equal(load_checkpoint(tmp_path / "a")[0]["x"], torch.ones(3))


def test_a_damaged_checkpoint_says_what_to_do_with_it(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "a", {"x": torch.zeros(9)}, {})
    data = bytearray((tmp_path / "a").read_bytes())
    data[-1] ^= 4
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(FormatError, match="move it away, and this training begins anew"):
        load_to_resume(tmp_path / "a")
