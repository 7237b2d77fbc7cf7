"""The motion generator as one object: network, feature layout, statistics, noise schedule and heightmap grid.

    sample_window(past | None, heightmap, target, noise, blend) -> 13 frames of features in the canonical frame

A file holds the (averaged) weights and everything needed to use them, the character's fingerprint included: weights made for
another body are refused.

    GENERATOR.safetensors
      network.*          weights, float32 or float16
      statistics.mean    [D]
      statistics.std     [D]
      header: settings, character name and fingerprint
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from parc.character.character import Character
from parc.character.named_character import said_of
from parc.errors import CharacterError, FormatError, SettingsError
from parc.generate.model.blended_denoising import DEFAULT_BLEND, Blend, blend_branches
from parc.generate.model.feature_layout import FeatureLayout, RotationEncoding, Statistics
from parc.generate.model.noise_schedule import DdpmSchedule, FlowSchedule, SamplerPlan, Schedule, advance, sample
from parc.generate.model.paper_encoder import EncoderSettings, PaperEncoder
from parc.generate.model.prefix_transformer import PAST_FRAMES, PrefixSettings, PrefixTransformer
from parc.generate.model.wanted_pace import NUMBERS, pace_features
from parc.run.checkpoint import check_room, fill, load_checkpoint, read_description, save_checkpoint
from parc.run.dataclass_json import from_json
from parc.run.file_reading import reading
from parc.terrain.heightmap import HeightmapGrid

KIND = "generator"


@dataclass(frozen=True)
class GeneratorSettings:
    """What a generator is made of; everything a file must remember."""

    network: PrefixSettings | EncoderSettings = field(default_factory=PrefixSettings)
    schedule: FlowSchedule | DdpmSchedule = field(default_factory=FlowSchedule)
    encoding: RotationEncoding = "sixd"
    future: int = 13
    """frames of a window beyond the two past ones"""
    grid: HeightmapGrid = field(default_factory=HeightmapGrid)
    pace: bool = False
    """it can be asked for a speed, m/s in the plane; files of before cannot"""
    one_branch: bool = False
    """it is a student, which learnt what its teacher blends: every step sees the past, if there is one"""

    @property
    def target_width(self) -> int:
        """Numbers of a target: the direction d, and the wanted pace if there is one."""
        return 2 + NUMBERS * self.pace

    @classmethod
    def paper(cls) -> "GeneratorSettings":
        """A DDPM over exponential maps (paper); the encoder's sizes, K, its cosine and the dropout are the released code's."""
        return cls(network=EncoderSettings(dropout=0.1), schedule=DdpmSchedule(), encoding="exp")


class Generator(nn.Module):
    """The motion generator G (paper, section 5)."""

    mean: Tensor
    std: Tensor

    def __init__(self, character: Character, settings: GeneratorSettings, statistics: Statistics | None = None) -> None:
        super().__init__()
        if tuple(settings.grid.shape) != (31, 31):
            raise SettingsError(f"the heightmap has {settings.grid.shape} samples, the network needs 31 x 31")
        self.character, self.settings = character, settings
        self.layout = FeatureLayout(character, settings.encoding)
        width = self.layout.width
        if isinstance(settings.network, PrefixSettings):
            self.network: Any = PrefixTransformer(width, settings.future, settings.network, settings.target_width)
        else:
            self.network = PaperEncoder(width, settings.future, settings.network, settings.target_width)
        statistics = statistics or Statistics(torch.zeros(width), torch.ones(width))
        self.register_buffer("mean", statistics.mean.clone().float())
        self.register_buffer("std", statistics.std.clone().float())
        self._start: Callable[..., tuple[Any, Tensor]] = self._begin
        self._step_both: Callable[..., Tensor] = self._blended_step
        self._step_one: Callable[..., Tensor] = self._plain_step
        self._is_fused = False

    @property
    def schedule(self) -> Schedule:
        """The noise schedule it was trained with."""
        return self.settings.schedule

    @property
    def statistics(self) -> Statistics:
        """Mean and spread of the features it was trained on."""
        return Statistics(self.mean, self.std)

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return self.mean.device

    def target(self, direction: Tensor, pace: Tensor | None = None) -> Tensor:
        """What the network is told of where to go, [B, 2] or [B, 4]: directions [B, 2] and wanted speeds [B], m/s.

        NaN or nothing: no speed is wanted. A generator without a pace is not told.
        """
        if not self.settings.pace:
            return direction
        wanted = torch.full_like(direction[:, 0], torch.nan) if pace is None else pace
        return torch.cat([direction, pace_features(wanted)], -1)

    def asked_for(self, pace: float | None) -> float:
        """m/s asked for, NaN for none; a pace is refused by a generator that was trained without one."""
        if pace is None:
            return float("nan")
        if not self.settings.pace:
            raise SettingsError(f"a pace of {pace:g} m/s is asked for, but this generator was trained without one: leave it out")
        return pace

    def blend_of(self, blend: Blend) -> Blend:
        """How its branches are blended where `blend` is asked for: a student has but one."""
        return Blend.constant(0.0) if self.settings.one_branch else blend

    def sampler_plan(self, steps: int | None = None) -> SamplerPlan:
        """How it samples; `steps` for a flow schedule that was not made for a certain number, None: as trained."""
        schedule = self.schedule
        if steps is not None and isinstance(schedule, FlowSchedule) and not self.settings.one_branch:
            schedule = FlowSchedule(steps)
        return schedule.plan(self.device)

    def noise_shape(self, batch: int) -> tuple[int, int, int]:
        """Of the noise that windows of a batch start from."""
        return batch, self.settings.future, self.layout.width

    @torch.no_grad()
    def sample_window(
        self,
        past: Tensor | None,
        heightmap: Tensor,
        target: Tensor,
        noise: Tensor,
        blend: Blend = DEFAULT_BLEND,
        plan: SamplerPlan | None = None,
    ) -> Tensor:
        """Future frames [B, T, D] after past frames [B, 2, D] (features, not standardised), or out of nothing.

        Heightmap [B, 31, 31], `target` of a direction, noise [B, T, D] standard normal. Without a past there is nothing to blend.
        """
        plan = plan or self.schedule.plan(heightmap.device)
        if past is None:
            past = self.mean.expand(heightmap.shape[0], PAST_FRAMES, -1)
            coefficients, mixed = torch.ones(len(plan), device=heightmap.device), (False,) * len(plan)
        else:
            blend = self.blend_of(blend)
            coefficients, mixed = blend.coefficients(len(plan), heightmap.device), blend.mixed(len(plan))
            if blend.uneven:
                root = past[..., self.layout.slices["root_pos"]]
                coefficients = blend.row_coefficients(coefficients, root, heightmap, target[:, :2], self.settings.grid)
        return self.denoise_window(past, heightmap, target, noise, coefficients, plan, self.level_embeddings(plan), mixed)

    def level_embeddings(self, plan: SamplerPlan) -> list[list[Tensor]]:
        """The network's view of each step of the plan, which no window changes."""
        with torch.no_grad():
            return [self.network.level_embedding(level.view(1, 1)) for level in plan.levels]

    def denoise_window(
        self,
        past: Tensor,
        heightmap: Tensor,
        target: Tensor,
        noise: Tensor,
        coefficients: Tensor,
        plan: SamplerPlan,
        embeddings: list[list[Tensor]],
        mixed: tuple[bool, ...] | None = None,
    ) -> Tensor:
        """`sample_window` with everything on the device: coefficients of the blend, [S] or [S, B, 1, 1], embeddings of the plan.

        `mixed` promises that the coefficient of every other step is 0 or 1 in all rows: those steps compute one branch, not both.
        """
        context, one = self._start(
            past, heightmap, target, coefficients.flatten(1)[:, 0] if coefficients.dim() > 1 else coefficients
        )
        both = self.network.sampling_visibility(heightmap.shape[0])

        def step(x: Tensor, i: int, data_gain: Tensor, state_gain: Tensor) -> Tensor:
            if mixed is None or mixed[i]:
                return self._step_both(x, embeddings[i], context, both, coefficients[i], data_gain, state_gain)
            return self._step_one(x, embeddings[i], context, one[i], data_gain, state_gain)

        return self.statistics.restore(sample(plan, noise, step))

    def _begin(self, past: Tensor, heightmap: Tensor, target: Tensor, coefficients: Tensor) -> tuple[Any, Tensor]:
        """The context, and for each step what its only branch may see, if it has but one."""
        dtype = self.network.dtype
        standard = self.statistics.standardise(past).to(dtype)
        context = self.network.prefix(heightmap.to(dtype), target.to(dtype), standard)
        return context, self.network.one_branch_visibility(heightmap.shape[0], coefficients < 0.5)

    def _blended_step(
        self, x: Tensor, embedding: list[Tensor], context: Any, sees: Tensor, s: Tensor, data_gain: Tensor, state_gain: Tensor
    ) -> Tensor:
        """One step of the sampler with both branches in one call; x [B, T, D] float32."""
        both = x.to(self.network.dtype).unsqueeze(1).expand(-1, 2, -1, -1)
        clean = self.network.denoise(both, embedding, context, sees).float()
        return advance(x, blend_branches(clean[:, 0], clean[:, 1], s), data_gain, state_gain)

    def _plain_step(
        self, x: Tensor, embedding: list[Tensor], context: Any, sees: Tensor, data_gain: Tensor, state_gain: Tensor
    ) -> Tensor:
        """The same with one branch."""
        clean = self.network.denoise(x.to(self.network.dtype).unsqueeze(1), embedding, context, sees).float()
        return advance(x, clean[:, 0], data_gain, state_gain)

    def begin_from(self, source: "Generator") -> None:
        """Take the weights of another with the same network; one that never heard of a pace gives it no weight at first."""
        weights = source.network.state_dict()
        here = self.network.target_in[0].weight
        told = weights["target_in.0.weight"][:, : here.shape[1]]
        weights["target_in.0.weight"] = torch.cat([told, told.new_zeros(len(told), here.shape[1] - told.shape[1])], 1)
        self.network.load_state_dict(weights)

    def in_precision(self, dtype: torch.dtype) -> "Generator":
        """A copy whose network computes in `dtype` (bfloat16 on GPUs); poses, statistics and the sampler's state stay float32."""
        other = Generator(self.character, self.settings, self.statistics).to(self.device)
        other.network.load_state_dict(self.network.state_dict())
        other.network.to(dtype)
        return other.eval()

    def fuse(self, backend: str = "inductor") -> None:
        """Fuse the network's kernels with torch.compile, piece by piece; the first windows of a batch size take longer."""
        if not self._is_fused:
            self._is_fused = True
            torch._dynamo.config.recompile_limit = max(torch._dynamo.config.recompile_limit, 64)  # one for each batch size
            self._start = torch.compile(self._begin, dynamic=False, backend=backend)
            self._step_both = torch.compile(self._blended_step, dynamic=False, backend=backend)
            self._step_one = torch.compile(self._plain_step, dynamic=False, backend=backend)

    def save(self, path: Path | str, dtype: torch.dtype = torch.float32, **provenance: Any) -> None:
        """Weights as `dtype`; `provenance` (training settings, data set, ...) goes into the header as it is."""
        tensors = {f"network.{name}": value.to(dtype) for name, value in self.network.state_dict().items()}
        tensors |= {"statistics.mean": self.mean, "statistics.std": self.std}
        save_checkpoint(path, tensors, self.description() | {"provenance": provenance})

    def description(self) -> dict[str, Any]:
        """What a file says of it."""
        settings = self.settings
        return {
            "kind": KIND,
            **said_of(self.character),
            "network": type(settings.network).__name__,
            "schedule": type(settings.schedule).__name__,
            "settings": asdict(settings),
        }

    @classmethod
    def load(cls, path: Path | str, character: Character, device: torch.device | str = "cpu") -> "Generator":
        """From a file; weights made for another character are refused."""
        tensors, meta = load_checkpoint(path)
        if meta.get("kind") != KIND:
            raise FormatError(f"{path} holds a '{meta.get('kind', 'nothing known')}', expected a {KIND}")
        if meta.get("fingerprint") != character.fingerprint:
            raise CharacterError(
                f"{path} was trained for character '{meta.get('character')}' ({meta.get('fingerprint')}), "
                f"not for '{character.name}' ({character.fingerprint})"
            )
        if not {"statistics.mean", "statistics.std"} <= tensors.keys():
            raise FormatError(f"{path} lacks the statistics of its features (statistics.mean and statistics.std)")
        statistics = Statistics(tensors["statistics.mean"], tensors["statistics.std"])
        with reading(str(path), KIND):
            settings = _settings_from(meta, path)
            check_room(path, _least_weights(settings), tensors)
            generator = cls(character, settings, statistics)
        for name, values in (("mean", statistics.mean), ("std", statistics.std)):
            if values.shape != (generator.layout.width,) or not values.isfinite().all():
                raise FormatError(f"{path}: statistics.{name} is not {generator.layout.width} finite numbers")
        weights = {k.removeprefix("network."): v.float() for k, v in tensors.items() if k.startswith("network.")}
        fill(generator.network, weights, path)
        return generator.to(device).eval()


def read_settings(path: Path | str) -> GeneratorSettings:
    """What the generator in a file is made of, without its weights."""
    return _settings_from(read_description(path), path)


def _least_weights(settings: GeneratorSettings) -> int:
    """Of the largest layers of such a network: no file of fewer weights can hold it."""
    network = settings.network
    sizes = {"width": network.width, "layers": network.layers, "heads": network.heads, "hidden": network.hidden}
    for name, value in (*sizes.items(), ("future", settings.future)):
        if type(value) is not int or value < 1:
            raise SettingsError(f"{name} is {str(value)[:20]}, expected a whole number of at least 1")
    a_layer = 4 * network.width**2 + 2 * network.width * network.hidden
    return network.layers * a_layer + settings.future * network.width + network.width**2


def _settings_from(meta: dict[str, Any], path: Path | str) -> GeneratorSettings:
    networks = {c.__name__: c for c in (PrefixSettings, EncoderSettings)}
    schedules = {c.__name__: c for c in (FlowSchedule, DdpmSchedule)}
    try:
        values = dict(meta["settings"])
        if meta["network"] == PrefixSettings.__name__:
            values["network"] = {"level_limit": 0.0} | values["network"]  # older files do not name it
        values["network"] = from_json(networks[meta["network"]], values["network"])
        values["schedule"] = from_json(schedules[meta["schedule"]], values["schedule"])
        return from_json(GeneratorSettings, values)
    except (KeyError, TypeError, AttributeError, SettingsError) as error:
        raise FormatError(f"the header of {path} describes no generator this version knows: {error!r}") from None
