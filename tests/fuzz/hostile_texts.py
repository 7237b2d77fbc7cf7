"""Texts, lists, images and meshes that hang, eat memory, name other files or are programs."""

import json
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from hostile_case import Hostile, content


def takes() -> Iterator[Hostile]:
    def bvh(
        channels: str = "6 Xposition Yposition Zposition Zrotation Xrotation Yrotation",
        frames: str = "2",
        time: str = "0.03",
        row: str = "0 0 0 0 0 0",
        count: int = 2,
        offset: str = "0 0 0",
        more: str = "",
    ) -> bytes:
        head = f"HIERARCHY\nROOT a\n{{\nOFFSET {offset}\nCHANNELS {channels}\n{more}End Site\n{{\nOFFSET 0 0 1\n}}\n}}\n"
        return (head + f"MOTION\nFrames: {frames}\nFrame Time: {time}\n" + (row + "\n") * count).encode()

    deep = "JOINT b\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
    table = {
        "blank lines": b"HIERARCHY\n" + b"\n" * 400_000 + b"x",
        "blanks": b"HIERARCHY\nROOT a" + b" " * 10**6,
        "superscript": bvh(frames="²"),
        "many digits": bvh(frames="9" * 5000),
        "frames without end": bvh(frames="10" * 9),
        "short frames": bvh(time="1e-320"),
        "no time": bvh(time="0"),
        "time nan": bvh(time="nan"),
        "time negative": bvh(time="-1"),
        "nan": bvh(row="nan 0 0 0 0 0"),
        "inf": bvh(row="inf 0 0 0 0 0"),
        "far": bvh(row="1e9 0 1e9 0 0 0", count=2),
        "channels": bvh(channels="999999999 Xposition"),
        "no channels": bvh(channels="0"),
        "a wide row": bvh(row="0 " * 10**6, count=1),
        "a long number": bvh(row="1" * 10**6),
        "offset nan": bvh(offset="nan 0 0"),
        "offset": bvh(offset="1e308 1e308 1e308"),
        "joints in joints": bvh(more=deep * 20_000),
        "joints beside": bvh(more=(deep + "}\n") * 20_000),
        "utf-16": bvh().decode().encode("utf-16"),
        "nul": bvh().replace(b"a", b"\0"),
        "half": bvh()[:60],
        "empty": b"",
        "binary": os.urandom(100_000),
        "many frames": bvh(frames="3000000", count=3_000_000),
        "words": b"a " * 10**7,
        "one line": b"x" * 5 * 10**7,
        "brackets": b"HIERARCHY\nROOT a\n" + b"{" * 10**6,
        "names": bvh(more="JOINT " + "b" * 10**6 + "\n{\nOFFSET 0 0 0\n}\n"),
    }
    for name, data in table.items():
        for kind in ("bvh", "raw bvh"):
            yield Hostile(f"{kind} {name}", kind, content(data))


def texts() -> Iterator[Hostile]:
    table = {
        "deep lists": b"[" * 100_000,
        "deep objects": b'{"a":' * 100_000,
        "deep in Frames": b'{"Loop": "none", "Frames": ' + b"[" * 50_000,
        "a number without end": b'{"Frames": [[' + b"9" * 100_000 + b"]]}",
        "large exponent": b"[1e999999999]",
        "lists": b"[" + b"[]," * 5_000_000 + b"[]]",
        "nan": b"[NaN, Infinity, -Infinity]",
        "null": b"null",
        "surrogate": b'"\\ud800"',
        "not text": b"\xff\xfe\0\0",
        "keys": b"{" + b",".join(b'"%d":0' % k for k in range(500_000)) + b"}",
    }
    for kind in ("deepmimic", "path", "naming", "run.json", "ledger", "admission", "data set index.json"):
        for name, data in table.items():
            yield Hostile(f"{kind} {name}", kind, content(data))
    row = [1 / 30, 0, 0.9, 0, 1, 0, 0, 0] + 36 * [0.5]
    frames = {
        "outlier": [row, [1e9, *row[1:]], row],
        "texts": [["a" * 10**6], *[["b"]] * 10**4],
        "zero time": [[0.0, *row[1:]]] * 3,
        "far": [row, [row[0], 1e7, 0, 1e7, *row[4:]], row],
        "short rows": [[]] * 10**5,
    }
    for name, rows in frames.items():
        yield Hostile(f"deepmimic {name}", "deepmimic", content(json.dumps({"Loop": "none", "Frames": rows}).encode()))


def lists(secret: Path) -> Iterator[Hostile]:
    head = "source,first_frame,last_frame,true_fps,skill,unit\n"
    rows = {
        "climbs out": "take.bvh,0,9,30,../../victim/my,cm",
        "absolute": f"take.bvh,0,9,30,{secret.parent}/my,cm",
        "nul": "take.bvh,0,9,30,a\0b,cm",
        "backslash": "take.bvh,0,9,30,..\\..\\x,cm",
        "long": f"take.bvh,0,9,30,{'a' * 5000},cm",
        "numbers": "a.bvh,1e308,nan,inf,x,cm",
        "superscript": "a.bvh,²,²,²,x,cm",
        "quotes": '"' * 10**6,
        "columns": "," * 10**6,
        "many": "a.bvh,0,1,30,x,cm\n" * 100_000,
    }
    for name, text in rows.items():
        yield Hostile(f"shortlist {name}", "shortlist", content((head + text).encode()))


def images() -> Iterator[Hostile]:
    def png(width: int, height: int, body: bytes = b"", chunks: tuple[tuple[bytes, bytes], ...] = ()) -> bytes:
        parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)), *chunks, (b"IDAT", body), (b"IEND", b"")]
        packed = b"".join(struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in parts)
        return b"\x89PNG\r\n\x1a\n" + packed

    eps = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n"
    zeros = zlib.compress(b"\0" * 2**26, 1)
    table = {
        "eps": eps,
        "ps": b"%!PS\n",
        "pdf": b"%PDF-1.4\n",
        "svg": b'<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>',
        "9000 x 9000": png(9000, 9000, zlib.compress(b"\0" * 9000 * 1126, 1)),
        "2^31 wide": png(2**31 - 1, 2**31 - 1),
        "no pixels": png(0, 0),
        "text of 64 MB": png(4, 4, zlib.compress(b"\0" * 8), ((b"zTXt", b"a\0\0" + zeros), (b"iTXt", b"a\0\1\0\0\0" + zeros))),
        "profile of 64 MB": png(4, 4, zlib.compress(b"\0" * 8), ((b"iCCP", b"a\0\0" + zeros),)),
        "pixels of 64 MB": png(4, 4, zeros),
        "tiff loop": b"II*\0\x08\0\0\0\0\0\x08\0\0\0",
        "tiff far": b"II*\0\xff\xff\xff\x7f",
        "gif": b"GIF89a\xff\xff\xff\xff\0\0\0",
        "webp": b"RIFF\xff\xff\xff\xffWEBPVP8 ",
        "icns": b"icns\xff\xff\xff\xff",
        "jpeg cut": b"\xff\xd8\xff\xe0\0\x10JFIF\0",
        "jpeg 65535": b"\xff\xd8\xff\xc0\0\x0b\x08\xff\xff\xff\xff\1\1\x11\0\xff\xd9",
        "frames": png(4, 4, zlib.compress(b"\0" * 8), ((b"acTL", struct.pack(">II", 2**31 - 1, 0)),)),
    }
    for name, data in table.items():
        for kind in ("png", "jpg", "tif"):
            yield Hostile(f"{kind} {name}", kind, content(data))


def meshes(secret: Path) -> Iterator[Hostile]:
    ply = "ply\nformat ascii 1.0\nelement vertex {n}\nproperty float x\nproperty float y\nproperty float z\n"
    ply += "element face {f}\nproperty list uchar int vertex_indices\nend_header\n{body}"

    def glb(content: dict, binary: bytes = b"") -> bytes:
        text = json.dumps(content).encode()
        text += b" " * (-len(text) % 4)
        chunks = (
            struct.pack("<I4s", len(text), b"JSON")
            + text
            + (struct.pack("<I4s", len(binary), b"BIN\0") + binary if binary else b"")
        )
        return b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks

    def asset(**more: object) -> dict:
        return {
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": [{"mesh": 0}],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
            "accessors": [
                {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
                {"bufferView": 1, "componentType": 5125, "count": 3, "type": "SCALAR"},
            ],
            "bufferViews": [{"buffer": 0, "byteLength": 36}, {"buffer": 0, "byteOffset": 36, "byteLength": 12}],
            "buffers": [{"byteLength": 48}],
        } | more

    body = np.array([[0, 0, 0], [1, 0, 0], [0, 0, 1]], "<f4").tobytes() + np.array([0, 1, 2], "<u4").tobytes()
    view = {"byteOffset": 2**40, "buffer": 0, "byteLength": 36}
    accessor = {"bufferView": 0, "componentType": 5126, "count": 10**12, "type": "VEC3"}
    glbs = {
        "file outside": glb(asset(buffers=[{"byteLength": 48, "uri": secret.as_uri()}])),
        "path outside": glb(asset(buffers=[{"byteLength": 48, "uri": "../" * 9 + str(secret)}])),
        "network": glb(asset(buffers=[{"byteLength": 48, "uri": "http://127.0.0.1:9/x"}])),
        "claims bytes": glb(asset(buffers=[{"byteLength": 10**15}]), body),
        "view outside": glb(asset(bufferViews=[view, view]), body),
        "claims points": glb(asset(accessors=[accessor, accessor]), body),
        "node in itself": glb(asset(nodes=[{"mesh": 0, "children": [0]}]), body),
        "deep": glb(asset())[:20] + b"[" * 100_000,
        "nodes": glb(asset(nodes=[{"children": [k + 1]} for k in range(20_000)] + [{"mesh": 0}]), body),
        "half": glb(asset(), body)[:100],
        "scale": glb(asset(nodes=[{"mesh": 0, "scale": [1e30, 1, 1]}]), body),
        "image": glb(asset(images=[{"uri": secret.as_uri()}]), body),
        "matrix": glb(asset(nodes=[{"mesh": 0, "matrix": [float("nan")] * 16}]), body),
        "sparse": glb(asset(accessors=[accessor | {"count": 3, "sparse": {"count": 10**9}}] * 2), body),
        "many meshes": glb(asset(nodes=[{"mesh": 0}] * 20_000, scenes=[{"nodes": list(range(20_000))}]), body),
    }
    for name, data in glbs.items():
        yield Hostile(f"glb {name}", "glb", content(data))
    plies = {
        "claims points": ply.format(n=10**12, f=1, body=""),
        "corner 99": ply.format(n=3, f=1, body="0 0 0\n1 0 0\n0 1 0\n3 0 1 99\n"),
        "corner -5": ply.format(n=3, f=1, body="0 0 0\n1 0 0\n0 1 0\n3 0 1 -5\n"),
        "wide": ply.format(n=3, f=1, body="0 0 0\n1e9 0 0\n0 1e9 0\n3 0 1 2\n"),
        "1e300": ply.format(n=3, f=1, body="0 0 0\n1e300 0 0\n0 1e300 0\n3 0 1 2\n"),
        "nan": ply.format(n=3, f=1, body="0 0 0\nnan 0 0\n0 1 0\n3 0 1 2\n"),
        "no end": "ply\nformat ascii 1.0\n" + "comment x\n" * 300_000,
        "texture": ply.format(n=3, f=1, body="0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n").replace(
            "element vertex", f"comment TextureFile {secret}\nelement vertex"
        ),
        "binary claims": ply.replace("ascii", "binary_little_endian").format(n=2**31, f=2**31, body="x" * 50),
        "polygon": ply.format(n=3, f=1, body="0 0 0\n1 0 0\n0 1 0\n" + f"{10**6} " + "0 " * 10**6),
    }
    for name, text in plies.items():
        yield Hostile(f"ply {name}", "ply", content(text.encode()))
    objs = {
        "material outside": f"mtllib {secret}\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl x\nf 1 2 3\n",
        "corner 0": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 0 1 2\n",
        "corner far": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 999999999999\n",
        "wide": "v 0 0 0\nv 1e9 0 0\nv 0 1e9 0\nf 1 2 3\n",
        "words": "v a b c\nf x y z\n",
        "faces": "v 0 0 0\nv 1 0 0\nv 0 1 0\n" + "f 1 2 3\n" * 300_000,
        "polygon": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf " + "1 2 3 " * 300_000 + "\n",
        "groups": "o a\n" * 100_000 + "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
        "continued": "v 0 0 0\\\n" * 100_000,
    }
    for name, text in objs.items():
        yield Hostile(f"obj {name}", "obj", content(text.encode()))
    far = np.zeros(1, dtype=[("n", "<f4", 3), ("v", "<f4", (3, 3)), ("a", "<u2")])
    far["v"] = [[0, 0, 0], [1e9, 0, 0], [0, 1e9, 0]]
    stls = {
        "claims": b"\0" * 80 + struct.pack("<I", 2**32 - 1),
        "far": b"\0" * 80 + struct.pack("<I", 1) + far.tobytes(),
        "text": b"solid a\n" + b"facet " * 300_000,
        "empty": b"",
    }
    for name, data in stls.items():
        yield Hostile(f"stl {name}", "stl", content(data))
