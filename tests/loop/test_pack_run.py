"""A run that is packed, unpacked elsewhere and gone on with gives what one gives that stayed where it was."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from parc.character import humanoid
from parc.cli.main import main
from parc.errors import FormatError
from parc.generate.model.motion_generator import Generator
from parc.loop import LoopError, preset, run_loop
from parc.loop.pack.pack_format import parts_of
from parc.loop.pack.pack_run import pack_run, unpack_run
from parc.loop.verify_files import verify
from parc.report.loop_page import write_loop_report

LAST = "iteration-02"
TINY = preset("tiny").plans[0]
SHORT = replace(TINY, generator=replace(TINY.generator, steps=12))
TWO = replace(preset("tiny"), plans=(TINY, SHORT), iterations=2)


def forget(run: Path, stages: tuple[str, ...]) -> None:
    """As if the run had been stopped before these stages of its last iteration."""
    ledger = json.loads((run / "ledger.json").read_text())
    for stage in stages:
        del ledger["stages"][f"{LAST}/{stage}"]
        shutil.rmtree(run / LAST / stage)
    (run / "ledger.json").write_text(json.dumps(ledger))


@pytest.fixture(scope="module")
def whole(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = Path(shutil.copytree(finished, tmp_path_factory.mktemp("whole") / "run"))
    run_loop(run, TWO, humanoid())
    return run


@pytest.mark.parametrize(
    "stopped_before", [("generator", "synthesis", "tracker", "recording", "dataset"), ("recording", "dataset")]
)
def test_a_run_goes_on_elsewhere_to_the_same_bytes(
    whole: Path, tmp_path: Path, dataset_hashes: Callable, began: Callable, stopped_before: tuple[str, ...]
) -> None:
    here = Path(shutil.copytree(whole, tmp_path / "here"))
    forget(here, stopped_before)
    packed = pack_run(here, tmp_path / "run.pack")
    assert packed.away and packed.bytes == (tmp_path / "run.pack").stat().st_size < 3e6
    there = tmp_path / "other" / "run"
    unpack_run(tmp_path / "run.pack", there)
    shutil.rmtree(here)
    assert not verify(there).faults
    before = began(there)
    run_loop(there, TWO, humanoid(), after_iteration=lambda i: write_loop_report(there, humanoid()))
    assert {name for name, when in began(there).items() if before.get(name) != when} == {
        f"{LAST}/{stage}" for stage in stopped_before
    }
    assert dataset_hashes(there, 2) == dataset_hashes(whole, 2)
    assert (there / "report.html").is_file()


def test_half_is_small_known_by_the_same_hashes_and_goes_on(whole: Path, tmp_path: Path) -> None:
    here = Path(shutil.copytree(whole, tmp_path / "here"))
    forget(here, ("tracker", "recording", "dataset"))
    whole_size = pack_run(here, tmp_path / "whole.pack").bytes
    half = pack_run(here, tmp_path / "half.pack", half=True)
    assert half.bytes < 0.6 * whole_size
    there = tmp_path / "there"
    unpack_run(tmp_path / "half.pack", there)
    file = there / LAST / "generator" / "generator.safetensors"
    marks = json.loads((there / "ledger.json").read_text())["stages"][f"{LAST}/generator"]["outputs"]
    (mark,) = marks.values()
    assert mark["rounded"] and mark["bytes"] == file.stat().st_size < 0.6 * (whole / file.relative_to(there)).stat().st_size
    rounded, exact = (Generator.load(place, humanoid()).network.state_dict() for place in (file, whole / file.relative_to(there)))
    assert all(abs(rounded[name] - exact[name]).max() < 1e-3 for name in exact)
    assert not verify(there).faults
    run_loop(there, TWO, humanoid())
    assert (there / LAST / "tracker" / "actor.safetensors").is_file()


def test_parts_damage_and_full_folders_are_one_sentence(whole: Path, tmp_path: Path) -> None:
    assert main(["loop", "pack", str(whole), "-o", str(tmp_path / "run.pack"), "--part", "0.2"]) == 0
    parts = parts_of(tmp_path / "run.pack")
    assert len(parts) > 2 and all(part.stat().st_size <= 2e5 for part in parts) and parts_of(parts[0]) == parts
    assert main(["loop", "unpack", str(tmp_path / "run.pack"), "-o", str(tmp_path / "run")]) == 0
    assert not verify(tmp_path / "run").faults
    with pytest.raises(LoopError, match="is there and not empty"):
        unpack_run(parts[0], tmp_path / "run")
    data = bytearray(parts[1].read_bytes())
    data[1000] ^= 1
    parts[1].write_bytes(data)
    with pytest.raises(FormatError, match="is damaged"):
        unpack_run(parts[0], tmp_path / "again")
    assert not (tmp_path / "again").exists() and not (tmp_path / "again.unpacking").exists()
    parts[1].unlink()
    with pytest.raises(FormatError, match=r"run\.pack\.002 is missing"):
        unpack_run(parts[0], tmp_path / "again")
    (tmp_path / "text").write_text("no pack at all")
    assert main(["loop", "unpack", str(tmp_path / "text"), "-o", str(tmp_path / "again")]) == 2
    assert main(["loop", "unpack", str(tmp_path / "nothing"), "-o", str(tmp_path / "again")]) == 2


def test_what_lies_outside_is_never_written(tmp_path: Path) -> None:
    manifest = json.dumps({"schema": 1, "files": {"../outside": {"bytes": 0, "sha256": ""}}}).encode()
    (tmp_path / "bad.pack").write_bytes(b"parc run, packed\n" + len(manifest).to_bytes(8, "big") + manifest)
    with pytest.raises(FormatError):
        unpack_run(tmp_path / "bad.pack", tmp_path / "run")
    assert not (tmp_path / "outside").exists()
