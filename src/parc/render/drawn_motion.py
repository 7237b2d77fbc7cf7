"""A motion ready to be drawn: the world pose of every body in every frame, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import MotionError
from parc.render import palette
from parc.render.ray_cast_bodies import Blocks, Rounds, posed

_LEFT_LIGHTER = 0.22
"""share of white in the left limbs' colour, so that crossing legs can be told apart"""


@dataclass(frozen=True, eq=False)
class DrawnMotion:
    """Poses of a motion as arrays, with the colour it is drawn in."""

    name: str
    character: Character
    pos: NDArray[np.float64]
    """[T, B, 3] m"""
    rot: NDArray[np.float64]
    """[T, B, 4] xyzw"""
    contacts: NDArray[np.float64]
    """[T, B] in 0..1"""
    fps: float
    colour: NDArray[np.float32]
    """[3] linear"""

    @classmethod
    def of(cls, clip: Clip, character: Character, colour: str = palette.FIGURES[0]) -> "DrawnMotion":
        pose = clip.motion.body_poses(character)
        pos, rot, contacts = (v.detach().cpu().double().numpy() for v in (pose.pos, pose.rot, clip.motion.contacts))
        return cls(clip.name, character, pos, rot, contacts.clip(0, 1), clip.motion.fps, palette.linear(colour))

    def __len__(self) -> int:
        return len(self.pos)

    def frame_at(self, time: float) -> int:
        """The frame nearest to `time` in seconds; the last one after the end."""
        return int(np.clip(round(time * self.fps), 0, len(self) - 1))

    def check_frame(self, frame: int) -> None:
        if not 0 <= frame < len(self):
            raise MotionError(f"frame {frame} is not in '{self.name}', which has frames 0 to {len(self) - 1}")

    def solids(self, frame: int, fade: float = 0.0) -> tuple[Rounds, Blocks]:
        """The body at one frame, parts in contact orange; `fade` 0..1 takes it towards the pale sky."""
        self.check_frame(frame)
        touch = self.contacts[frame][:, None].astype(np.float32)
        left = np.array([body.name.startswith("left") for body in self.character.bodies])[:, None]
        colour = np.where(left, self.colour + _LEFT_LIGHTER * (1 - self.colour), self.colour)
        colour = colour * (1 - touch) + palette.linear(palette.CONTACT) * touch
        pale = palette.linear(palette.SKY_BOTTOM)
        return posed(self.character, self.pos[frame], self.rot[frame], colour + fade * (pale - colour))


def actors_of(clips: Clip | Sequence[Clip], character: Character) -> list[DrawnMotion]:
    """One actor for each clip, each in its own colour."""
    given = [clips] if isinstance(clips, Clip) else list(clips)
    if not given:
        raise MotionError("there is no clip to draw")
    return [DrawnMotion.of(clip, character, palette.FIGURES[k % len(palette.FIGURES)]) for k, clip in enumerate(given)]
