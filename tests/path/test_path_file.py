import json

import pytest
import torch

from parc.errors import FormatError
from parc.path.path_file import load_path, save_path
from parc.path.terrain_path import TerrainPath


def test_a_path_comes_back_bit_for_bit(tmp_path):
    path = TerrainPath(torch.randn(17, 3, generator=torch.Generator().manual_seed(0)))
    save_path(path, tmp_path / "route.json")
    assert torch.equal(load_path(tmp_path / "route.json").nodes, path.nodes)
    assert [f.name for f in tmp_path.iterdir()] == ["route.json"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[1, 2]", "is not a path file"),
        ('{"format": "other"}', "is not a path file"),
        ('{"format": "parc path", "version": 2, "nodes": []}', "has version 2, expected 1"),
        ('{"format": "parc path", "version": 1}', "not a list of"),
        ('{"format": "parc path", "version": 1, "nodes": [[0, 0, 0], [1, 1]]}', "not a list of"),
        ('{"format": "parc path", "version": 1, "nodes": [["a", 0, 0]]}', "not a list of"),
        ('{"format": "parc path", "version": 1, "nodes": [[0, 0]]}', "shape"),
        ('{"format": "parc path", "version": 1, "nodes": [[NaN, 0, 0]]}', "not finite"),
    ],
)
def test_a_damaged_file_is_named_and_refused(tmp_path, content, message):
    file = tmp_path / "damaged.json"
    file.write_text(content)
    with pytest.raises(FormatError, match=message) as error:
        load_path(file)
    assert "damaged.json" in str(error.value)


def test_binary_and_missing_files(tmp_path):
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    for name in ("binary.json", "missing.json"):
        with pytest.raises(FormatError, match=name):
            load_path(tmp_path / name)


def test_the_file_says_what_it_is(tmp_path):
    save_path(TerrainPath(torch.zeros(1, 3)), tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text()) == {"format": "parc path", "version": 1, "nodes": [[0.0, 0.0, 0.0]]}
