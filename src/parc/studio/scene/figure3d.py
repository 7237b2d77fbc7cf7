"""One body in the scene, the spots of shade under it, the trail it leaves and the places it touches."""

import itertools
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from parc.character.character import Character
from parc.render import palette
from parc.render.ray_cast_bodies import matrix
from parc.studio.scene.contact_shade import ContactShade, ground_under
from parc.studio.scene.figure_bodies import CapsuleBody, FigureBody, MannequinBody
from parc.studio.scene.figures_on_stage import Role
from parc.studio.scene.frame_curves import Derivative, derivative, ramp_colours
from parc.terrain.terrain import Terrain

Colouring = Literal["plain", "contacts", "penetration"]
Trail = Literal["none", "speed", "acceleration", "jerk"]
BodyStyle = Literal["mannequin", "capsules"]
TrailOf = Literal["pelvis", "hands and feet", "all bodies"]
_DEEP = 0.05
"""m at which a body is fully red"""
_SHALLOW = 0.005
"""m under which it is not marked"""
_LEVELS = 8
"""steps of colour: a body's colour is sent only when its step changes"""


@dataclass(frozen=True)
class Look:
    """How figures are drawn."""

    body: BodyStyle = "mannequin"
    shadows: bool = False
    """thrown by the sun; they cost a browser without a graphics card half of its frames"""
    colouring: Colouring = "contacts"
    markers: bool = True
    """dots where bodies touch, all through the motion"""
    trail: Trail = "none"
    trail_of: TrailOf = "hands and feet"


class Figure:
    """Cast in a role, and cast anew when the role changes: its nodes in the scene stay.

    No name in the scene is used twice: viser drops the removal of a node where one of the same name is made soon after, and
    what hung on the old one would be left over on the floor.
    """

    _numbers = itertools.count()

    def __init__(self, scene: Any, character: Character, mesh: Any) -> None:
        self._scene, self._character, self._mesh = scene, character, mesh
        self._name = f"/figure/{next(self._numbers)}"
        self._root = scene.add_frame(self._name, show_axes=False)
        self._style: BodyStyle | None = None
        self._body: FigureBody | None = None
        self._shade = ContactShade(scene, self._name, character)
        self._ground: NDArray | None = None
        self._lows: NDArray | None = None
        self._dots: Any = None
        self._line: Any = None
        self._traced: Any = None
        self._role: Role | None = None
        self._colours: NDArray | None = None
        self._frame = -1

    @property
    def role(self) -> Role:
        assert self._role is not None
        return self._role

    def cast(self, role: Role, depth: NDArray | None, look: Look) -> None:
        self._role, self._frame = role, -1
        self._root.position = tuple(role.shift)
        self._colours = _body_colours(role.colour, role.actor.contacts, self._character, look.colouring, depth)
        self._lows = np.stack([self._low_points(role.actor.pos, role.actor.rot, body) for body in self._shade.bodies], 1)
        self._ground = ground_under(role.clip.terrain, self._lows)
        self.dress(look)

    def dress(self, look: Look) -> None:
        """In the body and with the shadow that are asked for."""
        if self._style != look.body:
            if self._body is not None:
                self._body.remove()
            name = f"{self._name}/{next(self._numbers)}"
            mannequin = look.body == "mannequin"
            body: FigureBody
            if mannequin:
                body = MannequinBody(self._scene, name, self._character)
            else:
                body = CapsuleBody(self._scene, name, self._character, self._mesh)
            self._body, self._style = body, look.body
        assert self._body is not None
        self._body.cast_shadow(look.shadows)

    def trace(self, look: Look, same: bool) -> None:
        """Trails and footholds of the whole motion, drawn anew if the motion or what is asked for has changed."""
        traced = self.role.clip if self.role.leaves_traces else None
        if same and self._traced is traced:
            return
        self._traced = traced
        for node in (self._line, self._dots):
            if node is not None:
                node.remove()
        self._line = self._dots = None
        if traced is None:
            return
        actor = self.role.actor
        if look.trail != "none" and len(actor) > 1:
            bodies = _trail_bodies(self._character, look.trail_of)
            segments, colours = trail_segments(actor.pos[:, bodies], actor.fps, look.trail)
            self._line = self._scene.add_line_segments(f"{self._name}/trail", segments, colours, thickness=0.028)
        if look.markers:
            places = np.array([self._lowest(frame, body) for body, frame in contact_moments(actor.contacts)])
            if len(places):
                self._dots = self._scene.add_point_cloud(
                    f"{self._name}/contacts", places.astype(np.float32), rgb(palette.CONTACT),
                    point_size=0.05, point_shape="circle", point_shading="flat", precision="float32",
                )  # fmt: skip

    def pose(self, time: float) -> None:
        actor = self.role.actor
        frame = actor.frame_at(time)
        if frame == self._frame:
            return
        self._frame = frame
        assert self._colours is not None
        self._put(actor.pos[frame], actor.rot[frame], self._colours[frame])
        assert self._lows is not None and self._ground is not None
        self._shade.put(self._lows[frame], self._ground[frame])

    def place(self, pos: NDArray, rot: NDArray, contacts: NDArray, colour: str, terrain: Terrain) -> None:
        """Stand as told, without a role: bodies [B, 3] and [B, 4] (xyzw), contacts [B]."""
        self._put(pos, rot, _body_colours(colour, contacts[None], self._character, "contacts", None)[0])
        lows = np.stack([self._low_points(pos[None], rot[None], body)[0] for body in self._shade.bodies])
        self._shade.put(lows, ground_under(terrain, lows))

    def _put(self, pos: NDArray, rot: NDArray, colours: NDArray) -> None:
        assert self._body is not None
        self._body.put(pos, np.roll(rot, 1, axis=-1), colours)

    def triangles(self) -> NDArray[np.float64]:
        """[F, 3, 3] in the world, as it stands."""
        actor, frame = self.role.actor, max(self._frame, 0)
        turns = matrix(actor.rot[frame])
        body = self._mesh.body
        points = np.einsum("vij,vj->vi", turns[body], self._mesh.points) + actor.pos[frame][body] + self.role.shift
        return points[self._mesh.triangles]

    def remove(self) -> None:
        self._root.remove()

    def _lowest(self, frame: int, body: int) -> NDArray[np.float64]:
        """[3] the lowest vertex of a body."""
        actor = self.role.actor
        points = self._mesh.points[self._mesh.body == body] @ matrix(actor.rot[frame, body]).T + actor.pos[frame, body]
        return points[points[:, 2].argmin()] if len(points) else actor.pos[frame, body]

    def _low_points(self, pos: NDArray, rot: NDArray, body: int) -> NDArray[np.float64]:
        """[T, 3] the middle of a body in each frame, at the height of its lowest vertex."""
        points = self._mesh.points[self._mesh.body == body]
        if not len(points):
            return np.array(pos[:, body])
        turns = matrix(rot[:, body])
        low = (points @ turns[:, 2].T).min(0) + pos[:, body, 2]
        middle = pos[:, body] + turns @ (0.5 * (points.min(0) + points.max(0)))
        return np.concatenate([middle[:, :2], low[:, None]], 1)


def contact_moments(contacts: NDArray) -> list[tuple[int, int]]:
    """The (body, middle frame) of every unbroken stretch of contact in labels [T, B]."""
    found = []
    for body in range(contacts.shape[1]):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], contacts[:, body] > 0.5, [0]])))
        found += [(body, int(start + stop - 1) // 2) for start, stop in zip(edges[::2], edges[1::2], strict=True)]
    return found


def trail_segments(pos: NDArray[np.float64], fps: float, of: Derivative) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Segments [N, 2, 3] of the tracks of points [T, K, 3] and the colours [N, 2, 3] of their ends."""
    colours = _linear(ramp_colours(derivative(pos, fps, of)))
    segments = np.stack([pos[:-1], pos[1:]], 2).reshape(-1, 2, 3)
    return segments.astype(np.float32), np.stack([colours[:-1], colours[1:]], 2).reshape(-1, 2, 3)


def _linear(srgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """What the browser takes the colours of a line's ends for."""
    return np.round(255 * (srgb / 255) ** 2.2).astype(np.uint8)


def _trail_bodies(character: Character, which: TrailOf) -> list[int]:
    if which == "pelvis":
        return [0]
    return list(character.key_bodies) if which == "hands and feet" else list(range(character.num_bodies))


def _body_colours(
    colour: str, contacts: NDArray, character: Character, colouring: Colouring, depth: NDArray | None
) -> NDArray[np.int64]:
    """[T, B, 3] sRGB for contacts [T, B]; the left side is lighter, so that crossing legs can be told apart."""
    base = np.array(rgb(colour), float)
    left = np.array([name.startswith("left") for name in character.names])
    colours = np.where(left[:, None], base + 0.28 * (255 - base), base)[None]
    amount = np.zeros(contacts.shape)
    target = np.array(rgb(palette.CONTACT), float)
    if colouring == "contacts":
        amount = contacts
    elif colouring == "penetration" and depth is not None and len(depth) == len(contacts):
        amount = np.where(depth > _SHALLOW, np.clip(0.4 + 0.6 * depth / _DEEP, 0, 1), 0.0)
        target = np.array((224.0, 30.0, 30.0))
    steps = (np.ceil(amount * _LEVELS) / _LEVELS)[..., None]
    return np.round(colours * (1 - steps) + target * steps).astype(np.int64)


def rgb(code: str) -> tuple[int, int, int]:
    """0 to 255, of a colour such as #4c78a8."""
    return int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16)
