"""Forward kinematics of matrix poses and its gradient as one kernel each, one thread a frame.

The same arithmetic as `parc.character.kinematics`, body after body: parents come before their children, so what a thread needs of
a parent it has written itself (barriers, should the compiler ever spread a frame over threads). Backward goes from the leaves to
the root and adds to the parents' gradients in place:

    dL/dQ_b = R_parent' G_b        G_parent += G_b Q_b' + g_b o_b'        g_parent += g_b

with G_b = dL/dR_b and g_b = dL/dp_b.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 128


def walk_on_gpu(root_pos: Tensor, root_rot: Tensor, joint_rot: Tensor, parents: Tensor, offsets: Tensor) -> tuple[Tensor, Tensor]:
    """Positions [M, B, 3] and rotations [M, B, 3, 3] from [M, 3], [M, 3, 3] and [M, B-1, 3, 3], contiguous float32."""
    frames, bodies = root_pos.shape[0], parents.shape[0]
    pos = root_pos.new_empty(frames, bodies, 3)
    rot = root_pos.new_empty(frames, bodies, 3, 3)
    if frames:
        grid = (triton.cdiv(frames, _BLOCK),)
        _forward[grid](root_pos, root_rot, joint_rot, parents, offsets, pos, rot, frames, bodies, BLOCK=_BLOCK)
    return pos, rot


def walk_back_on_gpu(
    grad_pos: Tensor, grad_rot: Tensor, joint_rot: Tensor, rot: Tensor, parents: Tensor, offsets: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of root position, root rotation and joint rotations."""
    frames, bodies = grad_pos.shape[:2]
    pos, turn = grad_pos.clone(memory_format=torch.contiguous_format), grad_rot.clone(memory_format=torch.contiguous_format)
    joint = torch.empty_like(joint_rot)
    if frames:
        grid = (triton.cdiv(frames, _BLOCK),)
        _backward[grid](pos, turn, joint_rot, rot, parents, offsets, joint, frames, bodies, BLOCK=_BLOCK)
    return pos[:, 0].contiguous(), turn[:, 0].contiguous(), joint


@triton.jit
def _forward(root_pos, root_rot, joint_rot, parents, offsets, pos, rot, frames, bodies, BLOCK: tl.constexpr):
    f = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = f < frames
    for i in tl.static_range(3):
        tl.store(pos + f * bodies * 3 + i, tl.load(root_pos + f * 3 + i, mask=live), mask=live)
    for i in tl.static_range(9):
        tl.store(rot + f * bodies * 9 + i, tl.load(root_rot + f * 9 + i, mask=live), mask=live)
    for b in range(1, bodies):
        parent = tl.load(parents + b)
        x, y, z = tl.load(offsets + 3 * b), tl.load(offsets + 3 * b + 1), tl.load(offsets + 3 * b + 2)
        q = joint_rot + (f * (bodies - 1) + b - 1) * 9
        q00, q01, q02 = tl.load(q, mask=live), tl.load(q + 1, mask=live), tl.load(q + 2, mask=live)
        q10, q11, q12 = tl.load(q + 3, mask=live), tl.load(q + 4, mask=live), tl.load(q + 5, mask=live)
        q20, q21, q22 = tl.load(q + 6, mask=live), tl.load(q + 7, mask=live), tl.load(q + 8, mask=live)
        up, up_pos = rot + (f * bodies + parent) * 9, pos + (f * bodies + parent) * 3
        to, to_pos = rot + (f * bodies + b) * 9, pos + (f * bodies + b) * 3
        for i in tl.static_range(3):
            a0, a1, a2 = (
                tl.load(up + 3 * i, mask=live),
                tl.load(up + 3 * i + 1, mask=live),
                tl.load(up + 3 * i + 2, mask=live),
            )
            tl.store(to + 3 * i, a0 * q00 + a1 * q10 + a2 * q20, mask=live)
            tl.store(to + 3 * i + 1, a0 * q01 + a1 * q11 + a2 * q21, mask=live)
            tl.store(to + 3 * i + 2, a0 * q02 + a1 * q12 + a2 * q22, mask=live)
            tl.store(to_pos + i, tl.load(up_pos + i, mask=live) + (a0 * x + a1 * y + a2 * z), mask=live)
        tl.debug_barrier()


@triton.jit
def _backward(grad_pos, grad_rot, joint_rot, rot, parents, offsets, grad_joint, frames, bodies, BLOCK: tl.constexpr):
    f = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = f < frames
    for step in range(1, bodies):
        b = bodies - step
        parent = tl.load(parents + b)
        x, y, z = tl.load(offsets + 3 * b), tl.load(offsets + 3 * b + 1), tl.load(offsets + 3 * b + 2)
        g, g_pos = grad_rot + (f * bodies + b) * 9, grad_pos + (f * bodies + b) * 3
        g00, g01, g02 = tl.load(g, mask=live), tl.load(g + 1, mask=live), tl.load(g + 2, mask=live)
        g10, g11, g12 = tl.load(g + 3, mask=live), tl.load(g + 4, mask=live), tl.load(g + 5, mask=live)
        g20, g21, g22 = tl.load(g + 6, mask=live), tl.load(g + 7, mask=live), tl.load(g + 8, mask=live)
        p0, p1, p2 = tl.load(g_pos, mask=live), tl.load(g_pos + 1, mask=live), tl.load(g_pos + 2, mask=live)
        up = rot + (f * bodies + parent) * 9
        q, to = joint_rot + (f * (bodies - 1) + b - 1) * 9, grad_joint + (f * (bodies - 1) + b - 1) * 9
        to_up, to_pos = grad_rot + (f * bodies + parent) * 9, grad_pos + (f * bodies + parent) * 3
        for k in tl.static_range(3):
            # row k of dL/dQ is column k of R_parent against G; column k of G Q' is G against row k of Q
            a0, a1, a2 = tl.load(up + k, mask=live), tl.load(up + 3 + k, mask=live), tl.load(up + 6 + k, mask=live)
            tl.store(to + 3 * k, a0 * g00 + a1 * g10 + a2 * g20, mask=live)
            tl.store(to + 3 * k + 1, a0 * g01 + a1 * g11 + a2 * g21, mask=live)
            tl.store(to + 3 * k + 2, a0 * g02 + a1 * g12 + a2 * g22, mask=live)
            q0, q1, q2 = tl.load(q + 3 * k, mask=live), tl.load(q + 3 * k + 1, mask=live), tl.load(q + 3 * k + 2, mask=live)
            o = x if k == 0 else (y if k == 1 else z)
            r0, r1, r2 = to_up + k, to_up + 3 + k, to_up + 6 + k
            tl.store(r0, tl.load(r0, mask=live) + (g00 * q0 + g01 * q1 + g02 * q2 + p0 * o), mask=live)
            tl.store(r1, tl.load(r1, mask=live) + (g10 * q0 + g11 * q1 + g12 * q2 + p1 * o), mask=live)
            tl.store(r2, tl.load(r2, mask=live) + (g20 * q0 + g21 * q1 + g22 * q2 + p2 * o), mask=live)
        tl.store(to_pos, tl.load(to_pos, mask=live) + p0, mask=live)
        tl.store(to_pos + 1, tl.load(to_pos + 1, mask=live) + p1, mask=live)
        tl.store(to_pos + 2, tl.load(to_pos + 2, mask=live) + p2, mask=live)
        tl.debug_barrier()
