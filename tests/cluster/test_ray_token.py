"""A Ray cluster with a token, as docs/cluster.md starts it: its three nodes work, a node and clients without it get nothing."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="Ray is not installed ([cluster])")
pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="several nodes on one machine need Linux"),
]
CLIENT = str(Path(__file__).with_name("token_client.py"))
RAY = [sys.executable, "-c", "from ray.scripts.scripts import main; main()"]
NODE = ["--num-cpus=1", "--object-store-memory=80000000", "--disable-usage-stats", "--block"]
SECRET = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")


QUIET: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}


def test_who_has_the_token_works_and_nobody_else_gets_in(tmp_path: Path) -> None:
    right, wrong = (tmp_path / name for name in ("right", "wrong"))
    for file in (right, wrong):
        file.write_text(secrets.token_hex(32))
    port = _free_port()
    node = [f"--address=127.0.0.1:{port}"]
    with ExitStack() as running:
        short = running.enter_context(tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True))  # for its sockets
        head = ["--head", f"--port={port}", "--include-dashboard=false", "--node-ip-address=127.0.0.1", f"--temp-dir={short}"]
        running.enter_context(_node(head, tmp_path, right))
        tokens = {"another token": wrong, "no token mode": None, "no token": tmp_path / "nowhere"}
        without = {who: _client(port, tmp_path, token) for who, token in tokens.items()}
        for client in without.values():
            running.callback(client.kill)
        stranger = subprocess.run([*RAY, "start", *node, *NODE], env=_environment(tmp_path, wrong), **QUIET, timeout=120)
        assert stranger.returncode != 0 and "InvalidAuthToken" in stranger.stdout
        for _ in range(2):
            running.enter_context(_node(node, tmp_path, right))
        said, _ = _client(port, tmp_path, right).communicate(timeout=180)
        assert "machines 3, squares [0, 1, 4, 9, 16, 25]" in said, said
        for who, client in without.items():
            said, _ = client.communicate(timeout=180)
            (line,) = [line for line in said.splitlines() if line.startswith("refused: ")] or [said]
            assert f"no Ray cluster at '127.0.0.1:{port}'" in line and "squares" not in said, (who, said)


def _client(port: int, home: Path, token: Path | None) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, CLIENT, f"127.0.0.1:{port}"], env=_environment(home, token), **QUIET)


def _environment(home: Path, token: Path | None) -> dict[str, str]:
    """Of a process of its own home, so that no token of the user's is found."""
    plain = {key: value for key, value in os.environ.items() if key not in SECRET and not key.startswith("RAY_ADDRESS")}
    mine = {} if token is None else {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
    return plain | {"HOME": str(home), "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"} | mine


@contextmanager
def _node(options: list[str], home: Path, token: Path) -> Iterator[None]:
    """A node from when it has started until the end; `ray stop` would stop the nodes of other tests too."""
    log = home / f"node-{secrets.token_hex(4)}.log"
    with open(log, "w") as file:
        node = subprocess.Popen(
            [*RAY, "start", *options, *NODE],
            env=_environment(home, token), stdout=file, stderr=file, start_new_session=True,
        )  # fmt: skip
    try:
        end = time.monotonic() + 120
        while "Ray runtime started" not in log.read_text():
            assert node.poll() is None and time.monotonic() < end, log.read_text()[-2000:]
            time.sleep(0.1)
        yield
    finally:
        node.send_signal(signal.SIGTERM)
        try:
            node.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(node.pid, signal.SIGKILL)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
