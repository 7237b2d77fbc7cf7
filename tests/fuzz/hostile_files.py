"""Files made to do harm: to run something, to read or write elsewhere, to hang, to eat memory, to end the program.

Each case is a file and what reads it. `hostile_run.py` reads every one in a process of its own under watch.
"""

import hashlib
import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path

from file_kinds import Kind
from hostile_case import Hostile, Make, content
from hostile_pickles import MODULE, arrays, bombs, calls
from hostile_texts import images, lists, meshes, takes, texts

__all__ = ["MODULE", "make_cases"]


def make_cases(kinds: dict[str, Kind], secret: Path, witness: Path) -> list[Hostile]:
    """`secret` must not be read, `witness` not be written."""
    formats = [calls(witness), bombs(), arrays(), takes(), texts(), images(), meshes(secret), lists(secret)]
    groups = [*formats, _headers(kinds), _places(kinds, secret)]
    return [case for group in groups for case in group]


def _headers(kinds: dict[str, Kind]) -> Iterator[Hostile]:
    def parts(data: bytes) -> tuple[dict, bytes]:
        size = struct.unpack("<Q", data[:8])[0]
        return json.loads(data[8 : 8 + size]), data[8 + size :]

    def packed(header: object, body: bytes) -> bytes:
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + body

    for kind in ("motion", "terrain", "generator", "actor", "data set shard-000001.safetensors"):
        header, body = parts(kinds[kind].data())
        first = next(key for key in header if key != "__metadata__")
        entry, note = header[first], next(iter(header["__metadata__"]))
        inner = json.loads(header["__metadata__"][note])
        inner.pop("sha256", None)

        def changed(value: object, header: dict = header, note: str = note, body: bytes = body) -> bytes:
            text = value if isinstance(value, str) else json.dumps(value)
            return packed(header | {"__metadata__": {note: text}}, body)

        table = {
            "size of 2^63": struct.pack("<Q", 2**63) + b"x" * 100,
            "size of 2^32": struct.pack("<Q", 2**32) + b"x" * 100,
            "deep": packed(b"[" * 100_000, body),
            "no header": packed({}, b""),
            "two of one place": packed(header | {"x": entry}, body),
            "type": packed(header | {first: entry | {"dtype": "F4"}}, body),
            "shape": packed(header | {first: entry | {"shape": [2**40, 2**40]}}, body),
            "negative": packed(header | {first: entry | {"shape": [-1]}}, body),
            "offsets": packed(header | {first: entry | {"data_offsets": [0, 2**60]}}, body),
            "note deep": changed("[" * 100_000),
            "note null": changed("null"),
            "note cut": changed("{"),
            "note of numbers": changed(dict.fromkeys(inner, 7)),
            "note of texts": changed(dict.fromkeys(inner, "x")),
            "note of lists": changed({key: [] for key in inner}),
            "note of objects": changed({key: {} for key in inner}),
            "empty": b"",
            "cut": kinds[kind].data()[:-5],
            "nan": packed(header, b"\xff\xff\xff\x7f" * (len(body) // 4) + b"\0" * (len(body) % 4)),
        }
        for name, data in table.items():
            yield Hostile(f"{kind} {name}", kind, content(data))
        if kind == "generator":
            for change in (
                {"layers": 10**7},
                {"hidden": 10**6},
                {"width": 10**6},
                {"layers": -1},
                {"layers": "4"},
                {"heads": 0},
                {"width": None},
                {"layers": 10**400},
            ):
                network = inner["settings"]["network"] | change
                yield Hostile(
                    f"generator {str(change)[:30]}",
                    kind,
                    content(changed(inner | {"settings": inner["settings"] | {"network": network}})),
                )
        if kind in ("motion", "data set shard-000001.safetensors"):
            for change in (
                {"fps": 1e300},
                {"fps": "inf"},
                {"fps": -1},
                {"frames": -1},
                {"frames": 10**12},
                {"size": [10**9, 10**9]},
                {"cell": 1e-300},
                {"cell": 0},
                {"name": "../../x"},
                {"name": "\0"},
                {"name": 7},
                {"bodies": 0},
                {"bodies": 10**9},
                {"path_nodes": -1},
                {"provenance": 7},
            ):
                clips = [inner["clips"][0] | change, *inner["clips"][1:]]
                yield Hostile(f"{kind} {str(change)[:30]}", kind, content(changed(inner | {"clips": clips})))


def _places(kinds: dict[str, Kind], secret: Path) -> Iterator[Hostile]:
    def pipe(path: Path) -> None:
        path.unlink(missing_ok=True)
        os.mkfifo(path)

    def link(target: str) -> Make:
        def make(path: Path) -> None:
            path.unlink(missing_ok=True)
            path.symlink_to(target)

        return make

    def folder(path: Path) -> None:
        path.unlink(missing_ok=True)
        path.mkdir()

    def hole(path: Path) -> None:
        with open(path, "wb") as file:
            file.truncate(2**40)

    for kind in (
        "bvh",
        "raw bvh",
        "qpos",
        "motion",
        "parc pickle",
        "deepmimic",
        "terrain",
        "png",
        "obj",
        "glb",
        "stl",
        "ply",
        "generator",
        "actor",
        "path",
        "naming",
        "shortlist",
        "run.json",
        "ledger",
        "admission",
        "data set index.json",
        "data set shard-000001.safetensors",
    ):
        for name, make in {
            "pipe": pipe,
            "zeros without end": link("/dev/zero"),
            "folder": folder,
            "link to itself": lambda p: link(p.name)(p),
            "a hole of 1 TB": hole,
        }.items():
            yield Hostile(f"{kind} is a {name}", kind, make)
    index = json.loads(kinds["data set index.json"].data())
    index.pop("sha256", None)
    shard = index["shards"][0]
    for name, change in {
        "file above": {"shards": [shard | {"file": "../shard-000001.safetensors"}]},
        "file absolute": {"shards": [shard | {"file": str(secret)}]},
        "next shard": {"next_shard": 1},
        "next shard far": {"next_shard": 10**400},
        "one twice": {"shards": [shard, shard]},
        "clips": {"shards": [shard | {"clips": 9}]},
        "no number": {"shards": [shard | {"clips": None}]},
        "fewer": {"shards": [shard]},
        "none": {"shards": []},
        "text": {"shards": "x"},
        "schema": {"schema": 10**9},
        "first schema": {"schema": 1, "shards": [shard | {"file": "../../x"}]},
    }.items():
        digest = hashlib.sha256(json.dumps(index | change, sort_keys=True).encode()).hexdigest()
        yield Hostile(f"index {name}", "data set index.json", content(json.dumps(index | change | {"sha256": digest}).encode()))
    ledger = json.loads(kinds["ledger"].data())
    stage = ledger["stages"]["start"]
    for name, stages in {
        "output above": {"start": stage | {"outputs": {"../../x": {"sha256": "0", "bytes": 1, "mtime_ns": 1}}}},
        "stage above": {"../../x": stage},
        "absolute": {"/tmp/x": stage},
        "nul": {"a\0b": stage},
        "long": {"a" * 5000: stage},
        "numbers": {"start": stage | {"began": "x", "seconds": []}},
    }.items():
        yield Hostile(f"ledger {name}", "ledger", content(json.dumps(ledger | {"stages": stages}).encode()))
