"""One person's work: a document with its history, and the actions on it. Everything the page can do is a method here.

    session.open("climb_1")                 session.edit.cut(30, 120)
    session.ground.paint((4, 7), Brush("raise", 0.4))          session.route.plan((1, 1), (14, 12))
    session.make.correct().wait()           session.make.track().wait()
    session.drive.start(); session.drive.go_to(3.2, 4.0)       session.undo()

Methods may be called from any thread. They change the document as a whole or, with an error that says why, not at all.
Listeners are told after a change; they are called in the thread that made it.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.convert.clip_files import WRITABLE, load_clip, save_clip
from parc.dataset.dataset_store import DatasetWriter
from parc.errors import DatasetError, FormatError, MotionError
from parc.metrics.clip_measures import measure_clips
from parc.run.file_names import file_name, upload_name
from parc.studio.actions.clip_actions import ClipEdits
from parc.studio.actions.film_files import replay_page
from parc.studio.actions.live_driving import Driving
from parc.studio.actions.long_actions import Making
from parc.studio.actions.path_actions import RouteEdits
from parc.studio.actions.terrain_actions import GroundEdits
from parc.studio.clip_library import Library
from parc.studio.document import Document, EditMark, History, sendable
from parc.studio.model_files import GeneratorFile, TrackerFile
from parc.studio.save_places import SavePlaces
from parc.terrain.terrain import Terrain

Change = Literal["document", "job", "preview", "live"]
MOST_CLIPS = 24
"""on the table at once"""


class Session:
    """What one page works on: document, history, library and models."""

    def __init__(
        self,
        character: Character,
        library: Library | None = None,
        terrain: Terrain | None = None,
        generator: GeneratorFile | None = None,
        device: str = "cpu",
        save_places: SavePlaces | None = None,
        tracker: TrackerFile | None = None,
    ) -> None:
        self.character = character
        self.save_places = save_places or SavePlaces()
        self.library = library or Library(character)
        self.device = device
        self._lock = threading.RLock()
        self._listeners: list[Callable[[Change], None]] = []
        self.ground = GroundEdits(self)
        self._history = History(Document(self.ground.checked(terrain or Terrain.flat((16, 16)))))
        self.route = RouteEdits(self)
        self.edit = ClipEdits(self)
        self.make = Making(self, generator, tracker)
        self.drive = Driving(self, generator, tracker)

    @property
    def document(self) -> Document:
        """What is worked on, as it is now."""
        return self._history.document

    @property
    def can_undo(self) -> str | None:
        """What undo would take back, None if nothing."""
        return self._history.done

    @property
    def can_redo(self) -> str | None:
        """What redo would do again, None if nothing."""
        return self._history.undone

    def listen(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Have `listener` told of changes; call what is returned to end that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def tell(self, change: Change) -> None:
        """Tell all listeners of a change."""
        for listener in list(self._listeners):
            listener(change)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other threads from changing the document meanwhile."""
        with self._lock:
            yield

    def change(
        self, label: str, how: Callable[[Document], Document], stroke: str | None = None, afresh: bool = False
    ) -> Document:
        """Put what `how` makes of the document into the history.

        Edits of one `stroke` are one step of it; with `afresh` each of them starts from before the stroke, so that the last
        one counts alone (a slider), without it they add up (a brush).
        """
        with self._lock:
            base = self._history.before(stroke) if stroke is not None and afresh else self.document
            document = how(base)
            if document is not self.document:
                self._history.push(document, label, stroke)
        self.tell("document")
        return document

    def change_clip(
        self,
        label: str,
        how: Callable[[Clip], Clip],
        stroke: str | None = None,
        afresh: bool = False,
        frames: tuple[int, int] | None = None,
    ) -> Clip:
        """The same for the clip that is worked on; a clip that is given back as it was is no step of the history.

        `frames` [first, one past the last] are marked in the time line as edited.
        """

        def changed(document: Document) -> Document:
            clip = how(document.active_clip())
            mark = None if frames is None else EditMark(label, *frames)
            return document if clip is document.clip else document.with_clip(clip, mark)

        self.change(label, changed, stroke, afresh)
        return self.document.active_clip()

    def end_stroke(self) -> None:
        """The next edit is a step of its own."""
        with self._lock:
            self._history.end_stroke()

    def undo(self) -> str | None:
        """Back one step; what was taken back."""
        with self._lock:
            label = self._history.undo()
        self.tell("document")
        return label

    def redo(self) -> str | None:
        """Forward one step; what was done again."""
        with self._lock:
            label = self._history.redo()
        self.tell("document")
        return label

    def open(self, name: str) -> Clip:
        """A clip of the library onto the table; if it is there already, it is chosen."""
        for index, clip in enumerate(self.document.clips):
            if clip.name == name:
                self.choose(index)
                return clip
        return self.add(self.library.load(name), f"open {name}")

    def begin_with(self, names: Sequence[str]) -> None:
        """Open clips before anything else is done, the first one chosen; undo does not go back behind that."""
        for name in names:
            self.open(name)
        if names:
            self.choose(0)
            self._history = History(self.document)

    def open_bytes(self, filename: str, content: bytes) -> Clip:
        """A clip from the content of a file, told by its extension."""
        with TemporaryDirectory() as folder:
            file = Path(folder) / upload_name(filename)
            file.write_bytes(content)
            clip = load_clip(file, self.character)
        return self.add(clip, f"open {filename}")

    def add(self, clip: Clip, label: str) -> Clip:
        """A clip onto the table, to be worked on; its ground comes onto the stage."""
        clip.check_fits(self.character)

        def added(document: Document) -> Document:
            if len(document.clips) >= MOST_CLIPS:
                raise MotionError(f"{MOST_CLIPS} clips are open, which is the most; close one first")
            named = replace(clip, name=document.free_name(sendable(clip.name)), terrain=self.ground.checked(clip.terrain))
            clips = (*document.clips, named)
            chosen = replace(document, clips=clips, active=len(clips) - 1, candidates=(), edits=())
            return replace(chosen, terrain=named.terrain, path=named.path)

        return self.change(sendable(label), added).active_clip()

    def choose(self, index: int) -> None:
        """Work on another clip of the table, on its ground."""

        def chosen(document: Document) -> Document:
            if not 0 <= index < len(document.clips):
                raise MotionError(f"there is no clip {index} among the {len(document.clips)} that are open")
            clip = document.clips[index]
            if document.active == index:
                return document
            path = clip.path if clip.path is not None or clip.terrain is not document.terrain else document.path
            return replace(document, active=index, terrain=clip.terrain, path=path, candidates=(), edits=())

        self.change(f"choose {index}", chosen)

    def close(self, index: int) -> None:
        """Take a clip off the table; the next one is chosen, and the ground stays if there is none."""

        def closed(document: Document) -> Document:
            if not 0 <= index < len(document.clips):
                raise MotionError(f"there is no clip {index} among the {len(document.clips)} that are open")
            clips = document.clips[:index] + document.clips[index + 1 :]
            if document.active is None or index != document.active:
                active = document.active if document.active is None or index > document.active else document.active - 1
                return replace(document, clips=clips, active=active)
            if not clips:
                return replace(document, clips=clips, active=None, edits=())
            active = min(index, len(clips) - 1)
            chosen = clips[active]
            return replace(document, clips=clips, active=active, terrain=chosen.terrain, path=chosen.path, edits=())

        self.change(f"close clip {index}", closed)

    def rename(self, name: str) -> None:
        """Give the clip that is worked on another name."""
        if not name.strip():
            raise MotionError("a clip needs a name of at least one letter")
        self.change_clip(f"rename to {name}", lambda clip: replace(clip, name=name.strip()))

    def measure(self) -> dict[str, float]:
        """All metrics of the clip that is worked on."""
        return measure_clips([self.document.active_clip()], self.character, self.device)[0]

    def export(self, suffix: str) -> tuple[str, bytes]:
        """The clip that is worked on as a file: its name and content."""
        if suffix not in WRITABLE:
            raise FormatError(f"cannot write '{suffix}'; known are {', '.join(WRITABLE)}")
        clip = self.document.active_clip()
        name = file_name(clip.name) + suffix
        with TemporaryDirectory() as folder:
            file = Path(folder) / name
            save_clip(clip, file, self.character)
            return name, file.read_bytes()

    def replay(self) -> tuple[str, bytes]:
        """All open clips, the one that is worked on first, as a page that replays them offline: its name and content."""
        document = self.document
        clips = sorted(document.clips, key=lambda clip: clip is not document.clip)
        page = replay_page(clips, self.character)
        return file_name(clips[0].name) + "_replay.html", page.encode()

    def save_to(self, folder: Path | str, all_clips: bool = False) -> list[str]:
        """Append the clip that is worked on (or all on the table) to a data set, made if there is none; the names stored."""
        clips = list(self.document.clips) if all_clips else [self.document.active_clip()]
        if not clips:
            raise DatasetError("no clip is open, so there is nothing to save")
        path = self.save_places.admit(folder)
        if path.exists() and not path.is_dir():
            raise DatasetError(f"{path} is a file, expected the folder of a data set")
        with DatasetWriter(path, self.character) as writer:
            names = writer.append(clips, rename=True)
        self.library.refresh(path)
        return names
