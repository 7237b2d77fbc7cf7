"""Test processes run side by side, so each keeps to one thread: torch's threads would stand in each other's way.

A process has one browser at most: two of Playwright's loops cannot live in one thread.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import importlib
import shutil
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest
import torch

torch.set_num_threads(1)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of a file stay on one process, so that what they share is made once; those that share a run of the loop, too.

    The folders of browser tests, and files with a mark of their own, say themselves what belongs together.
    """
    for item in items:
        if item.path.parent.name in ("studio", "web") or item.get_closest_marker("xdist_group"):
            continue
        shared = "loop" if "finished" in getattr(item, "fixturenames", ()) else item.path.stem
        item.add_marker(pytest.mark.xdist_group(shared))


@pytest.fixture(scope="module")
def triton_module() -> Iterator[Callable[[str], ModuleType]]:
    """Imports a module of kernels, interpreted where there is no GPU (which must be said before a kernel is defined)."""
    pytest.importorskip("triton", reason="Triton is not installed")
    names: list[str] = []

    def load(name: str) -> ModuleType:
        names.append(name)
        sys.modules.pop(name, None)
        return importlib.import_module(name)

    with pytest.MonkeyPatch.context() as patch:
        if not torch.cuda.is_available():
            patch.setenv("TRITON_INTERPRET", "1")
        yield load
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture(scope="session")
def browser() -> Iterator:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    executable = shutil.which("chromium")
    if executable is None:
        pytest.skip("chromium is not installed")
    with api.sync_playwright() as playwright:
        flags = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
        chromium = playwright.chromium.launch(executable_path=executable, args=flags)
        yield chromium
        chromium.close()
