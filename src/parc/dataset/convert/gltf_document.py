"""Reading a glTF 2.0 file: the JSON document, its buffers and the arrays in them, each checked before it is believed.

    .glb     header | JSON chunk | BIN chunk (buffer 0)
    .gltf    the document as text; buffers stand in it as `data:` texts

Buffers in files beside the document are refused: a reader opens the file that was named and no other. Counts, lengths and offsets
come from the file, so every array is compared with the bytes that are there before it is made; sparse arrays and compressed
buffers are not read.
"""

import base64
import binascii
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parc.dataset.convert.gltf_buffer import CHUNK_BIN, CHUNK_JSON, COMPONENTS, KINDS, MAGIC
from parc.errors import FormatError
from parc.run.file_reading import MOST_TEXT, parse_json, read_bytes

SUFFIXES = (".glb", ".gltf", ".vrm")
MOST_ENTRIES = 200_000
"""of a list of the document"""
_LISTS = ("nodes", "meshes", "skins", "animations", "accessors", "bufferViews", "buffers", "scenes", "materials")
_DTYPES = {code: np.dtype(name).newbyteorder("<") for name, code in COMPONENTS.items()}
_SHAPES = {kind: shape for shape, kind in KINDS.items()}


class GltfDocument:
    """A document and its buffers; `name` is the file's, for messages."""

    def __init__(self, data: bytes, name: str) -> None:
        self.name = name
        text, binary = _chunks(data, name) if data[:4] == MAGIC else (data, b"")
        document = parse_json(text, name)
        if not isinstance(document, dict):
            raise FormatError(f"{name}: the document is a {type(document).__name__}, expected an object")
        self.json: dict[str, Any] = document
        version = self._object(document.get("asset"), "asset").get("version")
        if not isinstance(version, str) or not version.startswith("2."):
            raise FormatError(f"{name} is not of glTF 2")
        self._lists = {key: self._list(key) for key in _LISTS}
        self.buffers = [self._buffer(i, buffer, binary) for i, buffer in enumerate(self.entries("buffers"))]

    def entries(self, key: str) -> list[dict[str, Any]]:
        """A list of the document, empty if it has none."""
        return self._lists[key]

    def _list(self, key: str) -> list[dict[str, Any]]:
        values = self.json.get(key, [])
        if not isinstance(values, list) or len(values) > MOST_ENTRIES or not all(isinstance(v, dict) for v in values):
            raise FormatError(f"{self.name}: '{key}' is not a list of at most {MOST_ENTRIES} objects")
        return values

    def entry(self, key: str, index: Any) -> dict[str, Any]:
        """One of a list."""
        return self._lists[key][self.index(key, index)]

    def index(self, key: str, value: Any) -> int:
        """A number that the document uses to point into one of its lists."""
        count = len(self._lists[key])
        if type(value) is not int or not 0 <= value < count:
            raise FormatError(f"{self.name}: {str(value)[:20]} stands for one of its {count} {key}")
        return value

    def numbers(self, value: Any, count: int, what: str) -> NDArray[np.float64]:
        """So many finite numbers of a JSON list."""
        good = isinstance(value, list) and len(value) == count and all(type(v) in (int, float) for v in value)
        array = np.array(value, float) if good else np.full(count, np.nan)
        if not (np.isfinite(array).all() and np.abs(array).max() < 1e12):
            raise FormatError(f"{self.name}: {what} is not {count} numbers")
        return array

    def view(self, index: Any) -> bytes:
        """The bytes of a buffer view."""
        return self.view_bytes(self.entry("bufferViews", index))

    def view_bytes(self, view: Mapping[str, Any]) -> bytes:
        """Those that an entry of the buffer views stands for."""
        if "extensions" in view:
            raise FormatError(
                f"{self.name}: its data is compressed ({', '.join(map(str, view['extensions']))[:60]}); save it without"
            )
        buffer = self.buffers[self.index("buffers", view.get("buffer"))]
        start, size = self._size(view.get("byteOffset", 0)), self._size(view.get("byteLength"))
        if start + size > len(buffer):
            raise FormatError(f"{self.name}: a view of bytes {start} to {start + size} of a buffer of {len(buffer)}")
        return buffer[start : start + size]

    def array(self, index: Any) -> NDArray:
        """An accessor's values [N, ...] as the file has them; matrices with rows first, normalized integers as floats."""
        accessor = self.entry("accessors", index)
        number, kind = accessor.get("componentType"), accessor.get("type")
        dtype = _DTYPES.get(number) if type(number) is int else None
        shape = _SHAPES.get(kind) if isinstance(kind, str) else None
        if dtype is None or shape is None:
            raise FormatError(f"{self.name}: an accessor of an unknown type")
        if "sparse" in accessor or "bufferView" not in accessor:
            raise FormatError(f"{self.name}: an accessor is sparse or has no data, which is not read")
        data = self.view(accessor["bufferView"])
        view = self.entry("bufferViews", accessor["bufferView"])
        count, start = self._size(accessor.get("count")), self._size(accessor.get("byteOffset", 0))
        width = int(np.prod(shape, dtype=int)) if shape else 1
        item = width * dtype.itemsize
        step = self._size(view.get("byteStride", item))
        if count == 0 or step < item or start + (count - 1) * step + item > len(data):
            raise FormatError(f"{self.name}: an accessor of {count} values does not fit its {len(data)} bytes")
        rows = np.lib.stride_tricks.as_strided(np.frombuffer(data, np.uint8)[start:], (count, item), (step, 1))
        values = np.ascontiguousarray(rows).view(dtype).reshape(count, *shape)
        if accessor.get("normalized") and dtype.kind in "iu":
            values = np.maximum(values.astype(np.float64) / np.iinfo(dtype).max, -1.0)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise FormatError(f"{self.name}: an accessor holds values that are not finite")
        return values.transpose(0, 2, 1) if len(shape) == 2 else values

    def _size(self, value: Any) -> int:
        if type(value) is not int or not 0 <= value < 2**40:
            raise FormatError(f"{self.name}: {str(value)[:20]} stands where a number of bytes or values belongs")
        return value

    def _object(self, value: Any, what: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise FormatError(f"{self.name}: '{what}' is not an object")
        return value

    def _buffer(self, index: int, buffer: Mapping[str, Any], binary: bytes) -> bytes:
        size, uri = self._size(buffer.get("byteLength")), buffer.get("uri")
        if uri is None and index == 0:
            data = binary
        elif isinstance(uri, str) and uri.startswith("data:") and ";base64," in uri[:100]:
            try:
                data = base64.b64decode(uri.split(",", 1)[1], validate=True)
            except binascii.Error:
                raise FormatError(f"{self.name}: buffer {index} is not base64") from None
        else:
            raise FormatError(
                f"{self.name}: buffer {index} is in another file; save it as .glb, or as .gltf with embedded buffers"
            )
        if size > len(data):
            raise FormatError(f"{self.name}: buffer {index} has {len(data)} bytes of {size}")
        return data[:size]


def read_gltf(path: Path | str) -> GltfDocument:
    """The document in a file."""
    path = Path(path)
    return GltfDocument(read_bytes(path), path.name)


def _chunks(data: bytes, name: str) -> tuple[bytes, bytes]:
    """The JSON text and the first binary chunk of a GLB."""
    if len(data) < 20:
        raise FormatError(f"{name} ends in its header")
    version, total = struct.unpack_from("<II", data, 4)
    if version != 2 or total > len(data):
        raise FormatError(f"{name}: a GLB of version {version} and {total} bytes, expected version 2 and at most {len(data)}")
    size, kind = struct.unpack_from("<I4s", data, 12)
    if kind != CHUNK_JSON or 20 + size > total or size > MOST_TEXT:
        raise FormatError(f"{name} does not begin with a JSON chunk of at most {MOST_TEXT // 2**20} MB")
    text, at = data[20 : 20 + size], 20 + size
    if at + 8 > total:
        return text, b""
    size, kind = struct.unpack_from("<I4s", data, at)
    if kind != CHUNK_BIN or at + 8 + size > total:
        raise FormatError(f"{name}: its second chunk is no data, or is cut off")
    return text, data[at + 8 : at + 8 + size]
