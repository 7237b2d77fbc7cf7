"""Who is on the stage and where: the clips of a document, each on its ground.

The ground that is worked on lies where it is. Clips on other grounds play beside it, each ground in a lane of its own.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.render import palette
from parc.render.drawn_motion import DrawnMotion
from parc.studio.document import Document
from parc.terrain.terrain import Terrain

GAP = 1.2
"""m between lanes"""
MOST_CANDIDATES = 8
"""shown at once"""
GHOST = "#9440b0"
"""of the motion while it is being corrected, and of the candidate that is looked at"""
_OTHER = "#aab4c0"
"""of the other candidates"""


@dataclass(frozen=True, eq=False)
class Role:
    """A clip on the stage, and how it is drawn there."""

    clip: Clip
    actor: DrawnMotion
    colour: str
    shift: NDArray[np.float64]
    """[3] m, where its lane is"""
    is_active: bool = False
    leaves_traces: bool = True
    """trail and contact dots; of many candidates only the one that is looked at does"""


@dataclass(frozen=True, eq=False)
class Lane:
    """A terrain on the stage, and where it stands."""

    terrain: Terrain
    shift: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cast:
    """All that is on the stage."""

    roles: tuple[Role, ...]
    lanes: tuple[Lane, ...]
    """the first is the ground that is worked on"""

    @property
    def seconds(self) -> float:
        """Of the longest motion."""
        return max((role.clip.motion.duration for role in self.roles), default=0.0)

    @property
    def active(self) -> Role | None:
        return next((role for role in self.roles if role.is_active), None)


class Casting:
    """Casts one document after another; what has not changed since the last is not worked out again."""

    def __init__(self, character: Character) -> None:
        self._character = character
        self._actors: dict[int, tuple[Clip, DrawnMotion]] = {}

    def cast(self, document: Document, only_active: bool = False, preview: Clip | None = None, picked: int = 0) -> Cast:
        shown: list[tuple[Clip, str, bool]] = []
        for k, clip in enumerate(document.clips):
            if k == document.active and preview is not None:
                shown.append((preview, GHOST, True))
            elif k == document.active or not only_active:
                shown.append((clip, palette.FIGURES[k % len(palette.FIGURES)], k == document.active))
        for k, clip in enumerate(document.candidates[:MOST_CANDIDATES]):
            shown.append((clip, GHOST if k == picked else _OTHER, False))
        if picked >= MOST_CANDIDATES and picked < len(document.candidates):
            shown.append((document.candidates[picked], GHOST, False))
        if preview is not None and document.active is None:
            shown.append((preview, GHOST, False))
        lanes = [Lane(document.terrain, np.zeros(3))]
        roles = []
        known = {id(document.terrain): lanes[0]}
        for clip, colour, is_active in shown:
            lane = known.get(id(clip.terrain))
            if lane is None:
                lane = known[id(clip.terrain)] = _beside(lanes, clip.terrain)
                lanes.append(lane)
            roles.append(Role(clip, self._actor(clip), colour, lane.shift, is_active, colour != _OTHER))
        current = {id(clip) for clip, _, _ in shown}
        self._actors = {key: kept for key, kept in self._actors.items() if key in current}
        return Cast(tuple(roles), tuple(lanes))

    def _actor(self, clip: Clip) -> DrawnMotion:
        kept = self._actors.get(id(clip))
        if kept is None:
            kept = self._actors[id(clip)] = (clip, DrawnMotion.of(clip, self._character))
        return kept[1]


def _beside(lanes: list[Lane], terrain: Terrain) -> Lane:
    """The next lane to the left (y) of all others, its lower x edge in line with the first one's."""
    first = lanes[0].terrain.extent[0].double().numpy()
    edge = max(float(lane.terrain.extent[1][1]) + lane.shift[1] for lane in lanes)
    low = terrain.extent[0].double().numpy()
    return Lane(terrain, np.array([first[0] - low[0], edge + GAP - low[1], 0.0]))
