"""Small files that once ended a program with a traceback, took minutes or gigabytes, or did what files must not do."""

import bz2
import io
import json
import os
import pickle
import re
import struct
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from parc.author.procedural_walk import stroll
from parc.character import humanoid
from parc.correct.synthesise_clips import unit_notes
from parc.dataset import Clip, Dataset, DatasetWriter, import_folder, load_clip, save_clip
from parc.dataset.clip_entry import ClipEntry
from parc.dataset.convert import array_file
from parc.dataset.flat_terrain import flat_ground
from parc.errors import DatasetError, FormatError, MotionError, ParcError
from parc.evaluate.result_cache import PartStore
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.loop.admit_clips import read_admission
from parc.loop.ledger import Ledger
from parc.mocap.make.build_report import row_notes
from parc.mocap.read.read_take import read_take
from parc.path import TerrainPath
from parc.record.record_clips import RecordSettings, _claim, _unit_notes
from parc.run.checkpoint import load_checkpoint, save_checkpoint
from parc.run.dataclass_json import from_json
from parc.run.settings_guard import agree
from parc.terrain import Terrain, load_terrain

SECONDS = 5.0


@pytest.fixture(scope="module")
def walk() -> Clip:
    return stroll(Terrain.flat((10, 4)), TerrainPath(torch.tensor([[0.4, 0.6, 0.0], [3.2, 0.6, 0.0]])))


def bvh(walk: Clip, folder: Path, change: Callable[[str], str]) -> bytes:
    save_clip(walk, folder / "good.bvh", humanoid())
    text = (folder / "good.bvh").read_text()
    (folder / "good.bvh").unlink()
    changed = change(text)
    assert changed != text
    return changed.encode()


def npz(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as packed:
        for name, data in members.items():
            packed.writestr(f"{name}.npy", data)
    return file.getvalue()


def npy(header: str, body: bytes = b"") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


def mimickit(**changes: object) -> bytes:
    return pickle.dumps({"loop_mode": 0, "fps": 30, "frames": [[0.0] * 34] * 3} | changes)


def laughs() -> list:
    value: list = [1, 2]
    for _ in range(40):
        value = [value, value]
    return value


ROW = [1 / 30, 0, 0.9, 0, 1, 0, 0, 0] + 36 * [0.5]
FOUND: dict[str, Callable[[Clip, Path], bytes]] = {
    "superscript.bvh": lambda w, f: bvh(w, f, lambda t: t.replace("Frames: ", "Frames: ²", 1).replace("²8", "²")),
    "many_digits.bvh": lambda w, f: bvh(w, f, lambda t: t.replace("Frames: ", "Frames: " + "9" * 5000, 1)),
    "short_frames.bvh": lambda w, f: bvh(w, f, lambda t: t.replace("Frame Time: 0.0", "Frame Time: 1e-320 ", 1)),
    "blank.bvh": lambda w, f: b"HIERARCHY\n" + b"\n" * 400_000 + b"x",
    "joints.bvh": lambda w, f: (
        b"HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n" + b"JOINT b { OFFSET 0 0 0 " * 20_000
    ),
    "deep.txt": lambda w, f: b"[" * 100_000,
    "texts.txt": lambda w, f: json.dumps({"Frames": [["a" * 1_000_000], *[["b"]] * 10_000]}).encode(),
    "outlier.txt": lambda w, f: json.dumps({"Loop": "none", "Frames": [ROW, [1e9, *ROW[1:]], ROW, ROW, ROW]}).encode(),
    "header.npz": lambda w, f: npz(qpos=npy("{'descr': '<f8', 'shape': ("), fps=npy("{'descr': '<f8', ")),
    "claim.npz": lambda w, f: npz(qpos=npy("{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000, 35), }")),
    "fps.pkl": lambda w, f: mimickit(fps=10**400),
    "laughs.pkl": lambda w, f: mimickit(fps=laughs()),
    "loops.pkl": lambda w, f: mimickit(loop_mode=laughs()),
    "frames.pkl": lambda w, f: mimickit(frames=laughs()),
    "texts.pkl": lambda w, f: mimickit(frames=[["a" * 1_000_000], *[["b"]] * 10_000]),
    "far.pkl": lambda w, f: mimickit(frames=[[0.0] * 34, [1e7] + [0.0] * 33]),
    "empty.motion": lambda w, f: b"",
}


@pytest.mark.parametrize("name", FOUND)
def test_a_found_file_is_a_sentence_that_names_it(walk: Clip, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(FOUND[name](walk, tmp_path))
    for read in (load_clip, read_take):
        tracemalloc.start()
        began = time.process_time()
        with pytest.raises(ParcError) as error:
            read(path, humanoid())
        took, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert path.stem in str(error.value) and "\n" not in str(error.value)
        assert took < SECONDS and peak < 2**29


@pytest.mark.parametrize("workers", [0, 2])
def test_an_import_goes_on_past_all_of_them(walk: Clip, tmp_path: Path, workers: int) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for name, make in FOUND.items():
        (folder / name).write_bytes(make(walk, tmp_path))
    for name in ("a_first", "z_last"):
        save_clip(walk, folder / f"{name}.motion")
    os.mkfifo(folder / "pipe.bvh")
    report = import_folder(folder, tmp_path / "set", humanoid(), workers=workers)
    assert report.imported == Dataset.open(tmp_path / "set").names == ["a_first", "z_last"]
    assert set(report.failed) == set(FOUND)


def test_what_no_one_thought_of_ends_one_file_and_not_the_import(
    walk: Clip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the program itself in one reader."""
    from parc.dataset import folder_import as module

    def read(path: Path, character: object) -> Clip:
        if path.stem == "b":
            raise ZeroDivisionError("division by zero")
        return load_clip(path, humanoid())

    (tmp_path / "files").mkdir()
    for name in "abc":
        save_clip(walk, tmp_path / "files" / f"{name}.motion")
    monkeypatch.setattr(module, "load_clip", read)
    report = import_folder(tmp_path / "files", tmp_path / "set", humanoid())
    assert report.imported == ["a", "c"] and "b.motion cannot be read (ZeroDivisionError" in report.failed["b.motion"]


def test_pipes_and_devices_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for target in (tmp_path / "pipe", Path("/dev/zero")):
        for suffix, read in (
            (".bvh", lambda p: load_clip(p, humanoid())), (".motion", lambda p: load_clip(p, humanoid())),
            (".npz", lambda p: read_take(p, humanoid())), (".png", load_terrain), (".obj", load_terrain),
            (".terrain", load_terrain), (".safetensors", load_checkpoint),
        ):  # fmt: skip
            link = tmp_path / f"link{suffix}"
            link.unlink(missing_ok=True)
            link.symlink_to(target)
            with pytest.raises(ParcError, match="a pipe or a device"):
                read(link)


def test_a_small_file_may_not_unpack_to_a_large_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_file, "MOST_UNPACKED", 10**6)
    np.savez_compressed(tmp_path / "bomb.npz", qpos=np.zeros((10**5, 35)), fps=30.0)
    assert (tmp_path / "bomb.npz").stat().st_size < 50_000
    with pytest.raises(FormatError, match=r"bomb\.npz holds 27 MB unpacked, 1 MB are the most"):
        load_clip(tmp_path / "bomb.npz", humanoid())


def zipped(packed: bytes, size: int, method: int, check: int) -> bytes:
    """One member that says of itself what one likes."""
    told = struct.pack("<IIIHH", check, len(packed), size, 8, 0)
    local = struct.pack("<4sHHHHH", b"PK\3\4", 46, 0, method, 0, 33) + told + b"qpos.npy" + packed
    central = (
        struct.pack("<4sHHHHHH", b"PK\1\2", 46, 46, 0, method, 0, 33) + told + struct.pack("<HHHII", 0, 0, 0, 0, 0) + b"qpos.npy"
    )
    return local + central + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(central), len(local), 0)


def test_what_unpacks_to_more_than_it_says_is_not_unpacked(tmp_path: Path) -> None:
    """Python's zipfile unpacks a whole member, and then looks at how long it should be."""
    zeros = b"\0" * 2**26
    for method, packed in ((8, zlib.compress(zeros, wbits=-15)), (12, bz2.compress(zeros))):
        (tmp_path / "x.npz").write_bytes(zipped(packed, 1000, method, zlib.crc32(zeros[:1000])))
        tracemalloc.start()
        with pytest.raises(FormatError, match=r"x\.npz"):
            load_clip(tmp_path / "x.npz", humanoid())
        assert tracemalloc.get_traced_memory()[1] < 2**24
        tracemalloc.stop()


def test_a_take_of_days_is_refused_before_it_is_unfolded(walk: Clip, tmp_path: Path) -> None:
    """A megabyte of half floats would be gigabytes of doubles."""
    frames = 2**18
    np.savez_compressed(tmp_path / "long.npz", positions=np.zeros((frames, 22, 3), np.float16), fps=30.0)
    np.savez_compressed(tmp_path / "wide.npz", positions=np.zeros((1000, 20_000, 3), np.float16), fps=30.0)
    (tmp_path / "long.pkl").write_bytes(mimickit(frames=[[0.0] * 34] * frames))
    (tmp_path / "long.bvh").write_bytes(bvh(walk, tmp_path, lambda t: re.sub(r"Frames: \d+", f"Frames: {frames}", t)))
    for name in ("long.npz", "wide.npz", "long.pkl", "long.bvh"):
        began = time.process_time()
        with pytest.raises(FormatError, match="are the most"):
            read_take(tmp_path / name, humanoid())
        assert time.process_time() - began < SECONDS


def test_a_message_is_short_and_says_nothing_to_the_terminal() -> None:
    told = str(FormatError("x" * 10**6 + "\x1b]0;title\x07"))
    assert len(told) == 2000 and told.endswith("...")
    assert str(FormatError("a \x1b[2J b\0 größer")) == r"a \x1b[2J b\x00 größer"


def test_a_run_or_a_shard_that_is_no_plain_file(walk: Clip, tmp_path: Path) -> None:
    with open(tmp_path / "ledger.json", "wb") as file:
        file.truncate(2**40)
    with pytest.raises(ParcError, match="MB at most"):
        Ledger(tmp_path)
    with DatasetWriter(tmp_path / "set", humanoid()) as writer:
        writer.append([walk])
    shard = tmp_path / "set" / "shard-000001.safetensors"
    shard.unlink()
    shard.symlink_to(shard.name)
    with pytest.raises(ParcError, match="cannot be read"):
        Dataset.open(tmp_path / "set")


@pytest.mark.parametrize(("field", "value"), [("cell", 1e-300), ("cell", 1e6), ("fps", 1e300), ("fps", 1e-300)])
def test_an_entry_of_a_clip_is_as_narrow_as_the_clip(walk: Clip, field: str, value: float) -> None:
    """A shard's values are checked together, so what one clip would refuse has to be refused here."""
    values = json.loads(json.dumps(asdict(ClipEntry.of(walk))))
    with pytest.raises(ParcError, match=f"{field} is"):
        from_json(ClipEntry, values | {field: value}, DatasetError)


@pytest.mark.parametrize(
    "change",
    [
        {"layers": 10**7}, {"hidden": 10**6}, {"width": 10**6}, {"layers": -1}, {"layers": "4"}, {"heads": 0}, {"width": None},
        {"hidden": 1e3}, {"layers": True},
    ],
)  # fmt: skip
def test_a_model_is_not_built_larger_than_its_file(tmp_path: Path, change: dict) -> None:
    generator = Generator(humanoid(), GeneratorSettings(network=PrefixSettings(16, 1, 2, 16)))
    generator.save(tmp_path / "good.safetensors")
    tensors, meta = load_checkpoint(tmp_path / "good.safetensors")
    meta["settings"]["network"] |= change
    save_checkpoint(tmp_path / "bad.safetensors", tensors, meta)
    began = time.process_time()
    with pytest.raises(ParcError):
        Generator.load(tmp_path / "bad.safetensors", humanoid())
    assert time.process_time() - began < SECONDS


def test_a_motion_over_kilometres_is_told_to_look_at_its_unit(walk: Clip) -> None:
    far = replace(walk.motion, root_pos=walk.motion.root_pos * torch.tensor([2000.0, 2000.0, 1.0]))
    with pytest.raises(MotionError, match="is its unit the metre"):
        flat_ground(replace(far, root_pos=far.root_pos + torch.linspace(0, 4000, len(far)).unsqueeze(1)))
    along = torch.zeros(len(far), 3)
    along[:, 0] = torch.linspace(0, 4000, len(far))
    assert flat_ground(replace(far, root_pos=along)).size[0] > 10_000, "four kilometres along one axis are few cells"


def test_a_program_in_another_language_is_no_picture(tmp_path: Path) -> None:
    """Pillow hands PostScript to Ghostscript, whatever the file is called."""
    (tmp_path / "x.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n")
    with pytest.raises(FormatError, match="cannot be read as an image: cannot identify") as error:
        load_terrain(tmp_path / "x.png")
    assert "hostscript" not in str(error.value)


def test_a_small_picture_of_many_pixels_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    from PIL import Image

    Image.new("1", (9000, 9000)).save(tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size < 100_000
    began = time.process_time()
    with pytest.raises(FormatError, match="9000 x 9000 pixels"):
        load_terrain(tmp_path / "x.png")
    assert time.process_time() - began < 1


PLY = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 1\n" \
      "property list uchar int vertex_indices\nend_header\n0 0 0\n{far} 0 0\n0 {far} 0\n3 0 1 {last}\n"  # fmt: skip


@pytest.mark.parametrize(
    ("far", "last", "said"),
    [
        ("1", "99", "corner"),
        ("1", "-5", "corner|integer|mesh"),
        ("1e9", "2", "too large for cells"),
        ("1e300", "2", "not finite|too large"),
    ],
)
def test_a_mesh_that_names_no_vertex_or_is_as_wide_as_the_earth(tmp_path: Path, far: str, last: str, said: str) -> None:
    (tmp_path / "m.ply").write_text(PLY.format(far=far, last=last))
    with pytest.raises(ParcError, match=said):
        load_terrain(tmp_path / "m.ply")
    (tmp_path / "m.ply").write_text(PLY.format(far="1", last="2"))
    load_terrain(tmp_path / "m.ply")


def test_a_mesh_reads_no_other_file(tmp_path: Path) -> None:
    """A material file that would have to be opened."""
    os.mkfifo(tmp_path / "pipe.mtl")
    (tmp_path / "m.obj").write_text("mtllib pipe.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl x\nf 1 2 3\n")
    load_terrain(tmp_path / "m.obj")


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "null", "7", "[7]", '{"clips": 3}', '{"seed": []}', "\ud800"])
def test_a_damaged_file_of_a_run_is_a_sentence_that_names_it(tmp_path: Path, text: str) -> None:
    """Cut or changed: what a folder is made with, what joined."""
    for name, read in {
        "recording.json": lambda: _claim(tmp_path, 0, "t", RecordSettings(), 1, 2, ["a"]),
        "synthesis.json": lambda: agree(tmp_path / "synthesis.json", {"seed": 1}),
        "admission.json": lambda: read_admission(tmp_path),
    }.items():
        (tmp_path / name).write_bytes(text.encode("utf-8", "surrogatepass"))
        with pytest.raises(ParcError) as error:
            read()
        assert str(tmp_path) in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "null", "7", "[7]", '{"clips": 3}', '{"seed": []}', "\ud800"])
def test_a_damaged_note_of_what_is_done_does_not_count(tmp_path: Path, text: str) -> None:
    """Cut or changed notes of units of synthesis and of recording, of rows of a build, of parts of an evaluation."""
    for notes in (unit_notes(tmp_path), _unit_notes(tmp_path), row_notes(tmp_path), PartStore(tmp_path)._items):
        file = notes.folder / "000000.json"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        assert notes.get("000000") is None and notes.notes() == {}
    (tmp_path / "report.jsonl").write_bytes(text.encode("utf-8", "surrogatepass"))
    assert row_notes(tmp_path).get("000000") is None
