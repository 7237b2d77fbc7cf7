"""What other pages can do to a studio that is open in the same browser: nothing."""

import contextlib
import http.server
import shutil
import threading
from collections.abc import Iterator
from typing import ClassVar

import pytest

from parc.character import humanoid

pytest.importorskip("viser", reason="viser is not installed")

import viser

from parc.studio.browser_link import BrowserLink
from parc.studio.studio_app import Studio, StudioSettings

FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
         "--host-resolver-rules=MAP *.example 127.0.0.1"]  # fmt: skip
SOCKET = """address => new Promise(done => {
    const socket = new WebSocket(address, ['viser-vVERSION']);
    socket.onopen = () => done('open'); socket.onerror = () => done('refused'); setTimeout(() => done('late'), 5000);
})""".replace("VERSION", viser.__version__)
FETCH = """([address, mode]) => fetch(address, {mode, credentials: 'include'})
    .then(answer => answer.text()).then(text => text.length, () => 'refused')"""
FRAME = """address => new Promise(done => {
    const frame = document.createElement('iframe');
    frame.src = address; frame.onload = () => setTimeout(() => done(true), 1000);
    document.body.append(frame); setTimeout(() => done(false), 5000);
})"""


class Neighbour(http.server.BaseHTTPRequestHandler):
    """Another server on this machine, of another user: an empty page, and a memory of what it was sent."""

    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.seen.append(f"{self.path}\n{self.headers}")
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><body>neighbour")

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def neighbour() -> Iterator[int]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Neighbour)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    server = Studio(humanoid(), settings=StudioSettings(port=0))
    yield server
    server.close()


@pytest.fixture(scope="module")
def tabs(browser, studio: Studio):
    """The tabs of one person: the studio is open, and other sites are. Names under .example lead to this machine."""
    other = browser.browser_type.launch(executable_path=shutil.which("chromium"), args=FLAGS)
    with contextlib.closing(other), contextlib.closing(other.new_context()) as context:
        context.set_default_timeout(20_000)
        page = context.new_page()
        page.goto(studio.url)
        page.get_by_role("tab", name="Clips").wait_for(timeout=30_000)
        while not studio.pages:
            page.wait_for_timeout(50)
        yield context


def room(tabs) -> str:
    """Where the studio's page is; no other site can know it, but be it known."""
    return tabs.pages[0].url.split("?")[0].rstrip("/")


def test_the_link_opens_the_studio_and_leaves_the_address(tabs, studio: Studio) -> None:
    page = tabs.pages[0]
    assert studio.token not in page.evaluate("location.href + document.referrer + JSON.stringify(history.state)")
    assert studio.token not in page.evaluate("JSON.stringify(localStorage)") and page.evaluate("document.cookie") == ""
    before = len(studio.pages)
    again = tabs.new_page()
    again.goto(room(tabs) + "/")
    again.get_by_role("tab", name="Clips").wait_for()
    again.wait_for_timeout(300)
    assert again.title() and len(studio.pages) > before, "the cookie is enough"
    again.close()


@pytest.mark.parametrize("site", ["127.0.0.1", "localhost", "evil.example"])
def test_another_site_gets_nothing_even_if_it_knows_where_the_page_is(tabs, studio: Studio, neighbour: int, site: str) -> None:
    tab = tabs.new_page()
    tab.goto(f"http://{site}:{neighbour}/")
    here = room(tabs)
    before = dict(studio.pages)
    for address in (f"ws://127.0.0.1:{studio.port}/", here.replace("http", "ws"), f"ws://evil.example:{studio.port}/"):
        assert tab.evaluate(SOCKET, address) == "refused", address
    for address in (here + "/", f"http://127.0.0.1:{studio.port}/", f"http://127.0.0.1:{studio.port}/?token={studio.token}"):
        assert tab.evaluate(FETCH, [address, "cors"]) == "refused"
        assert tab.evaluate(FETCH, [address, "no-cors"]) in (0, "refused")
    tab.evaluate(FRAME, here + "/")
    assert [frame.url for frame in tab.frames[1:]] == ["chrome-error://chromewebdata/"]
    assert studio.pages == before, "nobody came in"
    tab.close()


def test_a_foreign_name_for_this_machine_is_refused(tabs, studio: Studio) -> None:
    tab = tabs.new_page()
    for path in ("/", f"/?token={studio.token}"):
        answer = tab.goto(f"http://evil.example:{studio.port}{path}")
        assert answer is not None and answer.status == 403
        assert "not known under this name" in tab.inner_text("body")
    assert tab.evaluate(SOCKET, f"ws://evil.example:{studio.port}/") == "refused"
    tab.close()


def test_a_neighbours_server_is_not_sent_the_key(tabs, neighbour: int) -> None:
    tab = tabs.new_page()
    Neighbour.seen.clear()
    tab.goto(f"http://127.0.0.1:{neighbour}/x")
    tab.goto(f"http://localhost:{neighbour}/x")
    assert len([seen for seen in Neighbour.seen if seen.startswith("/x")]) == 2
    assert not [seen for seen in Neighbour.seen if "parc_studio" in seen]
    tab.close()


def test_two_studios_are_open_in_one_browser(tabs, studio: Studio) -> None:
    second = Studio(humanoid(), settings=StudioSettings(port=0))
    with contextlib.closing(second):
        assert tabs.request.get(second.url).ok
        assert tabs.request.get(room(tabs) + "/").ok


def test_a_file_leads_to_the_studio(tabs, studio: Studio) -> None:
    """As the command opens it; a browser treats the studio then as another site than the one it came from."""
    link = BrowserLink(studio.url)
    tab = tabs.browser.new_context().new_page()
    with contextlib.closing(link), contextlib.closing(tab.context):
        assert link.file.parent.stat().st_mode & 0o077 == 0
        tab.goto(link.file.as_uri())
        tab.get_by_role("tab", name="Clips").wait_for(timeout=30_000)
        assert studio.token not in tab.url
    assert not link.file.exists()
