"""The version stands in one place; what repeats it for readers agrees."""

import re
import tomllib
from pathlib import Path

import pytest

import parc

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def versions() -> list[tuple[str, str]]:
    """(version, date) of the changelog, newest first."""
    text = (ROOT / "CHANGELOG.md").read_text()
    return re.findall(r"^## (\d+\.\d+\.\d+) \((\d{4}-\d{2}-\d{2})\)", text, re.MULTILINE)


def test_the_package_has_the_newest_version_of_the_changelog() -> None:
    assert versions()[0][0] == parc.__version__
    assert PROJECT["project"]["dynamic"] == ["version"] and PROJECT["tool"]["setuptools"]["dynamic"] == {
        "version": {"attr": "parc.__version__"}
    }


def test_versions_and_dates_fall() -> None:
    told = [(tuple(map(int, version.split("."))), date) for version, date in versions()]
    assert len(told) >= 5 and told == sorted(told, reverse=True) and len({version for version, _ in told}) == len(told)


def test_the_changelog_has_no_heading_but_versions_and_what_is_unreleased() -> None:
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings.count("Unreleased") == 1 and headings[0] == "Unreleased" and len(headings) == len(versions()) + 1


def test_the_citation_is_of_this_version_and_has_what_its_format_needs() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    told = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    version, date = versions()[0]
    assert (told["cff-version"], told["version"], str(told["date-released"])) == ("1.2.0", version, date)
    assert told["title"] == "parc" and told["message"] and told["license"] == PROJECT["project"]["license"]
    assert [author["name"] for author in told["authors"]] == [author["name"] for author in PROJECT["project"]["authors"]]
    (paper,) = told["references"]
    assert {"type", "title", "authors"} <= set(paper) and paper["doi"] in (ROOT / "README.md").read_text()


def test_extras_that_are_told_are_those_there_are() -> None:
    told = set(re.findall(r"^\| `\[(\w+)\]` \|", (ROOT / "docs" / "install.md").read_text(), re.MULTILINE))
    assert told == set(PROJECT["project"]["optional-dependencies"])
