"""Pickles that call something, small ones that become large, and arrays that claim, unpack to, or are what they should not be."""

import bz2
import io
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from hostile_case import Hostile, content

MODULE = "parc_witness"
"""a module in the folder of the case that leaves a trace when it is imported"""


def calls(witness: Path) -> Iterator[Hostile]:
    touch = f"touch {witness}"
    code = f"open({str(witness)!r}, 'w').close()"
    calls = {
        "os system": ("os", "system", (touch,)),
        "posix system": ("posix", "system", (touch,)),
        "nt system": ("nt", "system", (touch,)),
        "popen": ("subprocess", "Popen", (touch, -1, None, None, None, None, None, True, True)),
        "check_output": ("subprocess", "check_output", (["touch", str(witness)],)),
        "exec": ("builtins", "exec", (code,)),
        "eval": ("builtins", "eval", (code,)),
        "compile": ("builtins", "compile", (code, "x", "exec")),
        "open": ("builtins", "open", (str(witness), "w")),
        "io open": ("io", "open", (str(witness), "w")),
        "import": ("builtins", "__import__", (MODULE,)),
        "import_module": ("importlib", "import_module", (MODULE,)),
        "runpy": ("runpy", "run_module", (MODULE,)),
        "mkdir": ("os", "mkdir", (str(witness),)),
        "rmtree": ("shutil", "rmtree", (str(witness.parent),)),
        "pathlib": ("pathlib", "Path.touch", (str(witness),)),
        "dlopen": ("ctypes", "CDLL", ("libc.so.6",)),
        "socket": ("socket", "create_connection", (("127.0.0.1", 9),)),
        "webbrowser": ("webbrowser", "open", ("http://127.0.0.1:9",)),
        "timeit": ("timeit", "timeit", (code,)),
        "profile": ("cProfile", "run", (code,)),
        "pydoc": ("pydoc", "locate", (f"{MODULE}.x",)),
        "getattr": ("builtins", "getattr", (1, "real")),
        "torch load": ("torch", "load", (str(witness),)),
        "numpy load": ("numpy", "load", (str(witness),)),
        "numpy save": ("numpy", "save", (str(witness), 1)),
        "numpy runstring": ("numpy.testing._private.utils", "runstring", (code, {})),
        "operator": ("operator", "attrgetter", ("__class__",)),
        "pickle": ("pickle", "loads", (b"N.",)),
        "code": ("code", "interact", ()),
    }
    for name, (module, attribute, arguments) in calls.items():
        for where, kind in (("itself", "parc pickle"), ("a field", "mimickit"), ("frames", "mimickit"), ("in an npz", "qpos")):
            call = _call(module, attribute, arguments)
            if where == "itself":
                data = b"\x80\x02" + call + b"."
            elif where == "in an npz":
                data = _zip(
                    {"qpos.npy": _npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", b"\x80\x02" + call + b".")}
                )
            else:
                key = "loop_mode" if where == "a field" else "frames"
                good = pickle.dumps({"fps": 30, "loop_mode": 0, "frames": [[0.0] * 34] * 3}, protocol=2)
                data = good[:-2] + b"X" + len(key).to_bytes(4, "little") + key.encode() + call + b"su."
            yield Hostile(f"pickle {name} as {where}", kind, content(data))
    build = b"\x80\x04\x8c\x16numpy.core.multiarray\x8c\x0c_reconstruct\x93N}\x8c\x08__code__K\x01s\x86b."
    for name, data in {
        "build on a function": build,
        "dotted name": b"\x80\x04\x8c\x05numpy\x8c\x13dtype.__class__.mro\x93.",
        "persistent": b"\x80\x04\x8c\x01xQ.",
        "extension": b"\x80\x02\x82\x01.",
        "inst": b"(S'" + touch.encode() + b"'\nios\nsystem\n.",
        "obj": b"(cos\nsystem\nX" + len(touch).to_bytes(4, "little") + touch.encode() + b"o.",
        "newobj": b"\x80\x04\x8c\x0asubprocess\x8c\x05Popen\x93\x8c\x04true\x85\x81.",
    }.items():
        yield Hostile(f"pickle {name}", "parc pickle", content(data))


def _call(module: str, attribute: str, arguments: tuple) -> bytes:
    return b"c" + f"{module}\n{attribute}\n".encode() + pickle.dumps(arguments, protocol=2)[2:-1] + b"R"


def bombs() -> Iterator[Hostile]:
    def nested(make: Callable, depth: int) -> bytes:
        value = make(1, 2)
        for _ in range(depth):
            value = make(value, value)
        return pickle.dumps(value, protocol=2)[2:-1]

    pairs, laughs = nested(lambda a, b: (a, b), 45), nested(lambda a, b: [a, b], 45)
    good = pickle.dumps({"fps": 30, "loop_mode": 0, "frames": [[0.0] * 34] * 3}, protocol=2)
    table = {
        f"laughs as {key}": good[:-2] + b"X" + len(key).to_bytes(4, "little") + key.encode() + laughs + b"su."
        for key in ("fps", "loop_mode", "frames", "other")
    }
    table |= {
        "a tuple as a key": b"\x80\x02}" + pairs + b"K\x01s.",
        "a tuple in a set": b"\x80\x04\x8f(" + pairs + b"\x90.",
        "lists in lists": b"\x80\x04" + b"]" * 200_000 + b"a" * 200_000 + b".",
        "claimed bytes": b"\x80\x04\x8e" + (1 << 40).to_bytes(8, "little") + b"x.",
        "claimed text": b"\x80\x04\x8d" + (1 << 62).to_bytes(8, "little") + b"x.",
        "claimed bytearray": b"\x80\x05\x96" + (1 << 40).to_bytes(8, "little") + b".",
        "memo": b"\x80\x04Nr\xff\xff\xff\xff.",
        "long integer": b"\x80\x02\x8b" + (2**24).to_bytes(4, "little") + b"\x7f" * 2**24 + b".",
        "decimal integer": b"L" + b"9" * 500_000 + b"L\n.",
        "fps": pickle.dumps({"fps": 10**400, "loop_mode": 0, "frames": [[0.0] * 34] * 3}),
        "far": pickle.dumps({"fps": 30, "loop_mode": 0, "frames": [[0.0] * 34, [1e7, 1e7, *[0.0] * 32]]}),
        "texts": pickle.dumps({"fps": 30, "loop_mode": 0, "frames": [["a" * 10**6], *[["b"]] * 10**4]}),
        "ragged": pickle.dumps({"fps": 30, "loop_mode": 0, "frames": [[0.0] * (k % 50) for k in range(20_000)]}),
        "zero fps": pickle.dumps({"fps": 0, "loop_mode": 0, "frames": [[0.0] * 34] * 3}),
        "one shared row": pickle.dumps({"fps": 30, "loop_mode": 0, "frames": [[0.0] * 34] * 400_000}),
    }
    for name, data in table.items():
        yield Hostile(f"pickle {name}", "mimickit", content(data))


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


def _claiming(packed: bytes, size: int, method: int, name: bytes = b"qpos.npy", check: int = 0) -> bytes:
    """A zip file of one member with this packed content, which says that it unpacks to `size` bytes of the CRC `check`."""
    sizes = (check, len(packed), size, len(name))
    local = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 46, 0, method, 0, 33, *sizes, 0) + name + packed
    central = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 46, 46, 0, method, 0, 33, *sizes, 0, 0, 0, 0, 0, 0) + name
    return local + central + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(central), len(local), 0)


def _deflated(head: bytes, zeros: int) -> bytes:
    packer, parts, block = zlib.compressobj(1, zlib.DEFLATED, -15), [], b"\0" * 2**24
    parts.append(packer.compress(head))
    parts.extend(packer.compress(block) for _ in range(zeros >> 24))
    return b"".join([*parts, packer.flush()])


def arrays() -> Iterator[Hostile]:
    large = 480 * 2**20
    rows = large // (66 * 2)
    half = _npy(f"{{'descr': '<f2', 'fortran_order': False, 'shape': ({rows}, 22, 3), }}")
    blocks = bz2.compress(b"\0" * 45_000_000) * 200
    headers = {
        "claims rows": "{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000, 35), }",
        "negative": "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 35), }",
        "cut header": "{'descr': '<f8', 'shape': (",
        "no type": "{'descr': '<q9', 'fortran_order': False, 'shape': (1, 35), }",
        "objects": "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        "structured": "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }",
        "deep": "{'descr': " + "(" * 5000 + ")" * 5000 + "}",
        "many axes": f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({'1,' * 100}), }}",
        "code": "__import__('parc_witness')",
        "empty type": "{'descr': '|S0', 'fortran_order': False, 'shape': (10000000000,), }",
        "zero width": "{'descr': '|V0', 'fortran_order': False, 'shape': (1, 35), }",
        "overflow": "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 35), }",
        "bytes": "\\x00" * 100,
        "complex": "{'descr': '<c16', 'fortran_order': False, 'shape': (1, 35), }",
        "dates": "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1, 35), }",
        "no rows": "{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000, 0), }",
    }
    for name, header in headers.items():
        for kind, member in (("qpos", "qpos"), ("smpl", "poses"), ("joints", "positions")):
            yield Hostile(f"npz {name} for {kind}", kind, content(_zip({f"{member}.npy": _npy(header, b"\0" * 280)})))
        yield Hostile(f"npy {name}", "joint array", content(_npy(header, b"\0" * 280)))
    other = {
        "unpacks to 2 GB": lambda: _claiming(_deflated(b"", 2**31), 2**31, 8),
        "unpacks to more than it says": lambda: _claiming(_deflated(b"", 2**31), 1000, 8),
        "bzip2 that unpacks to 9 GB": lambda: _claiming(blocks, 1000, 12),
        "unknown packing": lambda: _claiming(b"x" * 100, 1000, 99),
        "lzma with a dictionary of 4 GB": lambda: _claiming(b"\x09\x04\x05\x00\x5d\xff\xff\xff\xff" + b"\0" * 100, 1000, 14),
        "many members": lambda: _zip({f"{k}.npy": b"" for k in range(20_000)}),
        "outside": lambda: _zip({"../../../x.npy": _npy("{}")}),
        "not zip": lambda: b"PK\3\4" + b"x" * 1000,
        "encrypted": lambda: _zip({"qpos.npy": b"x" * 50}).replace(b"PK\1\2\x14\x03\x14\x00\x00", b"PK\1\2\x14\x03\x14\x00\x01"),
    }
    for name, make in other.items():
        yield Hostile(f"npz {name}", "qpos", lambda path, make=make: content(make())(path))

    def halves(name: bytes) -> bytes:
        body = b"\0" * (large >> 24 << 24)
        return _claiming(_deflated(half, large), len(half) + len(body), 8, name, zlib.crc32(body, zlib.crc32(half)))

    for kind, member in (("joints", b"positions.npy"), ("smpl", b"poses.npy"), ("qpos", b"qpos.npy")):
        yield Hostile(f"npz half floats of 480 MB for {kind}", kind, lambda path, member=member: content(halves(member))(path))
