"""Does anything get lost? Kill the loop and the writer of data sets at random moments, and flip single bits in what they wrote.

    python tools/damage.py kills --count 40       # tiny runs of the loop, each killed five times, resumed and compared by hash
    python tools/damage.py kills --count 50 --preset quick --processes 8
    python tools/damage.py kills --count 10 --preset gpu --scale 0.002 --iterations 2 --device cuda
    python tools/damage.py writer --count 60      # imports of motion files into a data set, killed and done again
    python tools/damage.py bits --count 60        # bits in shards, weights, checkpoints, headers: noticed by `parc verify`?

Each prints one JSON object; exit code 1 if something was lost or not noticed.
"""

import argparse
import itertools
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from soak_physics import write_result

from parc.character import humanoid
from parc.dataset import Dataset, save_clip
from parc.dataset.dataset_store import INDEX
from parc.errors import ParcError
from parc.loop import verify_files
from parc.loop.verify_files import verify
from parc.run.hashing import hash_file

PARC = [sys.executable, "-m", "parc"]
_SERIES = 5
"""kills before a run is finished"""


def loop_command(run: Path, asked: argparse.Namespace) -> list[str]:
    """On the device that the preset takes by itself; small presets run on the CPU, where equal seeds give equal bytes."""
    device = asked.device or (None if asked.preset in ("gpu", "paper") else "cpu")
    command = ["loop", str(run), "--preset", asked.preset, "--json", *(["--device", device] if device else [])]
    command += ["--scale", str(asked.scale)] if asked.scale else []
    return command + (["--iterations", str(asked.iterations)] if asked.iterations else [])


def kill_loop(folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """Kills at moments spread over the time that an undisturbed run takes; after each series of five the run is finished.

    With budgets in steps the data set must have the bytes of the undisturbed run. With budgets in seconds (gpu, paper) no two
    runs are equal, and this must hold: no kill leaves a damaged output, no stage that was done is done again, and the end is
    whole and has the stages of the undisturbed run.
    """
    whole, start = folder / "whole", time.monotonic()
    usual = json.loads(_finish(loop_command(whole, asked)))["seconds"]
    told: dict[str, Any] = {"undisturbed_s": round(usual, 1), "kills": 0, "runs": 0, "equal": 0, "whole": 0, "stages_done": []}
    ends, lock = start + asked.seconds, threading.Lock()
    by_bytes = asked.preset not in ("gpu", "paper")

    def one(number: int) -> None:
        """A run that is killed five times."""
        run, moments = folder / f"run{number}", random.Random(f"{asked.seed} {number}")
        for k in range(_SERIES):
            before = _stages(run)
            if not _kill([*PARC, *loop_command(run, asked)], moments.uniform(0.0, 0.3 + 0.15 * k) * usual, run / "lock"):
                break  # it had ended
            done = _stages(run)
            assert all(done.get(name) == entry for name, entry in before.items()), f"{run}: a stage that was done is done again"
            assert not run.exists() or not (run / "ledger.json").exists() or not verify(run).faults, verify(run).faults
            with lock:
                told["kills"] += 1
                told["stages_done"].append(len(done))
                write_result(asked.result, told | {"ended": False})
        before = _stages(run)
        _finish(loop_command(run, asked))
        done = _stages(run)
        assert all(done.get(name) == entry for name, entry in before.items()), f"{run}: a stage that was done is done again"
        is_whole = list(done) == list(_stages(whole)) and not verify(run).faults
        with lock:
            told["runs"] += 1
            told["whole"] += is_whole
            told["equal"] += _datasets(run) == _datasets(whole)
            write_result(asked.result, told | {"ended": False})
        shutil.rmtree(run)

    numbers = itertools.count()

    def work() -> None:
        while told["kills"] < asked.count and time.monotonic() + 3 * usual < ends:
            one(next(numbers))

    with ThreadPoolExecutor(asked.processes) as pool:
        for future in [pool.submit(work) for _ in range(asked.processes)]:
            future.result()
    holds = told["runs"] > 0 and told["whole"] == told["runs"] and (not by_bytes or told["equal"] == told["runs"])
    return told | {"ended": told["kills"] >= asked.count, "holds": holds}


def _stages(run: Path) -> dict[str, Any]:
    """What the ledger says of the stages that are done: when each was begun, and what it made."""
    file = run / "ledger.json"
    stages = json.loads(file.read_text())["stages"] if file.exists() else {}
    return {name: (entry["began"], entry["outputs"]) for name, entry in stages.items() if entry["outputs"]}


def _datasets(run: Path) -> list[dict[str, str]]:
    """Hashes of D_1, D_2, .."""
    return [_hashes(place) for place in sorted(run.glob("iteration-*/dataset/dataset"))]


def kill_writer(folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """An import of 40 motions, killed, then done again into the same folder; the set must open and be what it would have been."""
    count, moments, source = asked.count, random.Random(asked.seed), folder / "clips"
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


def flip_bits(folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """In every kind of file that a run and the box hold; a flip must give a fault, and without it there is none."""
    count, moments, run = asked.count, random.Random(asked.seed), folder / "run"
    _finish(loop_command(run, asked))
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


def _kill(command: list[str], after: float, lock: Path | None = None) -> bool:
    """Whether it was still running then; the time counts from when it holds the lock."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while lock is not None and process.poll() is None and not (lock.is_file() and lock.read_text() == str(process.pid)):
        time.sleep(0.02)
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
    parser.add_argument("--scale", type=float, help="of the presets gpu and paper")
    parser.add_argument("--iterations", type=int)
    parser.add_argument("--device")
    parser.add_argument("--processes", type=int, default=1, help="runs that are killed at the same time")
    parser.add_argument("--seconds", type=float, default=1e9, help="after which no run is begun that would not end before")
    parser.add_argument("--result", type=Path, metavar="FILE", help="for the figures, written anew after every kill")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        told = {"kills": kill_loop, "writer": kill_writer, "bits": flip_bits}[asked.part](Path(name), asked)
    write_result(asked.result, told)
    print(json.dumps({asked.part: told}))
    return 0 if told["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
