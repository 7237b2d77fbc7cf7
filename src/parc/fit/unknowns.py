"""What a fit may change: many clips side by side, padded in time, each changed against its source.

    change of a frame = (shift of the root 3, turn of the root 3, one coordinate for each degree of freedom D)

Turns are exponential maps in the parent's frame, so hinges stay hinges. A change that lasts would need many small steps if every
frame were moved alone: with `knots` it is a sum of splines with knots every so many frames and of the frames' own changes, and a
step along a wide spline moves half a second at once.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.motion.motion import Motion


class HasPoses(Protocol):
    """A motion, or whatever else has its poses."""

    @property
    def root_pos(self) -> Tensor: ...

    @property
    def root_rot(self) -> Tensor: ...

    @property
    def joint_rot(self) -> Tensor: ...


class Unknowns:
    """The change of N clips of T frames, zero at first, and the poses that it gives."""

    def __init__(
        self, character: Character, root_pos: Tensor, root_rot: Tensor, joint_rot: Tensor, knots: Sequence[int] = ()
    ) -> None:
        """Source poses [N, T, 3], [N, T, 4] and [N, T, B-1, 4]; splines with knots every `knots` frames."""
        self.character, self.root_pos, self.root_rot, self.joint_rot = character, root_pos, root_rot, joint_rot
        n, t = root_pos.shape[:2]
        width = 6 + character.num_dof
        self.change = root_pos.new_zeros(n, t, width).requires_grad_()
        self._splines = [splines(t, every).to(root_pos) for every in knots]
        self._waves = [root_pos.new_zeros(n, s.shape[1], width).requires_grad_() for s in self._splines]
        self._spread = dof_to_turns(character, root_pos.device, root_pos.dtype)

    @classmethod
    def of(
        cls, character: Character, starts: Sequence[HasPoses], device: torch.device | str, knots: Sequence[int] = ()
    ) -> "Unknowns":
        """Against starts of different lengths."""
        root_pos = pad([s.root_pos for s in starts]).to(device)
        root_rot = pad([s.root_rot for s in starts]).to(device)
        return cls(character, root_pos, root_rot, pad([s.joint_rot for s in starts]).to(device), knots)

    @property
    def parameters(self) -> list[Tensor]:
        """What a solver moves."""
        return [self.change, *self._waves]

    def total(self) -> Tensor:
        """The change [N, T, 6 + D], splines included."""
        change = self.change
        for spline, wave in zip(self._splines, self._waves, strict=True):
            change = change + spline @ wave
        return change

    def parts(self, change: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Shift and turn of the root [N, T, 3] and change of the coordinates [N, T, D]."""
        shift, root_turn, joint_turn = change.split([3, 3, self.character.num_dof], -1)
        return shift, root_turn, joint_turn

    def poses(self, change: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Root positions [N, T, 3], root rotations [N, T, 4] and joint rotations [N, T, B-1, 4]."""
        shift, root_turn, joint_turn = self.parts(change)
        turns = (joint_turn @ self._spread).unflatten(-1, (self.character.num_joints, 3))
        root_rot = rotation.multiply(rotation.from_exp(root_turn), self.root_rot)
        return self.root_pos + shift, root_rot, rotation.multiply(rotation.from_exp(turns), self.joint_rot)

    @torch.no_grad()
    def motions(self, contacts: Sequence[Tensor], fps: float) -> list[Motion]:
        """The clips as they are now, padding cut off; labels [T_i, B] of each."""
        root_pos, root_rot, joint_rot = (x.cpu() for x in self.poses(self.total()))
        return [
            Motion(root_pos[i, :t], rotation.normalize(root_rot[i, :t]), rotation.normalize(joint_rot[i, :t]), labels, fps)
            for i, (t, labels) in enumerate((len(labels), labels) for labels in contacts)
        ]


def dof_to_turns(character: Character, device: torch.device | str, dtype: torch.dtype = torch.float32) -> Tensor:
    """[D, 3 (B-1)]: changes of the coordinates to exponential maps of the joints."""
    matrix = torch.zeros(character.num_dof, character.num_joints, 3, device=device, dtype=dtype)
    for joint, (body, start) in enumerate(zip(character.bodies[1:], character.dof_start[1:], strict=True)):
        for k, axis in enumerate(body.joint.axes):
            matrix[start + k, joint] = torch.tensor(axis, device=device, dtype=dtype)
    return matrix.flatten(1)


def splines(frames: int, every: int) -> Tensor:
    """[T, K] cubic B-splines with knots every so many frames."""
    knots = torch.arange(-every, frames + 2 * every, every, dtype=torch.float32)
    x = (torch.arange(frames).unsqueeze(1) - knots).abs() / every
    inner, outer = (4 - 6 * x**2 + 3 * x**3) / 6, (2 - x).clamp_min(0) ** 3 / 6
    return torch.where(x < 1, inner, outer)


def pad(tracks: Sequence[Tensor], zeros: bool = False) -> Tensor:
    """Tracks [T_i, ...] to one length, by repeating the last frame or with zeros."""
    longest = max(len(t) for t in tracks)
    padded = []
    for t in tracks:
        tail = t[-1:].expand(longest - len(t), *t.shape[1:])
        padded.append(torch.cat([t, torch.zeros_like(tail) if zeros else tail]))
    return torch.stack(padded)
