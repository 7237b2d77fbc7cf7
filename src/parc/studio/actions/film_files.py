"""Clips to take away: a page that replays them offline, and a moving picture, frame by frame so that it can be stopped."""

import io
from collections.abc import Callable, Sequence

import numpy as np

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import FormatError, MotionError
from parc.metrics.clip_measures import measure_clips
from parc.render.camera import Size
from parc.render.clip_picture import close_up, draw_actors, stage_of
from parc.render.drawn_motion import actors_of
from parc.report.report_page import Report

FILMS = (".webp", ".gif")
LONGEST = 60.0
"""s of a moving picture"""
_FPS = 15
_SHOWN = ("duration", "tpl", "tcl", "hjf", "foot_skate", "floating", "pen_mm")


def replay_page(clips: Sequence[Clip], character: Character) -> str:
    """One HTML file that shows the clips from every side, without a server; those with a first place come first."""
    if not clips:
        raise MotionError("no clip is open, so there is nothing to replay")
    report = Report(clips[0].name, "drag turns the view, the wheel zooms")
    report.add_replay(list(clips), character)
    measured = measure_clips(list(clips), character)
    columns = [key for key in _SHOWN if key in measured[0]]
    report.add_table([[clip.name, *(row[key] for key in columns)] for clip, row in zip(clips, measured, strict=True)],
                     ["clip", *columns])  # fmt: skip
    return report.html()


def film(
    clips: Sequence[Clip], character: Character, suffix: str, watch: Callable[[float], object], size: Size = (480, 360)
) -> bytes:
    """A moving picture of clips on the first one's ground, at true speed; `watch` is told the share done and may raise."""
    if suffix not in FILMS:
        raise FormatError(f"moving pictures are written as {' or '.join(FILMS)}, not '{suffix}'")
    actors = actors_of(clips, character)
    length = max((len(actor) - 1) / actor.fps for actor in actors)
    if length > LONGEST:
        raise MotionError(f"the motion lasts {length:.0f} s, a moving picture {LONGEST:.0f} s at most; cut it, or take a replay")
    stage, camera, root = stage_of(clips[0]), close_up(clips[0], actors, size), actors[0].pos[:, 0]
    reach = max(1, round(0.25 * actors[0].fps))
    pictures = []
    times = np.arange(int(length * _FPS + 1e-6) + 1) / _FPS
    for k, time in enumerate(times):
        at = actors[0].frame_at(time)
        middle = root[max(at - reach, 0) : at + reach + 1].mean(0)
        pictures.append(draw_actors(stage, actors, [a.frame_at(time) for a in actors], camera.aimed(middle), size))
        watch((k + 1) / len(times))
    data = io.BytesIO()
    options = {"quality": 80, "method": 2} if suffix == ".webp" else {}
    duration = round(1000 / _FPS / 10) * 10 if suffix == ".gif" else round(1000 / _FPS)
    kind = suffix.removeprefix(".").upper()
    pictures[0].save(data, kind, save_all=True, append_images=pictures[1:], duration=duration, loop=0, **options)
    return data.getvalue()
