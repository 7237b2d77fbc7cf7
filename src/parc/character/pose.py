"""Joint rotations to coordinates and back: the DoF vector of motors, DeepMimic frames and MuJoCo.

A ball joint's coordinates are its exponential map, a hinge's its angle, and two hinges in sequence give two angles
with Q = R(axis1, a1) R(axis2, a2). Bodies with a fixed joint have none.
"""

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character


def joints_to_dof(character: Character, joint_rot: Tensor) -> Tensor:
    """Joint quaternions [..., B-1, 4] (xyzw) to coordinates [..., D]; turns off a hinge's axis are dropped."""
    parts = []
    for body, q in zip(character.bodies[1:], joint_rot.unbind(-2), strict=True):
        joint = body.joint
        if joint.is_ball:
            parts.append(rotation.to_exp(q))
        elif joint.is_hinge:
            parts.append(rotation.to_angle_about(q, q.new_tensor(joint.axes[0])).unsqueeze(-1))
        elif joint.dof == 2:
            parts.append(_two_angles(q, q.new_tensor(joint.axes)))
    return torch.cat(parts, -1) if parts else joint_rot.new_zeros(*joint_rot.shape[:-2], 0)


def dof_to_joints(character: Character, dof: Tensor) -> Tensor:
    """Coordinates [..., D] to joint quaternions [..., B-1, 4] (xyzw)."""
    rows = []
    for body, start in zip(character.bodies[1:], character.dof_start[1:], strict=True):
        joint = body.joint
        values = dof[..., start : start + joint.dof]
        if joint.is_ball:
            rows.append(rotation.from_exp(values))
        elif joint.dof == 0:
            rows.append(rotation.identity(tuple(dof.shape[:-1]), device=dof.device, dtype=dof.dtype))
        else:
            q = rotation.from_axis_angle(dof.new_tensor(joint.axes[0]), values[..., 0])
            if joint.dof == 2:
                q = rotation.multiply(q, rotation.from_axis_angle(dof.new_tensor(joint.axes[1]), values[..., 1]))
            rows.append(q)
    return torch.stack(rows, -2)


def _two_angles(q: Tensor, axes: Tensor) -> Tensor:
    """Angles about two perpendicular axes a, b with q = R(a, s) R(b, t).

    b is fixed by R(b, t), so q b = R(a, s) b: s is the angle of the image of b about a; what is left is R(b, t).
    """
    a, b = axes
    image = rotation.rotate(q, b.expand(*q.shape[:-1], 3))
    c = torch.linalg.cross(a, b, dim=-1)
    first = torch.atan2((image * c).sum(-1), (image * b).sum(-1))
    rest = rotation.multiply(rotation.conjugate(rotation.from_axis_angle(a, first)), q)
    return torch.stack([first, rotation.to_angle_about(rest, b)], -1)
