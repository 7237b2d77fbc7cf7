"""A second reader of skinned GLB files, from the specification, and a writer of small ones; no code of the package."""

import json
import struct
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

_TYPES = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
_NUMBERS = {5121: "<u1", 5123: "<u2", 5125: "<u4", 5126: "<f4"}


class Oracle:
    """Skins and plays the first animation of a GLB."""

    def __init__(self, data: bytes) -> None:
        size = struct.unpack_from("<I", data, 12)[0]
        self.json = json.loads(data[20 : 20 + size])
        self.bin = data[28 + size :]
        self.names = [node.get("name", "") for node in self.json["nodes"]]

    def array(self, index: int) -> np.ndarray:
        accessor = self.json["accessors"][index]
        view = self.json["bufferViews"][accessor["bufferView"]]
        width = _TYPES[accessor["type"]]
        start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
        values = np.frombuffer(self.bin, _NUMBERS[accessor["componentType"]], accessor["count"] * width, start)
        values = values.reshape(-1, width) if width > 1 else values
        return values.reshape(-1, 4, 4).transpose(0, 2, 1) if accessor["type"] == "MAT4" else values

    def world(self, frame: int | None) -> np.ndarray:
        """[N, 4, 4] of all nodes at a key; None: as the nodes stand."""
        local = [dict(node) for node in self.json["nodes"]]
        if frame is not None:
            animation = self.json["animations"][0]
            for channel in animation["channels"]:
                values = self.array(animation["samplers"][channel["sampler"]]["output"])
                local[channel["target"]["node"]][channel["target"]["path"]] = values[frame]
        world = np.zeros((len(local), 4, 4))

        def visit(node: int, parent: np.ndarray) -> None:
            own = np.eye(4)
            own[:3, :3] = Rotation.from_quat(local[node].get("rotation", [0, 0, 0, 1])).as_matrix()
            own[:3, :3] = own[:3, :3] * np.asarray(local[node].get("scale", [1, 1, 1]))
            own[:3, 3] = local[node].get("translation", [0, 0, 0])
            world[node] = parent @ own
            for child in local[node].get("children", []):
                visit(child, world[node])

        for root in self.json["scenes"][0]["nodes"]:
            visit(root, np.eye(4))
        return world

    def joint(self, name: str, frames: int) -> np.ndarray:
        """[T, 4, 4] of a node by name."""
        return np.stack([self.world(t)[self.names.index(name)] for t in range(frames)])

    def skinned(self, frame: int | None) -> np.ndarray:
        """[V, 3] of the first mesh."""
        skin, attributes = self.json["skins"][0], self.json["meshes"][0]["primitives"][0]["attributes"]
        matrices = self.world(frame)[skin["joints"]] @ self.array(skin["inverseBindMatrices"])
        joints, weights = self.array(attributes["JOINTS_0"]), self.array(attributes["WEIGHTS_0"])
        points = self.array(attributes["POSITION"])
        moved = np.einsum("vkij,vj->vki", matrices[joints], np.concatenate([points, np.ones((len(points), 1))], 1))
        return np.einsum("vk,vki->vi", weights, moved)[:, :3]


class Maker:
    """A GLB under construction."""

    def __init__(self) -> None:
        self.bin, self.views, self.accessors = bytearray(), [], []

    def add(self, values: Any, kind: str, number: int = 5126) -> int:
        data = np.ascontiguousarray(values, dtype=_NUMBERS[number])
        self.views.append({"buffer": 0, "byteOffset": len(self.bin), "byteLength": data.nbytes})
        self.bin += data.tobytes() + bytes(-data.nbytes % 4)
        entry = {"bufferView": len(self.views) - 1, "componentType": number, "count": data.size // _TYPES[kind], "type": kind}
        self.accessors.append(entry)
        return len(self.accessors) - 1

    def document(self, rest: dict[str, Any]) -> dict[str, Any]:
        tables = {"accessors": self.accessors, "bufferViews": self.views, "buffers": [{"byteLength": len(self.bin)}]}
        return {"asset": {"version": "2.0"}, **tables, **rest}

    def glb(self, rest: dict[str, Any]) -> bytes:
        return packed(self.document(rest), bytes(self.bin))


def packed(document: dict[str, Any], binary: bytes) -> bytes:
    """A GLB of a document and its buffer."""
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    parts = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(binary), b"BIN\0") + binary
    return struct.pack("<4sII", b"glTF", 2, 12 + len(parts)) + parts
