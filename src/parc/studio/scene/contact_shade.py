"""Dark soft spots on the ground under hands, feet and pelvis: the nearer a body, the larger its spot.

They tell how high a body is where the browser casts no shadows, and ground it where it does.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from parc.character.character import Character
from parc.dataset.convert.gltf_buffer import GltfBuffer
from parc.terrain.terrain import Terrain

_FADE = {"end": 0.35, "trunk": 1.6}
"""m above the ground at which a spot is gone"""
_RADIUS = {"end": 0.17, "trunk": 0.34}
"""m of the spot of a body that touches the ground"""
_DARK = 0.42
"""opacity in the middle"""
_ABOVE = 0.012
"""m that spots lie above the ground"""
_GONE = 1e-4
_STEP = 0.01
"""m of a radius that are worth a message"""


class ContactShade:
    """The spots of one figure."""

    def __init__(self, scene: Any, name: str, character: Character) -> None:
        self.bodies = [0, *character.key_bodies]
        kinds = ["trunk", *["end"] * len(character.key_bodies)]
        self._fade = np.array([_FADE[kind] for kind in kinds])
        self._radius = np.array([_RADIUS[kind] for kind in kinds])
        self._nodes = [
            scene.add_glb(f"{name}/shade_{body}", spot_glb(), scale=_GONE, cast_shadow=False, receive_shadow=False)
            for body in self.bodies
        ]
        self._sent = np.full(len(self.bodies), _GONE)

    def put(self, places: NDArray, ground: NDArray) -> None:
        """Under the lowest points [K, 3] of the bodies, on ground of heights [K]."""
        radius = spot_radius(places[:, 2] - ground, self._fade, self._radius)
        for k, node in enumerate(self._nodes):
            if radius[k] > _GONE:
                node.position = (places[k, 0], places[k, 1], ground[k] + _ABOVE)
            if abs(radius[k] - self._sent[k]) > _STEP or (radius[k] <= _GONE < self._sent[k]):
                node.scale = self._sent[k] = float(radius[k])

    def remove(self) -> None:
        """Out of the scene."""
        for node in self._nodes:
            node.remove()


def spot_radius(height: NDArray, fade: NDArray | float, radius: NDArray | float) -> NDArray[np.float64]:
    """Of spots under bodies at a height over the ground, m; under the ground they are as on it."""
    return np.maximum(radius * np.clip(1 - np.maximum(height, 0.0) / fade, 0.0, 1.0), _GONE)


def ground_under(terrain: Terrain, places: NDArray) -> NDArray[np.float64]:
    """[...] heights of the ground under points [..., 3]."""
    xy = torch.tensor(np.ascontiguousarray(places[..., :2]), dtype=torch.float32).reshape(-1, 2)
    return terrain.height_at(xy.to(terrain.heights.device)).double().cpu().numpy().reshape(places.shape[:-1])


@lru_cache(maxsize=1)
def spot_glb() -> bytes:
    """A disc of radius 1, black, transparent towards its rim."""
    around, rings = 20, np.array([0.0, 0.35, 0.7, 1.0])
    alpha = _DARK * np.array([1.0, 0.75, 0.25, 0.0])
    angle = np.arange(around) * 2 * np.pi / around
    circle = np.stack([np.cos(angle), np.sin(angle), np.zeros(around)], -1)
    vertices = (rings[:, None, None] * circle).reshape(-1, 3).astype(np.float32)
    rgba = np.zeros((len(vertices), 4))
    rgba[:, 3] = np.repeat(alpha, around)
    faces = []
    for ring in range(len(rings) - 1):
        for k in range(around):
            a, b = ring * around + k, ring * around + (k + 1) % around
            faces += [(a, a + around, b + around), (a, b + around, b)]
    buffer = GltfBuffer()
    attributes = {
        "POSITION": buffer.add(vertices, "vertex"),
        "COLOR_0": buffer.add(np.round(rgba * 65535).astype(np.uint16), "vertex", normalized=True),
    }
    indices = buffer.add(np.array(faces, np.uint32).ravel(), "index")
    material = {
        "pbrMetallicRoughness": {"baseColorFactor": [1.0, 1.0, 1.0, 1.0], "metallicFactor": 0.0},
        "alphaMode": "BLEND",
        "extensions": {"KHR_materials_unlit": {}},
    }
    return buffer.glb(
        {
            "asset": {"version": "2.0"},
            "extensionsUsed": ["KHR_materials_unlit"],
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": [{"mesh": 0}],
            "materials": [material],
            "meshes": [{"primitives": [{"attributes": attributes, "indices": indices, "material": 0}]}],
        }
    )
