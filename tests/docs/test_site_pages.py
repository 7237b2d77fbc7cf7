"""Pages of the documentation site that are made when it is built; `make docs` itself is a step of .ci/run."""

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from parc.cli.command_table import COMMANDS
from parc.cli.main import called
from parc.cli.option_list import flags_of

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pages() -> Iterator[ModuleType]:
    """The hook, as mkdocs loads it."""
    pytest.importorskip("mkdocs", reason="mkdocs is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools" / "docs_site"))
        yield importlib.import_module("site_pages")
        for name in ("site_pages", "command_pages", "package_pages"):
            sys.modules.pop(name, None)


def test_every_command_and_option_has_its_place(pages: ModuleType) -> None:
    text = "".join(pages.command_pages().values())
    headings = re.findall(r"^## (parc .+?) \{#", text, re.MULTILINE)
    assert sorted(headings) == sorted(f"parc {name}" for name in COMMANDS)
    parts = dict(zip(headings, re.split(r"^## parc .+$", text, flags=re.MULTILINE)[1:], strict=True))
    for name in COMMANDS:
        options = called(name).options
        missing = [option.flag for option in options if option.flag not in parts[f"parc {name}"]]
        assert not missing and flags_of(options), f"{name}: {missing}"


def test_rows_of_options_are_rows(pages: ModuleType) -> None:
    for line in "".join(pages.command_pages().values()).splitlines():
        if line.strip().startswith("| `"):
            assert len(re.findall(r"(?<!\\)\|", line)) in (3, 4), line


def test_links_out_of_docs_lead_to_the_pages_made_of_those_files(pages: ModuleType) -> None:
    def seen(text: str, page: str = "loop.md") -> str:
        site = SimpleNamespace(docs_dir=str(ROOT / "docs"))
        return pages.on_page_markdown(text, SimpleNamespace(file=SimpleNamespace(src_uri=page)), site, None)

    assert seen("[a](../LOG.md#x), [b](../SECURITY.md)") == "[a](log.md#x), [b](security.md)"
    assert seen("[a](../examples/00_terrain.py)") == "[a](examples.md#00_terrain)"
    assert seen("[a](../src/parc/errors.py)") == "a" and seen("[a](cluster.md)") == "[a](cluster.md)"
    assert seen("[a](../data.md#joint-names) [b](../../LOG.md)", "tutorials/x.md") == "[a](../data.md#joint-names) [b](../log.md)"
    with pytest.raises(AssertionError, match="leads nowhere"):
        seen("[a](../nothing.md)")


def test_a_folder_of_the_navigation_takes_all_its_pages(pages: ModuleType) -> None:
    texts = {"t/b.md": "# Second", "t/a.md": "text\n\n# First `one` {#x}", "t/index.md": "# All", "u/c.md": "# Other"}
    assert pages.with_folders([{"T": "t/*"}, "u/c.md", {"N": ["u/c.md", "u/*"]}], texts) == [
        {"T": ["t/index.md", {"Second": "t/b.md"}, {"First one": "t/a.md"}]},
        "u/c.md",
        {"N": ["u/c.md", {"Other": "u/c.md"}]},
    ]
