"""Who may pass to the studio: every request and every socket is asked, also on this machine.

The link that the studio prints holds the token. It is answered with a cookie and the way to the page, whose address no longer
holds the token. From then on the cookie is the key. Cookies of an address go to every port of it, so another user's server on
this machine could collect them; the page therefore lies at a path that nobody can guess, and the cookie goes to that path only.

The name under which the browser knows the studio (`Host`) must be one of this machine: a foreign name that is made to point here
(DNS rebinding) is refused. The page that asks (`Origin`) must be the studio's own.
"""

import hmac
import html
import ipaddress
import re
import secrets
import socket
from collections.abc import Sequence
from http import HTTPStatus
from urllib.parse import parse_qsl, urlencode

from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from parc.errors import SettingsError

COOKIE = "parc_studio"
SHORTEST = 16
"""letters of a token"""
SAFE_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""of every answer: no other site may show it, read it, or learn the address"""
_NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
_HOST = re.compile(r"([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")


class FrontDoor:
    """`address` is the one listened on; `names` are further ones that people use for this machine."""

    def __init__(self, token: str, address: str, names: Sequence[str] = ()) -> None:
        check_token(token)
        self._token = token
        self._key = secrets.token_urlsafe(32)
        self._room = secrets.token_urlsafe(18)
        here = ipaddress.ip_address(address)
        self._any_number = not here.is_loopback
        own = () if here.is_loopback else (socket.gethostname(),)
        self._names = {"localhost", "127.0.0.1", "[::1]", address, f"[{address}]", *(name.lower() for name in (*own, *names))}

    @property
    def path(self) -> str:
        """Where the page is; what lies elsewhere nobody gets."""
        return f"/{self._room}"

    def answer(self, request: Request) -> Response | None:
        """None if the request may pass; otherwise what to answer."""
        headers = request.headers
        hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
        if len(hosts) != 1 or not self._knows(hosts[0].lower()):
            return _refusal("The studio is not known under this name. Open it with the link that it printed when it started.")
        host = hosts[0].lower()
        if origins and [origin.lower() for origin in origins] not in ([f"http://{host}"], [f"https://{host}"]):
            return _refusal("Another site may not use the studio.")
        path, _, query = request.path.partition("?")
        if path == "/" and not is_socket(request):
            options = parse_qsl(query)
            if _same(dict(options).get("token", ""), self._token):
                return self._welcome([option for option in options if option[0] != "token"])
        elif self._leads_in(path) and self._has_key(headers) and (origins or not is_socket(request)):
            return None
        return _refusal("Open the studio with the link that it printed when it started; it holds the token.")

    def _knows(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        return match is not None and (match[1] in self._names or (self._any_number and _is_number(match[1])))

    def _leads_in(self, path: str) -> bool:
        return _same("/".join(path.split("/")[:2]), self.path)

    def _has_key(self, headers: Headers) -> bool:
        """Of several cookies of the name one must be right: a server on another port can set one too."""
        crumbs = [crumb.strip() for line in headers.get_all("Cookie") for crumb in line.split(";")]
        return any(_same(crumb, f"{COOKIE}={self._key}") for crumb in crumbs)

    def _welcome(self, options: list[tuple[str, str]]) -> Response:
        """A page that goes on to the studio by itself; a browser that was sent there by a file would not show the cookie."""
        way = html.escape(f"{self.path}/" + (f"?{urlencode(options)}" if options else ""))
        body = f'<!doctype html><meta http-equiv="refresh" content="0;url={way}"><title>parc studio</title>'
        cookie = f"{COOKIE}={self._key}; Path={self.path}; HttpOnly; SameSite=Strict"
        return _response(HTTPStatus.OK, "text/html", body, {"Set-Cookie": cookie})


def check_token(token: str) -> None:
    """Refuse a token that is short or would have to be quoted in a link."""
    if len(token) < SHORTEST or not re.fullmatch(r"[A-Za-z0-9_-]+", token):
        raise SettingsError(f"the token must have at least {SHORTEST} letters, digits, - or _, and nothing else")


def is_socket(request: Request) -> bool:
    """Whether a WebSocket is asked for."""
    return any("websocket" in value.lower() for value in request.headers.get_all("Upgrade"))


def _is_number(host: str) -> bool:
    """Only names can be made to point elsewhere."""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _same(a: str, b: str) -> bool:
    return hmac.compare_digest(a.encode("utf-8", "replace"), b.encode())


def _refusal(text: str) -> Response:
    return _response(HTTPStatus.FORBIDDEN, "text/plain", text + "\n", {})


def _response(status: HTTPStatus, kind: str, text: str, more: dict[str, str]) -> Response:
    body = text.encode()
    head = {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body)), "Content-Security-Policy": _NOTHING}
    return Response(status, status.phrase, Headers({**head, "Connection": "close", **SAFE_HEADERS, **more}), body)
