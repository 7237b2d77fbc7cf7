"""What an installed package holds: every file of the source, and not much more than the models."""

import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "parc"
LARGEST = 60e6
"""bytes, before compression"""


def matches(pattern: str, name: str) -> bool:
    """As setuptools reads the patterns of `package-data`: a star stays in its folder."""
    return re.fullmatch(re.escape(pattern).replace(r"\*", "[^/]*"), name) is not None


def files() -> list[str]:
    """All of the package that is in the repository, or would be with the next commit."""
    told = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "."], cwd=PACKAGE, capture_output=True, text=True, check=True
    )
    return [name for name in told.stdout.splitlines() if (PACKAGE / name).exists()]


def test_every_file_that_is_no_python_is_named_for_the_wheel() -> None:
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["parc"]
    data = [name for name in files() if not name.endswith(".py") and not Path(name).name.startswith(".")]
    left = [name for name in data if not any(matches(pattern, name) for pattern in patterns)]
    assert not left, f"in no pattern of package-data: {left}"
    unused = [pattern for pattern in patterns if not any(matches(pattern, name) for name in data)]
    assert not unused, f"patterns of package-data without a file: {unused}"


def test_a_star_stays_in_its_folder() -> None:
    assert matches("web/page/src/*.js", "web/page/src/view.js") and not matches("web/page/*.js", "web/page/src/view.js")


def test_the_wheel_stays_small() -> None:
    size = sum((PACKAGE / name).stat().st_size for name in files())
    assert size < LARGEST, f"{size / 1e6:.0f} MB"
