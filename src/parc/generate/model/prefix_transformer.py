"""The fast denoiser: a transformer whose context is computed once per window.

Tokens of one window: 64 of the heightmap, 1 of the target direction, 2 of the past (the prefix), then 13 noisy frames for each
of several *branches* (noise levels in training; with and without past in sampling). Who may attend to whom:

                     map, target   past      frames of own branch   frames of other branches
    map, target      yes           no        no                     no
    past             yes           yes       no                     no
    frames           yes           if shown  yes                    no

No prefix token looks at a noisy frame, so keys and values of the prefix are the same at every sampling step and are computed
once (`prefix`); a step costs 13 tokens a branch (`denoise`). And because neither map nor target look at the past, a branch that
may not see the past does not see it through them either, in any layer.

Training writes out who sees whom as a mask, for each item of a batch its own (`visibility`). Sampling on CUDA only says which
branches are shown the past: `attend_frames` needs no more, and reads the prefix where it lies.

The noise level enters by shift and scale of each block's normalised input (AdaLN); it does not touch the prefix.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from parc.errors import SettingsError
from parc.generate.model.frame_attention import attend_frames, kernel_applies

MAP_TOKENS = 64
PAST_FRAMES = 2
PREFIX_TOKENS = MAP_TOKENS + 1 + PAST_FRAMES
_FIRST_PAST = MAP_TOKENS + 1
_ALIGN = 8
"""rows of an attention mask start on multiples of this many keys, as the fused kernels want"""
_APART = 16
"""bytes that a branch's flag takes: compiled code would copy one that does not start on a multiple of them"""


@dataclass(frozen=True)
class PrefixSettings:
    """Sizes of the fast denoiser."""

    width: int = 256
    """numbers in a token"""
    layers: int = 4
    heads: int = 4
    hidden: int = 1024
    """width of the feed-forward part"""
    past_velocity_gain: float = 8.0
    """the past tokens also read the difference of the two past frames, times this"""
    level_limit: float = 6.0
    """bound on what the noise level adds to a block's offsets, scales and gates; without one (0) they may run away in training"""

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise SettingsError(f"{self.width} numbers cannot be split into {self.heads} heads")


class Context(NamedTuple):
    """What is known of a window before any noise is looked at."""

    keys: list[Tensor]
    """per layer [B, H, PREFIX_TOKENS, d]"""
    values: list[Tensor]


class PrefixTransformer(nn.Module):
    """The denoiser drawn above."""

    neutral: Tensor
    prefix_sees: Tensor
    """masks of sampling are kept as they are added to the logits, 0 or minus infinity, in the network's precision"""
    blend_sees: Tensor
    blend_shows: Tensor
    one_sees: Tensor

    def __init__(self, features: int, frames: int, settings: PrefixSettings, target: int = 2) -> None:
        """`target`: numbers that tell where to go."""
        super().__init__()
        width = settings.width
        self.settings, self.frames = settings, frames
        self.blocks = nn.ModuleList(_Block(settings) for _ in range(settings.layers))
        self.frame_in, self.frame_out = nn.Linear(features, width), nn.Linear(width, features)
        self.past_in = nn.Linear(2 * features, width)
        self.map_in = nn.Sequential(
            nn.Conv2d(1, 64, 3, 2, 1), nn.SiLU(), nn.Conv2d(64, 128, 3, 2, 1), nn.SiLU(), nn.Conv2d(128, width, 3, 1, 1)
        )
        self.target_in = nn.Sequential(nn.Linear(target, width), nn.SiLU(), nn.Linear(width, width))
        self.level_in = nn.Sequential(nn.Linear(64, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.prefix_place = nn.Parameter(0.02 * torch.randn(PREFIX_TOKENS, width))
        self.frame_place = nn.Parameter(0.02 * torch.randn(frames, width))
        nn.init.zeros_(self.frame_out.bias)

        prefix_sees = torch.ones(PREFIX_TOKENS, _aligned(PREFIX_TOKENS), dtype=torch.bool)
        prefix_sees[:_FIRST_PAST, _FIRST_PAST:] = False
        self.register_buffer("prefix_sees", _additive(prefix_sees, torch.float32), persistent=False)
        self.register_buffer("neutral", torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0, 1.0]).unsqueeze(-1), persistent=False)
        blend = torch.tensor([False, True])
        self.register_buffer("blend_shows", _flags(blend), persistent=False)
        self.register_buffer("blend_sees", _additive(self.visibility(blend.unsqueeze(0)), torch.float32), persistent=False)
        one = self.visibility(torch.tensor([[False], [True]]))
        self.register_buffer("one_sees", _additive(one, torch.float32), persistent=False)

    def prefix(self, heightmap: Tensor, target: Tensor, past: Tensor) -> Context:
        """Heightmap [B, 31, 31], target [B, 2 or 4] (`Generator.target`), standardised past frames [B, 2, D]."""
        ground = self.map_in(heightmap.unsqueeze(1)).flatten(2).mT
        velocity = self.settings.past_velocity_gain * (past[:, 1:] - past[:, :-1])
        past = self.past_in(torch.cat([past, velocity.expand_as(past)], -1))
        x = torch.cat([ground, self.target_in(target).unsqueeze(1), past], 1) + self.prefix_place
        *blocks, last = self._typed_blocks()
        keys, values = [], []
        for block in blocks:
            x, k, v = block.prefix(x, self.prefix_sees[:, :PREFIX_TOKENS])
            keys.append(k)
            values.append(v)
        k, v = last.keys_and_values(x)
        return Context([*keys, k], [*values, v])

    def level_embedding(self, level: Tensor) -> list[Tensor]:
        """Noise levels [...] to each block's (offset, scale, gate) of attention and of the feed-forward part, [..., 6, width]."""
        phase = (1.0 - level).unsqueeze(-1) * torch.exp(torch.linspace(0, math.log(200.0), 32, device=level.device))
        e = self.level_in(torch.cat([phase.sin(), phase.cos()], -1).to(self.frame_place.dtype))
        return [self._bounded(block.level(e)).unflatten(-1, (6, -1)) + self.neutral for block in self._typed_blocks()]

    def _bounded(self, x: Tensor) -> Tensor:
        limit = self.settings.level_limit
        return limit * torch.tanh(x / limit) if limit > 0 else x

    def denoise(self, x: Tensor, embedding: list[Tensor], context: Context, sees: Tensor) -> Tensor:
        """Noisy frames [B, K, T, D] of K branches to clean ones; `sees` from one of the three calls for visibility.

        The embedding broadcasts over [B, K, 6, width]. A context serves step after step.
        """
        h = self.frame_in(x)
        if sees.dtype == torch.bool and not _is_flags(sees):
            sees = _additive(sees, h.dtype)
        h = h + self.frame_place
        for block, k, v, shift in zip(self._typed_blocks(), context.keys, context.values, embedding, strict=True):
            h = block.frames(h, k, v, shift.unsqueeze(-3).unbind(-2), sees)
        return self.frame_out(functional.layer_norm(h, h.shape[-1:]))

    def visibility(self, past_shown: Tensor) -> Tensor:
        """Mask [B, 1, K T, keys] for branches that see the past where `past_shown` [B, K] is true."""
        always, on_past = _visibility_pattern(past_shown.shape[1], self.frames, past_shown.device)
        return (always | (on_past & past_shown[:, :, None, None])).flatten(1, 2).unsqueeze(1)

    def sampling_visibility(self, batch: int) -> Tensor:
        """For two branches, the first without the past."""
        return self.blend_shows if kernel_applies(self.frame_place, self.settings.heads) else self.blend_sees

    def one_branch_visibility(self, batch: int, past_shown: Tensor) -> Tensor:
        """[S, ...] for S steps with one branch each, which sees the past where `past_shown` [S] is true."""
        if kernel_applies(self.frame_place, self.settings.heads):
            return _flags(past_shown.unsqueeze(1))
        return torch.where(past_shown.view(-1, 1, 1, 1, 1), self.one_sees[1], self.one_sees[0])

    def _typed_blocks(self) -> list["_Block"]:
        return cast("list[_Block]", list(self.blocks))

    @property
    def dtype(self) -> torch.dtype:
        """Of the weights."""
        return self.frame_place.dtype


class _Block(nn.Module):
    def __init__(self, settings: PrefixSettings) -> None:
        super().__init__()
        width, hidden = settings.width, settings.hidden
        self.heads = settings.heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, hidden, bias=False), nn.Linear(hidden, width, bias=False)
        self.level = nn.Linear(width, 6 * width)
        nn.init.zeros_(self.level.weight)
        nn.init.zeros_(self.level.bias)
        nn.init.normal_(self.out.weight, std=0.01)
        nn.init.normal_(self.down.weight, std=0.01)

    def prefix(self, x: Tensor, sees: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Prefix tokens after this block, with the keys and values that frames look up."""
        q, k, v = self._project(functional.layer_norm(x, x.shape[-1:]))
        x = x + self._attend(q, k, v, sees)
        return x + self._feed(functional.layer_norm(x, x.shape[-1:])), k, v

    def keys_and_values(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """What frames look up in prefix tokens that no later block asks for."""
        h = functional.linear(functional.layer_norm(x, x.shape[-1:]), self.qkv.weight[x.shape[-1] :])
        k, v = h.unflatten(-1, (2, self.heads, -1)).unbind(2)
        return k.transpose(1, 2), v.transpose(1, 2)

    def frames(self, x: Tensor, keys: Tensor, values: Tensor, shift: tuple[Tensor, ...], sees: Tensor) -> Tensor:
        """x [B, K, T, width]; shift as `level_embedding` gives it; `sees` added to the logits, or a flag for each branch."""
        offset, scale, gate, ff_offset, ff_scale, ff_gate = shift
        h = torch.addcmul(offset, functional.layer_norm(x, x.shape[-1:]), scale)
        h = h.flatten(1, 2)
        if _is_flags(sees):
            found = self.out(attend_frames(self.qkv(h), keys, values, sees, PAST_FRAMES))
        else:
            q, k, v = self._project(h)
            spare = sees.shape[-1] - PREFIX_TOKENS - k.shape[2]
            tail = [k.new_zeros(()).expand(*k.shape[:2], spare, k.shape[3])] if spare else []
            found = self._attend(q, torch.cat([keys, k, *tail], 2), torch.cat([values, v, *tail], 2), sees)
        x = torch.addcmul(x, gate, found.view_as(x))
        return torch.addcmul(x, ff_gate, self._feed(torch.addcmul(ff_offset, functional.layer_norm(x, x.shape[-1:]), ff_scale)))

    def _project(self, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = self.qkv(h).unflatten(-1, (3, self.heads, -1)).unbind(2)
        return q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, sees: Tensor) -> Tensor:
        a = functional.scaled_dot_product_attention(q, k, v, attn_mask=sees)
        return self.out(a.transpose(1, 2).flatten(2))

    def _feed(self, h: Tensor) -> Tensor:
        return self.down(functional.gelu(self.up(h), approximate="tanh"))


def _additive(sees: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.zeros(sees.shape, dtype=dtype, device=sees.device).masked_fill(~sees, -torch.inf)


def _flags(past_shown: Tensor) -> Tensor:
    """Which branches see the past, [..., K] to [..., K, 16]."""
    return past_shown.unsqueeze(-1).expand(*past_shown.shape, _APART).contiguous()


def _is_flags(sees: Tensor) -> bool:
    return sees.dim() == 2


def _aligned(tokens: int) -> int:
    return -(-tokens // _ALIGN) * _ALIGN


@cache  # captured graphs read these tensors, so none may be dropped
def _visibility_pattern(branches: int, frames: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """What frames [K, T, keys] see in any case, and which keys [keys] are the past."""
    with torch.inference_mode(False):  # the cache outlives the caller's mode
        always = torch.zeros(branches, frames, _aligned(PREFIX_TOKENS + branches * frames), dtype=torch.bool)
        always[..., :_FIRST_PAST] = True
        for k in range(branches):
            first = PREFIX_TOKENS + k * frames
            always[k, :, first : first + frames] = True
        on_past = torch.zeros(always.shape[-1], dtype=torch.bool)
        on_past[_FIRST_PAST:PREFIX_TOKENS] = True
        return always.to(device), on_past.to(device)
