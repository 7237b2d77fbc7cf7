"""Terrains as grey images: black is the lowest height, white the highest.

Pixel (column i, row j from the bottom) is cell (i, j), so that an image looked at upright is the map seen from above with
x to the right and y up. Written images have 16 bits: over 4 m a step of 0.06 mm.
"""

import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from parc.errors import FormatError, TerrainError
from parc.run.atomic_files import write_bytes_atomically
from parc.run.file_reading import first_line, read_bytes, reading
from parc.terrain.terrain import CELL, MOST_CELLS, Terrain

if TYPE_CHECKING:
    from PIL.Image import Image


FORMATS = ("PNG", "JPEG", "TIFF")
"""that are read, whatever the file is called: others would hand it to programs outside (PostScript to Ghostscript)"""


@dataclass(frozen=True)
class ImageHeights:
    """What the grey levels of an image mean."""

    height: tuple[float, float] = (-2.0, 2.0)
    """heights of black and white, m"""
    cell: float = CELL
    """side of a pixel, m"""


DEFAULT_IMAGE = ImageHeights()


def read_image(path: Path | str, settings: ImageHeights = DEFAULT_IMAGE) -> Terrain:
    """A terrain from an 8- or 16-bit image, colours turned to grey."""
    from PIL import Image  # here, because training machines have no image library

    path = Path(path)
    if not path.exists():
        raise FormatError(f"there is no image '{path}'")
    data = read_bytes(path)
    try:
        with reading(f"'{path}'", "image"), Image.open(io.BytesIO(data), formats=FORMATS) as image:
            if math.prod(image.size) > MOST_CELLS:
                raise FormatError(f"'{path}' has {image.width} x {image.height} pixels, {MOST_CELLS} are the most")
            grey = _grey_levels(image)
    except OSError as problem:  # Pillow's word for what it cannot decode
        raise FormatError(f"'{path}' cannot be read as an image: {first_line(problem)}") from problem
    low, high = settings.height
    heights = low + (high - low) * grey[::-1].T
    return Terrain(torch.from_numpy(np.ascontiguousarray(heights, np.float32)), torch.zeros(2), settings.cell)


def write_image(terrain: Terrain, path: Path | str, height: tuple[float, float] | None = None) -> ImageHeights:
    """Write a 16-bit PNG; returns the settings that read it back (by default its range is the terrain's own)."""
    from PIL import Image

    path = Path(path)
    if path.suffix.lower() != ".png":
        raise FormatError(f"terrain images are written as .png, got '{path.name}'")
    low, high = height or (float(terrain.heights.min()), float(terrain.heights.max()))
    if high < low:
        raise TerrainError(f"the height range {low} to {high} m is empty")
    share = (terrain.heights.double().cpu().numpy() - low) / max(high - low, 1e-9)
    levels = np.rint(share.clip(0, 1) * 65535).astype(np.uint16)
    data = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(levels.T[::-1])).save(data, format="PNG")
    write_bytes_atomically(path, data.getvalue())
    return ImageHeights((low, high), terrain.cell)


def _grey_levels(image: "Image") -> np.ndarray:
    """[rows, columns] in 0..1"""
    if image.mode.startswith("I"):
        return np.asarray(image).astype(np.float64).clip(0, 65535) / 65535
    if image.mode == "F":
        return np.asarray(image).astype(np.float64).clip(0, 1)
    return np.asarray(image.convert("L")).astype(np.float64) / 255
