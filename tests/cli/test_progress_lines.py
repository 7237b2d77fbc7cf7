import sys

import pytest

from parc.cli.base_command import progress
from parc.cli.progress_lines import ProgressLines


def test_a_log_is_told_now_and_then_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLines(None, "building", every=0.0) as bar:
        bar.total = 8
        bar.update(3 - bar.n)
        bar.set_postfix_str("2 machines")
        bar.update()
    told = capsys.readouterr()
    assert not told.out
    first, second = told.err.splitlines()
    assert first.startswith("building: 3 of 8 after 0 s") and second == "building: 4 of 8 after 0 s, about 0 s left, 2 machines"


def test_short_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert not sys.stderr.isatty()
    with progress(2, "measuring") as bar:
        bar.update()
        bar.update()
        assert bar.n == bar.total == 2
    assert capsys.readouterr().err == ""
