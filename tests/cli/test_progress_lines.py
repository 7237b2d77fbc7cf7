import io
import os
import sys
import time

import pytest

from parc.cli.base_command import progress, shown
from parc.cli.progress_lines import ProgressLines


def told_until(count: int, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Lines on stderr, as soon as there are so many."""
    lines, end = [], time.monotonic() + 30
    while len(lines) < count and time.monotonic() < end:
        time.sleep(0.01)
        read = capsys.readouterr()
        assert not read.out
        lines += read.err.splitlines()
    return lines


def test_a_log_is_told_now_and_then_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Also while nothing is reported: the first lines come before any work is done."""
    with ProgressLines(None, "building", every=0.05, first=0.01, unit="m") as bar:
        first, second = told_until(2, capsys)[:2]
        assert first == second == "building: after 0 s"
        shown(bar)(3, 8, "2 machines")
        assert bar.line() == "building: 3 of 8 m after 0 s, about 0 s left, 2 machines"
        assert told_until(3, capsys)[-1].startswith("building: 3 of 8 m after ")
    capsys.readouterr()
    time.sleep(0.1)
    assert capsys.readouterr().err == "", "it is over"


def test_short_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert not sys.stderr.isatty()
    with progress(2, "measuring") as bar:
        bar.update()
        bar.update()
        assert bar.n == bar.total == 2
    assert capsys.readouterr().err == ""


def test_a_terminal_that_says_no_width_still_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container without a window; and what is told while no more gets done is drawn."""
    if not hasattr(os, "openpty"):
        pytest.skip("no terminals of our own here")
    ours, theirs = os.openpty()
    with open(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with progress(None, "crossing", "m") as bar:
            tell = shown(bar)
            tell(3, 8, "try 1")
            bar.last_print_t -= 1
            tell(0, 8, "try 2")
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        drawn = os.read(ours, 10_000).decode()
    os.close(ours)
    assert "3/8" in drawn and "try 2" in drawn
