"""Files made to do harm: to run something, to read or write elsewhere, to hang, to eat memory, to end the program.

Each case is a file and what reads it. `hostile_run.py` reads every one in a process of its own under watch.
"""

import bz2
import hashlib
import io
import json
import os
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from file_kinds import Kind

MODULE = "parc_witness"
"""a module in the folder of the case that leaves a trace when it is imported"""
Make = Callable[[Path], None]


@dataclass(frozen=True)
class Hostile:
    name: str
    kind: str
    """name of the `Kind` that reads it"""
    make: Make
    """puts it at a path"""


def make_cases(kinds: dict[str, Kind], secret: Path, witness: Path) -> list[Hostile]:
    """`secret` must not be read, `witness` not be written."""
    groups = [_calls(witness), _bombs(), _arrays(), _takes(), _texts(kinds), _images(), _meshes(secret), _headers(kinds),
              _places(kinds, secret), _lists(kinds, secret)]  # fmt: skip
    return [case for group in groups for case in group]


def _data(data: bytes) -> Make:
    def make(path: Path) -> None:
        path.write_bytes(data)
        if path.name.startswith("shard-"):
            _forge_index(path.parent)

    return make


def _forge_index(folder: Path) -> None:
    """Whoever makes a shard makes its index too: one that says nothing of size and content."""
    values = json.loads((folder / "index.json").read_bytes())
    del values["sha256"]
    for shard in values["shards"]:
        shard |= {"bytes": 0, "sha256": ""}
    digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
    (folder / "index.json").write_text(json.dumps(values | {"sha256": digest}))


# --- pickles that call something ---------------------------------------------------------------------------------------


def _calls(witness: Path) -> Iterator[Hostile]:
    touch = f"touch {witness}"
    code = f"open({str(witness)!r}, 'w').close()"
    calls = {
        "os system": ("os", "system", (touch,)), "posix system": ("posix", "system", (touch,)), "nt system": ("nt", "system", (touch,)),
        "popen": ("subprocess", "Popen", (touch, -1, None, None, None, None, None, True, True)),
        "check_output": ("subprocess", "check_output", (["touch", str(witness)],)), "exec": ("builtins", "exec", (code,)),
        "eval": ("builtins", "eval", (code,)), "compile": ("builtins", "compile", (code, "x", "exec")),
        "open": ("builtins", "open", (str(witness), "w")), "io open": ("io", "open", (str(witness), "w")),
        "import": ("builtins", "__import__", (MODULE,)), "import_module": ("importlib", "import_module", (MODULE,)),
        "runpy": ("runpy", "run_module", (MODULE,)), "mkdir": ("os", "mkdir", (str(witness),)),
        "rmtree": ("shutil", "rmtree", (str(witness.parent),)), "pathlib": ("pathlib", "Path.touch", (str(witness),)),
        "dlopen": ("ctypes", "CDLL", ("libc.so.6",)), "socket": ("socket", "create_connection", (("127.0.0.1", 9),)),
        "webbrowser": ("webbrowser", "open", ("http://127.0.0.1:9",)), "timeit": ("timeit", "timeit", (code,)),
        "profile": ("cProfile", "run", (code,)), "pydoc": ("pydoc", "locate", (f"{MODULE}.x",)), "getattr": ("builtins", "getattr", (1, "real")),
        "torch load": ("torch", "load", (str(witness),)), "numpy load": ("numpy", "load", (str(witness),)),
        "numpy save": ("numpy", "save", (str(witness), 1)), "numpy runstring": ("numpy.testing._private.utils", "runstring", (code, {})),
        "operator": ("operator", "attrgetter", ("__class__",)), "pickle": ("pickle", "loads", (b"N.",)), "code": ("code", "interact", ()),
    }  # fmt: skip
    for name, (module, attribute, arguments) in calls.items():
        for where, kind in (("itself", "parc pickle"), ("a field", "mimickit"), ("frames", "mimickit"), ("in an npz", "qpos")):
            call = _call(module, attribute, arguments)
            if where == "itself":
                data = b"\x80\x02" + call + b"."
            elif where == "in an npz":
                data = _zip({"qpos.npy": _npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", b"\x80\x02" + call + b".")})
            else:
                key = "loop_mode" if where == "a field" else "frames"
                good = pickle.dumps({"fps": 30, "loop_mode": 0, "frames": [[0.0] * 34] * 3}, protocol=2)
                data = good[:-2] + b"X" + len(key).to_bytes(4, "little") + key.encode() + call + b"su."
            yield Hostile(f"pickle {name} as {where}", kind, _data(data))
    build = b"\x80\x04\x8c\x16numpy.core.multiarray\x8c\x0c_reconstruct\x93N}\x8c\x08__code__K\x01s\x86b."
    for name, data in {
        "build on a function": build, "dotted name": b"\x80\x04\x8c\x05numpy\x8c\x13dtype.__class__.mro\x93.",
        "persistent": b"\x80\x04\x8c\x01xQ.", "extension": b"\x80\x02\x82\x01.", "inst": b"(S'" + touch.encode() + b"'\nios\nsystem\n.",
        "obj": b"(cos\nsystem\nX" + len(touch).to_bytes(4, "little") + touch.encode() + b"o.",
        "newobj": b"\x80\x04\x8c\x0asubprocess\x8c\x05Popen\x93\x8c\x04true\x85\x81.",
    }.items():  # fmt: skip
        yield Hostile(f"pickle {name}", "parc pickle", _data(data))


def _call(module: str, attribute: str, arguments: tuple) -> bytes:
    return b"c" + f"{module}\n{attribute}\n".encode() + pickle.dumps(arguments, protocol=2)[2:-1] + b"R"


# --- small files that become large or never end ------------------------------------------------------------------------


def _bombs() -> Iterator[Hostile]:
    def nested(make: Callable, depth: int) -> bytes:
        value = make(1, 2)
        for _ in range(depth):
            value = make(value, value)
        return pickle.dumps(value, protocol=2)[2:-1]

    pairs, laughs = nested(lambda a, b: (a, b), 45), nested(lambda a, b: [a, b], 45)
    good = pickle.dumps({"fps": 30, "loop_mode": 0, "frames": [[0.0] * 34] * 3}, protocol=2)
    table = {f"laughs as {key}": good[:-2] + b"X" + len(key).to_bytes(4, "little") + key.encode() + laughs + b"su." for key in
             ("fps", "loop_mode", "frames", "other")}  # fmt: skip
    table |= {
        "a tuple as a key": b"\x80\x02}" + pairs + b"K\x01s.", "a tuple in a set": b"\x80\x04\x8f(" + pairs + b"\x90.",
        "lists in lists": b"\x80\x04" + b"]" * 200_000 + b"a" * 200_000 + b".", "claimed bytes": b"\x80\x04\x8e" + (1 << 40).to_bytes(8, "little") + b"x.",
        "claimed text": b"\x80\x04\x8d" + (1 << 62).to_bytes(8, "little") + b"x.", "claimed bytearray": b"\x80\x05\x96" + (1 << 40).to_bytes(8, "little") + b".",
        "memo": b"\x80\x04Nr\xff\xff\xff\xff.", "long integer": b"\x80\x02\x8b" + (2**24).to_bytes(4, "little") + b"\x7f" * 2**24 + b".",
        "decimal integer": b"L" + b"9" * 500_000 + b"L\n.", "fps": pickle.dumps({"fps": 10**400, "loop_mode": 0, "frames": [[0.0] * 34] * 3}),
        "far": pickle.dumps({"fps": 30, "loop_mode": 0, "frames": [[0.0] * 34, [1e7, 1e7, *[0.0] * 32]]}),
        "texts": pickle.dumps({"fps": 30, "loop_mode": 0, "frames": [["a" * 10**6], *[["b"]] * 10**4]}),
        "ragged": pickle.dumps({"fps": 30, "loop_mode": 0, "frames": [[0.0] * (k % 50) for k in range(20_000)]}),
        "zero fps": pickle.dumps({"fps": 0, "loop_mode": 0, "frames": [[0.0] * 34] * 3}),
        "one shared row": pickle.dumps({"fps": 30, "loop_mode": 0, "frames": [[0.0] * 34] * 400_000}),
    }  # fmt: skip
    for name, data in table.items():
        yield Hostile(f"pickle {name}", "mimickit", _data(data))


def _npy(header: str, body: bytes = b"", version: int = 1) -> bytes:
    text = header.encode() + b"\n"
    size = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes((version, 0)) + size + text + body


def _zip(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    return file.getvalue()


def _claiming(packed: bytes, size: int, method: int) -> bytes:
    """A zip file of one member `a.npy` with this packed content, which says that it unpacks to `size` bytes."""
    local = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 46, 0, method, 0, 33, 0, len(packed), size, 8, 0) + b"qpos.npy" + packed
    central = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 46, 46, 0, method, 0, 33, 0, len(packed), size, 8, 0, 0, 0, 0, 0, 0) + b"qpos.npy"
    return local + central + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(central), len(local), 0)


def _deflated(head: bytes, zeros: int) -> bytes:
    packer, parts, block = zlib.compressobj(1, zlib.DEFLATED, -15), [], b"\0" * 2**24
    parts.append(packer.compress(head))
    for _ in range(zeros >> 24):
        parts.append(packer.compress(block))
    return b"".join([*parts, packer.flush()])


def _arrays() -> Iterator[Hostile]:
    large = 480 * 2**20
    rows = large // (66 * 2)
    half = _npy(f"{{'descr': '<f2', 'fortran_order': False, 'shape': ({rows}, 22, 3), }}")
    blocks = bz2.compress(b"\0" * 45_000_000) * 200
    headers = {
        "claims rows": "{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000, 35), }",
        "negative": "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 35), }", "cut header": "{'descr': '<f8', 'shape': (",
        "no type": "{'descr': '<q9', 'fortran_order': False, 'shape': (1, 35), }", "objects": "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        "structured": "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", "deep": "{'descr': " + "(" * 5000 + ")" * 5000 + "}",
        "many axes": f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({'1,' * 100}), }}", "code": "__import__('parc_witness')",
        "empty type": "{'descr': '|S0', 'fortran_order': False, 'shape': (10000000000,), }", "zero width": "{'descr': '|V0', 'fortran_order': False, 'shape': (1, 35), }",
        "overflow": "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 35), }", "bytes": "\\x00" * 100,
        "complex": "{'descr': '<c16', 'fortran_order': False, 'shape': (1, 35), }", "dates": "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1, 35), }",
        "no rows": "{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000, 0), }",
    }  # fmt: skip
    for name, header in headers.items():
        for kind, member in (("qpos", "qpos"), ("smpl", "poses"), ("joints", "positions")):
            yield Hostile(f"npz {name} for {kind}", kind, _data(_zip({f"{member}.npy": _npy(header, b"\0" * 280)})))
        yield Hostile(f"npy {name}", "joint array", _data(_npy(header, b"\0" * 280)))
    other = {
        "unpacks to 2 GB": lambda: _claiming(_deflated(b"", 2**31), 2**31, 8), "unpacks to more than it says": lambda: _claiming(_deflated(b"", 2**31), 1000, 8),
        "bzip2 that unpacks to 9 GB": lambda: _claiming(blocks, 1000, 12), "unknown packing": lambda: _claiming(b"x" * 100, 1000, 99),
        "lzma with a dictionary of 4 GB": lambda: _claiming(b"\x09\x04\x05\x00\x5d\xff\xff\xff\xff" + b"\0" * 100, 1000, 14),
        "many members": lambda: _zip({f"{k}.npy": b"" for k in range(20_000)}), "outside": lambda: _zip({"../../../x.npy": _npy("{}")}),
        "not zip": lambda: b"PK\3\4" + b"x" * 1000, "encrypted": lambda: _zip({"qpos.npy": b"x" * 50}).replace(b"PK\1\2\x14\x03\x14\x00\x00", b"PK\1\2\x14\x03\x14\x00\x01"),
    }  # fmt: skip
    for name, make in other.items():
        yield Hostile(f"npz {name}", "qpos", lambda path, make=make: _data(make())(path))
    packed = lambda: _claiming(_deflated(half, large), len(half) + (large >> 24 << 24), 8)  # noqa: E731
    for kind, member in (("joints", b"data.npy"), ("smpl", b"data.npy")):
        yield Hostile(
            f"npz half floats of 480 MB for {kind}",
            kind,
            lambda path, member=member: _data(packed().replace(b"qpos.npy", member if len(member) == 8 else b"qpos.npy"))(path),
        )


# --- text formats ------------------------------------------------------------------------------------------------------


def _takes() -> Iterator[Hostile]:
    def bvh(channels: str = "6 Xposition Yposition Zposition Zrotation Xrotation Yrotation", frames: str = "2", time: str = "0.03",
            row: str = "0 0 0 0 0 0", count: int = 2, offset: str = "0 0 0", more: str = "") -> bytes:  # fmt: skip
        head = f"HIERARCHY\nROOT a\n{{\nOFFSET {offset}\nCHANNELS {channels}\n{more}End Site\n{{\nOFFSET 0 0 1\n}}\n}}\n"
        return (head + f"MOTION\nFrames: {frames}\nFrame Time: {time}\n" + (row + "\n") * count).encode()

    deep = "JOINT b\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
    table = {
        "blank lines": b"HIERARCHY\n" + b"\n" * 400_000 + b"x", "blanks": b"HIERARCHY\nROOT a" + b" " * 10**6, "superscript": bvh(frames="²"),
        "many digits": bvh(frames="9" * 5000), "frames without end": bvh(frames="10" * 9), "short frames": bvh(time="1e-320"), "no time": bvh(time="0"),
        "time nan": bvh(time="nan"), "time negative": bvh(time="-1"), "nan": bvh(row="nan 0 0 0 0 0"), "inf": bvh(row="inf 0 0 0 0 0"),
        "far": bvh(row="1e9 0 1e9 0 0 0", count=2), "channels": bvh(channels="999999999 Xposition"), "no channels": bvh(channels="0"),
        "a wide row": bvh(row="0 " * 10**6, count=1), "a long number": bvh(row="1" * 10**6), "offset nan": bvh(offset="nan 0 0"), "offset": bvh(offset="1e308 1e308 1e308"),
        "joints in joints": bvh(more=deep * 20_000), "joints beside": bvh(more=(deep + "}\n") * 20_000), "utf-16": bvh().decode().encode("utf-16"),
        "nul": bvh().replace(b"a", b"\0"), "half": bvh()[:60], "empty": b"", "binary": os.urandom(100_000), "many frames": bvh(frames="3000000", count=3_000_000),
        "words": b"a " * 10**7, "one line": b"x" * 5 * 10**7, "brackets": b"HIERARCHY\nROOT a\n" + b"{" * 10**6, "names": bvh(more="JOINT " + "b" * 10**6 + "\n{\nOFFSET 0 0 0\n}\n"),
    }  # fmt: skip
    for name, data in table.items():
        for kind in ("bvh", "raw bvh"):
            yield Hostile(f"{kind} {name}", kind, _data(data))


def _texts(kinds: dict[str, Kind]) -> Iterator[Hostile]:
    table = {
        "deep lists": b"[" * 100_000, "deep objects": b'{"a":' * 100_000, "deep in Frames": b'{"Loop": "none", "Frames": ' + b"[" * 50_000,
        "a number without end": b'{"Frames": [[' + b"9" * 100_000 + b"]]}", "large exponent": b"[1e999999999]", "lists": b"[" + b"[]," * 5_000_000 + b"[]]",
        "nan": b"[NaN, Infinity, -Infinity]", "null": b"null", "surrogate": b'"\\ud800"', "not text": b"\xff\xfe\0\0", "keys": b"{" + b",".join(b'"%d":0' % k for k in range(500_000)) + b"}",
    }  # fmt: skip
    for kind in ("deepmimic", "path", "naming", "run.json", "ledger", "admission", "data set index.json"):
        for name, data in table.items():
            yield Hostile(f"{kind} {name}", kind, _data(data))
    row = [1 / 30, 0, 0.9, 0, 1, 0, 0, 0] + 36 * [0.5]
    frames = {"outlier": [row, [1e9, *row[1:]], row], "texts": [["a" * 10**6], *[["b"]] * 10**4], "zero time": [[0.0, *row[1:]]] * 3,
              "far": [row, [row[0], 1e7, 0, 1e7, *row[4:]], row], "short rows": [[]] * 10**5}  # fmt: skip
    for name, rows in frames.items():
        yield Hostile(f"deepmimic {name}", "deepmimic", _data(json.dumps({"Loop": "none", "Frames": rows}).encode()))


def _lists(kinds: dict[str, Kind], secret: Path) -> Iterator[Hostile]:
    head = "source,first_frame,last_frame,true_fps,skill,unit\n"
    rows = {
        "climbs out": "take.bvh,0,9,30,../../victim/my,cm", "absolute": f"take.bvh,0,9,30,{secret.parent}/my,cm", "nul": "take.bvh,0,9,30,a\0b,cm",
        "backslash": "take.bvh,0,9,30,..\\..\\x,cm", "long": f"take.bvh,0,9,30,{'a' * 5000},cm", "numbers": "a.bvh,1e308,nan,inf,x,cm", "superscript": "a.bvh,²,²,²,x,cm",
        "quotes": '"' * 10**6, "columns": "," * 10**6, "many": "a.bvh,0,1,30,x,cm\n" * 100_000,
    }  # fmt: skip
    for name, text in rows.items():
        yield Hostile(f"shortlist {name}", "shortlist", _data((head + text).encode()))


# --- images and meshes -------------------------------------------------------------------------------------------------


def _images() -> Iterator[Hostile]:
    def png(width: int, height: int, body: bytes = b"", chunks: tuple[tuple[bytes, bytes], ...] = ()) -> bytes:
        parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)), *chunks, (b"IDAT", body), (b"IEND", b"")]
        packed = b"".join(struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in parts)
        return b"\x89PNG\r\n\x1a\n" + packed

    eps = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n"
    zeros = zlib.compress(b"\0" * 2**26, 1)
    table = {
        "eps": eps, "ps": b"%!PS\n", "pdf": b"%PDF-1.4\n", "svg": b'<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>',
        "9000 x 9000": png(9000, 9000, zlib.compress(b"\0" * 9000 * 1126, 1)), "2^31 wide": png(2**31 - 1, 2**31 - 1), "no pixels": png(0, 0),
        "text of 64 MB": png(4, 4, zlib.compress(b"\0" * 8), ((b"zTXt", b"a\0\0" + zeros), (b"iTXt", b"a\0\1\0\0\0" + zeros))),
        "profile of 64 MB": png(4, 4, zlib.compress(b"\0" * 8), ((b"iCCP", b"a\0\0" + zeros),)), "pixels of 64 MB": png(4, 4, zeros),
        "tiff loop": b"II*\0\x08\0\0\0\0\0\x08\0\0\0", "tiff far": b"II*\0\xff\xff\xff\x7f", "gif": b"GIF89a\xff\xff\xff\xff\0\0\0", "webp": b"RIFF\xff\xff\xff\xffWEBPVP8 ",
        "icns": b"icns\xff\xff\xff\xff", "jpeg cut": b"\xff\xd8\xff\xe0\0\x10JFIF\0", "jpeg 65535": b"\xff\xd8\xff\xc0\0\x0b\x08\xff\xff\xff\xff\1\1\x11\0\xff\xd9",
        "frames": png(4, 4, zlib.compress(b"\0" * 8), ((b"acTL", struct.pack(">II", 2**31 - 1, 0)),)),
    }  # fmt: skip
    for name, data in table.items():
        for kind in ("png", "jpg", "tif"):
            yield Hostile(f"{kind} {name}", kind, _data(data))


def _meshes(secret: Path) -> Iterator[Hostile]:
    ply = "ply\nformat ascii 1.0\nelement vertex {n}\nproperty float x\nproperty float y\nproperty float z\nelement face {f}\nproperty list uchar int vertex_indices\nend_header\n{body}"

    def glb(content: dict, binary: bytes = b"") -> bytes:
        text = json.dumps(content).encode()
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<I4s", len(text), b"JSON") + text + (struct.pack("<I4s", len(binary), b"BIN\0") + binary if binary else b"")
        return b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks

    def asset(**more: object) -> dict:
        return {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
                "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
                "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}, {"bufferView": 1, "componentType": 5125, "count": 3, "type": "SCALAR"}],
                "bufferViews": [{"buffer": 0, "byteLength": 36}, {"buffer": 0, "byteOffset": 36, "byteLength": 12}], "buffers": [{"byteLength": 48}]} | more  # fmt: skip

    body = np.array([[0, 0, 0], [1, 0, 0], [0, 0, 1]], "<f4").tobytes() + np.array([0, 1, 2], "<u4").tobytes()
    view = {"byteOffset": 2**40, "buffer": 0, "byteLength": 36}
    accessor = {"bufferView": 0, "componentType": 5126, "count": 10**12, "type": "VEC3"}
    glbs = {
        "file outside": glb(asset(buffers=[{"byteLength": 48, "uri": secret.as_uri()}])), "path outside": glb(asset(buffers=[{"byteLength": 48, "uri": "../" * 9 + str(secret)}])),
        "network": glb(asset(buffers=[{"byteLength": 48, "uri": "http://127.0.0.1:9/x"}])), "claims bytes": glb(asset(buffers=[{"byteLength": 10**15}]), body),
        "view outside": glb(asset(bufferViews=[view, view]), body), "claims points": glb(asset(accessors=[accessor, accessor]), body),
        "node in itself": glb(asset(nodes=[{"mesh": 0, "children": [0]}]), body), "deep": glb(asset())[:20] + b"[" * 100_000, "nodes": glb(asset(nodes=[{"children": [k + 1]} for k in range(20_000)] + [{"mesh": 0}]), body),
        "half": glb(asset(), body)[:100], "scale": glb(asset(nodes=[{"mesh": 0, "scale": [1e30, 1, 1]}]), body), "image": glb(asset(images=[{"uri": secret.as_uri()}]), body),
        "matrix": glb(asset(nodes=[{"mesh": 0, "matrix": [float("nan")] * 16}]), body), "sparse": glb(asset(accessors=[accessor | {"count": 3, "sparse": {"count": 10**9}}] * 2), body),
        "many meshes": glb(asset(nodes=[{"mesh": 0}] * 20_000, scenes=[{"nodes": list(range(20_000))}]), body),
    }  # fmt: skip
    for name, data in glbs.items():
        yield Hostile(f"glb {name}", "glb", _data(data))
    plies = {
        "claims points": ply.format(n=10**12, f=1, body=""), "corner 99": ply.format(n=3, f=1, body="0 0 0\n1 0 0\n0 1 0\n3 0 1 99\n"),
        "corner -5": ply.format(n=3, f=1, body="0 0 0\n1 0 0\n0 1 0\n3 0 1 -5\n"), "wide": ply.format(n=3, f=1, body="0 0 0\n1e9 0 0\n0 1e9 0\n3 0 1 2\n"),
        "1e300": ply.format(n=3, f=1, body="0 0 0\n1e300 0 0\n0 1e300 0\n3 0 1 2\n"), "nan": ply.format(n=3, f=1, body="0 0 0\nnan 0 0\n0 1 0\n3 0 1 2\n"),
        "no end": "ply\nformat ascii 1.0\n" + "comment x\n" * 300_000, "texture": ply.format(n=3, f=1, body="0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n").replace("element vertex", f"comment TextureFile {secret}\nelement vertex"),
        "binary claims": ply.replace("ascii", "binary_little_endian").format(n=2**31, f=2**31, body="x" * 50),
        "polygon": ply.format(n=3, f=1, body="0 0 0\n1 0 0\n0 1 0\n" + f"{10**6} " + "0 " * 10**6),
    }  # fmt: skip
    for name, text in plies.items():
        yield Hostile(f"ply {name}", "ply", _data(text.encode()))
    objs = {
        "material outside": f"mtllib {secret}\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl x\nf 1 2 3\n", "corner 0": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 0 1 2\n",
        "corner far": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 999999999999\n", "wide": "v 0 0 0\nv 1e9 0 0\nv 0 1e9 0\nf 1 2 3\n", "words": "v a b c\nf x y z\n",
        "faces": "v 0 0 0\nv 1 0 0\nv 0 1 0\n" + "f 1 2 3\n" * 300_000, "polygon": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf " + "1 2 3 " * 300_000 + "\n", "groups": "o a\n" * 100_000 + "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
        "continued": "v 0 0 0\\\n" * 100_000,
    }  # fmt: skip
    for name, text in objs.items():
        yield Hostile(f"obj {name}", "obj", _data(text.encode()))
    far = np.zeros(1, dtype=[("n", "<f4", 3), ("v", "<f4", (3, 3)), ("a", "<u2")])
    far["v"] = [[0, 0, 0], [1e9, 0, 0], [0, 1e9, 0]]
    stls = {"claims": b"\0" * 80 + struct.pack("<I", 2**32 - 1), "far": b"\0" * 80 + struct.pack("<I", 1) + far.tobytes(), "text": b"solid a\n" + b"facet " * 300_000, "empty": b""}
    for name, data in stls.items():
        yield Hostile(f"stl {name}", "stl", _data(data))


# --- safetensors: clips, terrains, models ------------------------------------------------------------------------------


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
            "size of 2^63": struct.pack("<Q", 2**63) + b"x" * 100, "size of 2^32": struct.pack("<Q", 2**32) + b"x" * 100, "deep": packed(b"[" * 100_000, body),
            "no header": packed({}, b""), "two of one place": packed(header | {"x": entry}, body), "type": packed(header | {first: entry | {"dtype": "F4"}}, body),
            "shape": packed(header | {first: entry | {"shape": [2**40, 2**40]}}, body), "negative": packed(header | {first: entry | {"shape": [-1]}}, body),
            "offsets": packed(header | {first: entry | {"data_offsets": [0, 2**60]}}, body), "note deep": changed("[" * 100_000), "note null": changed("null"), "note cut": changed("{"),
            "note of numbers": changed({key: 7 for key in inner}), "note of texts": changed({key: "x" for key in inner}), "note of lists": changed({key: [] for key in inner}),
            "note of objects": changed({key: {} for key in inner}), "empty": b"", "cut": kinds[kind].data()[:-5], "nan": packed(header, b"\xff\xff\xff\x7f" * (len(body) // 4) + b"\0" * (len(body) % 4)),
        }  # fmt: skip
        for name, data in table.items():
            yield Hostile(f"{kind} {name}", kind, _data(data))
        if kind == "generator":
            for change in ({"layers": 10**7}, {"hidden": 10**6}, {"width": 10**6}, {"layers": -1}, {"layers": "4"}, {"heads": 0}, {"width": None}, {"layers": 10**400}):
                network = inner["settings"]["network"] | change
                yield Hostile(f"generator {str(change)[:30]}", kind, _data(changed(inner | {"settings": inner["settings"] | {"network": network}})))
        if kind in ("motion", "data set shard-000001.safetensors"):
            for change in ({"fps": 1e300}, {"fps": "inf"}, {"fps": -1}, {"frames": -1}, {"frames": 10**12}, {"size": [10**9, 10**9]}, {"cell": 1e-300}, {"cell": 0},
                           {"name": "../../x"}, {"name": "\0"}, {"name": 7}, {"bodies": 0}, {"bodies": 10**9}, {"path_nodes": -1}, {"provenance": 7}):  # fmt: skip
                clips = [inner["clips"][0] | change, *inner["clips"][1:]]
                yield Hostile(f"{kind} {str(change)[:30]}", kind, _data(changed(inner | {"clips": clips})))


# --- places that are no files, and names that lead elsewhere -----------------------------------------------------------


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

    for kind in ("bvh", "raw bvh", "qpos", "motion", "parc pickle", "deepmimic", "terrain", "png", "obj", "glb", "stl", "ply", "generator", "actor", "path", "naming",
                 "shortlist", "run.json", "ledger", "admission", "data set index.json", "data set shard-000001.safetensors"):  # fmt: skip
        for name, make in {"pipe": pipe, "zeros without end": link("/dev/zero"), "folder": folder, "link to itself": lambda p: link(p.name)(p), "a hole of 1 TB": hole}.items():
            yield Hostile(f"{kind} is a {name}", kind, make)
    index = json.loads(kinds["data set index.json"].data())
    index.pop("sha256", None)
    shard = index["shards"][0]
    for name, change in {
        "file above": {"shards": [shard | {"file": "../shard-000001.safetensors"}]}, "file absolute": {"shards": [shard | {"file": str(secret)}]},
        "next shard": {"next_shard": 1}, "next shard far": {"next_shard": 10**400}, "one twice": {"shards": [shard, shard]}, "clips": {"shards": [shard | {"clips": 9}]},
        "no number": {"shards": [shard | {"clips": None}]}, "fewer": {"shards": [shard]}, "none": {"shards": []}, "text": {"shards": "x"}, "schema": {"schema": 10**9}, "first schema": {"schema": 1, "shards": [shard | {"file": "../../x"}]},
    }.items():  # fmt: skip
        digest = hashlib.sha256(json.dumps(index | change, sort_keys=True).encode()).hexdigest()
        yield Hostile(f"index {name}", "data set index.json", _data(json.dumps(index | change | {"sha256": digest}).encode()))
    ledger = json.loads(kinds["ledger"].data())
    stage = ledger["stages"]["start"]
    for name, stages in {
        "output above": {"start": stage | {"outputs": {"../../x": {"sha256": "0", "bytes": 1, "mtime_ns": 1}}}}, "stage above": {"../../x": stage}, "absolute": {"/tmp/x": stage},
        "nul": {"a\0b": stage}, "long": {"a" * 5000: stage}, "numbers": {"start": stage | {"began": "x", "seconds": []}},
    }.items():  # fmt: skip
        yield Hostile(f"ledger {name}", "ledger", _data(json.dumps(ledger | {"stages": stages}).encode()))
