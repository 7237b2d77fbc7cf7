"""The visible skin of a terrain in tiles: tops of cells and the parts of walls that stand free, coloured by height.

A tile is sent to the page anew only if a cell in it or beside it has changed: a click on a map of ten thousand cells sends two
hundred and fifty-six of them. Light is painted on (walls by where they look, darker towards their foot; neighbouring tops a
little apart, which shows the cells without lines), so the browser has none to work out.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parc.dataset.convert.gltf_buffer import GltfBuffer
from parc.render import palette
from parc.terrain.column_faces import column_faces
from parc.terrain.terrain import Terrain

TILE = 16
"""cells along the side of a tile"""
_SKIRT = 0.5
"""m that the rim of the map reaches below its lowest cell"""
_CHECKER = 0.035
_LIGHTS = {(0, 1): 0.80, (0, -1): 0.72, (1, 1): 0.86, (1, -1): 0.66}
"""of walls, by axis and sign of where they look"""
_FOOT_LIGHT = 0.78
_STEP = 0.02
"""m: lower ones have no rim"""
_RIM = "#6d737a"
_STOPS = np.array([-2.0, 0.0, 2.0])
"""m of the palette's colours: fixed, so that an edit does not recolour the rest"""


@dataclass(frozen=True, eq=False)
class Skin:
    """A terrain as a mesh with colours."""

    vertices: NDArray[np.float32]
    """[4 Q, 3]"""
    faces: NDArray[np.int64]
    """[2 Q, 3]"""
    colours: NDArray[np.float64]
    """[4 Q, 3] sRGB of each vertex, 0 to 255"""
    rims: NDArray[np.float32]
    """[2 N, 3] ends of the edges of tops that stand out of a lower neighbour: what the eye reads a step by"""


def tiles(terrain: Terrain) -> list[tuple[int, int]]:
    """First cell of each tile."""
    return [(i, j) for i in range(0, terrain.size[0], TILE) for j in range(0, terrain.size[1], TILE)]


def changed_tiles(old: Terrain | None, new: Terrain) -> list[tuple[int, int]]:
    """Tiles of the new terrain that look different from the old one's."""
    if old is new:
        return []
    if old is None or old.size != new.size or old.cell != new.cell or bool((old.min_point != new.min_point).any()):
        return tiles(new)
    before, after = _heights(old), _heights(new)
    if before.min() != after.min():
        return tiles(new)
    different = np.pad(before != after, 1)
    return [(i, j) for i, j in tiles(new) if different[i : i + TILE + 2, j : j + TILE + 2].any()]


def tile_skin(terrain: Terrain, first: tuple[int, int]) -> Skin:
    """The skin of the tile that starts with cell `first`."""
    faces = column_faces(terrain, _SKIRT, first, TILE)
    walls = faces.axis < 2
    tops, cells = ~walls, faces.cells[~walls]
    checker = np.where(cells.sum(-1) % 2 == 0, 1 + _CHECKER, 1 - _CHECKER)
    light = np.select([(faces.axis == axis) & (faces.sign == sign) for axis, sign in _LIGHTS], list(_LIGHTS.values()))[
        walls, None
    ]
    foot, head = _tint(faces.foot[walls]) * light * _FOOT_LIGHT, _tint(faces.top[walls]) * light
    colours = [
        _tint(faces.top[tops])[:, None] * np.repeat(checker[:, None, None], 4, 1),
        np.stack([foot, foot, head, head], 1),
    ]
    rims = faces.corners[walls & (faces.top - faces.foot > _STEP), 2:].reshape(-1, 3)
    return Skin(
        faces.corners.reshape(-1, 3).astype(np.float32),
        faces.triangles(),
        np.concatenate(colours).reshape(-1, 3).clip(0, 255),
        (rims + [0.0, 0.0, 0.003]).astype(np.float32),
    )


def skin_glb(skin: Skin) -> bytes:
    """The skin as a glTF file of its own, unlit: colours (linear in that format) are shown as they are."""
    buffer = GltfBuffer()
    share = skin.colours / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    rgba = np.concatenate([linear, np.ones((len(linear), 1))], 1)
    attributes = {
        "POSITION": buffer.add(skin.vertices, "vertex"),
        "COLOR_0": buffer.add(np.round(rgba * 65535).astype(np.uint16), "vertex", normalized=True),
    }
    indices = buffer.add(skin.faces.ravel().astype(np.uint32), "index")
    unlit: dict[str, Any] = {"KHR_materials_unlit": {}}
    materials = [
        {"pbrMetallicRoughness": {"baseColorFactor": [*colour, 1.0], "metallicFactor": 0.0}, "extensions": unlit}
        for colour in ((1.0, 1.0, 1.0), palette.linear(_RIM).tolist())
    ]
    primitives: list[dict[str, Any]] = [{"attributes": attributes, "indices": indices, "material": 0}]
    if len(skin.rims):
        primitives.append({"attributes": {"POSITION": buffer.add(skin.rims, "vertex")}, "mode": 1, "material": 1})
    return buffer.glb(
        {
            "asset": {"version": "2.0"},
            "extensionsUsed": list(unlit),
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": [{"mesh": 0}],
            "materials": materials,
            "meshes": [{"primitives": primitives}],
        }
    )


def _heights(terrain: Terrain) -> NDArray[np.float64]:
    return terrain.heights.detach().cpu().double().numpy()


def _tint(z: NDArray) -> NDArray[np.float64]:
    """[N, 3] sRGB 0..255."""
    stops = np.array([[int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in _GROUND], float)
    return np.stack([np.interp(z, _STOPS, stops[:, k]) for k in range(3)], -1)


_GROUND = (palette.GROUND_LOW, palette.GROUND_MIDDLE, palette.GROUND_HIGH)
