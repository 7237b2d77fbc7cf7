"""The tests that docs/security_tests.md names exist, and every row of its table names one."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_NAMED = re.compile(r"`(\w+/test_\w+\.py)::(test_\w+)`")


def missing(text: str) -> list[str]:
    """Tests that are named and are not there."""
    wrong = []
    for file, name in _NAMED.findall(text):
        path = ROOT / "tests" / file
        if not path.is_file() or not re.search(rf"^def {name}\(", path.read_text(), re.MULTILINE):
            wrong.append(f"{file}::{name}")
    return wrong


def test_every_defect_has_a_test_and_every_test_is_there() -> None:
    text = (ROOT / "docs" / "security_tests.md").read_text()
    rows = [row for row in text.splitlines() if row.startswith("| ") and not row.startswith(("| **", "| it was"))]
    assert len(rows) >= 23 and all(_NAMED.search(row) for row in rows), [row for row in rows if not _NAMED.search(row)]
    assert not missing(text), missing(text)


def test_a_test_that_is_not_there_is_found() -> None:
    text = (
        "`house/test_security_tests.py::test_unheard_of` `house/test_nowhere.py::test_a` `house/test_security_tests.py::test_a`"
    )
    assert missing(text) == [
        "house/test_security_tests.py::test_unheard_of", "house/test_nowhere.py::test_a", "house/test_security_tests.py::test_a",
    ]  # fmt: skip
