"""What the policy sees: its own state, the reference's next frames and the ground, all from its own heading frame.

The heading frame has its origin at the root, x along the root's facing direction and z up, so moving or turning the world
changes nothing. Functions are pure and free of host sync, and the row is written into a given tensor: the whole can be
captured in a CUDA graph.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from parc.terrain.terrain import TerrainBatch
from parc.track.env.body_tables import BodyTables
from parc.track.env.fast_quaternion import QuaternionAlgebra
from parc.track.env.observation_layout import JOINT_VELOCITY_SCALE, ObservationLayout, ObservationSettings


class BodyState(NamedTuple):
    """Simulated characters; N worlds."""

    qvel: Tensor
    """[N, nv]"""
    body_pos: Tensor
    """[N, B, 3] world"""
    body_rot: Tensor
    """[N, B, 4] xyzw"""
    contacts: Tensor
    """[N, B]"""
    held: Tensor
    """[N, D] rad, offset of the motor targets that is held from the last control step"""


class Observer:
    """The constants of one character and one setting; `observe` is a pure function of states and targets."""

    def __init__(self, anatomy: BodyTables, settings: ObservationSettings) -> None:
        device = anatomy.device
        self.anatomy = anatomy
        self.layout = ObservationLayout(anatomy, settings)
        self.algebra = QuaternionAlgebra(device)
        self.steps = torch.tensor(settings.target_steps, device=device)
        """[S] control steps ahead"""
        self.grid = settings.grid_points(device)
        """[G, 2]"""
        x, y = self.grid.unbind(-1)
        self._grid_turn = torch.stack([torch.stack([x, y], -1), torch.stack([-y, x], -1)]).flatten(1)
        """[2, 2 G] a facing direction times this is the grid, turned by it"""
        self._upright = torch.tensor([0, 0, 0, 0, 0, 0, 0, 0, 1.0], device=device)
        self._heading_turn = torch.tensor([[1.0, 0, 0, 0, 1, 0, 0, 0, 0], [0, 1.0, 0, -1, 0, 0, 0, 0, 0]], device=device)
        """[9], [2, 9] the first plus a facing direction times the second is the matrix into the heading frame"""
        self._nudge = torch.tensor([1e-8, 0.0], device=device)
        self._first = torch.zeros(self.layout.target_vectors, 1, device=device)
        self._first[0] = 1.0
        """[V, 1] which of a target's vectors is a position: the root's"""
        self.height_range, self.shows_held = settings.height_range, settings.held

    def joint_rotations(self, body_rot: Tensor) -> Tensor:
        """Rotations [N, J, 4] of the moving joints from body rotations [N, B, 4]."""
        parent = body_rot.index_select(1, self.anatomy.joint_parent)
        return self.algebra.difference(parent, body_rot.index_select(1, self.anatomy.joint_body))

    def angular_velocity(self, root_matrix: Tensor, qvel: Tensor) -> Tensor:
        """World angular velocity [N, 3] of the root; MuJoCo's is in the root's own frame."""
        return (root_matrix * qvel[:, None, 3:6]).sum(-1)

    def observe(self, state: BodyState, targets: Tensor, bank: TerrainBatch, row: Tensor, out: Tensor) -> Tensor:
        """States, target rows [N, S, W] of the reference's target table and terrain rows [N] to out [N, size]."""
        out[:, : self.layout.width].copy_(self.numbers(state, targets, bank, row))
        return out

    def numbers(self, state: BodyState, targets: Tensor, bank: TerrainBatch, row: Tensor) -> Tensor:
        """The same [N, width], without the padding."""
        layout, count = self.layout, row.shape[0]
        root_pos = state.body_pos[:, :1]
        matrices = self.algebra.matrix(state.body_rot)
        root = matrices[:, 0]
        own = torch.cat(
            [
                root[:, :, :2].transpose(1, 2),
                state.qvel[:, None, :3],
                self.angular_velocity(root, state.qvel).unsqueeze(1),
                state.body_pos.index_select(1, self.anatomy.key_body) - root_pos,
            ],
            1,
        )
        split = 3 * layout.target_vectors
        ahead = targets[..., :split].unflatten(-1, (-1, 3)) - root_pos.unsqueeze(1) * self._first

        facing = self._facing(root)
        heading = torch.addmm(self._upright, facing, self._heading_turn).view(-1, 1, 3, 3)
        vectors = (heading * torch.cat([own, ahead.flatten(1, 2)], 1).unsqueeze(2)).sum(-1).flatten(1)
        joints = self._joint_axes(matrices).flatten(1)
        heights = (self._heights(facing, root_pos, bank, row) - root_pos[:, 0, 2:]).clamp(*self.height_range)
        rest = targets[..., split:].reshape(count, -1)
        parts = [vectors, joints, JOINT_VELOCITY_SCALE * state.qvel[:, 6:], state.contacts, rest, heights]
        if self.shows_held:
            parts.append(state.held / self.anatomy.action_reach)
        return torch.cat(parts, 1)

    def _facing(self, root_matrix: Tensor) -> Tensor:
        """Cosine and sine [N, 2] of the heading of matrices [N, 3, 3]; the world's x axis where the root faces straight up."""
        forward = root_matrix[:, :2, 0] + self._nudge
        return forward / torch.linalg.vector_norm(forward, dim=-1, keepdim=True).clamp_min(1e-12)

    def _joint_axes(self, matrices: Tensor) -> Tensor:
        """First two columns, [N, J, 2, 3], of the moving joints' rotations, from body matrices [N, B, 3, 3]."""
        parent = matrices.index_select(1, self.anatomy.joint_parent).unsqueeze(-3)
        axes = matrices.index_select(1, self.anatomy.joint_body)[..., :2].transpose(-1, -2).unsqueeze(-1)
        return (parent * axes).sum(-2)

    def _heights(self, facing: Tensor, root_pos: Tensor, bank: TerrainBatch, row: Tensor) -> Tensor:
        turned = (facing @ self._grid_turn).unflatten(-1, (-1, 2))
        return ground_heights(bank, row, turned + root_pos[..., :2])


def ground_heights(bank: TerrainBatch, row: Tensor, xy: Tensor) -> Tensor:
    """Heights [N, G] under points [N, G, 2] on the terrains `row` [N]; off the map the nearest cell's."""
    low = bank.min_point.index_select(0, row).unsqueeze(1)
    last = bank.size.index_select(0, row).unsqueeze(1) - 1
    ij = torch.minimum(((xy - low) * (1.0 / bank.cell) + 0.5).clamp_min(0.0).long(), last)
    i, j = ij.unbind(-1)
    flat = torch.add(j, torch.add(i, row.unsqueeze(1), alpha=bank.heights.shape[1]), alpha=bank.heights.shape[2])
    return bank.heights.view(-1).index_select(0, flat.view(-1)).view_as(flat)
