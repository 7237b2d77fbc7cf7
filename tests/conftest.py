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


_TOGETHER = {"studio/test_page": "browser", "studio/test_studio_page": "browser", "studio/test_stopwatch": "browser",
             "studio/test_intruders": "browser", "studio/test_marked_text": "browser", "web/": "browser", "cluster/": "ray",
             "export/": "onnx"}  # fmt: skip
"""how files begin, below tests/, whose tests share a process: a browser that draws in software wants to be the only one"""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """The tests of a file stay on one process, so that what they share is made once; so do those of files that belong together.

    Told by file: the marks of pytest-xdist 3.8 (`xdist_group`) are not seen by pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0].removeprefix("tests/")
            return next((group for start, group in _TOGETHER.items() if file.startswith(start)), file)

    return ByFile(config, log)


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
