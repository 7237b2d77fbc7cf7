"""Every link in the documentation leads somewhere, its anchor too. Nothing is fetched; addresses elsewhere are not tried."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
LISTED = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
FILES = {name for name in LISTED.stdout.splitlines() if (ROOT / name).exists()}
PAGES = sorted(name for name in FILES if (name.endswith(".md") and "/" not in name) or re.fullmatch(r"docs/.+\.md", name))


def without_code(text: str) -> str:
    """A page without its code, in which brackets mean something else."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "code", text)


def links(text: str) -> Iterator[str]:
    """Targets of links and pictures, in Markdown and in HTML."""
    for target in re.findall(r"\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)", without_code(text)):
        yield unquote(target)
    yield from re.findall(r"(?:href|src)=\"([^\"]+)\"", without_code(text))


def anchors(text: str) -> set[str]:
    """Names of a page's headings that lead there both on the site and in a repository's own view of the file."""
    found = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.MULTILINE):
        if named := re.search(r"\{#([\w-]+)\}$", heading):
            found.add(named[1])
            continue
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        plain = re.sub(r"[^\w\s-]", "", plain).strip().lower()
        if (collapsed := re.sub(r"[-\s]+", "-", plain)) == plain.replace(" ", "-"):
            found.add(collapsed)
    return found


def nowhere(page: str, text: str) -> list[str]:
    """Links of a page that lead nowhere, with what is wrong."""
    wrong = []
    for link in links(text):
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        target, _, anchor = link.partition("#")
        place = (ROOT / page).parent / target if target else ROOT / page
        name = place.resolve().relative_to(ROOT).as_posix() if place.resolve().is_relative_to(ROOT) else ""
        if name not in FILES and not any(file.startswith(f"{name}/") for file in FILES):
            wrong.append(f"{link}: no such file")
        elif anchor and not (name.endswith(".md") and anchor in anchors(place.read_text())):
            wrong.append(f"{link}: no such heading")
    return wrong


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    wrong = nowhere(page, (ROOT / page).read_text())
    assert not wrong, "\n".join(wrong)


def test_links_that_lead_nowhere_are_seen() -> None:
    text = "[a](../LOG.md) [b](nothing.md) [c](cluster.md#who-gets-in) [d](cluster.md#nobody) ![e](pictures/none.png) [f](https://x.y)"
    assert nowhere("docs/studio.md", f"{text} `[g](code.md)`\n```\n[h](code.md)\n```\n") == [
        "nothing.md: no such file",
        "cluster.md#nobody: no such heading",
        "pictures/none.png: no such file",
    ]


def test_every_picture_is_shown_somewhere() -> None:
    shown = {((ROOT / page).parent / link).resolve() for page in PAGES for link in links((ROOT / page).read_text())}
    there = {ROOT / name for name in FILES if name.startswith("docs/pictures/")}
    assert not there - shown, sorted(file.name for file in there - shown)
