"""Damage done to files: by bytes, whatever the format, and by structure, so that the damage gets past the first check."""

import io
import json
import pickle
import random
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

NASTY: list[Any] = [
    None, True, -1, 0, 1, 3, 10**7, 2**31, 2**63, 10**400, 1e308, 1e-300, -0.0, float("nan"), float("inf"), "",
    "../../x", "\0", "²", "a" * 2000, [], {}, [[]], [None], {"a": 1}, [1e30, "x"], "Infinity", [[[[0.0]]]],
]  # fmt: skip
WORDS = ["²", "-1", "0", "1e308", "nan", "inf", "10" * 30, "9" * 5000, "", "\0", "{", "}", "[", '"', ",", ";", "JOINT", "MOTION",
         "é" * 50, "2147483648", "-0", "1_0", "0x10", "\n" * 50, " " * 500]  # fmt: skip
Mutation = Callable[[bytes, random.Random], bytes]


def by_bytes(data: bytes, rng: random.Random) -> bytes:
    """Flips, cuts, copies and insertions, a few at once."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        if not changed:
            break
        at = rng.randrange(len(changed))
        act = rng.randrange(7)
        if act == 0:
            changed[at] ^= 1 << rng.randrange(8)
        elif act == 1:
            changed[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, ord("["), ord("9")))
        elif act == 2:
            del changed[at : at + rng.choice((1, 4, 100, len(changed)))]
        elif act == 3:
            other = rng.randrange(len(changed))
            changed[at:at] = changed[other : other + rng.choice((1, 8, 200))]
        elif act == 4:
            changed[at:at] = rng.choice((b"[", b"{", b"\n", b"(", b"]")) * rng.choice((1, 100, 20_000))
        elif act == 5:
            size = rng.choice((1, 2, 4, 8))
            changed[at : at + size] = rng.choice((0, 1, 2 ** (8 * size - 1), 2 ** (8 * size) - 1)).to_bytes(size, "little")
        else:
            changed[at : at + 4] = rng.randbytes(4)
    return bytes(changed)


def by_words(data: bytes, rng: random.Random) -> bytes:
    """Words and lines of a text."""
    lines = data.decode("utf-8", "replace").split("\n")
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(lines))
        act = rng.randrange(5)
        if act == 0:
            del lines[at : at + rng.choice((1, 3))]
        elif act == 1:
            lines[at:at] = lines[at : at + 2] * rng.choice((1, 50))
        elif act == 2:
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        else:
            words = lines[at].split(" ")
            words[rng.randrange(len(words))] = rng.choice(WORDS)
            lines[at] = " ".join(words)
        lines = lines or [""]
    return "\n".join(lines).encode("utf-8", "replace")


def changed_value(value: Any, rng: random.Random) -> Any:
    """One place in nested dicts and lists replaced, removed, doubled or wrapped."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        value = dict(value)
        key = rng.choice(list(value))
        act = rng.random()
        if act < 0.1:
            del value[key]
        elif act < 0.15:
            value[rng.choice(("odd", "", "file"))] = value[key]
        else:
            value[key] = changed_value(value[key], rng)
        return value
    if isinstance(value, list | tuple) and value and rng.random() < 0.85:
        items = list(value)
        at = rng.randrange(len(items))
        act = rng.random()
        if act < 0.1:
            del items[at]
        elif act < 0.2:
            items[at:at] = items[at : at + 1] * rng.choice((1, 3, 1000))
        else:
            items[at] = changed_value(items[at], rng)
        return items
    if isinstance(value, np.ndarray) and rng.random() < 0.8:
        return _changed_array(value, rng)
    if isinstance(value, bytes) and rng.random() < 0.8:
        return by_pickle(value, rng) if value[:1] == b"\x80" else by_bytes(value, rng)
    if isinstance(value, str) and value[:1] in "{[" and value and rng.random() < 0.8:
        return by_json(value.encode(), rng).decode()
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.3:
        return rng.choice((-value, value + 1, value * 1e6, str(value)))
    return rng.choice(NASTY)


def _changed_array(value: np.ndarray, rng: random.Random) -> np.ndarray:
    act = rng.randrange(6)
    if act == 0:
        return (
            value.astype(rng.choice(("f2", "f8", "i4", "u1", "bool", "c8", "S3")), casting="unsafe")
            if value.dtype.kind in "fiu"
            else value.reshape(-1)[:0]
        )
    if act == 1:
        return value.reshape(-1)
    if act == 2:
        return value[: rng.randrange(len(value) + 1)] if value.ndim else value.reshape(1)
    if act == 3 and value.size and value.dtype.kind == "f":
        value = value.copy()
        value.reshape(-1)[rng.randrange(value.size)] = rng.choice((np.nan, np.inf, 1e30, -1e7, 0.0))
        return value
    if act == 4:
        return value[..., None]
    return np.asfortranarray(value)


def by_json(data: bytes, rng: random.Random) -> bytes:
    return json.dumps(changed_value(json.loads(data), rng)).encode()


def by_pickle(data: bytes, rng: random.Random) -> bytes:
    """Of files that this program wrote itself: they are safe to load."""
    return pickle.dumps(changed_value(pickle.loads(data), rng), protocol=rng.choice((2, 4)))


def by_arrays(data: bytes, rng: random.Random) -> bytes:
    with np.load(io.BytesIO(data)) as found:
        arrays = {key: found[key] for key in found.files}
    file = io.BytesIO()
    act = rng.random()
    if act < 0.6:
        arrays = changed_value(arrays, rng)
        if isinstance(arrays, dict):
            np.savez(file, **{f"_{key}" if key in ("", "file") else key: np.asarray(value) for key, value in arrays.items()})
        return file.getvalue()
    with zipfile.ZipFile(file, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2))) as packed:
        for key, value in arrays.items():
            member = io.BytesIO()
            np.save(member, value)
            packed.writestr(f"{key}.npy", by_bytes(member.getvalue(), rng) if rng.random() < 0.4 else member.getvalue())
    return file.getvalue()


def by_header(data: bytes, rng: random.Random) -> bytes:
    """Of a safetensors file: its JSON, or the JSON that is text in that."""
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    metadata = header.get("__metadata__", {})
    if metadata and rng.random() < 0.75:
        key = rng.choice(list(metadata))
        inner = json.loads(metadata[key])
        inner.pop("sha256", None) if isinstance(inner, dict) else None
        metadata[key] = json.dumps(changed_value(inner, rng))
    else:
        header = changed_value(header, rng)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + length :]


def by_gltf(data: bytes, rng: random.Random) -> bytes:
    """The JSON chunk of a .glb."""
    length = struct.unpack("<I", data[12:16])[0]
    text = json.dumps(changed_value(json.loads(data[20 : 20 + length]), rng)).encode()
    text += b" " * (-len(text) % 4)
    body = struct.pack("<I", len(text)) + data[16:20] + text + data[20 + length :]
    return data[:8] + struct.pack("<I", 12 + len(body)) + body
