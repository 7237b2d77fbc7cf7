from pathlib import Path

import pytest
import torch

from parc.errors import FormatError
from parc.run.checkpoint import load_checkpoint, read_description, save_checkpoint


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


def test_no_partial_file_is_left(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "a", {"x": torch.zeros(3)}, {})
    save_checkpoint(tmp_path / "a", {"x": torch.ones(3)}, {})
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert torch.equal(load_checkpoint(tmp_path / "a")[0]["x"], torch.ones(3))
