"""Motions over time: sheets of panels, rows of motions under each other, moving pictures."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.render import palette
from parc.render.camera import Camera, Size
from parc.render.clip_picture import close_up, draw_actors, stage_of
from parc.render.drawn_motion import DrawnMotion, actors_of
from parc.render.film_file import check_film, film_bytes, frame_time
from parc.render.picture_caption import grid, label
from parc.render.viewpoint import clear_view, hidden_share
from parc.run.atomic_files import write_bytes_atomically
from parc.run.on_progress import OnProgress

_SMOOTHING = 0.25
"""s over which the camera's target is averaged: it follows the body, not its steps"""
_HIDDEN = 0.5
"""share of a body that the ground may hide in a still"""


def filmstrip(
    clips: Clip | Sequence[Clip],
    character: Character,
    columns: int = 6,
    rows: int = 4,
    start: float = 0.0,
    stop: float | None = None,
    panel: Size = (320, 240),
    camera: Camera | None = None,
) -> Image.Image:
    """A sheet of panels at evenly spaced times from `start` to `stop` seconds (the end), read like text;
    each is stamped with its time and frame.

    The camera follows the first motion's root, and looks from another side where the ground hides that body; several clips are
    drawn together on the first one's terrain.
    """
    if columns < 1 or rows < 1:
        raise SettingsError(f"a film strip of {columns} x {rows} panels is empty")
    actors = actors_of(clips, character)
    first = clips if isinstance(clips, Clip) else clips[0]
    times = _times(actors, start, stop, columns * rows)
    pictures = []
    for time, picture in zip(times, _frames(first, actors, times, panel, camera, may_turn=camera is None), strict=True):
        pictures.append(label(picture, _stamp(actors[0], time), scale=1.15))
    if len(actors) > 1:
        for actor, picture in zip(actors, pictures, strict=False):
            label(picture, actor.name, "right", colour=palette.code(actor.colour))
    return grid(pictures, columns)


def compare(
    clips: Sequence[Clip],
    character: Character,
    columns: int = 8,
    labels: Sequence[str] = (),
    start: float = 0.0,
    stop: float | None = None,
    panel: Size = (280, 240),
    camera: Camera | None = None,
) -> Image.Image:
    """One row for each motion, the same times and the same camera in every row (e.g. reference over simulated)."""
    actors = actors_of(clips, character)
    times = _times(actors, start, stop, columns)
    names = [*labels, *[a.name for a in actors[len(labels) :]]]
    camera = camera or close_up(clips[0], actors, panel)
    pictures = []
    for clip, actor, name in zip(clips, actors, names, strict=True):
        for k, picture in enumerate(_frames(clip, [actor], times, panel, camera, follow=actors[0])):
            label(picture, _stamp(actor, times[k]), scale=1.15)
            pictures.append(label(picture, name, "right") if k == 0 else picture)
    return grid(pictures, columns)


def animate(
    clips: Clip | Sequence[Clip],
    character: Character,
    file: str | Path,
    size: Size = (480, 360),
    fps: float = 15.0,
    camera: Camera | None = None,
    follow: bool = True,
    on_progress: OnProgress | None = None,
) -> Path:
    """A moving picture at true speed, in the format that the file's name says: `.mp4`, `.webp`, `.gif`, `.png` or `.apng`.

    `on_progress` is called after each picture.
    """
    file = Path(file)
    write_bytes_atomically(file, draw_film(clips, character, file.suffix, size, fps, camera, follow, on_progress))
    return file


def draw_film(
    clips: Clip | Sequence[Clip],
    character: Character,
    suffix: str,
    size: Size = (480, 360),
    fps: float = 15.0,
    camera: Camera | None = None,
    follow: bool = True,
    on_progress: OnProgress | None = None,
) -> bytes:
    """The content of such a file; `on_progress` may raise to end it."""
    check_film(suffix)
    shown = frame_time(suffix, fps)
    actors = actors_of(clips, character)
    first = clips if isinstance(clips, Clip) else clips[0]
    length = max((len(a) - 1) / a.fps for a in actors)
    times = np.arange(int(length * 1000 / shown + 1e-6) + 1) * shown / 1000
    frames = []
    for frame in _frames(first, actors, times, size, camera, follow=actors[0] if follow else None):
        frames.append(frame)
        if on_progress is not None:
            on_progress(len(frames), len(times))
    return film_bytes(frames, suffix, shown)


def _stamp(actor: DrawnMotion, time: float) -> str:
    return f"{time:.2f} s   #{actor.frame_at(time)}"


def _times(actors: Sequence[DrawnMotion], start: float, stop: float | None, count: int) -> np.ndarray:
    end = max((len(a) - 1) / a.fps for a in actors)
    stop = end if stop is None else stop
    if not 0 <= start <= stop <= end + 1e-6:
        raise SettingsError(f"the time from {start} s to {stop} s is not inside the motion, which ends at {end:.2f} s")
    return np.linspace(start, stop, count)


def _frames(
    clip: Clip,
    actors: Sequence[DrawnMotion],
    times: np.ndarray,
    size: Size,
    camera: Camera | None,
    follow: DrawnMotion | None = None,
    may_turn: bool = False,
) -> Iterator[Image.Image]:
    """A picture at each time. Without a camera, or with an actor to follow, the view moves along with it; if it `may_turn`, as
    in stills, to another side where the ground hides the actor."""
    stage = stage_of(clip)
    leader = follow or (actors[0] if camera is None else None)
    camera = camera or close_up(clip, actors, size)
    path = None if leader is None else smooth_track(leader.pos[:, 0], max(int(_SMOOTHING * leader.fps), 1))
    for time in times:
        view = camera
        if path is not None and leader is not None:
            frame = leader.frame_at(time)
            view = camera.aimed(path[frame])
            if may_turn and hidden_share(clip.terrain, leader.pos[frame], *view.side) > _HIDDEN:
                view = view.turned(*clear_view(clip.terrain, leader.pos[frame : frame + 1]))
        yield draw_actors(stage, actors, [a.frame_at(time) for a in actors], view, size)


def smooth_track(track: np.ndarray, reach: int) -> np.ndarray:
    """Moving average of [T, 3] over +-reach frames, ends repeated."""
    padded = np.concatenate([track[:1].repeat(reach, 0), track, track[-1:].repeat(reach, 0)])
    total = np.concatenate([np.zeros((1, 3)), padded.cumsum(0)])
    return (total[2 * reach + 1 :] - total[: -2 * reach - 1]) / (2 * reach + 1)
