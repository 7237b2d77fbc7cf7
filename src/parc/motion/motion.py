"""A motion: what a body did, frame by frame.

Root position and rotation in the world, joint rotations against the parents, contact labels, frames per second.
Quaternions are xyzw and unit; consecutive ones may differ in sign. Labels are 0 or 1 when recorded in simulation and
anything between when generated.
"""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.character.kinematics import BodyPose, forward_kinematics
from parc.errors import MotionError

MOST_FPS = 10_000
MOST_CONTACT = 100.0
"""Labels lie in [0, 1]; what a network that has learned little says of contact may lie outside, but not this far."""


@dataclass(frozen=True, eq=False)
class Motion:
    """What a body does over time: root, joint angles and contacts, frame by frame."""

    root_pos: Tensor
    """[T, 3] pelvis in the world, m"""
    root_rot: Tensor
    """[T, 4] xyzw"""
    joint_rot: Tensor
    """[T, B-1, 4] xyzw against the parent"""
    contacts: Tensor
    """[T, B] in [0, 1]"""
    fps: float = 30.0
    loops: bool = False
    """the last frame leads into the first (a walk cycle)"""

    def __post_init__(self) -> None:
        frames = self.root_pos.shape[0] if self.root_pos.dim() else 0
        if frames == 0:
            raise MotionError("a motion needs at least one frame")
        joints = self.joint_rot.shape[1] if self.joint_rot.dim() == 3 else -1
        for name, value, shape in (
            ("root_pos", self.root_pos, (frames, 3)),
            ("root_rot", self.root_rot, (frames, 4)),
            ("joint_rot", self.joint_rot, (frames, joints, 4)),
            ("contacts", self.contacts, (frames, joints + 1)),
        ):
            if tuple(value.shape) != shape:
                raise MotionError(f"{name} has shape {list(value.shape)}, expected {list(shape)}")
            if not math.isfinite(value.sum()) and not torch.isfinite(value).all():  # the sum alone is many times faster
                bad = int((~torch.isfinite(value)).flatten(1).any(1).nonzero()[0, 0])
                raise MotionError(f"{name} is not finite at frame {bad}")
        if (most := float(self.contacts.abs().amax())) > MOST_CONTACT:
            raise MotionError(f"contacts reach {most:.3g}, expected 0 to 1")
        for name, quaternions in (("root_rot", self.root_rot), ("joint_rot", self.joint_rot)):
            if quaternions.numel() and (quaternions.norm(dim=-1) - 1).abs().max() > 1e-2:
                raise MotionError(f"{name} holds quaternions that are not of unit length")
        if not 0 < self.fps <= MOST_FPS:
            raise MotionError(f"fps is {str(self.fps)[:20]}, expected a positive number up to {MOST_FPS}")

    def __len__(self) -> int:
        return self.root_pos.shape[0]

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the last."""
        return (len(self) - 1) / self.fps

    @property
    def num_bodies(self) -> int:
        """Of the character, as the contacts count them."""
        return self.contacts.shape[1]

    def check_fits(self, character: Character) -> None:
        """An error in one sentence if the motion has other bodies or joints than the character."""
        if self.num_bodies != character.num_bodies:
            raise MotionError(
                f"the motion is for {self.num_bodies} bodies, character '{character.name}' has {character.num_bodies}"
            )

    def body_poses(self, character: Character) -> BodyPose:
        """Where all bodies are in each frame, by forward kinematics."""
        self.check_fits(character)
        return forward_kinematics(character, self.root_pos, self.root_rot, self.joint_rot)

    def frame(self, index: int) -> "Motion":
        """The state in one frame."""
        return self.slice(index, index + 1)

    def slice(self, start: int, stop: int) -> "Motion":
        """Frames start .. stop-1, negative and open bounds refused: a typo must not silently shorten data."""
        if not 0 <= start < stop <= len(self):
            raise MotionError(f"frames {start}..{stop} are not inside a motion of {len(self)} frames")
        return replace(
            self,
            root_pos=self.root_pos[start:stop],
            root_rot=self.root_rot[start:stop],
            joint_rot=self.joint_rot[start:stop],
            contacts=self.contacts[start:stop],
            loops=False,
        )

    def moved(self, shift: Tensor | None = None, turn: Tensor | None = None) -> "Motion":
        """Turned about the world's vertical axis by the angle `turn` (rad), then shifted by `shift` [3] (m)."""
        pos, rot = self.root_pos, self.root_rot
        if turn is not None:
            q = rotation.from_yaw(torch.as_tensor(turn, dtype=pos.dtype))
            pos, rot = rotation.rotate(q, pos), rotation.multiply(q.expand_as(rot), rot)
        if shift is not None:
            pos = pos + shift
        return replace(self, root_pos=pos, root_rot=rot)

    def to(self, device: torch.device | str) -> "Motion":
        """The same motion with its tensors on a device."""
        return replace(
            self,
            root_pos=self.root_pos.to(device),
            root_rot=self.root_rot.to(device),
            joint_rot=self.joint_rot.to(device),
            contacts=self.contacts.to(device),
        )
