"""Hook of mkdocs: pages of the documentation site that are made when it is built.

Made are the reference of the commands (from their own tables), that of the package (by mkdocstrings), the examples, and copies of
the texts in the root. The folder of `parc web` (PLAY) becomes play/, if it was built before. Nothing of this is committed.
"""

import os
import re
from pathlib import Path
from typing import Any

from command_pages import command_pages  # beside this file
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from package_pages import package_pages

ROOT = Path(__file__).parents[2]
PLAY = Path(os.environ.get("DOCS_PLAY", ROOT / "out" / "play"))
"""folder that `parc web` has written"""
COPIED = {
    "LOG.md": "log.md",
    "MODEL_CARD.md": "model_card.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "THIRD_PARTY.md": "third_party.md",
}
"""text of the root: page"""
NOT_SEARCHED = ("log.md", "third_party.md")
"""so long that they would stand first in every search"""
PLAY_MARK = "<!-- the page -->"
WITH_PLAY = """\
<figure class="play" markdown="1">
[![The character on random boxes, its plan as a ghost](pictures/page_boxes.png)](play/index.html)
<figcaption>
<a class="md-button md-button--primary" href="play/index.html">Open it</a>
<span>Shape the ground, click a goal. Models and physics run in your browser (SIZE MB); nothing is sent.</span>
</figcaption>
</figure>"""
WITHOUT_PLAY = """\
![The character on random boxes, its plan as a ghost](pictures/page_boxes.png)

*The page of `parc web`: shape the ground, click a goal. This copy of the site was built without it;
`parc web -o site --serve` opens it on your machine ([how](page.md)).*"""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Make the pages, so that the navigation can name them."""
    global MADE
    MADE = {page: from_root(source) for source, page in COPIED.items()}
    MADE |= {"examples.md": examples_page()} | command_pages() | package_pages(ROOT / "src")
    written = {file.relative_to(config.docs_dir).as_posix(): file.read_text() for file in Path(config.docs_dir).rglob("*.md")}
    config.nav = with_folders(config.nav or [], written | MADE)
    return config


def with_folders(nav: list[Any], texts: dict[str, str]) -> list[Any]:
    """The navigation with `FOLDER/*` replaced by the pages of that folder, by title; an index is first."""
    filled: list[Any] = []
    for entry in nav:
        name, value = next(iter(entry.items())) if isinstance(entry, dict) else (None, entry)
        if isinstance(value, list):
            value = with_folders(value, texts)
        elif value.endswith("/*"):
            pages = [page for page in texts if re.fullmatch(re.escape(value[:-1]) + r"[^/]+\.md", page)]
            if value == "tutorials/*":
                pages.sort()
            pages.sort(key=lambda page: not page.endswith("/index.md"))
            value = [
                page if page.endswith("/index.md") else {title_of(texts[page]).removeprefix("Commands: "): page} for page in pages
            ]
        if name is None and isinstance(value, list):
            filled += value
        else:
            filled.append(value if name is None else {name: value})
    return filled


def title_of(text: str) -> str:
    """The first heading of a page."""
    found = re.search(r"^# (.+?)(?: \{.*\})?$", text, re.MULTILINE)
    assert found, f"a page without a title: {text[:80]}"
    return found[1].replace("`", "")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that were made, and the page of `parc web`."""
    for page, content in MADE.items():
        files.append(File.generated(config, page, content=content))
    if has_play():
        for file in sorted(path for path in PLAY.rglob("*") if path.is_file()):
            files.append(File.generated(config, f"play/{file.relative_to(PLAY).as_posix()}", abs_src_path=str(file)))
    return files


def has_play() -> bool:
    """Whether `parc web` was run before."""
    return (PLAY / "index.html").is_file()


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links out of docs/ become links to the pages made of those files; the front gets the page of `parc web`."""
    if page.file.src_uri == "index.md":
        assert PLAY_MARK in markdown
        size = sum(file.stat().st_size for file in PLAY.rglob("*") if file.is_file()) / 1e6
        markdown = markdown.replace(PLAY_MARK, WITH_PLAY.replace("SIZE", f"{size:.0f}") if has_play() else WITHOUT_PLAY)
    up = "../" * page.file.src_uri.count("/")
    return re.sub(r"(?<!!)\[([^\[\]]*)\]\((?:\.\./)+([^)#\s]+)(#[^)\s]*)?\)", lambda m: inside(m, up, config), markdown)


def inside(link: re.Match[str], up: str, config: MkDocsConfig) -> str:
    """A link that leaves its folder: as it is within docs/, to the page made of a file, else its text alone."""
    text, target, anchor = link[1], link[2], link[3] or ""
    if link[0].count("../") <= up.count("../") and (Path(config.docs_dir) / target).exists():
        return link[0]
    if target in COPIED:
        return f"[{text}]({up}{COPIED[target]}{anchor})"
    if re.fullmatch(r"examples(/\w+\.py)?/?", target):
        return f"[{text}]({up}examples.md#{Path(target).stem})" if target.endswith(".py") else f"[{text}]({up}examples.md)"
    if target == "README.md":
        return f"[{text}]({up}index.md)"
    assert (ROOT / target).exists(), f"{link[0]} leads nowhere"
    return text


def from_root(source: str) -> str:
    """A text of the root, with its links as seen from docs/."""
    text = (ROOT / source).read_text()
    text = re.sub(r"\]\((?:\./)?docs/", "](", text)
    text = re.sub(r"\]\((?!https?:|#|docs/)([A-Z_]+\.md|LICENSE|examples[^)]*|CITATION\.cff)", r"](../\1", text)
    return ("---\nsearch:\n  exclude: true\n---\n" if COPIED[source] in NOT_SEARCHED else "") + text


def examples_page() -> str:
    """The numbered scripts of examples/, each with its text."""
    parts = ["# Examples\n\nThe numbered scripts of the folder `examples/`, one stage each. All of them run as tests.\n"]
    parts += [
        f"## {script.name} {{#{script.stem}}}\n\n```python\n{script.read_text().rstrip()}\n```\n"
        for script in sorted((ROOT / "examples").glob("[0-9]*.py"))
    ]
    return "\n".join(parts)


MADE: dict[str, str] = {}
"""page: its text"""
