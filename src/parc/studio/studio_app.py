"""The studio as a server: pages come and go, sessions stay.

A browser remembers the names of its sessions. A tab that is opened takes up the first of them that no other tab has, so a page
that was closed or reloaded comes back as it was, with its jobs, and two tabs never work on the same one.
"""

import contextlib
import ipaddress
import secrets
import socket
import sys
import threading
import traceback
from dataclasses import dataclass, field
from pathlib import Path

from viser import ClientHandle

from parc.character.character import Character
from parc.run.free_memory import give_back_memory
from parc.studio.clip_library import Library
from parc.studio.guarded_server import listen, serve_guarded
from parc.studio.model_files import GeneratorFile, TrackerFile
from parc.studio.save_places import SavePlaces
from parc.studio.studio_page import Page
from parc.studio.studio_session import Session
from parc.studio.token_login import FrontDoor
from parc.terrain.terrain import Terrain

_REMEMBERED = "parc_studio_sessions"
_OPENED = 6
"""of the clips that were named, that a new page opens"""
_LEFT = 16
"""sessions without a page that are kept"""


@dataclass(frozen=True)
class StudioSettings:
    """How the studio is served."""

    host: str = "127.0.0.1"
    """address to listen on"""
    port: int = 8080
    """0 takes a free one"""
    token: str | None = None
    """asked for before the page is shown; made up if none is given"""
    names: tuple[str, ...] = ()
    """names that people use for this machine, beside its own"""
    device: str = "cpu"
    """for correction and generation"""
    gallery: bool = False
    """show the gallery of motions where a page has none open"""
    save_places: SavePlaces = field(default_factory=SavePlaces)
    """folders below which the page may save"""


class Studio:
    """The server: pages that people open, each with a session of its own."""

    def __init__(
        self,
        character: Character,
        library: Library | None = None,
        terrain: Terrain | None = None,
        generator: Path | str | None = None,
        settings: StudioSettings = StudioSettings(),
        tracker: Path | str | None = None,
    ) -> None:
        self.character, self.settings = character, settings
        self.library = library or Library(character)
        self._terrain = terrain
        self._generator = None if generator is None else GeneratorFile(generator, character, settings.device)
        self._tracker = None if tracker is None else TrackerFile(tracker, character)
        self.session()  # what no page could be opened with is refused here
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {}
        self.pages: dict[int, Page] = {}
        self._leaving: list[Page] = []
        self._names: dict[int, str] = {}
        listener = listen(settings.host, settings.port)
        self._address: tuple[str, int] = listener.getsockname()[:2]
        try:
            self.token = settings.token or secrets.token_urlsafe(24)
            self._server = serve_guarded(FrontDoor(self.token, self._address[0], settings.names), listener, "parc studio")
        except Exception:
            listener.close()
            raise
        self._server.scene.world_axes.visible = False
        self._server.on_client_connect(self._connect)
        self._server.on_client_disconnect(self._disconnect)

    @property
    def port(self) -> int:
        return self._address[1]

    @property
    def url(self) -> str:
        """To open in a browser; holds the token. No `localhost` in it: on ::1 that could be another user's server."""
        host = self._address[0]
        if ipaddress.ip_address(host).is_unspecified:
            host = socket.gethostname()
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/?token={self.token}"

    def session(self) -> Session:
        """A new one, of nobody yet."""
        settings = self.settings
        places, tracker = settings.save_places, self._tracker
        session = Session(self.character, self.library, self._terrain, self._generator, settings.device, places, tracker)
        session.begin_with(self.library.named[:_OPENED])
        return session

    def wait(self) -> None:
        """Serve until the program is interrupted."""
        self._server.sleep_forever()

    def close(self) -> None:
        with self._lock:
            pages = [*self.pages.values(), *self._leaving]
        for page in pages:
            page.close()
        for session in self._sessions.values():
            session.drive.stop()
        running = [s.make.job for s in self._sessions.values() if s.make.job is not None and s.make.is_busy]
        for job in running:
            job.stop()
        for job in running:
            job.wait(10.0)
        self.library.thumbnails.close()
        for page in pages:  # a thread that still computes when the interpreter ends takes the process down with it
            page.wait(10.0)
        with contextlib.redirect_stdout(sys.stderr):  # it says that it has stopped, where a result may be read
            self._server.stop()

    def _connect(self, client: ClientHandle) -> None:
        try:
            page = Page(client, self._take_up(client), self.settings.gallery)
            with self._lock:
                self.pages[client.client_id] = page
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            with self._lock:
                self._names.pop(client.client_id, None)
            client.add_notification("The studio could not be opened", f"{type(error).__name__}: {error}", color="red")

    def _disconnect(self, client: ClientHandle) -> None:
        with self._lock:
            page = self.pages.pop(client.client_id, None)
            self._names.pop(client.client_id, None)
            self._leaving = [left for left in self._leaving if not left.wait(0.0)]
            if page is not None:
                self._leaving.append(page)
        if page is not None:
            page.close()
            give_back_memory()

    def _take_up(self, client: ClientHandle) -> Session:
        """The first session this browser remembers that no page has, or a new one."""
        try:
            remembered = (client.local_storage.get_item(_REMEMBERED, timeout=5.0) or "").split(",")
        except (RuntimeError, TimeoutError):
            remembered = []
        with self._lock:
            taken = set(self._names.values())
            known = [name for name in remembered if name in self._sessions]
            name = next((name for name in known if name not in taken), None)
            if name is None:
                name = secrets.token_urlsafe(12)
                self._sessions[name] = self.session()
                known.append(name)
                self._forget(taken | {name})
            self._names[client.client_id] = name
            session = self._sessions[name]
        client.local_storage.set_item(_REMEMBERED, ",".join(known))
        return session

    def _forget(self, in_use: set[str]) -> None:
        """Drop the oldest sessions without a page or a running job, beyond those that are kept."""
        idle = [name for name, s in self._sessions.items() if name not in in_use and not s.make.is_busy]
        for name in idle[: max(len(idle) - _LEFT, 0)]:
            del self._sessions[name]
