"""Test processes run side by side, so each keeps to one thread: torch's threads would stand in each other's way.

A process has one browser at most: two of Playwright's loops cannot live in one thread.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import shutil
from collections.abc import Iterator

import pytest
import torch

torch.set_num_threads(1)


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
