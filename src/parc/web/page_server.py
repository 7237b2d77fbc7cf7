"""A plain server of one folder, for this machine only: to look at the page before it goes to a host."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from os import PathLike
from pathlib import Path

from parc.errors import ParcError, SettingsError

_TYPES = {".js": "text/javascript", ".css": "text/css", ".gz": "application/octet-stream"}


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def guess_type(self, path: str | PathLike[str]) -> str:
        """What a browser needs to be told, whatever this machine's own table of types says."""
        return _TYPES.get(Path(path).suffix) or super().guess_type(path)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


class PageServer:
    """Serves a page's folder on the loopback address; `wait` blocks until ctrl-c."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        if not 0 <= port <= 65535:
            raise SettingsError(f"port {port} does not exist, expected 0 to 65535")
        if not (folder / "index.html").is_file():
            raise SettingsError(f"'{folder}' holds no page (index.html); build one with `parc web -o {folder}`")
        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, directory=str(folder)))
        except OSError as error:
            raise ParcError(f"port {port} cannot be used: {error.strerror}") from None
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def wait(self) -> None:
        """Serve until the process is interrupted."""
        self._server.serve_forever()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
