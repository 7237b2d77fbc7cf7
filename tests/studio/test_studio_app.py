"""The server: where it listens, and what it says when it cannot."""

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from benchmarks import run
from parc.character import humanoid
from parc.cli.main import main
from parc.errors import SettingsError, TerrainError
from parc.terrain import Terrain

pytest.importorskip("viser", reason="viser is not installed")

from parc.studio.browser_link import has_display
from parc.studio.studio_app import Studio, StudioSettings

TOKEN = "let-me-in-please"


def test_every_address_has_a_token() -> None:
    for settings in (StudioSettings(port=0), StudioSettings(host="localhost", port=0), StudioSettings(host="0.0.0.0", port=0)):
        studio = Studio(humanoid(), settings=settings)
        try:
            assert len(studio.token) >= 24 and studio.url.endswith(f":{studio.port}/?token={studio.token}")
            assert settings.host == "0.0.0.0" or studio.url.startswith("http://127.0.0.1:")
        finally:
            studio.close()
    with pytest.raises(TerrainError, match="the studio shows"):
        Studio(humanoid(), terrain=Terrain.flat((300, 300)), settings=StudioSettings(port=0))
    with pytest.raises(SettingsError, match="token must have"):
        Studio(humanoid(), settings=StudioSettings(port=0, token="no"))


def test_the_command_refuses_what_it_cannot_show(tmp_path: Path, capsys) -> None:
    not_a_generator = tmp_path / "g.safetensors"
    not_a_generator.write_bytes(b"nothing")
    for words, sentence in (
        (["studio", str(tmp_path / "nothing.pkl")], "there is no clip file"),
        (["studio", "--dataset", str(tmp_path)], "neither a data set nor files"),
        (["studio", "--terrain", str(tmp_path / "t.terrain")], "t.terrain"),
        (["studio", "--generator", str(not_a_generator)], "g.safetensors"),
        (["studio", "--port", "99999"], "port 99999"),
    ):
        assert main(words) == 2
        assert sentence in capsys.readouterr().err
    for width, height in (("0", "0"), ("-5", "600"), ("1280", "8193")):
        assert run.main(["studio", "--size", width, height]) == 2
        told = f"a window of {width} x {height} pixels was asked for, expected 800 x 500 to 8192 x 8192"
        assert told in capsys.readouterr().err


def test_the_command_serves_and_opens_a_browser(clip_files, tmp_path: Path) -> None:
    """The browser is a script that notes what it was called with, and takes the file along."""
    browser, called, taken = tmp_path / "browser", tmp_path / "called", tmp_path / "taken"
    browser.write_text(f'#!/bin/sh\ncp "${{1#file://}}" {taken}\necho "$@" > {called}.part\nmv {called}.part {called}\n')
    browser.chmod(0o700)
    command = [sys.executable, "-m", "parc.cli.main", "studio", str(clip_files[0]), "--port", "0", "--browser"]
    environment = {**os.environ, "BROWSER": f"{browser} %s", "PARC_STUDIO_TOKEN": TOKEN}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if "http://127.0.0.1" in line)
        url = line.split("open ")[1].split(" ")[0]
        assert line.startswith("1 motion;") and url.endswith(f"/?token={TOKEN}")
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(url.split("?")[0], timeout=10)
        while not called.exists():
            time.sleep(0.05)
        process.terminate()
    assert TOKEN not in called.read_text() and called.read_text().startswith("file://")
    assert url in taken.read_text()


def test_a_browser_opens_by_itself_only_where_it_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    assert not has_display()
    monkeypatch.setenv("DISPLAY", ":0")
    assert has_display()
    monkeypatch.setenv("SSH_CONNECTION", "somewhere")
    assert not has_display()
