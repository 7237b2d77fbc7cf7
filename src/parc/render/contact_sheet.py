"""Contact sheets: a motion from the side, a picture every tenth of a second, so that each step can be followed.

A film strip shows a whole motion in a page of panels; a stride of half a second falls between two of them. Here the camera goes
along beside the walk, level with the hips, without perspective: lengths, knees and what is under the feet read the same in every
picture, and those of one motion compare with those of another. Rows are wide, so that a row holds one or two strides.
"""

import math

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from parc.character import rotation
from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.render.camera import Camera, Size, direction_of
from parc.render.clip_picture import draw_actors
from parc.render.drawn_motion import DrawnMotion
from parc.render.film_strips import smooth_track
from parc.render.picture_caption import grid, label
from parc.render.picture_scene import Scene
from parc.render.viewpoint import hidden_share

_ELEVATION = 4.0
"""degrees above the horizon: enough to see on which side of each other the feet are"""
_HIGHER = (_ELEVATION, 24.0, 45.0)
"""degrees, taken one after the other where the terrain hides the body from both sides"""
_SPAN = 2.1
"""m, height of a picture: a body with a hand up"""
_ABOVE = 0.06
"""m the camera aims above the root's level"""
_SMOOTHING = 0.25
"""s over which the camera's place is averaged"""
_TURNING = 0.5
"""s over which its direction is"""
_WALKS = 0.4
"""m/s: the direction is that of the way from this speed on, that of the pelvis where the body stands"""
_HIDDEN = 0.3
"""share of the body that the terrain may hide before the camera changes sides"""
_DISTANCE = 30.0
"""m from the eye to the body; nothing looks smaller from farther without perspective"""
_MOST = 600
"""pictures of a sheet"""


def contact_sheet(
    clip: Clip,
    character: Character,
    every: float = 0.1,
    columns: int = 14,
    start: float = 0.0,
    stop: float | None = None,
    panel: Size = (132, 176),
) -> Image.Image:
    """Side views of a clip `every` seconds from `start` to `stop` (its end), read like text: stamped with time and speed, bodies
    in contact orange, the left limbs lighter."""
    actor = DrawnMotion.of(clip, character)
    end = (len(actor) - 1) / actor.fps
    stop = end if stop is None else stop
    if not (0 < every < math.inf) or columns < 1:
        raise SettingsError(f"a sheet of {columns} columns with a picture every {every:g} s cannot be drawn")
    if not 0 <= start <= stop <= end + 1e-6:
        raise SettingsError(f"the time from {start:g} s to {stop:g} s is not inside the motion, which ends at {end:.2f} s")
    times = np.arange(start, stop + 1e-6, every)
    if len(times) > _MOST:
        raise SettingsError(
            f"a sheet of {len(times)} pictures is too large, expected at most {_MOST}: draw a part, or fewer a second"
        )
    speed, angle = travel(clip, actor)
    place = smooth_track(actor.pos[:, 0], max(int(_SMOOTHING * actor.fps), 1))
    stage, side = Scene.on(clip.terrain), -90.0  # without the path, which would hide the feet
    pictures = []
    for time in times:
        frame = actor.frame_at(time)
        azimuth, elevation, side = _view(clip, actor.pos[frame], math.degrees(angle[frame]), side)
        target = place[frame] + [0.0, 0.0, _ABOVE]
        eye = target + _DISTANCE * direction_of(azimuth, elevation)
        camera = Camera(tuple(eye.tolist()), tuple(target.tolist()), span=_SPAN)
        picture = draw_actors(stage, [actor], [frame], camera, panel)
        pictures.append(label(picture, f"{time:.2f} s  {speed[frame]:.1f} m/s", scale=0.9))
    return grid(pictures, columns, gap=2)


def travel(clip: Clip, actor: DrawnMotion) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Speed in the plane [T] m/s and direction [T] rad of a motion, smooth; where the body stands, its pelvis's direction."""
    reach = max(int(_TURNING * actor.fps), 1)
    root = actor.pos[:, 0]
    velocity = np.gradient(root, axis=0) * actor.fps if len(actor) > 1 else np.zeros_like(root)
    way = smooth_track(velocity, max(reach // 3, 1))[:, :2]
    pelvis = rotation.yaw(clip.motion.root_rot).detach().cpu().double().numpy()
    facing = np.stack([np.cos(pelvis), np.sin(pelvis)], -1)
    speed = np.linalg.norm(way, axis=-1)
    goes = np.clip(speed / _WALKS, 0, 1)[:, None]
    along = goes * way / np.maximum(speed, 1e-6)[:, None] + (1.01 - goes) * facing
    along = smooth_track(np.concatenate([along, np.zeros((len(along), 1))], 1), reach)
    return speed, np.arctan2(along[:, 1], along[:, 0])


def _view(clip: Clip, body: NDArray, heading: float, side: float) -> tuple[float, float, float]:
    """Azimuth and elevation beside the way, degrees, and the side: -90 right of it, which stays as long as it can see."""
    for elevation in _HIGHER:
        for turn in (side, -side):
            if hidden_share(clip.terrain, body, heading + turn, elevation) <= _HIDDEN:
                return heading + turn, elevation, turn
    return heading + side, _HIGHER[-1], side
