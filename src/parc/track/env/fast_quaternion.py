"""Quaternion algebra in few kernels: the control step of thousands of worlds is bound by launches, not by arithmetic.

Both maps used here are bilinear, so each is a constant tensor. The Hamilton product is a 4 x 4 matrix of signed entries of a
times b, and a rotation matrix is linear in the ten products of a unit quaternion's entries:

    (a b)_i = sum_j S_ij a_P(i,j) b_j          R_k = sum_ij C_ijk q_i q_j

`parc.character.rotation` says the same entry by entry, in ten times the kernels; tests hold the two together.
Quaternions are xyzw.
"""

import torch
from torch import Tensor

_PRODUCT_INDEX = ((3, 2, 1, 0), (2, 3, 0, 1), (1, 0, 3, 2), (0, 1, 2, 3))
_PRODUCT_SIGN = ((1, -1, 1, 1), (1, 1, -1, 1), (-1, 1, 1, 1), (-1, -1, -1, 1))
_X, _Y, _Z, _W = range(4)
_MATRIX = (
    ((1, _X, _X), (-1, _Y, _Y), (-1, _Z, _Z), (1, _W, _W)), ((2, _X, _Y), (-2, _Z, _W)), ((2, _X, _Z), (2, _Y, _W)),
    ((2, _X, _Y), (2, _Z, _W)), ((-1, _X, _X), (1, _Y, _Y), (-1, _Z, _Z), (1, _W, _W)), ((2, _Y, _Z), (-2, _X, _W)),
    ((2, _X, _Z), (-2, _Y, _W)), ((2, _Y, _Z), (2, _X, _W)), ((-1, _X, _X), (-1, _Y, _Y), (1, _Z, _Z), (1, _W, _W)),
)  # fmt: skip
"""Row-major entries of R as (factor, i, j) of q_i q_j."""


class QuaternionAlgebra:
    """The constant tensors on one device."""

    def __init__(self, device: torch.device | str) -> None:
        index = torch.tensor(_PRODUCT_INDEX)
        sign = torch.tensor(_PRODUCT_SIGN, dtype=torch.float32)
        conjugated = sign * torch.where(index < 3, -1.0, 1.0)
        matrix = torch.zeros(16, 9)
        for entry, terms in enumerate(_MATRIX):
            for factor, i, j in terms:
                matrix[4 * i + j, entry] += factor
        self._index = index.flatten().to(device)
        self._conjugated = conjugated.flatten().to(device)
        self._matrix = matrix.to(device)

    def difference(self, a: Tensor, b: Tensor) -> Tensor:
        """b relative to a in a's frame, conj(a) b, [..., 4]."""
        left = (a.index_select(-1, self._index) * self._conjugated).unflatten(-1, (4, 4))
        return (left * b.unsqueeze(-2)).sum(-1)

    def matrix(self, q: Tensor) -> Tensor:
        """Unit quaternions [..., 4] to [..., 3, 3]."""
        return (_squares(q) @ self._matrix).unflatten(-1, (3, 3))


def _squares(q: Tensor) -> Tensor:
    return (q.unsqueeze(-1) * q.unsqueeze(-2)).flatten(-2)


def angle_between(a: Tensor, b: Tensor) -> Tensor:
    """Angle [...] in [0, pi] of the rotation from a to b; exactly zero where a equals b or -b.

    From the chord of the unit sphere, |a - b| = 2 sin(angle / 4), the shorter of b and -b.
    """
    chord = torch.minimum((a - b).norm(dim=-1), (a + b).norm(dim=-1))
    return 4.0 * torch.asin((0.5 * chord).clamp_max(1.0))
