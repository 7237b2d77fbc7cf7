"""Text of others is shown as text: in the markup that is sent, and by a real browser."""

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest

from parc.character import humanoid
from parc.dataset.dataset_store import DatasetWriter

pytest.importorskip("viser", reason="viser is not installed")

from parc.studio.clip_library import Library
from parc.studio.panels.marked_text import Marked, joined, marked, plain, show
from parc.studio.save_places import SavePlaces
from parc.studio.studio_app import Studio, StudioSettings

ATTACK = """<iframe srcdoc="<script>parent.PWNED='frame'</script>"></iframe><img src="x" onerror="PWNED='picture'">"""
"""runs where it is taken for HTML"""
NAME = f"w {ATTACK} ![](http://127.0.0.1:9/a.png) `c` {{x}} **b** www.evil.example"
HALF = "\ud800"
"""of a letter; JSON can hold it, UTF-8 cannot"""


def test_values_are_plain_and_templates_are_not() -> None:
    assert plain("Über 1 b") == "Über 1 b" and plain("<b>") == "&#60;b&#62;" and plain("1.5") == "1&#46;5"
    for letter in map(chr, range(1, 128)):
        assert plain(letter) == letter if letter.isalnum() or letter == " " else plain(letter) == f"&#{ord(letter)};"
    bold = marked("**{}**", "*x*")
    assert bold == "**&#42;x&#42;**" and marked("{} {:.1f}", bold, 2.25) == "**&#42;x&#42;** 2&#46;2"
    assert joined([bold, bold]) == bold + bold and isinstance(joined([]), Marked)
    for wrong in ("text", f"{bold}!"):
        with pytest.raises(TypeError, match="marked"):
            show(None, wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="marked"):
            joined([wrong])  # type: ignore[list-item]


@pytest.fixture
def visitor(browser, make_person, walk, generator_file: Path, tmp_path: Path):
    """In front of somebody else's data set."""
    clip = replace(walk, name=NAME + HALF, provenance=replace(walk.provenance, skill=ATTACK + HALF))
    with DatasetWriter(tmp_path / "set", humanoid()) as writer:
        writer.append([clip])
    generator = tmp_path / "<img src=x onerror=PWNED=1>.safetensors"
    generator.write_bytes(generator_file.read_bytes())
    library = Library(humanoid(), dataset=tmp_path / "set")
    studio = Studio(
        humanoid(), library, generator=generator, settings=StudioSettings(port=0, save_places=SavePlaces([tmp_path / "out"]))
    )
    context = browser.new_context(viewport={"width": 960, "height": 620}, accept_downloads=True)
    with contextlib.closing(context), contextlib.closing(studio):
        yield make_person(context.new_page(), studio)


def test_a_clip_whose_name_is_a_script_opens_and_nothing_runs(visitor, tmp_path: Path) -> None:
    tab, session = visitor.tab, visitor.session
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    visitor.press("Open")
    visitor.settle()
    visitor.settle()
    assert visitor.document.clip.name == NAME + "?"
    for name in ("Terrain", "Path", "Edit", "Measure", "Make", "Save", "Clips"):
        visitor.go_to(name)
        tab.wait_for_timeout(150)
        assert tab.locator("iframe, img[onerror], [onerror], [srcdoc]").count() == 0, name
    assert tab.get_by_text(NAME[:60]).first.is_visible()
    visitor.page.complain(f"there is no clip '{ATTACK}{HALF}'")
    visitor.page.tell(ATTACK, ATTACK)
    tab.get_by_text("there is no clip").first.wait_for()
    visitor.go_to("Save")
    with tab.expect_download() as download:
        visitor.press("Download")
    assert not set(download.value.suggested_filename) & set('<>"/')
    visitor.fill("Folder", str(tmp_path / ATTACK.replace("/", "")))
    visitor.press("Append")
    tab.get_by_text("is not below").first.wait_for()
    assert not list(tmp_path.glob("<iframe*"))
    session.rename(ATTACK)
    visitor.settle()
    assert tab.locator("iframe, [onerror], [srcdoc]").count() == 0
    assert tab.evaluate("window.PWNED") is None
    assert not [url for url in asked if url.startswith("http://127.0.0.1:9/") or "evil" in url]
    assert not visitor.errors


def test_a_script_that_got_into_the_page_would_not_run(visitor) -> None:
    """The second wall: text put there unescaped, on purpose."""
    visitor.page.top._title.content = (
        f"{ATTACK}<script>PWNED='inline'</script><img src='http://127.0.0.1:9/a.png'><a id='mark'>here</a>"
    )
    visitor.tab.locator("#mark").wait_for()
    assert visitor.tab.locator("iframe").count() == 1, "the text is taken for HTML"
    visitor.tab.wait_for_timeout(500)
    assert visitor.tab.evaluate("window.PWNED") is None
