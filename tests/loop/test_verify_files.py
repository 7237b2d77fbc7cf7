"""One flipped bit anywhere in a data set, a model or a run is found by reading it again."""

import json
import shutil
from pathlib import Path

import pytest

from parc.cli.main import main
from parc.dataset import Dataset
from parc.loop import verify_files
from parc.loop.verify_files import verify
from parc.models import FOLDER, shipped_generator, shipped_motions

ITERATION = "iteration-01"


@pytest.fixture(scope="module")
def run(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(finished, tmp_path_factory.mktemp("verified") / "run"))


def flip(file: Path, place: float) -> bytes:
    """One bit, that far through the file; returns what was there."""
    whole = file.read_bytes()
    data = bytearray(whole)
    data[int(place * (len(data) - 1))] ^= 4
    file.write_bytes(data)
    return whole


@pytest.mark.parametrize("place", [0.01, 0.3, 0.6, 1.0])
@pytest.mark.parametrize(
    ("verified", "file"),
    [
        (f"{ITERATION}/synthesis", "shard-000001.safetensors"), (f"{ITERATION}/tracker/actor.safetensors", ""),
        (f"{ITERATION}/generator/generator.safetensors", ""), ("", f"{ITERATION}/dataset/admission.json"),
        ("", f"{ITERATION}/recording/shard-000001.safetensors"),
    ],
)  # fmt: skip
def test_a_flipped_bit_is_found(run: Path, verified: str, file: str, place: float) -> None:
    path = run / verified
    assert verify(path).faults == [] and verify(path).unknown == []
    damaged = path / file if file else path
    before = flip(damaged, place)
    assert any(damaged.name in fault for fault in verify(path).faults)
    damaged.write_bytes(before)
    assert verify(path).faults == []


def test_a_lost_file_is_found(run: Path) -> None:
    shard = run / ITERATION / "dataset" / "dataset" / "shard-000001.safetensors"
    data = shard.read_bytes()
    shard.unlink()
    for path in (run, shard.parent):
        assert any("shard-000001.safetensors is missing" in fault for fault in verify(path).faults)
    shard.write_bytes(data)


def test_the_command_says_it_in_a_sentence(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run / ITERATION / "synthesis"
    assert main(["verify", str(folder), "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told["kind"] == "data set" and told["files"] == len(Dataset.open(folder).index.shards) and told["bytes"] > 1000
    before = flip(folder / "shard-000001.safetensors", 0.5)
    assert main(["verify", str(folder)]) == 2
    said = capsys.readouterr().err
    assert "shard-000001.safetensors is no longer what was written" in said and len(said.strip().splitlines()) == 1
    (folder / "shard-000001.safetensors").write_bytes(before)
    for wrong in (run / ITERATION, run / "none", run / "run.json"):
        assert main(["verify", str(wrong)]) == 2


def test_what_is_in_the_box_is_known() -> None:
    motions = shipped_motions()
    assert motions is not None
    for path in (shipped_generator(), motions):
        assert verify(path).faults == verify(path).unknown == []


def test_a_damaged_file_of_the_box_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The box is compared with the published hashes; a copy of it elsewhere has none to be compared with."""
    copied = Path(shutil.copy(FOLDER / "critic.safetensors", tmp_path / "critic.safetensors"))
    monkeypatch.setattr(verify_files, "FOLDER", tmp_path)
    assert verify(copied).faults == verify(copied).unknown == []
    with copied.open("r+b") as file:
        file.seek(5_000_000)
        byte = file.read(1)[0]
        file.seek(5_000_000)
        file.write(bytes([byte ^ 1]))
    (fault,) = verify(copied).faults
    assert "not the published one" in fault
    monkeypatch.setattr(verify_files, "FOLDER", FOLDER)
    assert verify(copied).unknown == [str(copied)]


def test_a_damaged_index_of_the_box_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is of the schema without a hash, and some of its bits change nothing that its shards would contradict."""
    box = tmp_path / "box"
    shutil.copytree(FOLDER / "motions", box / "motions")
    monkeypatch.setattr(verify_files, "FOLDER", box)
    index = box / "motions" / "index.json"
    whole = index.read_bytes()
    assert verify(box / "motions").faults == []
    for damaged in (whole.replace(b'"next_shard": 2', b'"next_shard": 6'), whole.replace(b"humanoid", b"humanoie")):
        assert damaged != whole
        index.write_bytes(damaged)
        (fault,) = verify(box / "motions").faults
        assert "index.json is not the published one" in fault
