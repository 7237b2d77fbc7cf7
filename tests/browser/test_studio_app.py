"""The server: where it listens, and what it says when it cannot."""

import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from parc.character import humanoid
from parc.cli.main import main
from parc.errors import SettingsError, TerrainError
from parc.terrain import Terrain

pytest.importorskip("viser", reason="viser is not installed")

from parc.view.studio.app import Studio, StudioSettings


def test_this_machine_needs_no_token_and_others_always_have_one() -> None:
    studio = Studio(humanoid(), settings=StudioSettings(port=0))
    try:
        assert studio.token is None and studio.url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(studio.url, timeout=10) as answer:
            assert answer.status == 200 and b"<html" in answer.read()[:2000].lower()
    finally:
        studio.close()
    assert StudioSettings(host="0.0.0.0").needs_token and StudioSettings(host="::").needs_token
    assert not StudioSettings(host="localhost").needs_token
    with pytest.raises(TerrainError, match="the studio shows"):
        Studio(humanoid(), terrain=Terrain.flat((300, 300)), settings=StudioSettings(port=0))
    with pytest.raises(SettingsError, match="token must have"):
        Studio(humanoid(), settings=StudioSettings(host="0.0.0.0", port=0, token="no"))


def test_the_command_refuses_what_it_cannot_show(tmp_path: Path, capsys) -> None:
    not_a_generator = tmp_path / "g.safetensors"
    not_a_generator.write_bytes(b"nothing")
    for words, sentence in (
        (["studio", str(tmp_path / "nothing.pkl")], "there is no clip file"),
        (["studio", "--dataset", str(tmp_path)], "neither a data set nor files"),
        (["studio", "--terrain", str(tmp_path / "t.terrain")], "t.terrain"),
        (["studio", "--generator", str(not_a_generator)], "g.safetensors"),
        (["studio", "--port", "99999"], "port 99999"),
        (["bench", "studio", "--size", "0", "0"], "a window of 0 x 0 pixels was asked for, expected 800 x 500 to 8192 x 8192"),
        (["bench", "studio", "--size", "-5", "600"], "a window of -5 x 600 pixels"),
        (["bench", "studio", "--size", "1280", "8193"], "a window of 1280 x 8193 pixels"),
    ):
        assert main(words) == 2
        assert sentence in capsys.readouterr().err


def test_the_command_serves_until_it_is_stopped(clip_files) -> None:
    command = [sys.executable, "-m", "parc.cli.main", "studio", str(clip_files[0]), "--port", "0", "--token", "let-me-in-please"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if "http://127.0.0.1" in line and "token=" in line)
        assert line.startswith("1 clips")
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(line.split("open ")[1].split("?")[0], timeout=10)
        process.terminate()
