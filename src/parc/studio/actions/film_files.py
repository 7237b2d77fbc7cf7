"""Clips to take away: a page that replays them offline, and a moving picture, frame by frame so that it can be stopped."""

from collections.abc import Callable, Sequence

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import MotionError
from parc.metrics.clip_measures import measure_clips
from parc.render.camera import Size
from parc.render.film_file import check_film
from parc.render.film_strips import draw_film
from parc.report.report_page import Report

FILMS = (".mp4", ".webp", ".gif")
LONGEST = 60.0
"""s of a moving picture"""
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
    clips: Sequence[Clip], character: Character, suffix: str, watch: Callable[[float], object], size: Size = (640, 480)
) -> bytes:
    """A moving picture of clips on the first one's ground, at true speed; `watch` is told the share done and may raise."""
    check_film(suffix)
    length = max(clip.motion.duration for clip in clips)
    if length > LONGEST:
        raise MotionError(f"the motion lasts {length:.0f} s, a moving picture {LONGEST:.0f} s at most; cut it, or take a replay")
    return draw_film(clips, character, suffix, size, on_progress=lambda done, total, note="": watch(done / total))
