"""The commands where the system lacks what POSIX has, as Windows does: modules, functions, signals, text that is UTF-8."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """if True:
    import asyncio, concurrent.futures, ctypes, getpass, multiprocessing, os, signal, subprocess, sys, tempfile, types
    import unittest.mock, uuid, warnings
    import mujoco, numpy, torch  # what they need of their system is theirs

    for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog"):
        sys.modules[name] = None
    lockf, test_lock = os.lockf, os.F_TLOCK
    sys.modules["msvcrt"] = types.SimpleNamespace(locking=lambda file, mode, size: lockf(file, test_lock, size), LK_NBLCK=2)
    for name in ("fork", "forkpty", "killpg", "geteuid", "getuid", "getgid", "getloadavg", "sched_getaffinity", "sysconf",
                 "setsid", "mkfifo", "mknod", "chown", "lockf", "statvfs", "uname", "nice", "getpgid", "pread", "O_DIRECTORY",
                 "O_NOFOLLOW"):
        delattr(os, name)
    for name in ("SIGKILL", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "alarm", "setitimer", "SIGCHLD"):
        delattr(signal, name)
    warnings.filterwarnings("error", category=EncodingWarning, module="parc")

    from parc.cli.main import main
    for words in __import__("json").loads(sys.argv[1]):
        print("parc", *words, file=sys.stderr, flush=True)
        if code := main(words):
            sys.exit(code)
    print("done")
"""


@pytest.mark.skipif(os.name != "posix", reason="elsewhere the other tests show it")
def test_commands_run_where_there_is_no_posix(tmp_path: Path) -> None:
    commands = [
        ["demo", "-o", "demo", "--seconds", "2", "--no-open"],
        ["dataset", "import", "demo", "-o", "set", "--workers", "0"],
        ["metrics", "set"],
        ["dataset", "extract", "set", "crossed", "-o", "größer (1).motion"],
        ["convert", "größer (1).motion", "a.bvh"],
        ["convert", "a.bvh", "a.pkl"],
        ["metrics", "a.pkl"],
        [
            "traverse",
            "boxes",
            "-o",
            "crossed.motion",
            "--method.seconds",
            "3",
            "--tries",
            "1",
            "--method.candidates",
            "2",
            "--method.beam",
            "1",
        ],
        ["loop", "run", "--preset", "tiny", "--device", "cpu"],
        ["loop", "run", "--preset", "tiny", "--device", "cpu"],
        ["status", "run"],
        ["verify", "run"],
    ]
    done = _run(commands, tmp_path)
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stderr[-2000:]
    assert "Traceback" not in done.stderr and (tmp_path / "crossed.json").exists()


def _run(commands: list[list[str]], folder: Path) -> subprocess.CompletedProcess:
    words = [sys.executable, "-X", "warn_default_encoding", "-c", SCRIPT, json.dumps(commands)]
    return subprocess.run(words, capture_output=True, text=True, cwd=folder)
