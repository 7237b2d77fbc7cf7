"""The page in a subfolder, inside a frame of another page, in a browser that keeps nothing for it: as in a documentation site."""

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from .conftest import Visitor

REFUSED = """
Object.defineProperty(window, "localStorage", { get() { throw new DOMException("denied", "SecurityError"); } });
navigator.getGamepads = () => { throw new DOMException("denied", "SecurityError"); };
navigator.clipboard.writeText = () => Promise.reject(new DOMException("denied", "NotAllowedError"));
"""
OUTER = """<!doctype html><html lang="en"><head><link rel="icon" href="data:,"></head><body style="margin: 0; height: 2000px">
<p style="height: 60px; margin: 0">Words</p><iframe src="play/{query}" style="border: 0; width: 720px; height: 440px"></iframe>"""


@pytest.fixture(scope="module")
def shared(shared_visitor: Visitor) -> dict:
    """A ground that somebody has changed, and the link to it."""
    shared_visitor.press("Walks")
    shared_visitor.wait("parc.page.ground.kind === 'walks'")
    shared_visitor.ask("parc.page.terrain.set(3, 4, 1.234)")
    link = shared_visitor.ask("parc.page.share()")
    heights, ground = shared_visitor.ask("[parc.heights(), parc.page.ground]")
    return {"link": link, "heights": heights, "ground": ground}


@pytest.fixture(scope="module")
def inside(
    shared: dict, site: Path, serve: Callable, open_page: Callable, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Visitor]:
    folder = tmp_path_factory.mktemp("documentation")
    (folder / "start").mkdir()
    (folder / "start" / "play").symlink_to(site, target_is_directory=True)
    query = "?paused=1#" + urlsplit(shared["link"]).fragment
    (folder / "start" / "index.html").write_text(OUTER.format(query=query))
    url = serve(folder) + "start/"
    visitor = open_page("", script=REFUSED, at=url)
    visitor.frame = next(frame for frame in visitor.tab.frames if "/play/" in frame.url)
    visitor.corner = np.array([0.0, 60.0])
    yield visitor.wait_until_there()
    visitor.close()


def test_a_shared_link_gives_the_same_ground(inside: Visitor, shared: dict) -> None:
    assert inside.ask("parc.heights()") == shared["heights"]
    ground = inside.ask("parc.page.ground")
    assert all(ground[name] == shared["ground"][name] for name in ("seed", "start"))
    assert np.reshape(inside.ask("parc.heights()"), (32, 32))[3, 4] == pytest.approx(1.234, abs=1e-6)


def test_clicks_and_keys_reach_it(inside: Visitor) -> None:
    keys = inside.tab.keyboard
    keys.press("t")  # nobody has clicked into the frame: it is not meant
    assert inside.ask("parc.page.speed") == 0
    goal = inside.ask("(() => { const [i, j] = parc.page.ground.start; return parc.page.terrain.centreOf(i + 1, j + 1); })()")
    inside.click_ground(*goal)
    assert np.abs(np.array(inside.ask("parc.page.view.goal.position.toArray()"))[:2] - goal).max() < 0.4
    keys.down("w")
    inside.wait("parc.page.controls.driven")
    keys.up("w")
    inside.wait("!parc.page.controls.driven")
    inside.run(5)
    assert inside.ask("parc.state.bodies.every(Number.isFinite)")


def test_the_link_can_be_taken_from_it(inside: Visitor) -> None:
    """Where the browser refuses to copy, for nobody sees the address of a frame."""
    inside.press("Share link")
    inside.wait("document.querySelector('#link').open")
    told = inside.ask("document.querySelector('#link input').value")
    assert told == inside.ask("location.href") and "/start/play/" in told
    inside.tab.keyboard.press("Escape")


def test_light_is_chosen_though_nothing_is_kept(inside: Visitor) -> None:
    before = inside.ask("document.documentElement.dataset.theme")
    inside.frame.locator("label", has_text="Light").click()
    assert inside.ask("document.documentElement.dataset.theme") != before
