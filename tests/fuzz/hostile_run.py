"""Every hostile file is read in a process of its own, under watch.

    python tests/fuzz/hostile_run.py               # all of them, with a line for each that broke the law
    python tests/fuzz/hostile_run.py --every 9     # a ninth of them

The law: success or a `ParcError`; at most 10 s of CPU, and no minute without any; at most 2 GB of memory, of which this program
and its libraries take the first part; nothing is executed, imported from the file's folder, sent to a network, or read or written
outside of that folder. What the process does is told by Python's audit events.
"""

import argparse
import json
import os
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from process_clock import ProcessClock

HERE = Path(__file__).resolve().parent
CPU_SECONDS = 10
PATIENCE = 60.0
"""s of wall time in which a process uses no time of the CPU"""
MOST_MEMORY = 2 * 10**9
"""bytes in memory at the most"""
_EXECUTED = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "pty.spawn",
    "ctypes.dlopen",
    "code.__new__",
    "socket.connect",
    "socket.getaddrinfo",
    "webbrowser.open",
    "urllib.Request",
    "os.kill",
    "signal.pthread_kill",
)
_CHANGED = (
    "os.remove",
    "os.rename",
    "os.mkdir",
    "os.rmdir",
    "os.symlink",
    "os.link",
    "os.truncate",
    "os.chmod",
    "os.chown",
    "shutil.rmtree",
    "shutil.move",
    "shutil.copyfile",
    "tempfile.mkstemp",
    "tempfile.mkdtemp",
)
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def read_hostile(every: int = 1, first: int = 0) -> tuple[list[dict[str, Any]], Path]:
    """What came of each file, and the folder they lay in, which is gone."""
    sys.path.insert(0, str(HERE))
    from file_kinds import make_kinds
    from hostile_files import MODULE, make_cases

    sys.dont_write_bytecode = True
    warnings.simplefilter("ignore")
    folder = Path(tempfile.mkdtemp())
    secret, witness = folder / "outside" / "secret", folder / "outside" / "witness"
    told = []
    try:
        secret.parent.mkdir()
        secret.write_text("secret")
        (folder / "good").mkdir()
        kinds = {kind.name: kind for kind in make_kinds(folder / "good")}
        for kind in kinds.values():
            _read_in_child(kind.read, kind.place(_fresh(folder), kind.data()), folder)  # what is not damaged is read
            kind.read(kind.place(_fresh(folder), kind.data()))  # and what a reader imports is imported
        for case in make_cases(kinds, secret, witness)[first::every]:
            kind = kinds[case.kind]
            place = _fresh(folder)
            (place / f"{MODULE}.py").write_text(f"open({str(witness)!r}, 'w').close()")
            path = kind.place(place, kind.data())
            target = path / kind.file if path.is_dir() else path
            case.make(target)
            result = _read_in_child(kind.read, path, folder)
            if witness.exists() or sorted(p.name for p in secret.parent.iterdir()) != ["secret"]:
                result["fault"] = result["fault"] or "something was executed or written outside"
                shutil.rmtree(secret.parent, ignore_errors=True)
                secret.parent.mkdir()
                secret.write_text("secret")
            told.append({"case": case.name} | result)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return told, folder


def _read_in_child(read: Callable[[Path], object], path: Path, folder: Path) -> dict[str, Any]:
    """A fork, so that what is imported need not be imported again; its memory and time are its own."""
    ear, mouth = os.pipe()
    began = time.monotonic()
    child = os.fork()
    if not child:
        os.close(ear)
        _as_child(read, path, folder, mouth)
    os.close(mouth)
    clock = ProcessClock(child)
    while (done := os.wait4(child, os.WNOHANG))[0] == 0 and clock.look()[1] < PATIENCE:
        time.sleep(0.002)
    waited = done[0] == 0
    if waited:
        os.kill(child, 9)
        done = os.wait4(child, 0)
    said = b"".join(iter(lambda: os.read(ear, 65536), b""))
    os.close(ear)
    _, status, used = done
    result = json.loads(said) if said else {"answer": "", "fault": f"ended the process (status {status})"}
    memory = used.ru_maxrss * 1024
    result |= {"seconds": round(used.ru_utime + used.ru_stime, 2), "memory": memory}
    if waited or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (9, 24)):
        result["fault"] = f"hangs: {result['seconds']} s of CPU in {time.monotonic() - began:.0f} s"
    elif memory > MOST_MEMORY and not result["fault"]:
        result["fault"] = f"takes {memory / 2**20:.0f} MB"
    return result


def _as_child(read: Callable[[Path], object], path: Path, folder: Path, mouth: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(folder / "case")
    sys.path.insert(0, str(folder / "case"))
    breaches: list[str] = []
    sys.addaudithook(_listener(folder, breaches))
    answer, fault = "read", ""
    try:
        from parc.errors import ParcError

        try:
            read(path)
        except ParcError as error:
            answer = str(error)
            fault = "" if answer.strip() and "\n" not in answer and len(answer) < 2000 else "the error is not one sentence"
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        fault = f"{type(error).__name__}: {str(error)[:120]} ({Path(where.filename).name}:{where.lineno})"
    os.write(mouth, json.dumps({"answer": answer[:200], "fault": fault or "; ".join(breaches[:3])}).encode("utf-8", "replace"))
    os._exit(0)


def _listener(folder: Path, breaches: list[str]) -> Callable[[str, tuple], None]:
    case = str(folder / "case")

    def hear(event: str, arguments: tuple) -> None:
        if event in _EXECUTED:
            breaches.append(f"{event} {arguments!r}"[:150])
        elif event in _CHANGED or event == "open":
            names = [
                os.path.abspath(os.fsdecode(a))
                for a in arguments[:2]
                if isinstance(a, str | bytes) and a not in ("r", "rb", "w", "wb")
            ]
            writes = event != "open" or any(c in str(arguments[1] or "") for c in "wxa+") or bool((arguments[2] or 0) & _WRITES)
            for name in names:
                outside = not name.startswith((case + os.sep, case + "\0")) and name != case
                if outside and (writes or name.startswith((str(folder), "/etc/"))) and name != os.devnull:
                    breaches.append(f"{event} {name}"[:150])
        elif event == "import" and arguments[0] == "parc_witness":
            breaches.append("imported a module of the file's folder")

    return hear


def _fresh(folder: Path) -> Path:
    place = folder / "case"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    return place


def faults_of(told: list[dict[str, Any]]) -> Iterator[str]:
    """A line for each file that broke the law."""
    return (f"{result['case']}: {result['fault']}" for result in told if result["fault"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--all", action="store_true", help="a line for each file")
    asked = parser.parse_args()
    told, _ = read_hostile(asked.every, asked.first)
    for result in told if asked.all else []:
        print(json.dumps(result))
    faults = list(faults_of(told))
    print("\n".join(faults))
    slowest, largest = max(told, key=lambda r: r["seconds"]), max(told, key=lambda r: r["memory"])
    print(
        json.dumps(
            {
                "files": len(told),
                "refused": sum(r["answer"] not in ("", "read") for r in told),
                "read": sum(r["answer"] == "read" for r in told),
                "faults": len(faults),
                "slowest": f"{slowest['seconds']} s, {slowest['case']}",
                "largest": f"{largest['memory'] / 2**20:.0f} MB, {largest['case']}",
            }
        )
    )
    return 1 if faults else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
