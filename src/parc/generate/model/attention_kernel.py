"""Attention of a branch's frames to the prefix and to each other as one kernel, one program a branch and head.

A program holds all queries of its branch and sees each of its keys once, so the softmax needs no second pass. The keys are two
blocks: as much of the prefix as makes a power of two, and its rest together with the branch's own frames. With a prefix of 67
tokens and 13 frames that is 64 + (3 + 13), and nothing is padded but the queries, to 16.

Logits, softmax and sums are float32; the products' factors have the precision of the input.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

_SMALLEST = 16
"""rows and columns of a matrix product, at least"""
_LOG2_E = 1.4426950408889634


def attend_on_gpu(qkv: Tensor, keys: Tensor, values: Tensor, past_shown: Tensor, past: int, warps: int = 4) -> Tensor:
    """`parc.generate.model.frame_attention.attend_frames`; d a power of two from 16, and at least 16 tokens in the prefix."""
    batch, heads, prefix, size = keys.shape
    branches = past_shown.shape[0]
    frames = qkv.shape[1] // branches
    qkv, past_shown = qkv.contiguous(), past_shown.contiguous()
    keys, values = (part if part.stride(-1) == 1 else part.contiguous() for part in (keys, values))
    out = torch.empty(batch, qkv.shape[1], heads * size, device=qkv.device, dtype=qkv.dtype)
    whole = 1 << (prefix.bit_length() - 1)
    if out.numel():
        _attend[(batch * branches * heads,)](
            qkv, keys, values, past_shown, out,
            *keys.stride()[:3], *values.stride()[:3], past_shown.stride(0), size**-0.5 * _LOG2_E,
            HEADS=heads, BRANCHES=branches, FRAMES=frames, PREFIX=prefix, PAST=past, SIZE=size,
            QUERIES=_block(frames), WHOLE=whole, REST=_block(prefix - whole + frames), num_warps=warps,
        )  # fmt: skip
    return out


def _block(rows: int) -> int:
    return max(_SMALLEST, triton.next_power_of_2(rows))


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def _plus(a, b):
    return a + b


@triton.jit
def _attend(
    qkv, keys, values, past_shown, out,
    key_row, key_head, key_token, value_row, value_head, value_token, shown_branch, scale,
    HEADS: tl.constexpr, BRANCHES: tl.constexpr, FRAMES: tl.constexpr, PREFIX: tl.constexpr, PAST: tl.constexpr,
    SIZE: tl.constexpr, QUERIES: tl.constexpr, WHOLE: tl.constexpr, REST: tl.constexpr,
):  # fmt: skip
    WIDTH: tl.constexpr = HEADS * SIZE
    head = tl.program_id(0) % HEADS
    item = (tl.program_id(0) // HEADS).to(tl.int64)
    branch, row = item % BRANCHES, item // BRANCHES
    shown = tl.load(past_shown + branch * shown_branch) != 0

    c = tl.arange(0, SIZE)[None, :]
    t = tl.arange(0, QUERIES)[:, None]
    own = qkv + item * (FRAMES * 3 * WIDTH) + head * SIZE
    q = tl.load(own + t * (3 * WIDTH) + c, mask=t < FRAMES, other=0.0)
    keys += row * key_row + head * key_head
    values += row * value_row + head * value_head

    # two blocks of keys: the first lies in the prefix, the second begins there and goes on in the own frames
    i = tl.arange(0, WHOLE)
    j = WHOLE + tl.arange(0, REST)
    in_prefix = (j < PREFIX)[:, None]
    own_frame = (j - PREFIX)[:, None]
    is_own = (own_frame >= 0) & (own_frame < FRAMES)
    k = tl.load(keys + i[:, None] * key_token + c)
    k_rest = tl.where(
        in_prefix,
        tl.load(keys + j[:, None] * key_token + c, mask=in_prefix, other=0.0),
        tl.load(own + WIDTH + own_frame * (3 * WIDTH) + c, mask=is_own, other=0.0),
    )
    v = tl.load(values + i[:, None] * value_token + c)
    v_rest = tl.where(
        in_prefix,
        tl.load(values + j[:, None] * value_token + c, mask=in_prefix, other=0.0),
        tl.load(own + 2 * WIDTH + own_frame * (3 * WIDTH) + c, mask=is_own, other=0.0),
    )

    hides = (i >= PREFIX - PAST) & (shown == 0)
    hides_rest = ((j >= PREFIX - PAST) & (j < PREFIX) & (shown == 0)) | (j >= PREFIX + FRAMES)
    logits = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
    logits_rest = scale * tl.dot(q, tl.trans(k_rest), input_precision="ieee")
    logits = tl.where(hides[None, :], -float("inf"), logits)
    logits_rest = tl.where(hides_rest[None, :], -float("inf"), logits_rest)
    highest = tl.maximum(tl.reduce(logits, 1, _larger), tl.reduce(logits_rest, 1, _larger))[:, None]
    weight = tl.exp2(logits - highest)
    weight_rest = tl.exp2(logits_rest - highest)
    total = tl.reduce(weight, 1, _plus) + tl.reduce(weight_rest, 1, _plus)
    found = tl.dot(weight.to(v.dtype), v, input_precision="ieee")
    found += tl.dot(weight_rest.to(v.dtype), v_rest, input_precision="ieee")
    found = found / total[:, None]
    tl.store(out + (item * FRAMES + t) * WIDTH + head * SIZE + c, found.to(out.dtype.element_ty), mask=t < FRAMES)
