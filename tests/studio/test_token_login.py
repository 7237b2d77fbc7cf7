"""The studio's door: nothing passes without the key, from another site or under another name, and there is no other door."""

import contextlib
import http.client
import logging
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from parc.character import humanoid
from parc.errors import SettingsError

pytest.importorskip("viser", reason="viser is not installed")

import viser
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.http11 import Request
from websockets.sync.client import connect

from parc.studio import guarded_server
from parc.studio.content_policy import scripts_of
from parc.studio.studio_app import Studio, StudioSettings
from parc.studio.token_login import COOKIE, FrontDoor, check_token

TOKEN = "open-sesame-42-please"


class Way:
    """What a browser knows after it followed the printed link."""

    def __init__(self, studio: Studio) -> None:
        self.studio, self.host = studio, f"127.0.0.1:{studio.port}"
        status, text, headers = get(studio, f"/?{urlsplit(studio.url).query}")
        assert status == 200
        match = re.search(r"url=(/[^/]+)/", text)
        assert match is not None
        self.path = match[1]
        self.cookie = headers["Set-Cookie"].split(";")[0]


def get(studio: Studio, path: str, **headers: str) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=10)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), dict(answer.getheaders())


def open_socket(studio: Studio, path: str, origin: str | None, cookie: str | None = None, host: str | None = None):
    """A socket as viser's page opens it."""
    address = ("127.0.0.1", studio.port)
    headers = {} if cookie is None else {"Cookie": cookie}
    version: list = [f"viser-v{viser.__version__}"]
    name = host or f"127.0.0.1:{studio.port}"
    return connect(
        f"ws://{name}{path}", sock=socket.create_connection(address), origin=origin, additional_headers=headers,
        subprotocols=version, proxy=None,
    )  # fmt: skip


def refused(studio: Studio, path: str, origin: str | None, cookie: str | None = None, host: str | None = None) -> str:
    with pytest.raises(InvalidStatus) as refusal, open_socket(studio, path, origin, cookie, host):
        pass
    assert refusal.value.response.status_code == 403
    return (refusal.value.response.body or b"").decode()


@pytest.fixture(scope="module")
def lone() -> Iterator[Studio]:
    """Started as anybody does, on this machine, with nothing said about security."""
    studio = Studio(humanoid(), settings=StudioSettings(port=0))
    yield studio
    studio.close()


@pytest.fixture(scope="module")
def way(lone: Studio) -> Way:
    return Way(lone)


def test_the_way_in(lone: Studio, way: Way) -> None:
    for path in ("/", "/?token=wrong", "/index.html", "/favicon.ico", way.path, f"{way.path}/", f"{way.path}x/"):
        status, text, headers = get(lone, path)
        assert status == 403 and "link that it printed" in text and "Set-Cookie" not in headers, path
    for cookie in (f"{COOKIE}=wrong", f"{way.cookie}x", "x" + way.cookie, f"{COOKIE}={lone.token}"):
        assert get(lone, f"{way.path}/", Cookie=cookie)[0] == 403
    assert get(lone, "/", Cookie=way.cookie)[0] == 403
    status, text, headers = get(lone, f"/?token={lone.token}&fixedDpr=1")
    assert lone.token not in text and "fixedDpr=1" in text and lone.token not in headers["Set-Cookie"]
    assert headers["Set-Cookie"].endswith(f"; Path={way.path}; HttpOnly; SameSite=Strict")
    status, text, _ = get(lone, f"{way.path}/?fixedDpr=1", Cookie=f"a=b; {COOKIE}=somebody-else-set-this; {way.cookie}")
    assert status == 200 and "<html" in text
    with open_socket(lone, way.path, f"http://{way.host}", way.cookie) as opened:
        assert opened.subprotocol is not None


def test_no_file_of_the_machine_is_served(lone: Studio, way: Way) -> None:
    for path in (
        "/../../pyproject.toml",
        "/%2e%2e/%2e%2e/package.json",
        "/..%5c..%5cpackage.json",
        "//etc/passwd",
        "/index.html/..",
    ):
        assert get(lone, way.path + path, Cookie=way.cookie)[0] == 404
    assert get(lone, f"{way.path}/../../etc/passwd")[0] == 403


def test_other_sites_are_refused_even_with_the_key(lone: Studio, way: Way) -> None:
    for origin in (
        "https://evil.example",
        "null",
        "http://127.0.0.1:1",
        f"http://localhost:{lone.port}",
        f"http://{way.host}.evil",
        "file://",
    ):
        assert "Another site" in refused(lone, way.path, origin, way.cookie), origin
        status, text, headers = get(lone, f"{way.path}/", Cookie=way.cookie, Origin=origin)
        assert status == 403 and "Another site" in text and "Access-Control-Allow-Origin" not in headers
    assert refused(lone, way.path, None, way.cookie), "a browser always says which page asks"
    for cookie in (None, f"{COOKIE}=wrong"):
        assert refused(lone, way.path, f"http://{way.host}", cookie)
        assert refused(lone, "/", f"http://{way.host}", cookie)
    assert refused(lone, "/", f"http://{way.host}", way.cookie)
    assert refused(lone, f"/?token={lone.token}", f"http://{way.host}"), "the token opens the page, nothing else"


def test_foreign_names_are_refused_even_with_the_key(lone: Studio, way: Way) -> None:
    for host in (
        "evil.example",
        f"evil.example:{lone.port}",
        "127.0.0.1.evil.example",
        "192.0.2.7",
        "localhost.",
        "127.0.0.1:",
        "",
        "a b",
    ):
        status, text, _ = get(lone, f"{way.path}/", Cookie=way.cookie, Host=host)
        assert status == 403 and "not known under this name" in text, host
    assert "not known" in refused(lone, way.path, "http://evil.example", way.cookie, "evil.example")
    for host in (f"LocalHost:{lone.port}", "[::1]:9000", "127.0.0.1:9999"):
        assert get(lone, f"{way.path}/", Cookie=way.cookie, Host=host)[0] == 200, "the other end of a tunnel"


def asked(door: FrontDoor, host: str, *more: tuple[str, str]) -> bool:
    """Whether the link with the token is answered."""
    answer = door.answer(Request(f"/?token={TOKEN}", Headers([("Host", host), *more])))
    assert answer is not None
    return answer.status_code == 200


def test_names_of_a_machine_that_others_reach() -> None:
    wide, near = FrontDoor(TOKEN, "0.0.0.0", ["Big-Box.example"]), FrontDoor(TOKEN, "127.0.0.1")
    for host in ("192.0.2.7:8080", "[2001:db8::1]", socket.gethostname(), "big-box.example:8080", "localhost"):
        assert asked(wide, host), host
    for host in ("evil.example", "192.0.2.7.evil.example", "box.example"):
        assert not asked(wide, host), host
    assert asked(near, "localhost") and not asked(near, "192.0.2.7:8080")
    assert not asked(near, "localhost", ("Host", "evil.example")) and not asked(
        near, "localhost", ("Origin", "http://evil.example")
    )
    assert asked(near, "localhost", ("Origin", "https://localhost")), "behind a server that encrypts"
    for token in ("short", "fifteen-letters", "with space in it, long", "", "ünïcödé-tökén-that-is-long"):
        with pytest.raises(SettingsError, match="token must have"):
            check_token(token)


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the list of sockets is Linux's")
def test_there_is_no_other_door() -> None:
    before = listening()
    studio = Studio(humanoid(), settings=StudioSettings(port=0, token=TOKEN))
    try:
        assert listening() - before == {studio.port}
    finally:
        studio.close()
    assert studio.port not in listening()


def listening() -> set[int]:
    """Ports on which this process listens."""
    own = {
        entry.readlink().name
        for entry in Path("/proc/self/fd").iterdir()
        if entry.is_symlink() and "socket" in entry.readlink().name
    }
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in own:
                ports.add(int(fields[1].split(":")[1], 16))
    return ports


def test_a_viser_that_cannot_be_guarded_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    before = listening() if Path("/proc/net/tcp").exists() else set()
    monkeypatch.setattr(guarded_server._Guard, "in_viser", lambda self: contextlib.nullcontext())
    with pytest.raises(SettingsError, match=r"viser .* cannot guard"):
        Studio(humanoid(), settings=StudioSettings(port=0))
    assert not Path("/proc/net/tcp").exists() or listening() == before


def test_a_port_that_is_taken_is_said(lone: Studio) -> None:
    with pytest.raises(SettingsError, match=f"cannot listen on 127.0.0.1 port {lone.port}"):
        Studio(humanoid(), settings=StudioSettings(port=lone.port))
    with pytest.raises(SettingsError, match="cannot listen"):
        Studio(humanoid(), settings=StudioSettings(host="203.0.113.1", port=0))


def test_other_sites_can_neither_show_nor_read_it(lone: Studio, way: Way) -> None:
    for headers in (get(lone, "/")[2], get(lone, f"/?token={lone.token}")[2], get(lone, f"{way.path}/", Cookie=way.cookie)[2]):
        policy = headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in policy and "base-uri 'none'" in policy and "form-action 'none'" in policy
        assert headers["X-Frame-Options"] == "DENY" and headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer" and headers["Cache-Control"] == "no-store"
        assert headers["Cross-Origin-Resource-Policy"] == headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert "Server" not in headers
    scripts = policy.split("script-src ")[1].split(";")[0]
    assert scripts.count("'sha256-") == 2 and "unsafe-inline" not in scripts
    assert f"connect-src 'self' ws://{way.host} wss://{way.host} data: blob:;" in policy


def test_scripts_are_known_by_their_hashes() -> None:
    assert scripts_of("<p>none</p>") == []
    assert scripts_of("<script>alert(1)</script>") == ["'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"]


def test_strange_requests_are_refused_and_the_door_lives(lone: Studio) -> None:
    for message in (
        b"\x00\x01\r\n\r\n",
        b"GET\r\n\r\n",
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000,
    ):
        with socket.create_connection(("127.0.0.1", lone.port), timeout=10) as connection:
            connection.sendall(message)
            connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                assert b" 200 " not in connection.recv(1000)
    assert get(lone, "/")[0] == 403


def test_slow_callers_block_nobody_and_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded_server, "_PATIENCE", 1.0)
    studio = Studio(humanoid(), settings=StudioSettings(port=0))
    try:
        slow = [socket.create_connection(("127.0.0.1", studio.port), timeout=10) for _ in range(60)]
        for connection in slow:
            connection.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        began = time.monotonic()
        assert get(studio, f"/?token={studio.token}")[0] == 200
        assert time.monotonic() - began < 0.9
        for connection in slow:
            assert connection.recv(1000) == b"" or b" 200 " not in connection.recv(1000)
            connection.close()
        assert time.monotonic() - began < 5.0
    finally:
        studio.close()


def test_messages_are_small(lone: Studio, way: Way) -> None:
    opened = open_socket(lone, way.path, f"http://{way.host}", way.cookie)
    with opened, pytest.raises(ConnectionClosedError) as closed:
        opened.send(b"x" * 9_000_000)
        while True:
            opened.recv(timeout=10)
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 1009
    assert get(lone, f"{way.path}/", Cookie=way.cookie)[0] == 200


def test_no_log_holds_the_token(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        studio = Studio(humanoid(), settings=StudioSettings(port=0))
        way = Way(studio)
        get(studio, f"/?token={studio.token}", Origin="https://evil.example")
        refused(studio, way.path, "https://evil.example", way.cookie)
        studio.close()
    own = [record.getMessage() for record in caplog.records if not record.name.startswith("websockets.client")]
    said = "\n".join([*capfd.readouterr(), *own])
    for secret in (studio.token, way.path, way.cookie):
        assert secret not in said
