"""Does anything get lost? Kill the loop and the writer of data sets at random moments, and flip single bits in what they wrote.

    python tools/damage.py kills --count 40       # tiny runs of the loop, each killed five times, resumed and compared by hash
    python tools/damage.py kills --count 10 --preset quick
    python tools/damage.py writer --count 60      # imports of motion files into a data set, killed and done again
    python tools/damage.py bits --count 60        # bits in shards, weights, checkpoints, headers: noticed by `parc verify`?

Each prints one JSON object; exit code 1 if something was lost or not noticed.
"""

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from parc.character import humanoid
from parc.dataset import Dataset, save_clip
from parc.dataset.dataset_store import INDEX
from parc.errors import ParcError
from parc.loop import verify_files
from parc.loop.verify_files import verify
from parc.run.hashing import hash_file

PARC = [sys.executable, "-m", "parc"]


def loop_command(run: Path, preset: str = "tiny") -> list[str]:
    """On the device that the preset takes by itself; tiny runs on the CPU, where equal seeds give equal bytes."""
    return ["loop", str(run), "--preset", preset, "--json", *(["--device", "cpu"] if preset == "tiny" else [])]


def kill_loop(folder: Path, count: int, seed: int, preset: str) -> dict[str, Any]:
    """Kills at moments spread over the time that an undisturbed run takes; after each series of five the run is finished."""
    moments, whole = random.Random(seed), folder / "whole"
    start = time.monotonic()
    _finish(loop_command(whole, preset))
    usual, expected = time.monotonic() - start, _hashes(whole / "iteration-01" / "dataset" / "dataset")
    kills = equal = runs = 0
    while kills < count:
        run = folder / f"run{runs}"
        for k in range(min(5, count - kills)):
            kills += _kill([*PARC, *loop_command(run, preset)], moments.uniform(0.05, 0.3 + 0.15 * k) * usual)
        _finish(loop_command(run, preset))
        equal += _hashes(run / "iteration-01" / "dataset" / "dataset") == expected
        runs += 1
        shutil.rmtree(run)
    return {"kills": kills, "runs": runs, "equal": equal, "holds": equal == runs}


def kill_writer(folder: Path, count: int, seed: int) -> dict[str, Any]:
    """An import of 40 motions, killed, then done again into the same folder; the set must open and be what it would have been."""
    moments, source = random.Random(seed), folder / "clips"
    source.mkdir()
    box = Dataset.open(verify_files.FOLDER / "motions")
    for number in range(40):
        save_clip(box[number], source / f"{number:02d}.motion", humanoid())
    start = time.monotonic()
    _finish(["dataset", "import", str(source), "-o", str(folder / "expected")])
    usual, expected = time.monotonic() - start, _hashes(folder / "expected")
    kills = equal = 0
    while kills < count:
        out = folder / "out"
        if not _kill([*PARC, "dataset", "import", str(source), "-o", str(out)], moments.uniform(0.3, 1.0) * usual):
            shutil.rmtree(out, ignore_errors=True)  # it had ended before
            continue
        kills += 1
        assert not (out / INDEX).exists() or not verify(out).faults, verify(out).faults
        _finish(["dataset", "import", str(source), "-o", str(out)])
        equal += _hashes(out) == expected
        shutil.rmtree(out)
    return {"kills": kills, "equal": equal, "holds": equal == kills}


def flip_bits(folder: Path, count: int, seed: int) -> dict[str, Any]:
    """In every kind of file that a run and the box hold; a flip must give a fault, and without it there is none."""
    moments, run = random.Random(seed), folder / "run"
    _finish(loop_command(run))
    box = Path(shutil.copytree(verify_files.FOLDER, folder / "box"))
    verify_files.FOLDER = box  # as if it were installed there
    kinds = {
        "shards": sorted(run.rglob("shard-*.safetensors")),
        "weights": [f for f in sorted(run.rglob("*.safetensors")) if not f.name.startswith("shard-")],
        "indices": sorted(run.rglob("index.json")),
        "notes of stages": sorted(run.rglob("admission.json")),
        "shards of the box": sorted(box.rglob("shard-*.safetensors")),
        "index of the box": [box / "motions" / "index.json"],
        "models of the box": sorted(box.glob("*.safetensors")),
    }
    told: dict[str, Any] = {}
    for kind, files in kinds.items():
        noticed = 0
        for k in range(count):
            file = files[k % len(files)]
            whole = file.read_bytes()
            head = min(len(whole), 2000)
            place = moments.randrange(head if k % 3 == 0 else len(whole))
            data = bytearray(whole)
            data[place] ^= 1 << moments.randrange(8)
            file.write_bytes(data)
            noticed += _is_noticed(run if file.is_relative_to(run) else box / "motions", file)
            file.write_bytes(whole)
        told[kind] = f"{noticed} of {count}"
    assert not verify(run).faults and not any(verify(place).faults for place in (box / "motions", *box.glob("*.safetensors")))
    return told | {"holds": all(text == f"{count} of {count}" for text in told.values())}


def _is_noticed(whole: Path, file: Path) -> bool:
    """By looking at the file's own folder or, where that says nothing, at the run or data set that it belongs to."""
    is_model = file.suffix == ".safetensors" and not file.name.startswith("shard-")
    for place in (file if is_model else file.parent, whole):
        try:
            if verify(place).faults:
                return True
        except ParcError:  # a sentence as well, except where the folder is none that can be verified
            if place is whole or (place / INDEX).is_file():
                return True
    return False


def _kill(command: list[str], after: float) -> bool:
    """Whether it was still running then."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(after)
        return False
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return True


def _finish(words: list[str]) -> str:
    done = subprocess.run([*PARC, *words], capture_output=True, text=True)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    return done.stdout.splitlines()[-1]


def _hashes(folder: Path) -> dict[str, str]:
    return {file.name: hash_file(file) for file in [folder / "index.json", *sorted(folder.glob("shard-*"))]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["kills", "writer", "bits"])
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--preset", default="tiny", help="of the loop that is killed")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if asked.part == "kills":
            told = kill_loop(folder, asked.count, asked.seed, asked.preset)
        else:
            told = {"writer": kill_writer, "bits": flip_bits}[asked.part](folder, asked.count, asked.seed)
    print(json.dumps({asked.part: told}))
    return 0 if told["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
