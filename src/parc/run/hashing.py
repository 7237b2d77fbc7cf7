"""SHA-256 of bytes, text, files, JSON and settings, as hexadecimal text: what data, models and settings are known by."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any


def hash_parts(parts: Iterable[bytes | memoryview]) -> str:
    """Of bytes that come in parts."""
    total = hashlib.sha256()
    for part in parts:
        total.update(part)
    return total.hexdigest()


def hash_bytes(data: bytes | memoryview) -> str:
    """Of bytes."""
    return hashlib.sha256(data).hexdigest()


def hash_text(text: str, errors: str = "strict") -> str:
    """Of a text in UTF-8; `errors`: what becomes of characters that have none, as for `str.encode`."""
    return hash_bytes(text.encode(errors=errors))


def hash_file(file: Path | str) -> str:
    """Of a file's content, read in pieces."""
    with open(file, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def hash_json(values: Any) -> str:
    """Of plain values, whatever the order of their keys."""
    return hash_text(json.dumps(values, sort_keys=True))


def hash_settings(*settings: Any) -> str:
    """Of dataclasses and plain values; the class counts, because two kinds of settings may have equal fields."""
    return hash_json([_described(s) for s in settings])


def _described(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, {field.name: _described(getattr(value, field.name)) for field in fields(value)}]
    if isinstance(value, list | tuple):
        return [_described(v) for v in value]
    return value
