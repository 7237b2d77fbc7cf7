"""Terrains on disk.

A `.terrain` file is safetensors: `heights` [X, Y] and `min_point` [2], `bounds` [X, Y, 2] where there are any, and in the
header `{"parc.terrain": {"cell": 0.4}}` (one key: safetensors writes several in any order, and equal terrains shall be
equal files). Images and meshes are read and written by their extension.
"""

import json
from pathlib import Path

from safetensors import safe_open
from safetensors.torch import save

from parc.errors import FormatError, TerrainError
from parc.run.atomic_files import write_bytes_atomically
from parc.run.file_reading import check_plain_file, parse_json, reading
from parc.terrain.height_image import DEFAULT_IMAGE, ImageHeights, read_image, write_image
from parc.terrain.terrain import Terrain
from parc.terrain.triangle_mesh import DEFAULT_MESH, MESH_SUFFIXES, MeshSampling, read_mesh, write_mesh

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
_FORMAT = "parc.terrain"


def load_terrain(path: Path | str, image: ImageHeights = DEFAULT_IMAGE, mesh: MeshSampling = DEFAULT_MESH) -> Terrain:
    """A terrain from a .terrain file, an image or a mesh; the settings are for the latter two."""
    path = Path(path)
    suffix = path.suffix.lower()
    if path.is_dir():
        raise FormatError(f"'{path}' is a folder, a terrain file was expected")
    if suffix == ".terrain":
        return _read(path)
    if suffix in IMAGE_SUFFIXES:
        return read_image(path, image)
    if suffix in MESH_SUFFIXES:
        return read_mesh(path, mesh)
    raise FormatError(f"'{path.name}' is not a terrain file; expected {', '.join(('.terrain', *IMAGE_SUFFIXES, *MESH_SUFFIXES))}")


def save_terrain(terrain: Terrain, path: Path | str) -> None:
    """By extension: .terrain (everything), .png (heights, 16 bits over their own range), or a mesh."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".png":
        write_image(terrain, path)
    elif suffix in MESH_SUFFIXES:
        write_mesh(terrain, path)
    elif suffix == ".terrain":
        tensors = {"heights": terrain.heights, "min_point": terrain.min_point}
        if terrain.bounds is not None:
            tensors["bounds"] = terrain.bounds
        on_cpu = {name: tensor.detach().float().cpu().clone().contiguous() for name, tensor in tensors.items()}
        write_bytes_atomically(path, save(on_cpu, {_FORMAT: json.dumps({"cell": terrain.cell})}))
    else:
        raise FormatError(f"cannot write a terrain to '{path.name}'; expected {', '.join(('.terrain', '.png', *MESH_SUFFIXES))}")


def _read(path: Path) -> Terrain:
    if not path.exists():
        raise FormatError(f"there is no terrain '{path}'")
    check_plain_file(path)
    try:
        with reading(f"'{path}'", "terrain file"), safe_open(str(path), framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name).float().clone() for name in file.keys()}  # noqa: SIM118
    except OSError as problem:
        raise FormatError(f"'{path}' is not a terrain file, or is damaged: {problem}") from problem
    if _FORMAT not in header or not {"heights", "min_point"} <= tensors.keys():
        raise FormatError(
            f"'{path}' is a safetensors file, but not a terrain: it needs heights, min_point and '{_FORMAT}' in its header"
        )
    try:
        cell = float(parse_json(header[_FORMAT], "the header")["cell"])
    except (FormatError, KeyError, ValueError, TypeError, OverflowError) as problem:
        raise FormatError(f"'{path}' does not say how large its cells are") from problem
    try:
        return Terrain(tensors["heights"], tensors["min_point"], cell, tensors.get("bounds"))
    except TerrainError as problem:
        raise TerrainError(f"'{path}': {problem}") from problem
