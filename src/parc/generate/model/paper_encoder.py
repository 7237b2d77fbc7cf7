"""The paper's denoiser: a transformer encoder over every token, once for each step and branch.

82 tokens for a window: 1 of the diffusion step, 64 of the heightmap, 1 of the target direction, 2 past frames and 13 noisy
ones, frames all through the same embedding. The heightmap is brought to 64 x 16 x 16 by convolutions and cut into 64 patches
of 2 x 2, each embedded by an MLP. Tokens of the past are masked out where the past is not to be seen; in a plain encoder that is
enough only if *nobody* attends to them, so the mask hides those keys from every query.

The same three calls as the fast network: `prefix` embeds what does not change, `denoise` runs the encoder.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from parc.errors import SettingsError
from parc.generate.model.prefix_transformer import MAP_TOKENS, PAST_FRAMES

_FIRST_PAST = 1 + MAP_TOKENS + 1


@dataclass(frozen=True)
class EncoderSettings:
    """Sizes of the paper's denoiser; the released code's, for the paper tells none."""

    width: int = 1024
    """numbers in a token"""
    layers: int = 6
    heads: int = 16
    hidden: int = 1024
    """width of the feed-forward part"""
    dropout: float = 0.0
    """of the encoder's layers, in training"""

    def __post_init__(self) -> None:
        if not 0 <= self.dropout < 1:
            raise SettingsError(f"dropout is {self.dropout}, expected a share from 0 to under 1")


class EncoderContext(NamedTuple):
    """What is known of a window before any noise is looked at."""

    fixed: Tensor
    """[B, 65, width] heightmap and target tokens"""
    past: Tensor
    """[B, 2, D]"""


class PaperEncoder(nn.Module):
    """G(k, x_k, C) of the paper (section 5 and the figure of its architecture)."""

    blend_sees: Tensor

    def __init__(self, features: int, frames: int, settings: EncoderSettings, target: int = 2) -> None:
        """`target`: numbers that tell where to go."""
        super().__init__()
        width = settings.width
        self.settings, self.frames = settings, frames
        self.map_conv = nn.Sequential(nn.Conv2d(1, 64, 3, 2, 1), nn.SiLU(), nn.Conv2d(64, 64, 3, 1, 1), nn.SiLU())
        self.patch_in = _mlp(64 * 4, width)
        self.target_in = _mlp(target, width)
        self.frame_in = _mlp(features, width)
        self.level_in = _mlp(128, width)
        self.place = nn.Parameter(0.02 * torch.randn(_FIRST_PAST + PAST_FRAMES + frames, width))
        layer = nn.TransformerEncoderLayer(
            width, settings.heads, settings.hidden, settings.dropout, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, settings.layers, enable_nested_tensor=False)
        self.frame_out = _mlp(width, features)
        self.register_buffer("blend_sees", self.visibility(torch.tensor([[False, True]])), persistent=False)

    def prefix(self, heightmap: Tensor, target: Tensor, past: Tensor) -> EncoderContext:
        """The tokens of heightmap [B, 31, 31] and target [B, 2 or 4], and the standardised past frames [B, 2, D]."""
        image = functional.pad(heightmap.unsqueeze(1), (0, 1, 0, 1), mode="replicate")
        patches = functional.unfold(self.map_conv(image), 2, stride=2).mT
        return EncoderContext(torch.cat([self.patch_in(patches), self.target_in(target).unsqueeze(1)], 1), past)

    def level_embedding(self, level: Tensor) -> list[Tensor]:
        """Noise levels [...] to a token [..., width], alone in a list."""
        phase = level.unsqueeze(-1) * torch.exp(torch.linspace(0, math.log(1000.0), 64, device=level.device))
        return [self.level_in(torch.cat([phase.sin(), phase.cos()], -1).to(self.place.dtype))]

    def denoise(self, x: Tensor, embedding: list[Tensor], context: EncoderContext, sees: Tensor) -> Tensor:
        """Noisy frames [B, K, T, D] of K branches to clean ones; `sees` from one of the three calls for visibility."""
        batch, branches = x.shape[:2]
        past = context.past.unsqueeze(1).expand(-1, branches, -1, -1).to(x.dtype)
        frames = self.frame_in(torch.cat([past, x], 2))
        level = embedding[0].expand(batch, branches, -1).unsqueeze(2)
        fixed = context.fixed.unsqueeze(1).expand(-1, branches, -1, -1)
        tokens = torch.cat([level.to(frames.dtype), fixed.to(frames.dtype), frames], 2) + self.place
        hidden = self.encoder(tokens.flatten(0, 1), src_key_padding_mask=sees.to(tokens.dtype))
        return self.frame_out(hidden[:, -self.frames :]).unflatten(0, (batch, branches))

    def visibility(self, past_shown: Tensor) -> Tensor:
        """Additive mask [B K, tokens]: minus infinity on the past where it is not shown."""
        token = torch.arange(self.place.shape[0], device=past_shown.device)
        hidden = (token >= _FIRST_PAST) & (token < _FIRST_PAST + PAST_FRAMES) & ~past_shown.flatten()[:, None]
        return torch.zeros(hidden.shape, device=hidden.device).masked_fill(hidden, -torch.inf)

    def sampling_visibility(self, batch: int) -> Tensor:
        """For two branches of each of `batch` items, the first without the past."""
        return self.blend_sees.expand(batch, 2, -1).flatten(0, 1)

    def one_branch_visibility(self, batch: int, past_shown: Tensor) -> Tensor:
        """Masks [S, B, tokens] of S steps with one branch each, which sees the past where `past_shown` [S] is true."""
        return self.visibility(past_shown).unsqueeze(1).expand(-1, batch, -1)

    @property
    def dtype(self) -> torch.dtype:
        """Of the weights."""
        return self.place.dtype


def _mlp(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, outputs), nn.SiLU(), nn.Linear(outputs, outputs))
