"""The 3D scene of one page: grounds, bodies, path, trails and markers, kept in step with what is to be shown.

What the browser draws is expensive where there is no graphics card: light is one hemisphere and one lamp, shadows are off there
(spots of shade under hands and feet are not), the ground is its visible skin only, and no handler hangs on it (a hover outline
over the ground costs half a second a frame). Clicks are rays that `ray_pick` follows here. Shift-drags are caught by a large box
that is not seen.
"""

import itertools
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from viser import ClientHandle

from parc.character.character import Character
from parc.dataset.convert.body_mesh import body_mesh
from parc.path.terrain_path import TerrainPath
from parc.render import palette
from parc.studio.actions.live_driving import LiveView
from parc.studio.scene.camera_framing import corner_points, fitting_view
from parc.studio.scene.figure3d import Figure, Look, rgb
from parc.studio.scene.figures_on_stage import Cast, Lane, Role
from parc.studio.scene.live3d import LiveScene
from parc.studio.scene.ray_pick import pick_triangle
from parc.studio.scene.terrain_skin import changed_tiles, skin_glb, tile_skin
from parc.terrain.terrain import Terrain

_WIDE = 16.0
"""m: on larger grounds the camera looks at the motion"""
_FIELD = np.radians(40.0)
"""vertical opening of the camera"""
SUN = (-7.0, -2.5, 9.0)
"""where it stands: it lights the walls that the camera sees at first, and throws shadows to the side"""
_SHADOW = 0.38
"""opacity of a shadow on the ground"""
_LIFT = np.array([0.0, 0.0, 0.035])
"""m that lines lie above the ground"""


class PageScene:
    """The scene of one page."""

    def __init__(self, client: ClientHandle, character: Character) -> None:
        self._client, self._scene, self._character = client, client.scene, character
        self._lock = threading.RLock()
        self._mesh = body_mesh(character, around=14, rings=3)
        self._grounds: list[_GroundNodes] = []
        self._figures: list[Figure] = []
        self._live = LiveScene(client, character, self._mesh)
        self._others: dict[str, Any] = {}
        self._shown_path: tuple[TerrainPath | None, Terrain | None] = None, None
        self._cast = Cast((), ())
        self._look = Look()
        self._scene.set_up_direction("+z")
        self._scene.configure_environment_map(None)
        self._scene.configure_default_lights(enabled=False, cast_shadow=False)
        self._scene.add_light_hemisphere("/light/sky", sky_color=(255, 255, 255), ground_color=(168, 162, 150), intensity=2.1)
        self._sun = self._scene.add_light_directional("/light/sun", color=(255, 246, 228), intensity=1.5, position=SUN)

    def show(self, cast: Cast, path: TerrainPath | None, look: Look, time: float, depth: NDArray | None = None) -> None:
        """Make the scene what is asked for, as it is at `time` s; `depth` [T, B] is of the active role's bodies."""
        with self._lock, self._client.atomic():
            self._sun.cast_shadow = look.shadows
            self._show_grounds(cast.lanes, look.shadows)
            while len(self._figures) > len(cast.roles):
                self._figures.pop().remove()
            while len(self._figures) < len(cast.roles):
                self._figures.append(Figure(self._scene, self._character, self._mesh))
            same_trace = _of_traces(look) == _of_traces(self._look)
            for figure, role in zip(self._figures, cast.roles, strict=True):
                figure.cast(role, depth if role.is_active else None, look)
                figure.trace(look, same_trace)
            self._show_path(path, cast.lanes[0].terrain)
            self._cast, self._look = cast, look
            self.pose(time)

    def pose(self, time: float) -> None:
        """Every body where it is at `time` s."""
        with self._lock, self._client.atomic():
            for figure in self._figures:
                figure.pose(time)

    def show_live(self, view: LiveView | None, follow: float | None) -> None:
        """The driven character, or nobody; the camera stays `follow` m behind it, or where it is."""
        with self._lock, self._client.atomic():
            if view is None:
                self._live.hide()
            else:
                self._live.show(view, self._cast.lanes[0].terrain, follow, self._look)

    def mark(self, name: str, point: NDArray | None, colour: str) -> None:
        """A dot on the ground, or none."""
        with self._lock:
            node = self._others.pop(f"mark/{name}", None)
            if node is not None:
                node.remove()
            if point is not None:
                self._others[f"mark/{name}"] = self._scene.add_icosphere(
                    f"/mark/{name}", radius=0.09, color=rgb(colour), position=tuple(np.asarray(point) + 2 * _LIFT)
                )

    def catch_clicks(self, on_click: Callable[[Any], Any]) -> None:
        self._scene.on_click()(on_click)

    def catch_drags(self, on_drag: Callable[[Any], Any]) -> None:
        """Have shift-drags anywhere told, by a box around everything that nobody sees.

        Only its edges are drawn: a ray meets its walls all the same, and walls that fill the view took two thirds of each frame.
        """
        box = self._scene.add_box(
            "/catch", dimensions=(400.0, 400.0, 400.0), opacity=0.0, wireframe=True, side="back", cast_shadow=False,
            receive_shadow=False,
        )  # fmt: skip
        box.on_drag("left", modifier="shift")(on_drag)

    def body_under(self, origin: NDArray, direction: NDArray) -> tuple[Role, str, float] | None:
        """The body a ray meets first, of whom, and how far along the ray."""
        with self._lock:
            best: tuple[Role, str, float] | None = None
            for figure in self._figures:
                hit = pick_triangle(figure.triangles(), origin, direction)
                if hit is not None and (best is None or hit[1] < best[2]):
                    body = int(self._mesh.body[self._mesh.triangles[hit[0], 0]])
                    best = figure.role, self._character.names[body], hit[1]
            return best

    def look_at(self, cast: Cast, everything: bool = False) -> None:
        """Put the camera where the ground, or if that is large the motion that is worked on, fills the view.

        With `everything` all grounds and all who are on them are in view.
        """
        camera = self._client.camera
        camera.fov = _FIELD
        camera.position, camera.look_at = fitting_view(seen_points(cast, everything), _FIELD, max(camera.aspect, 0.1))

    def _show_grounds(self, lanes: tuple[Lane, ...], shadows: bool) -> None:
        while len(self._grounds) > len(lanes):
            self._grounds.pop().remove()
        while len(self._grounds) < len(lanes):
            self._grounds.append(_GroundNodes(self._scene))
        for ground, lane in zip(self._grounds, lanes, strict=True):
            ground.show(lane.terrain, lane.shift, shadows)

    def _show_path(self, path: TerrainPath | None, terrain: Terrain) -> None:
        if (path, terrain) == self._shown_path:
            return
        self._shown_path = path, terrain
        for name in ("line", "start", "goal"):
            node = self._others.pop(f"path/{name}", None)
            if node is not None:
                node.remove()
        if path is None:
            return
        nodes = shown_path(path, terrain) + _LIFT
        if len(nodes) > 1:
            self._others["path/line"] = self._scene.add_line_segments(
                "/path/line", np.stack([nodes[:-1], nodes[1:]], 1), rgb(palette.PATH), thickness=0.05
            )
        for name, place, colour in (("start", nodes[0], palette.PATH), ("goal", nodes[-1], palette.GOAL)):
            self._others[f"path/{name}"] = self._scene.add_icosphere(
                f"/path/{name}", radius=0.1, color=rgb(colour), position=tuple(place)
            )


class _GroundNodes:
    """One terrain in the scene, tile by tile."""

    _numbers = itertools.count()
    """no name twice, as in `Figure`"""

    def __init__(self, scene: Any) -> None:
        self._scene, self._name = scene, f"/ground/{next(self._numbers)}"
        self._frame = scene.add_frame(self._name, show_axes=False)
        self._tiles: dict[tuple[int, int], Any] = {}
        self._shown: Terrain | None = None
        self._shadows = False

    def show(self, terrain: Terrain, shift: NDArray, shadows: bool) -> None:
        self._frame.position = tuple(shift)
        if shadows != self._shadows:
            self._shadows = shadows
            for tile in self._tiles.values():
                tile.cast_shadow, tile.receive_shadow = shadows, _shadow(shadows)
        if terrain is self._shown:
            return
        changed = changed_tiles(self._shown, terrain)
        for first in [first for first in self._tiles if first[0] >= terrain.size[0] or first[1] >= terrain.size[1]]:
            self._tiles.pop(first).remove()
        for first in changed:
            self._tiles[first] = self._scene.add_glb(
                f"{self._name}/{first[0]}_{first[1]}",
                skin_glb(tile_skin(terrain, first)),
                cast_shadow=shadows,
                receive_shadow=_shadow(shadows),
            )
        self._shown = terrain

    def remove(self) -> None:
        self._frame.remove()


def _shadow(shadows: bool) -> float | bool:
    """How dark a shadow is on the ground, whose own colours are not lit."""
    return _SHADOW if shadows else False


def _of_traces(look: Look) -> Look:
    return replace(look, colouring="plain", body="mannequin", shadows=False)


def seen_points(cast: Cast, everything: bool) -> NDArray[np.float64]:
    """[N, 3] what the camera should have in view."""
    if everything:
        grounds = [corner_points(lane.terrain) + lane.shift for lane in cast.lanes]
        return np.concatenate([*grounds, *(role.actor.pos.reshape(-1, 3) + role.shift for role in cast.roles)])
    terrain, active = cast.lanes[0].terrain, cast.active
    low, high = (corner.double().numpy() for corner in terrain.extent)
    bodies = np.zeros((0, 3)) if active is None else active.actor.pos.reshape(-1, 3)
    if len(bodies) and float((high - low).max()) > _WIDE:
        return np.concatenate([bodies - [2.0, 2.0, 0.0], bodies + [2.0, 2.0, 0.0]])
    return np.concatenate([corner_points(terrain), bodies])


def shown_path(path: TerrainPath, terrain: Terrain) -> NDArray[np.float64]:
    """[N, 3] the path as a line that stays above the ground: close points, each at its own height or the ground's."""
    dense = (path.resampled(0.1) if len(path) > 1 else path).nodes.detach().cpu()
    dense = torch.cat([path.nodes[:1].detach().cpu(), dense]) if len(path) > 1 else dense
    ground = terrain.height_at(dense[:, :2])
    return torch.cat([dense[:, :2], torch.maximum(dense[:, 2], ground)[:, None]], -1).double().numpy()
