import numpy as np
import pytest
import torch
from PIL import Image

from parc.errors import FormatError, TerrainError
from parc.terrain.height_image import ImageHeights, read_image, write_image
from parc.terrain.terrain import Terrain


def test_written_and_read_again(tmp_path):
    terrain = Terrain(torch.randn(9, 14, generator=torch.Generator().manual_seed(0)), torch.zeros(2), 0.25)
    settings = write_image(terrain, tmp_path / "map.png")
    again = read_image(tmp_path / "map.png", settings)
    assert again.cell == 0.25 and again.size == (9, 14)
    step = float(terrain.heights.max() - terrain.heights.min()) / 65535
    assert (again.heights - terrain.heights).abs().max() <= step


def test_flat_terrain(tmp_path):
    settings = write_image(Terrain.flat((3, 2), 0.7), tmp_path / "flat.png")
    torch.testing.assert_close(read_image(tmp_path / "flat.png", settings).heights, torch.full((3, 2), 0.7))


@pytest.mark.parametrize(("dtype", "white"), [(np.uint8, 255), (np.uint16, 65535)])
def test_x_is_right_and_y_is_up_and_white_is_high(tmp_path, dtype, white):
    pixels = np.zeros((3, 5), dtype)
    pixels[2, 0] = white
    pixels[0, 4] = white // 2
    Image.fromarray(pixels).save(tmp_path / "a.png")
    heights = read_image(tmp_path / "a.png", ImageHeights((-1.0, 3.0))).heights
    assert tuple(heights.shape) == (5, 3)
    assert heights[0, 0] == 3.0 and heights[4, 2] == pytest.approx(1.0, abs=0.02) and heights[2, 1] == -1.0


def test_colours_turn_grey(tmp_path):
    Image.new("RGB", (4, 4), (255, 255, 255)).save(tmp_path / "white.jpg")
    assert (read_image(tmp_path / "white.jpg").heights == 2.0).all()


def test_unreadable_files_are_named(tmp_path):
    with pytest.raises(FormatError, match=r"no image .*nothing\.png"):
        read_image(tmp_path / "nothing.png")
    (tmp_path / "text.png").write_text("hello")
    with pytest.raises(FormatError, match=r"text\.png.* cannot be read"):
        read_image(tmp_path / "text.png")
    write_image(Terrain(torch.rand(40, 40), torch.zeros(2)), tmp_path / "cut.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "cut.png").read_bytes()[:500])
    with pytest.raises(FormatError, match="cannot be read"):
        read_image(tmp_path / "cut.png")
    with pytest.raises(FormatError, match=r"\.png"):
        write_image(Terrain.flat((2, 2)), tmp_path / "map.bmp")
    with pytest.raises(TerrainError, match="empty"):
        write_image(Terrain.flat((2, 2)), tmp_path / "map.png", height=(1.0, 0.0))
