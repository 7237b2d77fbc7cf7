"""Small pictures of the clips in the list, drawn one after another by a thread when they are first asked for."""

import io
import sys
import threading
import traceback
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from parc.errors import ParcError
from parc.render.camera import Size
from parc.render.clip_picture import draw_clip

if TYPE_CHECKING:
    from parc.studio.clip_library import Library

SIZE: Size = (176, 124)
"""px"""
_KEPT = 1000
"""pictures, about 4 kB each"""
_POSES = 4


class Thumbnails:
    """Of one library, shared by all pages."""

    def __init__(self, library: "Library") -> None:
        self._library = library
        self._pictures: OrderedDict[str, str] = OrderedDict()
        self._wanted: list[tuple[str, Callable[[], object]]] = []
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def get(self, name: str) -> str | None:
        """The picture as an address that holds it; empty where the clip cannot be drawn, None where it is not drawn yet."""
        return self._pictures.get(name)

    def ask(self, names: Sequence[str], on_picture: Callable[[], object]) -> None:
        """Have these drawn, before all that was asked for earlier; `on_picture` is called after each."""
        with self._lock:
            fresh = [(name, on_picture) for name in names if name not in self._pictures]
            asked = {name for name, _ in fresh}
            self._wanted = fresh + [wish for wish in self._wanted if wish[0] not in asked]
            if self._wanted and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(target=self._run, name="studio thumbnails", daemon=True)
                self._thread.start()

    def close(self, seconds: float = 10.0) -> None:
        """Draw no more; returns when the picture that is being drawn is ready."""
        with self._lock:
            self._wanted = []
            thread = self._thread
        if thread is not None:
            thread.join(seconds)

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._wanted:
                    self._thread = None
                    return
                name, on_picture = self._wanted.pop(0)
            picture = self._draw(name)
            with self._lock:
                self._pictures[name] = picture
                while len(self._pictures) > _KEPT:
                    self._pictures.popitem(last=False)
            on_picture()

    def _draw(self, name: str) -> str:
        try:
            image = draw_clip(self._library.load(name), self._library.character, frames=_POSES, size=SIZE)
        except ParcError:
            return ""
        except Exception:
            traceback.print_exc(file=sys.stderr)
            return ""
        data = io.BytesIO()
        image.convert("RGB").save(data, "WEBP", quality=72, method=2)
        return f"data:image/webp;base64,{b64encode(data.getvalue()).decode()}"
