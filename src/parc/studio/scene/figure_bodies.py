"""What a figure looks like: the capsules that physics knows, or a mannequin with one smooth skin.

Both are posed by the places and turns of the bodies. The mannequin's skin is one mesh for the trunk and limbs and one for each
hand and foot, so that these can show contacts: the browser gives a skinned mesh one colour.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from parc.character.character import Character
from parc.character.mannequin import MannequinSettings, mannequin

_SKIN = MannequinSettings(cell=0.024)
"""coarser than that of a file: the browser draws it thirty times a second"""
_UNTURNED = (1.0, 0.0, 0.0, 0.0)


class FigureBody(Protocol):
    """What a figure needs of its body."""

    def put(self, pos: NDArray, wxyz: NDArray, colours: NDArray) -> None:
        """Bodies at [B, 3], turned [B, 4], coloured [B, 3] (0 to 255)."""

    def cast_shadow(self, casts: bool) -> None:
        """Whether it throws a shadow."""

    def remove(self) -> None:
        """Out of the scene."""


class CapsuleBody:
    """The shapes of the physics, one mesh for each body."""

    def __init__(self, scene: Any, name: str, character: Character, mesh: Any) -> None:
        self._nodes = []
        for body in range(character.num_bodies):
            mine = mesh.body == body
            row = np.cumsum(mine) - 1
            faces = row[mesh.triangles[mine[mesh.triangles[:, 0]]]]
            self._nodes.append(
                scene.add_mesh_simple(
                    f"{name}/{character.names[body]}", mesh.points[mine], faces, cast_shadow=False, receive_shadow=False
                )
            )
        self._sent = np.full((character.num_bodies, 3), -1)

    def put(self, pos: NDArray, wxyz: NDArray, colours: NDArray) -> None:
        changed = (colours != self._sent).any(-1)
        for body, node in enumerate(self._nodes):
            node.position, node.wxyz = pos[body], wxyz[body]
            if changed[body]:
                node.color = _rgb(colours[body])
        self._sent = colours

    def cast_shadow(self, casts: bool) -> None:
        for node in self._nodes:
            node.cast_shadow = casts

    def remove(self) -> None:
        for node in self._nodes:
            node.remove()


class MannequinBody:
    """The skin of `parc.character.mannequin`, bent by the browser."""

    def __init__(self, scene: Any, name: str, character: Character) -> None:
        skin = mannequin(character, _SKIN)
        weights = skin.dense_weights()
        owner = weights[skin.faces].sum(1).argmax(-1)
        """[F] the body that each face follows most"""
        self._parts: list[tuple[int, Any, list[int]]] = []
        ends = list(character.key_bodies)
        for part in (0, *ends):
            faces = skin.faces[owner == part] if part else skin.faces[~np.isin(owner, ends)]
            used, places = np.unique(faces, return_inverse=True)
            bones = np.flatnonzero(weights[used].sum(0) > 1e-9).tolist()
            shares = weights[used][:, bones]
            node = scene.add_mesh_skinned(
                f"{name}/skin_{part}",
                skin.vertices[used],
                places.reshape(faces.shape),
                bone_wxyzs=np.tile(_UNTURNED, (len(bones), 1)),
                bone_positions=skin.origins[bones],
                skin_weights=shares / shares.sum(-1, keepdims=True),
                cast_shadow=False,
                receive_shadow=False,
            )
            self._parts.append((part, node, bones))
        self._sent = np.full((character.num_bodies, 3), -1)

    def put(self, pos: NDArray, wxyz: NDArray, colours: NDArray) -> None:
        for part, node, bones in self._parts:
            for bone, body in zip(node.bones, bones, strict=True):
                bone.position, bone.wxyz = pos[body], wxyz[body]
            if (colours[part] != self._sent[part]).any():
                node.color = _rgb(colours[part])
        self._sent = colours

    def cast_shadow(self, casts: bool) -> None:
        for _, node, _ in self._parts:
            node.cast_shadow = casts

    def remove(self) -> None:
        for _, node, _ in self._parts:
            node.remove()


def _rgb(colour: NDArray) -> tuple[int, int, int]:
    return int(colour[0]), int(colour[1]), int(colour[2])
