"""What a person works on: one ground, a path over it, and the clips on the table. Frozen, so undo is keeping the old one.

Clips and terrains are frozen too, and a new document shares with the old one everything that was not changed: a history of two
hundred documents costs little more than its edits.

A *stroke* is a run of edits that a person makes as one (a brush dragged over cells, a slider moved to and fro). Its documents
take one place in the history, and undo takes the whole of it back.
"""

from dataclasses import dataclass, replace

from parc.dataset.clip import Clip
from parc.errors import MotionError
from parc.path.terrain_path import TerrainPath
from parc.terrain.terrain import Terrain


@dataclass(frozen=True)
class EditMark:
    """Frames of the clip that is worked on in which something was edited, for the time line."""

    label: str
    start: int
    stop: int
    """one past the last frame"""


@dataclass(frozen=True, eq=False)
class Document:
    """All that is edited: terrain, path and clips. Frozen, so that a history of it costs little."""

    terrain: Terrain
    """the ground on the stage"""
    path: TerrainPath | None = None
    clips: tuple[Clip, ...] = ()
    active: int | None = None
    """the clip that edits go to; it stands on `terrain`"""
    candidates: tuple[Clip, ...] = ()
    """generated motions of which one may be kept"""
    edits: tuple[EditMark, ...] = ()
    """of the clip that is worked on, since it was chosen"""

    @property
    def clip(self) -> Clip | None:
        return None if self.active is None else self.clips[self.active]

    def active_clip(self) -> Clip:
        """The clip that edits go to; an error that says what to do where there is none."""
        if self.active is None:
            raise MotionError("no clip is chosen to work on; open one in the list of clips first")
        return self.clips[self.active]

    def with_clip(self, clip: Clip, mark: EditMark | None = None) -> "Document":
        """The active clip replaced; ground and path follow where the clip brings others.

        The edit is marked in the frames it went to. One that moves frames takes the marks away: they would lie wrong.
        """
        assert self.active is not None
        moved = len(clip.motion) != len(self.clips[self.active].motion)
        edits = () if moved else self.edits if mark is None else (*self.edits, mark)
        clips = (*self.clips[: self.active], clip, *self.clips[self.active + 1 :])
        path = self.path if clip.path is self.clips[self.active].path else clip.path
        candidates = self.candidates if clip.terrain is self.terrain else ()
        return replace(self, clips=clips, terrain=clip.terrain, path=path, candidates=candidates, edits=edits)

    def with_ground_edited(self, terrain: Terrain) -> "Document":
        """An edit of the ground: the clips that stand on it stand on the edited one."""
        clips = tuple(replace(c, terrain=terrain) if c.terrain is self.terrain else c for c in self.clips)
        return replace(self, terrain=terrain, clips=clips, candidates=())

    def with_new_ground(self, terrain: Terrain) -> "Document":
        """Another ground: clips stay on theirs, and none of them is on the stage's."""
        return replace(self, terrain=terrain, path=None, active=None, candidates=(), edits=())

    def free_name(self, name: str) -> str:
        taken = {clip.name for clip in self.clips}
        free, suffix = name, 2
        while free in taken:
            free, suffix = f"{name}_{suffix}", suffix + 1
        return free


@dataclass(frozen=True, eq=False)
class HistoryStep:
    """A document and what led to it."""

    document: Document
    label: str
    """what was done to get here"""
    stroke: str | None


class History:
    """Documents one after another and a place among them."""

    def __init__(self, document: Document, longest: int = 200) -> None:
        self._steps = [HistoryStep(document, "start", None)]
        self._at = 0
        self._longest = longest

    @property
    def document(self) -> Document:
        return self._steps[self._at].document

    @property
    def done(self) -> str | None:
        """What undo would take back."""
        return self._steps[self._at].label if self._at else None

    @property
    def undone(self) -> str | None:
        """What redo would do again."""
        return self._steps[self._at + 1].label if self._at + 1 < len(self._steps) else None

    def before(self, stroke: str) -> Document:
        """The document the stroke began with, or the present one if it has not begun."""
        continued = self._at > 0 and self._steps[self._at].stroke == stroke
        return self._steps[self._at - 1].document if continued else self.document

    def push(self, document: Document, label: str, stroke: str | None = None) -> None:
        """The next document; what was undone is forgotten. A stroke that goes on replaces its last document."""
        if stroke is not None and self._at > 0 and self._steps[self._at].stroke == stroke:
            self._at -= 1
        self._steps[self._at + 1 :] = [HistoryStep(document, label, stroke)]
        self._at += 1
        if len(self._steps) > self._longest:
            del self._steps[0]
            self._at -= 1

    def end_stroke(self) -> None:
        """The next edit is a step of its own, whatever stroke it belongs to."""
        step = self._steps[self._at]
        self._steps[self._at] = replace(step, stroke=None)

    def undo(self) -> str | None:
        """Back one step; what was taken back, None at the start."""
        label = self.done
        if label is not None:
            self._at -= 1
        return label

    def redo(self) -> str | None:
        label = self.undone
        if label is not None:
            self._at += 1
        return label


def sendable(text: str) -> str:
    """Text of a file, without the halves of letters that no page can be sent (names that are not UTF-8, hostile JSON)."""
    return text.encode("utf-8", "replace").decode()
