"""What cannot work is one sentence: in the page, and in `parc web`."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from parc.cli.main import main
from parc.errors import ParcError, SettingsError
from parc.web.build_page import bundle, check_folder
from parc.web.page_server import PageServer


def test_a_bad_model_file_is_one_sentence(site: Path, serve: Callable, open_page: Callable, tmp_path: Path) -> None:
    import gzip

    broken = tmp_path / "broken"
    shutil.copytree(site, broken)
    (broken / "models" / "tracker.onnx.gz").write_bytes(gzip.compress(b"no model at all"))
    visitor = open_page("", at=serve(broken))
    visitor.tab.locator("#failure").wait_for(timeout=120_000)
    assert visitor.failure.startswith("The model file models/tracker.onnx cannot be read") and "\n" not in visitor.failure


def test_a_missing_file_is_one_sentence(site: Path, serve: Callable, open_page: Callable, tmp_path: Path) -> None:
    part = tmp_path / "part"
    shutil.copytree(site, part)
    (part / "mujoco.wasm.gz").unlink()
    visitor = open_page("", at=serve(part))
    visitor.tab.locator("#failure").wait_for(timeout=60_000)
    assert visitor.failure == "The file mujoco.wasm.gz is missing from the page's folder (404)."


@pytest.mark.parametrize(
    "script, words",
    [
        ("delete globalThis.WebAssembly", "no WebAssembly"),
        ("HTMLCanvasElement.prototype.getContext = () => null", "no WebGL"),
    ],
)
def test_a_browser_that_cannot_is_told_so(open_page: Callable, script: str, words: str) -> None:
    visitor = open_page("", script=script)
    visitor.tab.locator("#failure").wait_for(timeout=60_000)
    assert words in visitor.failure and visitor.failure.endswith(".") and "\n" not in visitor.failure


def test_without_npm_the_command_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert main(["web", "-o", str(tmp_path / "site")]) == 2
    told = capsys.readouterr().err.strip()
    assert "npm" in told and "\n" not in told, told


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(SettingsError, match="holds other files"):
        check_folder(tmp_path)


def test_npm_that_fails_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in (("npm", "echo 'npm error the network is down' >&2; exit 1"), ("node", "echo v22.1.0")):
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/bin:/usr/bin")
    with pytest.raises(ParcError, match=r"npm ci failed: npm error the network is down"):
        bundle(tmp_path, tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_the_server_needs_a_page(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="holds no page"):
        PageServer(tmp_path)
