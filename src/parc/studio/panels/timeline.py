"""The time line under the view as markup: when hands and feet touch, where the clip was edited, seconds, and the frame shown.

The script of the page (`page_script.js`) moves the head and tells which place was pressed; `data-parc-...` is what it looks for.
"""

import numpy as np
from numpy.typing import NDArray

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.render import palette
from parc.studio.document import Document, EditMark
from parc.studio.panels.marked_text import Marked, joined, marked

_EDIT = "#4b7fd0"
_BUTTON = marked(
    "background:var(--mantine-color-default);color:var(--mantine-color-text);"
    "border:1px solid var(--mantine-color-default-border);border-radius:4px;padding:1px 8px;cursor:pointer;font:inherit;"
)
_SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "4")
_MOST_SECONDS = 12
"""figures under the line"""


def transport_bar() -> Marked:
    """Play, steps, frame, speed and loop in one row."""
    buttons = (
        ("go", "start", "|‹", "To the first frame (Home)"),
        ("step", "-1", "-1", "One frame back"),
        ("toggle", "", "Play", "Play or pause (K)"),
        ("step", "1", "+1", "One frame on"),
        ("go", "end", "›|", "To the last frame (End)"),
    )
    speeds = joined(
        marked("<option value='{}'{}>{} x</option>", s, marked(" selected") if s == "1" else marked(""), s) for s in _SPEEDS
    )
    return marked(
        "<div style='display:flex;gap:5px;align-items:center;flex-wrap:wrap;padding:4px 10px 6px;font-size:13px'>{}"
        "<label style='display:flex;gap:5px;align-items:center' title='Number of the frame that is shown'><span>Frame</span>"
        "<input data-parc-frame data-parc-change='frame' type='number' min='0' value='0' style='{}width:5em'></label>"
        "<span data-parc-clock title='Time in the motion' style='min-width:4em;font-variant-numeric:tabular-nums'>0.00 s</span>"
        "<label title='How fast the motion plays'><select data-parc-change='speed' style='{}'>{}</select></label>"
        "<label title='Begin again at the end' style='display:flex;gap:4px'>"
        "<input data-parc-change='loop' type='checkbox' checked>Loop</label></div>",
        joined(_button(*button) for button in buttons),
        _BUTTON,
        _BUTTON,
        speeds,
    )


def timeline(document: Document, character: Character, seconds: float, chosen: tuple[int, int] | None) -> Marked:
    """Rows of the clip that is worked on, over the `seconds` that the longest motion takes; `chosen` frames are tinted."""
    clip = document.clip
    if clip is None or seconds <= 0:
        return marked(
            "<div style='padding:4px 10px 8px;font-size:12px;opacity:.7'>No motion is chosen. Open one in the tab Clips, "
            "or drive a character in the tab Live.</div>"
        )
    rows = [
        (character.names[body].replace("_", " "), _bars(clip, body, seconds))
        for body in sorted(character.key_bodies, key=lambda body: (body in character.feet, character.names[body]))
    ]
    labels = joined(
        marked("<div style='height:13px;line-height:13px;white-space:nowrap'>{}</div>", label)
        for label in (*(name for name, _ in rows), "edits")
    )
    tracks = joined(
        marked(
            "<div style='position:relative;height:9px;margin:0 0 4px;background:rgba(128,128,128,.16);"
            "border-radius:2px'>{}</div>",
            b,
        )
        for b in (*(bars for _, bars in rows), _edits(document.edits, clip, seconds))
    )
    return marked(
        "<div style='display:flex;gap:8px;padding:2px 12px 6px 10px;font-size:11px;user-select:none'>"
        "<div style='margin-top:-2px'>{}</div>"
        "<div data-parc-line role='slider' aria-label='Time' title='Press or drag to show another moment' "
        "style='position:relative;flex:1;cursor:pointer;touch-action:none'>{}{}{}"
        "<div data-parc-head style='position:absolute;top:0;bottom:0;left:0;width:2px;margin-left:-1px;background:#d43c3c;"
        "pointer-events:none'></div></div></div>",
        labels,
        _range(clip, chosen, seconds),
        tracks,
        _ruler(seconds),
    )


def _button(kind: str, value: str, label: str, hint: str) -> Marked:
    return marked(
        "<button type='button' data-parc-do='{}' data-parc-value='{}' title='{}' style='{}'>{}</button>",
        kind, value, hint, _BUTTON, label,
    )  # fmt: skip


def contact_runs(touching: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """[first, one past the last] frame of each stretch of contact."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], touching, [False]]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _bars(clip: Clip, body: int, seconds: float) -> Marked:
    touching = clip.motion.contacts[:, body].numpy() > 0.5
    return joined(
        marked(
            "<div data-parc-contact title='touches the ground, {:.2f} to {:.2f} s' style='position:absolute;top:0;bottom:0;"
            "border-radius:2px;background:{};left:{:.2f}%;width:{:.2f}%'></div>",
            start / clip.motion.fps,
            stop / clip.motion.fps,
            palette.CONTACT,
            *_place(start, stop, clip, seconds),
        )
        for start, stop in contact_runs(touching)
    )


def _edits(marks: tuple[EditMark, ...], clip: Clip, seconds: float) -> Marked:
    return joined(
        marked(
            "<div data-parc-edit title='{}, frames {} to {}' style='position:absolute;top:0;bottom:0;border-radius:2px;"
            "min-width:3px;background:{};opacity:.8;left:{:.2f}%;width:{:.2f}%'></div>",
            mark.label,
            mark.start,
            mark.stop - 1,
            _EDIT,
            *_place(mark.start, mark.stop, clip, seconds),
        )
        for mark in marks
    )


def _range(clip: Clip, chosen: tuple[int, int] | None, seconds: float) -> Marked:
    """The frames that edits go to, where they are not all."""
    if chosen is None or chosen[1] - chosen[0] >= len(clip.motion):
        return marked("")
    return marked(
        "<div data-parc-range title='Frames chosen in the tab Edit' style='position:absolute;top:0;bottom:12px;"
        "pointer-events:none;background:rgba(75,127,208,.18);border:1px solid {};left:{:.2f}%;width:{:.2f}%'></div>",
        _EDIT,
        *_place(*chosen, clip, seconds),
    )


def _place(start: int, stop: int, clip: Clip, seconds: float) -> tuple[float, float]:
    """Left edge and width, % of the line. A frame reaches from its time to the next one's."""
    left = min(100 * start / clip.motion.fps / seconds, 100.0)
    return left, min(100 * (stop - start) / clip.motion.fps / seconds, 100 - left)


def _ruler(seconds: float) -> Marked:
    every = next(step for step in (0.5, 1, 2, 5, 10, 30, 60, 300, 3600) if seconds / step <= _MOST_SECONDS or step == 3600)
    ticks = joined(
        marked("<span style='position:absolute;left:{:.2f}%;opacity:.65'>{:g}</span>", 100 * t / seconds, t)
        for t in np.arange(0, seconds * 0.98, every)
    )
    return marked("<div style='position:relative;height:12px;line-height:12px;font-size:10px'>{}</div>", ticks)
