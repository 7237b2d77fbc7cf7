"""Attention of noisy frames while sampling: to the prefix, and within their own branch.

The network hands over the projection of the frames and the prefix's keys and values where they lie; nothing is copied together,
and no mask is written out. On CUDA that is one kernel (`attention_kernel`), which also merges the heads.
"""

import importlib.util
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional

_KINDS = (torch.float32, torch.float16, torch.bfloat16)
_LONGEST = 64
"""frames of a branch, all held by one program"""


@torch.library.custom_op("parc::attend_frames", mutates_args=())
def attend_frames(qkv: Tensor, keys: Tensor, values: Tensor, past_shown: Tensor, past: int) -> Tensor:
    """Queries, keys and values of frames [B, K T, 3 H d] to what they look up, [B, K T, H d]; has no gradient.

    Every frame sees the frames of its own branch and the prefix's keys and values [B, H, P, d], the last `past` of them only if
    its branch k has `past_shown` [K, ...]; what is read is the first number of each row.
    """
    if qkv.is_cuda and _has_triton():
        from parc.generate.model.attention_kernel import attend_on_gpu

        return attend_on_gpu(qkv, keys, values, past_shown, past)
    return attend_in_parts(qkv, keys, values, past_shown, past)


@attend_frames.register_fake
def _(qkv: Tensor, keys: Tensor, values: Tensor, past_shown: Tensor, past: int) -> Tensor:
    return qkv.new_empty(*qkv.shape[:2], qkv.shape[2] // 3)


def attend_in_parts(qkv: Tensor, keys: Tensor, values: Tensor, past_shown: Tensor, past: int) -> Tensor:
    """`attend_frames` in plain torch, branch by branch as items of a batch."""
    batch, heads, prefix, _ = keys.shape
    branches = past_shown.shape[0]
    frames = qkv.unflatten(1, (branches, -1)).unflatten(-1, (3, heads, -1)).transpose(2, 4)  # [B, K, H, 3, T, d]
    q, k, v = (part.flatten(0, 1) for part in frames.unbind(3))
    keys, values = (part.unsqueeze(1).expand(-1, branches, -1, -1, -1).flatten(0, 1) for part in (keys, values))
    place = torch.arange(prefix + k.shape[2], device=qkv.device)
    on_past = (place >= prefix - past) & (place < prefix)
    sees = (past_shown.flatten(1)[:, :1].bool() | ~on_past).repeat(batch, 1)[:, None, None]
    found = functional.scaled_dot_product_attention(q, torch.cat([keys, k], 2), torch.cat([values, v], 2), attn_mask=sees)
    return found.unflatten(0, (batch, branches)).transpose(2, 3).reshape(batch, qkv.shape[1], -1)


def kernel_applies(frames: Tensor, heads: int) -> bool:
    """Whether `attend_frames` serves frames like these [..., T, width]."""
    size = frames.shape[-1] // heads
    fits = 16 <= size <= 128 and size & (size - 1) == 0 and frames.shape[-2] <= _LONGEST
    return frames.is_cuda and frames.dtype in _KINDS and fits and not torch.is_grad_enabled()


@lru_cache(maxsize=1)
def _has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None
