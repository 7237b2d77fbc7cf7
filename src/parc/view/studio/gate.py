"""A door with a token, for a studio that other machines can reach.

The page's own server knows no users, so it listens on this machine only, and the gate listens outside. A connection is let
through if its first request brings the token: once in the address (`/?token=...`, answered with a cookie and the way to the
plain address), from then on in the cookie. The cookie is not sent with requests that other sites start, so they cannot open the
page's socket either. Each connection carries one request or one socket: it cannot be used for a second, unasked one.
"""

import asyncio
import contextlib
import hmac
import threading
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from parc.errors import SettingsError

COOKIE = "parc_studio"
SHORTEST = 8
"""letters of a token"""
_LONGEST_HEAD = 32_768
_PATIENCE = 10.0
"""s for a request's head to arrive"""


class Gate:
    def __init__(self, host: str, port: int, token: str, inner_port: int) -> None:
        check_token(token)
        self.host, self.port, self._token, self._inner_port = host, port, token, inner_port
        self._loop = asyncio.new_event_loop()
        self._open = threading.Event()
        self._problem: OSError | None = None
        self._thread = threading.Thread(target=self._run, name="studio gate", daemon=True)
        self._thread.start()
        self._open.wait(_PATIENCE)
        if self._problem is not None:
            raise SettingsError(f"cannot listen on {host} port {port}: {self._problem.strerror or self._problem}")

    def close(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(2.0)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            server = self._loop.run_until_complete(asyncio.start_server(self._serve, self.host, self.port, limit=_LONGEST_HEAD))
        except OSError as error:
            self._problem = error
            self._open.set()
            return
        self.port = server.sockets[0].getsockname()[1]
        self._open.set()
        self._loop.run_forever()
        server.close()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _PATIENCE)
            refusal = answer_to(head, self._token)
            if refusal is not None:
                writer.write(refusal)
                await writer.drain()
            else:
                await self._pass_on(one_request(head), reader, writer)
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            with contextlib.suppress(OSError):
                writer.close()

    async def _pass_on(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._inner_port)
        inner_writer.write(head)
        try:
            ways = [asyncio.create_task(_pump(reader, inner_writer)), asyncio.create_task(_pump(inner_reader, writer))]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
        finally:
            with contextlib.suppress(OSError):
                inner_writer.close()


def check_token(token: str) -> None:
    if len(token) < SHORTEST or not token.isascii() or not token.replace("-", "").replace("_", "").isalnum():
        raise SettingsError(f"the token must have at least {SHORTEST} letters, digits, - or _, and nothing else")


def answer_to(head: bytes, token: str) -> bytes | None:
    """None if the request's head may pass; otherwise what to answer."""
    try:
        method, address, _ = head.split(b"\r\n", 1)[0].decode("ascii").split(" ")
        headers = _headers(head)
        parts = urlsplit(address)
    except (ValueError, UnicodeDecodeError):
        return _response("400 Bad Request", "This is not a request that can be understood.")
    given = parse_qs(parts.query).get("token", [""])[0]
    if method == "GET" and given and _same(given, token):
        cookie = f"Set-Cookie: {COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict\r\n"
        return _response("303 See Other", "", f"Location: /\r\n{cookie}")
    try:
        crumb = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        crumb = None
    if crumb is not None and _same(crumb.value, token):
        return None
    return _response("403 Forbidden", "Open the studio with the address that was printed when it started; it holds the token.")


def one_request(head: bytes) -> bytes:
    """The head with the wish to close after the answer; a socket's wish to be upgraded is left as it is."""
    if "upgrade" in _headers(head).get("connection", "").lower():
        return head
    lines = [line for line in head[:-4].split(b"\r\n") if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n"


def _headers(head: bytes) -> dict[str, str]:
    rows = (line.split(":", 1) for line in head.decode("latin-1").split("\r\n")[1:] if ":" in line)
    return {name.strip().lower(): value.strip() for name, value in rows}


def _same(a: str, b: str) -> bool:
    return hmac.compare_digest(a.encode(), b.encode())


def _response(status: str, text: str, more: str = "") -> bytes:
    body = text.encode()
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        f"{more}Connection: close\r\n\r\n"
    ).encode() + body


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
