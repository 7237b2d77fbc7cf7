"""The driven character in the scene: its body, the way it plans to go, its goal, and the camera behind it."""

import math
import time
from typing import Any

import numpy as np
import torch

from parc.character.character import Character
from parc.render import palette
from parc.studio.actions.live_driving import LiveView
from parc.studio.scene.figure3d import Figure, Look, rgb
from parc.studio.scene.follow_camera import FollowCamera
from parc.terrain.terrain import Terrain

COLOUR = "#2f9e6e"
_EVERY = 6
"""steps between drawings of the planned way"""
_CAMERA_EVERY = 2
"""steps between moves of the camera"""


class LiveScene:
    """The driven character, its plan and its goal in the scene of one page."""

    def __init__(self, client: Any, character: Character, mesh: Any) -> None:
        self._client, self._scene, self._character, self._mesh = client, client.scene, character, mesh
        self._figure: Figure | None = None
        self._plan: Any = None
        self._goal: Any = None
        self._goal_at: tuple[float, ...] | None = None
        self._shown = 0
        self._camera = FollowCamera()
        self._moved: float | None = None

    def show(self, view: LiveView, terrain: Terrain, follow: float | None, look: Look) -> None:
        """The character as it is now; the camera stays `follow` m behind it, or where it is."""
        if self._figure is None:
            self._figure = Figure(self._scene, self._character, self._mesh)
            self._camera.forget()
        self._figure.dress(look)
        self._figure.place(view.pos, view.rot, view.contacts, COLOUR, terrain)
        if self._shown % _EVERY == 0:
            self._show_plan(view)
            self._show_goal(view, terrain)
        if self._shown % _CAMERA_EVERY == 0:
            self._move_camera(view, terrain, follow)
        self._shown += 1

    def hide(self) -> None:
        for node in (self._figure, self._plan, self._goal):
            if node is not None:
                node.remove()
        self._figure = self._plan = self._goal = self._goal_at = None
        self._shown = 0

    def _show_plan(self, view: LiveView) -> None:
        if self._plan is not None:
            self._plan.remove()
            self._plan = None
        if len(view.plan) > 1:
            segments = np.stack([view.plan[:-1], view.plan[1:]], 1).astype(np.float32)
            self._plan = self._scene.add_line_segments("/live/plan", segments, rgb(COLOUR), thickness=0.03)

    def _show_goal(self, view: LiveView, terrain: Terrain) -> None:
        at = None if view.goal is None else tuple(view.goal)
        if at == self._goal_at:
            return
        self._goal_at = at
        if self._goal is not None:
            self._goal.remove()
            self._goal = None
        if view.goal is not None:
            height = float(terrain.height_at(torch.tensor(view.goal, dtype=torch.float32)))
            place = (view.goal[0], view.goal[1], height + 0.1)
            self._goal = self._scene.add_icosphere("/live/goal", radius=0.14, color=rgb(palette.GOAL), position=place)

    def _move_camera(self, view: LiveView, terrain: Terrain, follow: float | None) -> None:
        now = time.monotonic()
        since, self._moved = 0.0 if self._moved is None else now - self._moved, now
        if follow is None:
            self._camera.forget()
            return
        place = self._camera.move(view.pos[0], heading_of(view.rot[0]), since, follow, terrain)
        camera = self._client.camera
        camera.position, camera.look_at = place.eye, place.target


def heading_of(quaternion: np.ndarray) -> float:
    """Of a root turned by a quaternion [4] (xyzw), rad."""
    x, y, z, w = (float(v) for v in quaternion)
    return math.atan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z))
