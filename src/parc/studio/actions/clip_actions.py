"""Actions on the clip that is worked on. Each keeps the clip's name; its provenance says what was done."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from parc.dataset import clip_edits as clip_edit
from parc.dataset.clip import Clip
from parc.errors import MotionError
from parc.motion.motion_edits import HESITATION_DISTANCE, HESITATION_FRAMES
from parc.studio.actions import retouch

if TYPE_CHECKING:
    from parc.studio.studio_session import Session


class ClipEdits:
    """Edits of the clip that is worked on; each can be undone."""

    def __init__(self, session: "Session") -> None:
        self._session = session

    def cut(self, start: int, stop: int) -> Clip:
        """Frames start .. stop-1 only."""
        return self._change(f"cut {start}..{stop}", lambda clip: clip_edit.cut(clip, start, stop))

    def mirror(self) -> Clip:
        """Left and right exchanged, ground and path too."""
        session = self._session

        def mirrored(document):
            clip = document.active_clip()
            other = replace(clip_edit.mirror(clip, session.character), name=clip.name)
            return replace(document.with_clip(other), path=other.path, candidates=())

        return session.change("mirror", mirrored).active_clip()

    def stitch(self, index: int, blend: int = 5) -> Clip:
        """Another clip of the table after this one."""
        clips = self._session.document.clips
        if not 0 <= index < len(clips):
            raise MotionError(f"there is no clip {index} among the {len(clips)} that are open")
        other = clips[index]
        return self._change(f"stitch {other.name}", lambda clip: clip_edit.stitch(clip, other, blend))

    def remove_hesitation(self, distance: float = HESITATION_DISTANCE, run: int = HESITATION_FRAMES) -> int:
        """Take out frames in which the body only lingers; how many there were."""
        before = len(self._session.document.active_clip().motion)
        if not (distance > 0 and run >= 1):
            raise MotionError(f"hesitation cannot be found with a distance of {distance} m and runs of {run} frames")
        character = self._session.character

        def brisk(clip: Clip) -> Clip:
            shorter = clip_edit.remove_hesitation(clip, character, distance, run)
            return clip if len(shorter.motion) == len(clip.motion) else shorter

        return before - len(self._change("remove hesitation", brisk).motion)

    def offset_root(
        self,
        shift: tuple[float, float, float],
        turn: float = 0.0,
        start: int = 0,
        stop: int | None = None,
        fade: int = 0,
        stroke: str | None = None,
    ) -> Clip:
        """See `retouch.offset_root`; of edits of one stroke the last counts."""
        return self._change(
            "offset root", lambda clip: retouch.offset_root(clip, shift, turn, start, stop, fade), stroke, (start, stop)
        )

    def bend_joint(
        self,
        body: str,
        angles: Sequence[float],
        start: int = 0,
        stop: int | None = None,
        fade: int = 0,
        stroke: str | None = None,
    ) -> Clip:
        """See `retouch.bend_joint`; of edits of one stroke the last counts."""
        character = self._session.character
        return self._change(
            f"bend {body}",
            lambda clip: retouch.bend_joint(clip, character, body, angles, start, stop, fade),
            stroke,
            (start, stop),
        )

    def label_contacts(self, bodies: Sequence[str], start: int, stop: int, touching: bool) -> Clip:
        character = self._session.character
        what = "contact" if touching else "no contact"
        return self._change(
            f"{what} {', '.join(bodies)}",
            lambda clip: retouch.label_contacts(clip, character, bodies, start, stop, touching),
            frames=(start, stop),
        )

    def toggle_contact(self, body: str, start: int, stop: int) -> bool:
        """The label that the body has in frame `start`, turned over in the whole range; the new label."""
        clip = self._session.document.active_clip()
        column = self._session.character.index(body)
        if not 0 <= start < len(clip.motion):
            raise MotionError(f"frame {start} is not in a motion of {len(clip.motion)} frames")
        touching = bool(clip.motion.contacts[start, column] <= 0.5)
        self.label_contacts([body], start, stop, touching)
        return touching

    def label_by_geometry(self, distance: float = 0.03, speed: float = 0.5) -> Clip:
        """Contacts of hands and feet found anew from how near and how slow they are."""
        character = self._session.character
        return self._change("find contacts", lambda clip: retouch.label_by_geometry(clip, character, distance, speed))

    def _change(self, label: str, how, stroke: str | None = None, frames: tuple[int, int | None] | None = None) -> Clip:
        def named(clip: Clip) -> Clip:
            changed = how(clip)
            return changed if changed is clip else replace(changed, name=clip.name)

        clip = self._session.document.active_clip()
        marked = None if frames is None else (frames[0], len(clip.motion) if frames[1] is None else frames[1])
        return self._session.change_clip(label, named, stroke, stroke is not None, marked)
