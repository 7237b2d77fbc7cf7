import json
import struct

import pytest
import torch
from safetensors.torch import save_file

from parc.errors import FormatError, TerrainError
from parc.terrain.terrain import Terrain
from parc.terrain.terrain_file import load_terrain, save_terrain


@pytest.mark.parametrize("with_bounds", [False, True])
def test_written_and_read_again(tmp_path, with_bounds):
    heights = torch.randn(5, 8, generator=torch.Generator().manual_seed(0))
    bounds = torch.stack([heights + 1, heights - 1], -1) if with_bounds else None
    terrain = Terrain(heights, torch.tensor([0.1, -7.3]), 0.3, bounds)
    save_terrain(terrain, tmp_path / "deep" / "a.terrain")
    again = load_terrain(tmp_path / "deep" / "a.terrain")
    assert torch.equal(again.heights, heights) and torch.equal(again.min_point, terrain.min_point) and again.cell == 0.3
    assert (again.bounds is None) == (not with_bounds)
    assert bounds is None or torch.equal(again.bounds, bounds)
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["a.terrain"]


@pytest.mark.parametrize("name", ["a.png", "a.obj", "a.stl", "a.ply", "a.glb"])
def test_images_and_meshes_by_extension(tmp_path, name):
    terrain = Terrain(torch.tensor([[0.0, 1.0, 2.0], [2.0, -2.0, 0.5]]), torch.zeros(2))
    save_terrain(terrain, tmp_path / name)
    torch.testing.assert_close(load_terrain(tmp_path / name).heights, terrain.heights, atol=1e-3, rtol=0)


def test_wrong_files_are_named(tmp_path):
    with pytest.raises(FormatError, match=r"no terrain .*gone\.terrain"):
        load_terrain(tmp_path / "gone.terrain")
    with pytest.raises(FormatError, match=r"a\.doc"):
        load_terrain(tmp_path / "a.doc")
    with pytest.raises(FormatError, match=r"a\.doc"):
        save_terrain(Terrain.flat((2, 2)), tmp_path / "a.doc")
    (tmp_path / "noise.terrain").write_bytes(b"\x00\x01 not a terrain")
    with pytest.raises(FormatError, match=r"noise\.terrain.*damaged"):
        load_terrain(tmp_path / "noise.terrain")
    save_terrain(Terrain.flat((20, 20)), tmp_path / "cut.terrain")
    (tmp_path / "cut.terrain").write_bytes((tmp_path / "cut.terrain").read_bytes()[:-100])
    with pytest.raises(FormatError, match=r"cut\.terrain"):
        load_terrain(tmp_path / "cut.terrain")


def test_wrong_content_is_named(tmp_path):
    file, header = tmp_path / "a.terrain", {"parc.terrain": '{"cell": 0.4}'}
    good = {"heights": torch.zeros(3, 3), "min_point": torch.zeros(2)}
    save_file(good | {"heights": torch.full((3, 3), float("nan"))}, file, header)
    with pytest.raises(TerrainError, match=r"a\.terrain.*not finite"):
        load_terrain(file)
    save_file(good | {"heights": torch.zeros(0, 3)}, file, header)
    with pytest.raises(TerrainError, match="at least one cell"):
        load_terrain(file)
    for wrong in ("{}", '{"cell": "wide"}', '{"cell": null}', "[]", "not json"):
        save_file(good, file, {"parc.terrain": wrong})
        with pytest.raises(FormatError, match="how large its cells are"):
            load_terrain(file)
    save_file(good, file, {"parc.terrain": '{"cell": -1}'})
    with pytest.raises(TerrainError, match="-1"):
        load_terrain(file)
    for tensors, wrong in ((good, {}), ({"heights": torch.zeros(3, 3)}, header)):
        save_file(tensors, file, wrong)
        with pytest.raises(FormatError, match="not a terrain"):
            load_terrain(file)


def test_equal_terrains_are_equal_files_with_the_header_the_docstring_shows(tmp_path):
    for name in ("a", "b"):
        save_terrain(Terrain.flat((2, 2)), tmp_path / f"{name}.terrain")
    data = (tmp_path / "a.terrain").read_bytes()
    assert data == (tmp_path / "b.terrain").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    assert json.loads(data[8 : 8 + length])["__metadata__"] == {"parc.terrain": '{"cell": 0.4}'}
