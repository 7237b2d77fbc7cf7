"""Pictures, film strips and report pages of terrains and motions; numpy and Pillow only, no GPU and no screen."""

from parc.view.camera import Camera
from parc.view.chart import bar_chart, line_chart
from parc.view.contact_sheet import contact_sheet
from parc.view.figure import draw_clip, draw_frame, draw_terrain
from parc.view.filmstrip import animate, compare, filmstrip
from parc.view.navigation import draw_navigation
from parc.view.replay import replay_payload
from parc.view.report import Report

__all__ = [
    "Camera", "Report", "animate", "bar_chart", "compare", "contact_sheet", "draw_clip", "draw_frame",
    "draw_navigation", "draw_terrain", "filmstrip", "line_chart", "replay_payload",
]  # fmt: skip
