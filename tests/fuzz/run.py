"""Damaged files for every reader: each must end with success or a `ParcError`, in seconds and without gigabytes.

    python tests/fuzz/run.py --minutes 60 --seed 7 --keep found/

Case N of a seed is always the same file. A process reads the files, another watches it: what hangs is killed and counted. Files
that break the law are kept in a folder, named by what they broke.
"""

import argparse
import json
import os
import queue
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

from process_clock import ProcessClock

HERE = Path(__file__).resolve().parent
CPU_SECONDS = 8.0
"""of one file"""
HANGS = 90.0
"""s without a word and without any use of the CPU"""
BUSY = 60.0
"""s of the CPU without a word; to make the good files takes some"""
MOST_MEMORY = 2**30
"""bytes that reading one file may add to the process"""


@dataclass(frozen=True)
class Fault:
    case: int
    kind: str
    told: str

    def __str__(self) -> str:
        return f"case {self.case} ({self.kind}): {self.told}"


def fuzz(seed: int, first: int, cases: int, keep: Path, seconds: float = 1e9) -> tuple[int, list[Fault]]:
    """Number of cases tried, and what broke the law; files are kept in `keep`."""
    faults: list[Fault] = []
    number, stop, ends = first, first + cases, time.monotonic() + seconds
    while number < stop and time.monotonic() < ends:
        command = [sys.executable, str(Path(__file__).resolve()), "--worker", "--seed", str(seed), "--first", str(number)]
        command += ["--cases", str(stop - number), "--keep", str(keep)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as worker:
            lines: queue.Queue[str] = queue.Queue()
            threading.Thread(target=_listen, args=(worker, lines), daemon=True).start()
            threading.Thread(target=worker.stderr.read, daemon=True).start()  # type: ignore[union-attr]
            number, kind = _watch(lines, number, faults, ends, ProcessClock(worker.pid))
            code = worker.poll()
            worker.kill()
            if kind and time.monotonic() < ends:  # it ended, or hung, inside a case
                faults.append(Fault(number, kind, "hangs" if code is None else f"ends the process ({code})"))
                number += 1
    return number - first, faults


def _listen(worker: subprocess.Popen, lines: "queue.Queue[str]") -> None:
    for line in worker.stdout:  # type: ignore[union-attr]
        lines.put(line)
    lines.put("")


def _watch(lines: "queue.Queue[str]", number: int, faults: list[Fault], ends: float, clock: ProcessClock) -> tuple[int, str]:
    """The next case, and the kind of the one that was not finished."""
    kind = ""
    while time.monotonic() < ends:
        try:
            line = lines.get(timeout=1.0)
        except queue.Empty:
            busy, idle = clock.look()
            if busy > BUSY or idle > HANGS:
                return number, kind or "start"
            continue
        clock.restart()
        if not line:
            return number, kind
        said = json.loads(line)
        if "begins" in said:
            number, kind = said["begins"], said["kind"]
        else:
            if said["fault"]:
                faults.append(Fault(number, kind, said["fault"]))
            number, kind = number + 1, ""
    return number, ""


def work(seed: int, first: int, cases: int, keep: Path) -> None:
    """In the process that reads."""
    sys.path.insert(0, str(HERE))
    from file_kinds import make_kinds

    warnings.simplefilter("ignore")
    folder = Path(tempfile.mkdtemp())
    try:
        (folder / "good").mkdir()
        kinds = make_kinds(folder / "good")
        for kind in kinds:
            kind.read(kind.place(_fresh(folder), kind.data()))  # what is not damaged is read, and imports are done
        space = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (space + 3 * MOST_MEMORY,) * 2)
        for number in range(first, first + cases):
            kind = kinds[number % len(kinds)]
            print(json.dumps({"begins": number, "kind": kind.name}), flush=True)
            rng = random.Random(f"{seed} {number}")
            data = rng.choice(kind.mutations)(kind.data(), rng)
            path = kind.place(_fresh(folder), data)
            fault = read_one(kind.read, path)
            if fault:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{seed}-{number}-{Path(kind.file).name}").write_bytes(data)
            print(json.dumps({"fault": fault}), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def read_one(read, path: Path) -> str:
    """Empty if the law was kept, else how it was broken."""
    from parc.errors import ParcError

    before, began = _peak(), time.process_time()
    try:
        read(path)
    except ParcError as error:
        if not str(error).strip():
            return "an error without a sentence"
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:120]} ({Path(where.filename).name}:{where.lineno})"
    if (took := time.process_time() - began) > CPU_SECONDS:
        return f"takes {took:.1f} s"
    if (grown := _peak() - before) > MOST_MEMORY:
        return f"takes {grown / 2**20:.0f} MB"
    return ""


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _fresh(folder: Path) -> Path:
    place = folder / "case"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    return place


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=10**9)
    parser.add_argument("--keep", type=Path, default=Path("found"))
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.seed, options.first, options.cases, options.keep)
        return 0
    tried, faults = fuzz(options.seed, options.first, options.cases, options.keep, 60 * options.minutes)
    for fault in faults:
        print(fault)
    print(f"{tried} files of seed {options.seed}, {len(faults)} broke the law" + (f"; kept in {options.keep}" if faults else ""))
    return 1 if faults else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
