"""The binary half of a glTF 2.0 file: arrays laid end to end, each with the accessor that describes it, and the GLB container.

GLB = header | JSON chunk (document, padded with spaces) | BIN chunk (arrays, padded with zeros)
"""

import json
import struct
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

COMPONENTS = {"int8": 5120, "uint8": 5121, "int16": 5122, "uint16": 5123, "uint32": 5125, "float32": 5126}
KINDS = {(): "SCALAR", (2,): "VEC2", (3,): "VEC3", (4,): "VEC4", (4, 4): "MAT4"}
_TARGETS = {"vertex": 34962, "index": 34963}
MAGIC, CHUNK_JSON, CHUNK_BIN = b"glTF", b"JSON", b"BIN\0"


class GltfBuffer:
    """The one buffer of a file that is written, begun empty or with the bytes, views and accessors of a file that was read."""

    def __init__(self, data: bytes = b"", views: Sequence[dict[str, Any]] = (), accessors: Sequence[dict[str, Any]] = ()) -> None:
        self._data = bytearray(data + bytes(-len(data) % 4))
        self.views: list[dict[str, Any]] = list(views)
        self.accessors: list[dict[str, Any]] = list(accessors)

    def add(self, array: np.ndarray, use: Literal["vertex", "index"] | None = None, normalized: bool = False) -> int:
        """Append [N], [N, 3], [N, 4] or [N, 4, 4] and return its accessor; matrices are stored column by column."""
        if array.ndim == 3:
            array = array.transpose(0, 2, 1)
        view: dict[str, Any] = {"buffer": 0, "byteOffset": len(self._data), "byteLength": array.nbytes}
        if use is not None:
            view["target"] = _TARGETS[use]
        flat = array.reshape(len(array), -1)
        accessor: dict[str, Any] = {
            "bufferView": len(self.views),
            "componentType": COMPONENTS[array.dtype.name],
            "count": len(array),
            "type": KINDS[array.shape[1:]],
            "min": flat.min(0).tolist(),
            "max": flat.max(0).tolist(),
        }
        if normalized:
            accessor["normalized"] = True
        self._data += np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        self._data += bytes(-len(self._data) % 4)
        self.views.append(view)
        self.accessors.append(accessor)
        return len(self.accessors) - 1

    def glb(self, document: dict[str, Any]) -> bytes:
        """The document, completed by this buffer's tables, with the data behind it."""
        tables = {"accessors": self.accessors, "bufferViews": self.views, "buffers": [{"byteLength": len(self._data)}]}
        text = json.dumps(document | tables, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        total = 12 + 8 + len(text) + 8 + len(self._data)
        header = MAGIC + struct.pack("<II", 2, total)
        return (
            header
            + struct.pack("<I", len(text))
            + CHUNK_JSON
            + text
            + struct.pack("<I", len(self._data))
            + CHUNK_BIN
            + bytes(self._data)
        )
