"""Pictures and film strips of terrains and motions; numpy and Pillow only, no GPU and no screen."""

from parc.render.camera import Camera
from parc.render.clip_picture import draw_clip, draw_frame, draw_terrain
from parc.render.contact_sheet import contact_sheet
from parc.render.film_strips import animate, compare, filmstrip
from parc.render.navigation_picture import draw_navigation

__all__ = [
    "Camera", "animate", "compare", "contact_sheet", "draw_clip", "draw_frame", "draw_navigation", "draw_terrain", "filmstrip",
    
]  # fmt: skip
