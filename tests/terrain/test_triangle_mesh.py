import numpy as np
import pytest
import torch
import trimesh

from parc.cli.main import main
from parc.errors import FormatError, TerrainError
from parc.terrain.terrain import Terrain
from parc.terrain.terrain_file import load_terrain
from parc.terrain.triangle_mesh import MESH_SUFFIXES, MeshSampling, read_mesh, terrain_from_mesh, terrain_mesh, write_mesh


def some_terrain() -> Terrain:
    return Terrain(
        torch.randn(6, 4, generator=torch.Generator().manual_seed(0)).round(decimals=1), torch.tensor([2.0, -1.0]), 0.4
    )


@pytest.mark.parametrize("choose", ["max", "median"])
def test_mesh_and_back_is_the_identity(choose):
    terrain = some_terrain()
    again = terrain_from_mesh(*terrain_mesh(terrain), MeshSampling(choose=choose))
    torch.testing.assert_close(again.heights, terrain.heights)
    torch.testing.assert_close(again.min_point, terrain.min_point)


@pytest.mark.parametrize("suffix", MESH_SUFFIXES)
def test_files_of_every_kind(tmp_path, suffix):
    terrain = some_terrain()
    write_mesh(terrain, tmp_path / f"ground{suffix}")
    again = read_mesh(tmp_path / f"ground{suffix}")
    torch.testing.assert_close(again.heights, terrain.heights, atol=1e-4, rtol=0)
    torch.testing.assert_close(again.min_point, terrain.min_point, atol=1e-4, rtol=0)


def test_the_command_takes_a_mesh_in_centimetres_that_is_y_up(tmp_path, capsys) -> None:
    terrain = some_terrain()
    vertices, faces = terrain_mesh(terrain)
    y_up = 100 * vertices[:, [0, 2, 1]] * np.array((1, 1, -1), np.float32)
    trimesh.Trimesh(y_up, faces, process=False).export(tmp_path / "level.obj")
    made = ["terrain", "make", "from", str(tmp_path / "level.obj"), "-o", str(tmp_path / "level.terrain")]
    assert main([*made, "--up", "y", "--scale", "0.01"]) == 0
    again = load_terrain(tmp_path / "level.terrain")
    torch.testing.assert_close(again.heights, terrain.heights, atol=1e-4, rtol=0)
    torch.testing.assert_close(again.min_point, terrain.min_point, atol=1e-4, rtol=0)
    capsys.readouterr()
    assert main([*made, "--up", "y"]) == 0
    assert "240 m wide: a mesh in centimetres needs --scale 0.01" in capsys.readouterr().err
    assert main([*made, "--scale", "0"]) == 2 and "scale of a mesh is 0" in capsys.readouterr().err
    assert main([*made[:3], "grey.png", *made[4:], "--scale", "2"]) == 2 and "'grey.png' is none" in capsys.readouterr().err


def test_faces_look_outwards_and_close_the_sides():
    """Signed volume under the surface down to the skirt, by the divergence theorem, is the sum of the columns."""
    terrain = some_terrain()
    vertices, faces = terrain_mesh(terrain, skirt=0.5)
    bottom = float(terrain.heights.min()) - 0.5
    corners = vertices[faces].astype(float) - (0, 0, bottom)
    volume = np.einsum("fi,fi->f", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6
    assert volume == pytest.approx(0.16 * float((terrain.heights - bottom).sum()), rel=1e-5)


def test_only_free_walls_are_drawn():
    _, faces = terrain_mesh(Terrain.flat((3, 5)))
    assert len(faces) == 2 * (15 + 2 * (3 + 5))


def test_rays_meet_a_slope_where_trimesh_says():
    sphere = trimesh.creation.icosphere(subdivisions=3, radius=2.0)
    settings = MeshSampling(cell=0.3, samples=1, floor=-9.0)
    ground = terrain_from_mesh(sphere.vertices, sphere.faces, settings)
    i, j = torch.meshgrid(*(torch.arange(n) for n in ground.size), indexing="ij")
    away = ground.centre_of(torch.stack([i, j], -1)).norm(dim=-1)
    inner = away < 1.8
    torch.testing.assert_close(ground.heights[inner], (4 - away[inner] ** 2).sqrt(), atol=0.04, rtol=0)
    assert (ground.heights[away > 2.0] == -9.0).all()


def test_median_overlooks_a_pole_and_max_does_not():
    ground, pole = trimesh.creation.box((4, 4, 1)), trimesh.creation.box((0.12, 0.12, 6))
    scene = trimesh.util.concatenate([ground, pole])
    flat = terrain_from_mesh(scene.vertices, scene.faces, MeshSampling(cell=0.8, samples=5, choose="median"))
    tall = terrain_from_mesh(scene.vertices, scene.faces, MeshSampling(cell=0.8, samples=5, choose="max"))
    assert flat.heights.max() == 0.5 and tall.heights.max() == 3.0


def test_holes_take_the_floor():
    left, right = trimesh.creation.box((1, 1, 1)), trimesh.creation.box((1, 1, 2)).apply_translation((3, 0, 0))
    scene = trimesh.util.concatenate([left, right])
    assert terrain_from_mesh(scene.vertices, scene.faces, MeshSampling(cell=0.5)).heights.unique().tolist() == [0.5, 1.0]
    dug = terrain_from_mesh(scene.vertices, scene.faces, MeshSampling(cell=0.5, floor=-4.0))
    assert dug.heights[:, 0].tolist() == [0.5, 0.5, -4.0, -4.0, -4.0, -4.0, 1.0, 1.0]


def test_wrong_files_are_named(tmp_path):
    with pytest.raises(FormatError, match="no mesh"):
        read_mesh(tmp_path / "gone.obj")
    with pytest.raises(FormatError, match="not a mesh file"):
        read_mesh(tmp_path / "gone.txt")
    (tmp_path / "bad.glb").write_bytes(b"nonsense")
    with pytest.raises(FormatError, match=r"bad\.glb"):
        read_mesh(tmp_path / "bad.glb")
    (tmp_path / "empty.obj").write_text("# nothing\n")
    with pytest.raises(FormatError, match=r"empty\.obj"):
        read_mesh(tmp_path / "empty.obj")
    sheet = np.array([[0.0, 0, 0], [1, 0, 0], [1, 0, 1]])
    with pytest.raises(TerrainError, match="vertical sheet"):
        terrain_from_mesh(sheet, np.array([[0, 1, 2]]))
    with pytest.raises(TerrainError, match="in metres"):
        terrain_from_mesh(sheet[:, [0, 2, 1]] * 1e6, np.array([[0, 1, 2]]))
