"""The token: without it nothing passes, with it the page does."""

import http.client
import http.server
import threading
from collections.abc import Iterator

import pytest

from parc.errors import SettingsError
from parc.view.studio.gate import COOKIE, Gate, answer_to, check_token, one_request

TOKEN = "open-sesame-42"


class Inner(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = f"inner {self.path} {self.headers.get('Connection')}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def gate() -> Iterator[Gate]:
    inner = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Inner)
    threading.Thread(target=inner.serve_forever, daemon=True).start()
    gate = Gate("127.0.0.1", 0, TOKEN, inner.server_address[1])
    yield gate
    gate.close()
    inner.shutdown()


def get(gate: Gate, path: str, cookie: str | None = None) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", gate.port, timeout=10)
    connection.request("GET", path, headers={} if cookie is None else {"Cookie": cookie})
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), dict(answer.getheaders())


def test_the_way_in(gate: Gate) -> None:
    status, text, _ = get(gate, "/")
    assert status == 403 and "inner" not in text
    assert get(gate, "/?token=wrong-wrong")[0] == 403
    assert get(gate, "/", f"{COOKIE}=wrong-wrong")[0] == 403
    status, _, headers = get(gate, f"/?token={TOKEN}")
    assert status == 303 and headers["Location"] == "/"
    assert "HttpOnly" in headers["Set-Cookie"] and "SameSite=Strict" in headers["Set-Cookie"]
    status, text, _ = get(gate, "/some/file", headers["Set-Cookie"].split(";")[0])
    assert status == 200 and text == "inner /some/file close"


def test_strange_requests_are_refused_and_the_gate_lives(gate: Gate) -> None:
    import socket

    for message in (b"\x00\x01\r\n\r\n", b"GET\r\n\r\n", b"", b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000):
        with socket.create_connection(("127.0.0.1", gate.port), timeout=10) as connection:
            connection.sendall(message)
            connection.shutdown(socket.SHUT_WR)
            assert b"inner" not in connection.recv(1000)
    assert get(gate, "/")[0] == 403


def test_heads() -> None:
    socket_head = f"GET / HTTP/1.1\r\nConnection: keep-alive, Upgrade\r\nCookie: a=b; {COOKIE}={TOKEN}\r\n\r\n".encode()
    assert answer_to(socket_head, TOKEN) is None
    assert one_request(socket_head) == socket_head
    assert one_request(b"GET / HTTP/1.1\r\nConnection: keep-alive\r\nA: b\r\n\r\n").endswith(b"A: b\r\nConnection: close\r\n\r\n")
    for token in ("short", "with space in it", "", "ünïcödé-tökén"):
        with pytest.raises(SettingsError, match="token must have"):
            check_token(token)
    with pytest.raises(SettingsError, match="cannot listen"):
        Gate("203.0.113.1", 1, TOKEN, 1)
