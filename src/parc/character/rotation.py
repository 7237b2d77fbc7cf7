"""Rotations as unit quaternions (x, y, z, w), exponential maps, matrices and headings; batched torch.

All functions take any leading batch dims. Quaternions are xyzw, as in every file `parc` reads or writes;
MuJoCo's wxyz exists only inside `parc.physics`. q and -q are the same rotation: functions that return
angles or exponential maps take the short way round.

Gradients stay finite at the identity: sin(x)/x and its inverse are evaluated on a guarded argument and
replaced by their series below `_SMALL`, so neither branch of the `where` ever divides by zero.
"""

import torch
from torch import Tensor

_SMALL = 1e-4
"""Half-angle (rad) below which series replace quotients; the next term is of order 1e-8, under float32's noise."""


def identity(shape: tuple[int, ...] = (), **kwargs) -> Tensor:
    """Identity quaternions of shape [*shape, 4]."""
    q = torch.zeros(*shape, 4, **kwargs)
    q[..., 3] = 1.0
    return q


def normalize(q: Tensor) -> Tensor:
    """Quaternions of length 1."""
    return q / q.norm(dim=-1, keepdim=True).clamp_min(1e-12)


def conjugate(q: Tensor) -> Tensor:
    """The inverse rotation, for unit q."""
    return torch.cat([-q[..., :3], q[..., 3:]], -1)


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """Hamilton product: rotate by b, then by a."""
    ax, ay, az, aw = a.unbind(-1)
    bx, by, bz, bw = b.unbind(-1)
    return torch.stack(
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ],
        -1,
    )


def rotate(q: Tensor, v: Tensor) -> Tensor:
    """Rotate vectors v [..., 3] by q [..., 4]: v + w t + u x t with t = 2 u x v."""
    u = q[..., :3]
    u, v = torch.broadcast_tensors(u, v)
    t = 2.0 * torch.linalg.cross(u, v, dim=-1)
    return v + q[..., 3:] * t + torch.linalg.cross(u, t, dim=-1)


def difference(a: Tensor, b: Tensor) -> Tensor:
    """b relative to a in a's frame, conj(a) b."""
    return multiply(conjugate(a), b)


def angle(q: Tensor) -> Tensor:
    """Rotation angle in [0, pi]."""
    return 2.0 * torch.atan2(q[..., :3].norm(dim=-1), q[..., 3].abs())


def from_exp(e: Tensor) -> Tensor:
    """Exponential map (axis times angle) to quaternion."""
    half = 0.5 * e.square().sum(-1, keepdim=True).clamp_min(1e-30).sqrt()
    small = half < _SMALL
    safe = torch.where(small, torch.ones_like(half), half)
    sinc = torch.where(small, 1.0 - half.square() / 6.0, torch.sin(safe) / safe)
    return torch.cat([0.5 * sinc * e, torch.cos(half)], -1)


def to_exp(q: Tensor) -> Tensor:
    """Quaternion to exponential map with angle in [0, pi]."""
    q = torch.where(q[..., 3:] < 0, -q, q)
    s = q[..., :3].square().sum(-1, keepdim=True).clamp_min(1e-30).sqrt()
    w = q[..., 3:]
    small = s < _SMALL
    safe = torch.where(small, torch.ones_like(s), s)
    safe_w = torch.where(small, w, torch.ones_like(w))
    series = 2.0 / safe_w * (1.0 - (s / safe_w).square() / 3.0)
    scale = torch.where(small, series, 2.0 * torch.atan2(safe, w) / safe)
    return scale * q[..., :3]


def from_axis_angle(axis: Tensor, angle: Tensor) -> Tensor:
    """Unit axis [..., 3] and angle [...] to quaternion."""
    half = 0.5 * angle.unsqueeze(-1)
    return torch.cat([torch.sin(half) * axis, torch.cos(half)], -1)


def to_angle_about(q: Tensor, axis: Tensor) -> Tensor:
    """Angle in (-pi, pi] of the twist of q about the unit axis; exact if q is a rotation about it."""
    twist = (q[..., :3] * axis).sum(-1)
    w = q[..., 3]
    sign = torch.where(w < 0, -torch.ones_like(w), torch.ones_like(w))
    return 2.0 * torch.atan2(sign * twist, sign * w)


def to_matrix(q: Tensor) -> Tensor:
    """Unit quaternion to rotation matrix [..., 3, 3]."""
    x, y, z, w = q.unbind(-1)
    rows = [
        1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
        2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
        2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y),
    ]  # fmt: skip
    return torch.stack(rows, -1).unflatten(-1, (3, 3))


def from_matrix(m: Tensor) -> Tensor:
    """Rotation matrix to quaternion, choosing per item the best conditioned of the four formulas."""
    m00, m11, m22 = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    four_squares = torch.stack([1 + m00 - m11 - m22, 1 - m00 + m11 - m22, 1 - m00 - m11 + m22, 1 + m00 + m11 + m22], -1)
    xy, xz, yz = m[..., 0, 1] + m[..., 1, 0], m[..., 0, 2] + m[..., 2, 0], m[..., 1, 2] + m[..., 2, 1]
    xw, yw, zw = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    candidates = torch.stack(
        [
            torch.stack([four_squares[..., 0], xy, xz, xw], -1),
            torch.stack([xy, four_squares[..., 1], yz, yw], -1),
            torch.stack([xz, yz, four_squares[..., 2], zw], -1),
            torch.stack([xw, yw, zw, four_squares[..., 3]], -1),
        ],
        -2,
    )
    best = four_squares.detach().argmax(-1, keepdim=True).unsqueeze(-1)
    return normalize(torch.gather(candidates, -2, best.expand(*best.shape[:-1], 4)).squeeze(-2))


def matrix_multiply(a: Tensor, b: Tensor) -> Tensor:
    """Product of 3x3 blocks, column by row: full precision whatever the matmul settings (TF32, autocast) are."""
    if torch.compiler.is_exporting():  # one node of a graph instead of eleven
        return a @ b
    return a[..., :, 0:1] * b[..., 0:1, :] + a[..., :, 1:2] * b[..., 1:2, :] + a[..., :, 2:3] * b[..., 2:3, :]


def matrix_rotate(m: Tensor, v: Tensor) -> Tensor:
    """Matrix [..., 3, 3] times vector [..., 3]."""
    if torch.compiler.is_exporting():
        return (m @ v.unsqueeze(-1)).squeeze(-1)
    return m[..., 0] * v[..., 0:1] + m[..., 1] * v[..., 1:2] + m[..., 2] * v[..., 2:3]


def to_sixd(q: Tensor) -> Tensor:
    """First two columns of the rotation matrix, [..., 6]; continuous, hence easy to learn."""
    m = to_matrix(q)
    return torch.cat([m[..., :, 0], m[..., :, 1]], -1)


def sixd_to_matrix(d: Tensor) -> Tensor:
    """Gram-Schmidt of two column vectors [..., 6] to a rotation matrix."""
    x = torch.nn.functional.normalize(d[..., :3], dim=-1, eps=1e-6)
    y = d[..., 3:] - (x * d[..., 3:]).sum(-1, keepdim=True) * x
    y = torch.nn.functional.normalize(y, dim=-1, eps=1e-6)
    return torch.stack([x, y, torch.linalg.cross(x, y, dim=-1)], -1)


def yaw(q: Tensor) -> Tensor:
    """Heading angle: direction of the rotated x axis in the horizontal plane; 0 where that axis is exactly vertical."""
    x, y, z, w = q.unbind(-1)
    return torch.atan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z))


def from_yaw(a: Tensor) -> Tensor:
    """Rotation about the world's z axis by a [...]."""
    zero = torch.zeros_like(a)
    return torch.stack([zero, zero, torch.sin(0.5 * a), torch.cos(0.5 * a)], -1)


def heading(q: Tensor) -> Tensor:
    """The part of q about the vertical: the frame with x along the facing direction and z up."""
    return from_yaw(yaw(q))


def slerp(a: Tensor, b: Tensor, t: Tensor) -> Tensor:
    """Spherical interpolation from a (t = 0) to b (t = 1), the short way; t broadcasts over [...]."""
    return normalize(multiply(a, from_exp(t.unsqueeze(-1) * to_exp(difference(a, b)))))


def angular_velocity(q: Tensor, dt: float) -> Tensor:
    """World-frame angular velocity between consecutive rotations q [..., T, 4] -> [..., T-1, 3], rad/s."""
    return to_exp(multiply(q[..., 1:, :], conjugate(q[..., :-1, :]))) / dt


def reflect(q: Tensor) -> Tensor:
    """Mirror a rotation in the plane y = 0 (left becomes right)."""
    x, y, z, w = q.unbind(-1)
    return torch.stack([-x, y, -z, w], -1)
