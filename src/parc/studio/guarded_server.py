"""viser's server behind the studio's door, in one listener: there is no inner port that a local user could reach.

viser has no place for a check of requests, so for the moment in which its server starts, the function that it opens its socket
with is replaced by one that asks the door first. If a version of viser opens its socket in another way, nothing is served.
"""

import contextlib
import io
import logging
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import viser
import zstandard
from viser import ViserServer
from viser.infra import _infra
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from parc.errors import SettingsError
from parc.studio.content_policy import content_policy, scripts_of
from parc.studio.token_login import SAFE_HEADERS, FrontDoor, is_socket

_LARGEST = 8 * 2**20
"""bytes of a message; files come in parts of half a megabyte"""
_PATIENCE = 10.0
"""s for a request to arrive"""
_one_at_a_time = threading.Lock()


def listen(host: str, port: int) -> socket.socket:
    """A socket on the first address of a host, IPv4 before IPv6; port 0 takes a free one."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, *_, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        raise SettingsError(f"cannot listen on {host} port {port}: {error.strerror or error}") from None


def serve_guarded(door: FrontDoor, listener: socket.socket, label: str) -> ViserServer:
    """A server of viser that is reached through the listener, by those whom the door lets in."""
    guard = _Guard(door, listener)
    with _one_at_a_time, guard.in_viser(), contextlib.redirect_stdout(io.StringIO()):  # its banner has no token
        server = ViserServer(host="127.0.0.1", port=0, label=label, verbose=False)
    if not guard.is_asked:
        with contextlib.redirect_stdout(sys.stderr):
            server.stop()
        raise _unknown()
    return server


def _unknown() -> SettingsError:
    return SettingsError(f"viser {viser.__version__} serves its page in a way that the studio cannot guard; install viser 1.1")


class _Guard:
    def __init__(self, door: FrontDoor, listener: socket.socket) -> None:
        self._door, self._listener = door, listener
        self.is_asked = False
        try:
            page = Path(viser.__file__).parent / "client" / "build" / "index.html"
            self._scripts = scripts_of(page.read_text(encoding="utf-8"))
        except (OSError, ValueError, zstandard.ZstdError):
            raise _unknown() from None

    @contextlib.contextmanager
    def in_viser(self) -> Iterator[None]:
        """Stand in for the one function of `websockets` by which viser listens."""
        module: Any = _infra
        real = module.websockets
        asyncio_server = _Instead(real.asyncio.server, serve=self._serve)
        module.websockets = _Instead(real, asyncio=_Instead(real.asyncio, server=asyncio_server))
        try:
            yield
        finally:
            module.websockets = real

    def _serve(self, handler: Any, host: str, port: int, **options: Any) -> serve:
        pages: Callable[[ServerConnection, Request], Response | None] = options["process_request"]
        self.is_asked = True

        def process(connection: ServerConnection, request: Request) -> Response | None:
            refusal = self._door.answer(request)
            if refusal is not None or is_socket(request):
                return refusal
            inside = Request(request.path.removeprefix(self._door.path) or "/", request.headers)
            answer = pages(connection, inside)
            assert answer is not None
            answer.headers.update(SAFE_HEADERS)
            answer.headers["Content-Security-Policy"] = content_policy(self._scripts, request.headers["Host"])
            return answer

        guarded = {"process_request": process, "max_size": _LARGEST, "open_timeout": _PATIENCE, "logger": _log()}
        return serve(handler, sock=self._listener, **{**options, **guarded}, server_header=None)


class _Instead:
    """A module with some of its names replaced."""

    def __init__(self, real: Any, **own: Any) -> None:
        self._real = real
        self.__dict__.update(own)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _log() -> logging.Logger:
    """Faults of the program only. Requests are never logged, whatever others set: they hold the token."""
    log = logging.getLogger("parc.studio.server")
    log.setLevel(logging.ERROR)
    log.filters = [lambda record: not record.getMessage().startswith("opening handshake failed")]
    return log
