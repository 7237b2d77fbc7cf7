"""Single pictures: a terrain, one frame of a motion, a whole motion in one picture."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import MotionError
from parc.path.terrain_path import TerrainPath
from parc.render import palette
from parc.render.camera import Camera, Size
from parc.render.drawn_motion import DrawnMotion, actors_of
from parc.render.picture_caption import label
from parc.render.picture_scene import Scene, render
from parc.render.ray_cast_bodies import Rounds
from parc.render.space_lines import Lines
from parc.render.terrain_columns import TerrainColumns
from parc.render.viewpoint import ELEVATION, best_azimuth, clear_view, overview_azimuth
from parc.terrain.terrain import Terrain

_ABOVE_GROUND = 0.05
"""m a path is drawn above its waypoints, so that tops do not swallow it"""
_LONGEST_STEP = 1.6
"""cells between two waypoints; more is a jump"""
_PAUSE_PACE = 0.08
"""m/s a standing body counts as moving when poses are chosen"""


def path_lines(path: TerrainPath, terrain: Terrain, width: float = 3.0) -> tuple[list[Lines], list[Rounds]]:
    """A path as a line over the ground, a small ball at its start and a larger one at its goal.

    Steps between neighbouring cells climb their walls; longer ones are jumps and drawn as arcs.
    """
    nodes = path.nodes.detach().cpu().double().numpy() + [0, 0, _ABOVE_GROUND]
    colour = palette.linear(palette.PATH)
    ends = [Rounds.spheres(nodes[:1], 0.09, colour), Rounds.spheres(nodes[-1:], 0.13, palette.linear(palette.GOAL))]
    segments = np.stack([nodes[:-1], nodes[1:]], 1)
    leaps = np.linalg.norm(segments[:, 1, :2] - segments[:, 0, :2], axis=-1) > _LONGEST_STEP * terrain.cell
    pieces = [arcs(segments[leaps]), _on_ground(segments[~leaps], terrain)]
    return [Lines(np.concatenate(pieces), colour, width=width, hidden_opacity=0.22)], ends


def arcs(ends: NDArray, pieces: int = 14) -> NDArray[np.float64]:
    """Jumps [E, 2, 3] as parabolas, cut into straight pieces [E * pieces, 2, 3]."""
    share = np.linspace(0, 1, pieces + 1)[None, :, None]
    points = ends[:, :1] * (1 - share) + ends[:, 1:] * share
    length = np.linalg.norm(ends[:, 1, :2] - ends[:, 0, :2], axis=-1)[:, None]
    points[..., 2] += (4 * share * (1 - share))[..., 0] * (0.12 + 0.16 * length)
    return np.stack([points[:, :-1], points[:, 1:]], 2).reshape(-1, 2, 3)


def _on_ground(ends: NDArray, terrain: Terrain, pieces: int = 12) -> NDArray[np.float64]:
    """Steps [E, 2, 3] cut into pieces that keep to the terrain's surface between their two ends."""
    share = np.linspace(0, 1, pieces + 1)[None, :, None]
    points = ends[:, :1] * (1 - share) + ends[:, 1:] * share
    inner = torch.from_numpy(points[:, 1:-1, :2]).to(terrain.heights)
    height = terrain.height_at(inner).double().cpu().numpy() + _ABOVE_GROUND
    # A diagonal step passes the corner of a cell it does not enter, which may be a pit.
    points[:, 1:-1, 2] = np.clip(height, ends[..., 2].min(1)[:, None], ends[..., 2].max(1)[:, None])
    return np.stack([points[:, :-1], points[:, 1:]], 2).reshape(-1, 2, 3)


def draw_terrain(
    terrain: Terrain, path: TerrainPath | None = None, size: Size = (960, 640), camera: Camera | None = None, lines: bool = True
) -> Image.Image:
    """The whole terrain from an angle, with its path."""
    ground = TerrainColumns.of(terrain, lines)
    scene = Scene(ground)
    if path is not None:
        route, ends = path_lines(path, terrain)
        scene = scene.with_more(rounds=ends, lines=route)
    return render(scene, camera or Camera.framing(ground.outline, size, overview_azimuth(terrain, path), 40.0), size)


def draw_frame(
    clips: Clip | Sequence[Clip],
    character: Character,
    frame: int = 0,
    size: Size = (640, 480),
    camera: Camera | None = None,
    caption: str = "",
) -> Image.Image:
    """One frame of a motion, or of several at once on the first one's terrain (ended ones stay at their last frame)."""
    actors = actors_of(clips, character)
    first = clips if isinstance(clips, Clip) else clips[0]
    actors[0].check_frame(frame)
    camera = camera or close_up(first, actors, size).aimed(actors[0].pos[frame, 0])
    return label(draw_actors(stage_of(first), actors, [min(frame, len(a) - 1) for a in actors], camera, size), caption)


def draw_clip(
    clip: Clip,
    character: Character,
    frames: int = 8,
    every: int | None = None,
    size: Size = (960, 640),
    camera: Camera | None = None,
    caption: str = "",
) -> Image.Image:
    """A whole motion in one picture: `frames` poses spread along the way (or one each `every` frames), older ones paler."""
    actor = DrawnMotion.of(clip, character)
    shown = ghost_frames(actor.pos[:, 0], actor.fps, frames, every)
    scene = stage_of(clip)
    trail = Lines.polyline(actor.pos[:, 0], actor.colour, width=1.6, opacity=0.55, hidden_opacity=0.15)
    bodies = [actor.solids(k, fade=0.62 * (1 - (n + 1) / len(shown))) for n, k in enumerate(shown)]
    scene = scene.with_more([r for r, _ in bodies], [b for _, b in bodies], [trail] if len(actor) > 1 else [])
    if camera is None:
        camera = Camera.framing(around(clip.terrain, actor.pos), size, best_azimuth(clip.terrain, actor.pos), ELEVATION + 2)
    return label(render(scene, camera, size), caption)


def ghost_frames(root: NDArray, fps: float, frames: int, every: int | None) -> list[int]:
    """Frames to show, first and last among them: evenly spaced along the way of `root` [T, 3], or every `every`-th.

    Standing still counts as moving at a slow pace: poses spread over the picture, yet a long pause is not skipped.
    """
    length = len(root)
    if every is not None:
        if every < 1:
            raise MotionError(f"every is {every}, expected a positive number of frames")
        return list(range(0, length, every))
    if frames < 1:
        raise MotionError(f"{frames} frames asked for, expected at least one")
    steps = np.linalg.norm(np.diff(root, axis=0), axis=-1) + _PAUSE_PACE / fps
    way = np.concatenate([[0.0], steps.cumsum()])
    return sorted(set(np.abs(way[:, None] - np.linspace(0, way[-1], min(frames, length))).argmin(0).tolist()))


def stage_of(clip: Clip) -> Scene:
    """The clip's terrain and path, ready for actors; its shadow is already cast."""
    scene = Scene.on(clip.terrain)
    lines, ends = path_lines(clip.path, clip.terrain, width=2.5) if clip.path is not None else ([], [])
    return scene.with_more(rounds=ends, lines=lines)


def draw_actors(stage: Scene, actors: Sequence[DrawnMotion], frames: Sequence[int], camera: Camera, size: Size) -> Image.Image:
    """Each actor at its own frame."""
    bodies = [actor.solids(frame) for actor, frame in zip(actors, frames, strict=True)]
    return render(stage.with_more([r for r, _ in bodies], [b for _, b in bodies]), camera, size)


def close_up(clip: Clip, actors: Sequence[DrawnMotion], size: Size, room: float = 0.82) -> Camera:
    """A camera that shows the whole body with `room` metres about the root; aim it at the root of the frame shown."""
    pos = np.concatenate([actor.pos for actor in actors])
    corners = np.array([[x, y, z] for x in (-room, room) for y in (-room, room) for z in (-0.9 * room, room)]) * [0.75, 0.75, 1]
    return Camera.framing(actors[0].pos[0, 0] + corners, size, *clear_view(clip.terrain, pos))


def around(terrain: Terrain, pos: NDArray, room: float = 0.55) -> NDArray[np.float64]:
    """Points [N, 3] to keep in the picture: the bodies `pos` [T, B, 3] and the ground about the root."""
    bodies = pos.reshape(-1, 3)
    root = pos[:, 0]
    heights, low = terrain.heights.detach().cpu().numpy(), terrain.min_point.detach().cpu().numpy()
    points = [bodies + [0, 0, 0.15]]
    for shift in ((room, room), (room, -room), (-room, room), (-room, -room)):
        xy = root[:, :2] + shift
        ij = np.floor((xy - low) / terrain.cell + 0.5).astype(int).clip(0, np.array(heights.shape) - 1)
        ground = np.minimum(heights[ij[:, 0], ij[:, 1]], root[:, 2] + 0.3)
        points.append(np.concatenate([xy, np.maximum(ground, root[:, 2] - 1.5)[:, None]], 1))
    return np.concatenate(points)
