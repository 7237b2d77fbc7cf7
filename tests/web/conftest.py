"""The page, built once, served by a plain static server on loopback, and visitors who see it in a browser."""

import functools
import http.server
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

PATIENCE = 240_000
"""ms that anything may take, on a machine that others keep busy"""


class Visitor:
    """Somebody with the page open: errors, requests to other places, and what the page lets a script ask for."""

    def __init__(self, tab, url: str, query: str = "") -> None:
        self.tab, self.url = tab, url
        self.frame = tab
        """where the page is: the tab, or a frame in it at `corner`, pixels"""
        self.corner = np.zeros(2)
        self.errors: list[str] = []
        self.requests: list[str] = []
        tab.on("pageerror", lambda error: self.errors.append(str(error)))
        tab.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        tab.context.on("request", lambda request: self.requests.append(request.url))
        tab.set_default_timeout(PATIENCE)
        tab.goto(url + query)

    @property
    def foreign(self) -> list[str]:
        """Requests to other places than the page's own folder."""
        return [url for url in self.requests if urlsplit(url).scheme not in ("data", "blob") and not url.startswith(self.url)]

    def wait_until_there(self) -> "Visitor":
        self.wait("window.parc?.state || !document.querySelector('#failure').hidden")
        assert self.failure == ""
        return self

    @property
    def failure(self) -> str:
        """What the page says instead of working."""
        box = self.frame.locator("#failure")
        return box.inner_text().removeprefix("parc").strip() if box.is_visible() else ""

    def ask(self, script: str, argument: object = None):
        late = f"new Promise((_, no) => setTimeout(() => no(new Error('no answer')), {PATIENCE // 2}))"
        return self.frame.evaluate(f"(it) => Promise.race([{script}, {late}])", argument)

    def wait(self, condition: str, argument: object = None) -> None:
        """Until a condition of the page holds."""
        self.frame.wait_for_function(f"(it) => {condition}", arg=argument, timeout=PATIENCE, polling=100)

    def close(self) -> None:
        """Nothing went wrong meanwhile, and nothing left the folder."""
        assert not self.errors, self.errors
        assert not self.foreign, self.foreign
        self.tab.context.close()

    def run(self, steps: int, until: bool = False) -> dict:
        """Control steps at once; with `until` no further than a fall or an arrival."""
        return self.ask("parc.run(it[0], it[1])", [steps, ["fell", "arrived"] if until else []])

    def ground(self, heights, start: tuple[int, int], seed: int = 0, heading: float = 0.0) -> None:
        rows, columns = heights.shape
        told = {"rows": rows, "columns": columns, "heights": heights.flatten().tolist(), "start": start, "seed": seed}
        self.ask("parc.setGround(it)", told | {"heading": heading})

    def screen(self, x: float, y: float) -> np.ndarray:
        """Where a place of the ground is in the tab, pixels, with the camera where it comes to rest."""
        script = "parc.page.view.draw(10); done(parc.screen(it[0], it[1]));"
        both = "requestAnimationFrame(look); setTimeout(look, 2000);"  # a tab that is not drawn gets no frames
        return self.corner + self.ask(f"new Promise((done) => {{ const look = () => {{ {script} }}; {both} }})", [x, y])

    def click_ground(self, x: float, y: float) -> None:
        """With the mouse; the way to there is shown."""
        self.tab.mouse.click(*self.screen(x, y))
        self.wait("parc.page.view.goal.visible")

    def press(self, name: str) -> None:
        self.frame.get_by_role("button", name=name, exact=True).or_(
            self.frame.get_by_role("radio", name=name, exact=True)
        ).click()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `parc web` writes, of the models in the box; or one that is there already, named in PARC_PAGE."""
    for tool in ("npm", "node", "chromium"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    if "PARC_PAGE" in os.environ:
        return Path(os.environ["PARC_PAGE"])
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    from parc.character import humanoid
    from parc.errors import ParcError
    from parc.plan import Models
    from parc.web.build_page import build_page, bundle

    out = tmp_path_factory.mktemp("page") / "site"
    try:
        bundle(tmp_path_factory.mktemp("bundle"))
    except ParcError as error:
        if "npm ci" in str(error):
            pytest.skip(f"npm's packages cannot be fetched here: {error}")
        raise
    models = Models.load(humanoid(), "cpu", half=False)
    build_page(out, models.generator, models.tracker)
    return out


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[Path], str]]:
    """Serves folders by Python's plain static server; their addresses."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    servers = []

    def start(folder: Path) -> str:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def open_page(browser, site: Path, serve: Callable[[Path], str]) -> Iterator[Callable[..., Visitor]]:
    """A new tab with the page; small, since it is drawn in software."""
    url, contexts = serve(site), []

    def visit(
        query: str = "?ground=flat&seed=1&paused=1",
        size: tuple[int, int] = (720, 480),
        script: str = "",
        at: str = url,
        touch: bool = False,
    ) -> Visitor:
        viewport = {"width": size[0], "height": size[1]}
        context = browser.new_context(viewport=viewport, accept_downloads=True, has_touch=touch, is_mobile=touch)
        contexts.append(context)
        if script:
            context.add_init_script(script)
        return Visitor(context.new_page(), at, query)

    yield visit
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def shared_visitor(browser, site: Path, serve: Callable[[Path], str]) -> Iterator[Visitor]:
    """One for each file, in a browser of its own: nothing that other files left lies over the ground that is clicked."""
    flags = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    own = browser.browser_type.launch(executable_path=shutil.which("chromium"), args=flags)
    context = own.new_context(viewport={"width": 720, "height": 480}, accept_downloads=True)
    yield Visitor(context.new_page(), serve(site), "?ground=flat&seed=1&paused=1").wait_until_there()
    own.close()


@pytest.fixture
def visitor(shared_visitor: Visitor) -> Iterator[Visitor]:
    """The one tab that most tests share, with paused time; afterwards nothing went wrong in it and nothing left the folder."""
    shared_visitor.tab.bring_to_front()  # a tab behind another gets no frames and no clicks
    shared_visitor.press("Go")
    yield shared_visitor
    assert not shared_visitor.errors, shared_visitor.errors
    assert not shared_visitor.foreign, shared_visitor.foreign


@pytest.fixture
def level(visitor: Visitor) -> Visitor:
    """Paused, in the middle of level ground of 20 x 20 cells."""
    visitor.press("Pause")
    visitor.ground(np.zeros((20, 20)), (10, 10))
    visitor.run(1)
    return visitor


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser that draws in software on two busy cores now and then loses an event; a test of the page may try twice."""
    for item in items:
        if item.path.parent == Path(__file__).parent and item.path.name.startswith("test_page_"):
            item.add_marker(pytest.mark.flaky(reruns=1))
