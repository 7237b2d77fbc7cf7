"""One training step, and the state that a killed run needs to go on as if nothing had happened.

A step draws windows, noises each at several levels that share one prefix, and takes the objective's gradient; for a share of the
windows, late in training, the two past frames are the model's own, sampled from the averaged weights (`_own_past`) and repaired
as at inference, because a model that has only seen recorded pasts drifts on its own output. Windows are drawn independently, so
the first rows of a batch are as good a share as any, and only they are rolled out.

On CUDA the step is two captured graphs, gradient and update, with the sum over ranks in between. With `use_compile` their pieces
(drawing, noising, network, objective, update, and the windows of own rollouts) are fused first. The schedule (learning rate, when
own rollouts begin) depends on the share of the budget that is used up, which the caller passes in.
"""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from parc.character.kinematics import BodyPose
from parc.errors import SettingsError
from parc.generate.data.training_windows import Drawn, WindowBatch, WindowSampler
from parc.generate.model.blended_denoising import Blend
from parc.generate.model.feature_layout import Statistics
from parc.generate.model.motion_generator import Generator
from parc.generate.model.prefix_transformer import PAST_FRAMES
from parc.generate.repair.repair_settings import RepairSettings
from parc.generate.rollout.window_step import Frames, WindowStart, WindowStep
from parc.generate.training.flat_adamw import AdamSettings, FlatAdamW, FlatParameters
from parc.generate.training.past_deviation import PastDeviation, deviate
from parc.generate.training.training_objective import FastObjective, PaperObjective
from parc.motion.frame_state import FrameState
from parc.run.compile_traced import TracedFunction
from parc.run.cuda_graph import CudaGraph
from parc.run.distributed import Group
from parc.terrain.terrain import TerrainBatch

PIECES = ("draw", "noise", "network", "objective", "update", "own")
"""what of a step can be compiled, each by itself; `own`: the windows of own rollouts"""


@dataclass(frozen=True)
class StepSettings:
    """One training step."""

    batch: int = 1024
    """windows a step, on each rank"""
    levels: int = 4
    """noise levels of each window"""
    past_dropout: float = 0.15
    """share of (window, level) pairs that do not see the past"""
    past_noise: float = 0.05
    """mean noise on the past, in standard deviations"""
    deviation: PastDeviation = field(default_factory=PastDeviation)
    """pasts that are not as recorded, in metres and radians"""
    random_level: float = 0.4
    """lowest noise level of random-terrain items: below it the recorded motion shows through"""
    statistics_windows: int = 8192
    """windows that mean and spread of the features are taken from"""
    warm_up: int = 200
    """steps to the full learning rate"""
    last_rate: float = 0.03
    """learning rate at the end, against the highest"""
    own_start: float = 0.4
    """share of the budget after which own rollouts begin; 1: never"""
    own_share: float = 0.5
    """share of windows that then continue the model's own past"""
    own_windows: int = 2
    """windows rolled out before the one that is trained"""
    own_steps: int = 2
    """sampler steps of those"""
    own_kept: int = 7
    """frames kept of each"""
    own_distance: float = 0.35
    """m: an own past farther than this from the recording is not used"""
    own_repair: bool = True
    """own rollouts are repaired as those of the finished model are: they fall and plant their feet"""
    adam: AdamSettings = field(default_factory=AdamSettings)
    objective: FastObjective | PaperObjective = field(default_factory=FastObjective)

    @classmethod
    def paper(cls) -> "StepSettings":
        """One noise level of each window, no own rollouts; the past is hidden from 15 % of them (paper).

        Batch, AdamW's numbers at one rate throughout and weights used without an average are the released code's.
        """
        return cls(
            batch=64, levels=1, past_dropout=0.15, past_noise=0.0, random_level=0.0, warm_up=1, last_rate=1.0,
            own_start=1.0, own_share=0.0,
            adam=AdamSettings(rate=1e-5, beta2=0.999, decay=0.01, clip=0.0, average=0.0), objective=PaperObjective(),
        )  # fmt: skip


class Noised(NamedTuple):
    """What one step trains on, K noise levels of each of B windows."""

    window: WindowBatch
    past: Tensor
    """[B, 2, D] standardised"""
    noisy: Tensor
    """[B, K, T, D] standardised"""
    level: Tensor
    """[B, K]"""
    shown: Tensor
    """[B, K] bool: the past is"""
    sees: Tensor
    """the network's mask for it"""


class GeneratorTrainer:
    """Takes training steps; holds all that a step changes."""

    def __init__(
        self,
        generator: Generator,
        windows: WindowSampler,
        settings: StepSettings,
        group: Group,
        seed: int,
        use_graph: bool = True,
        use_compile: bool = False,
    ) -> None:
        self.generator, self.windows, self.settings, self.group = generator, windows, settings, group
        device = self.device = generator.device
        self.random = torch.Generator(device).manual_seed(_seed(seed, group))
        self.flat = FlatParameters(generator.network, with_gradients=True)
        group.broadcast_([self.flat.values])
        self.optimiser = FlatAdamW(self.flat, settings.adam)
        self.steps, self._seed = 0, seed
        self.rolls_out = False
        self.parts = torch.zeros(len(settings.objective.NAMES), device=device)
        """unweighted losses of the last step, in the order of the objective's NAMES"""
        self._use_graph = use_graph and device.type == "cuda"

        # windows of own rollouts, by a copy with the averaged weights
        self._own_rows = round(settings.own_share * settings.batch)
        own = _averaged_copy(generator)
        self._own_flat = FlatParameters(own.network, with_gradients=False)
        own_plan, blend = generator.sampler_plan(settings.own_steps), own.blend_of(Blend())
        self._own_blend = blend.coefficients(len(own_plan), device)
        self._own_window = WindowStep(
            own,
            own_plan,
            blend,
            settings.own_kept,
            goal=lambda goal: goal,
            repairs=RepairSettings() if settings.own_repair else None,
        )
        self._own_back = [torch.full((), s * settings.own_kept, device=device) for s in range(settings.own_windows + 1)]
        self._has_past = torch.ones((), device=device)

        # pieces of a step, each of which can be compiled
        self._changing: Callable[..., TerrainBatch] = self._change_ground
        self._noising: Callable[..., Noised] = self._noise
        self._predicting: Callable[..., Tensor] = self._predict
        self._judging: Callable[..., tuple[Tensor, Tensor]] = self._judge
        self._updating: Callable[..., None] = self.optimiser.step
        self._is_fused = False
        if use_compile:
            self.fuse()
        self._gradient: CudaGraph | None = None
        self._update: CudaGraph | None = None

    def fuse(self, backend: str = "inductor", pieces: Collection[str] = PIECES) -> None:
        """Compile pieces of a step at their next call; what cannot be compiled runs as it is, and the log says so."""
        torch._dynamo.config.suppress_errors = True
        self._is_fused = True
        if "draw" in pieces:
            self._changing = TracedFunction(self._change_ground, backend=backend)
        if "noise" in pieces:
            self._noising = TracedFunction(self._noise, backend=backend)
        if "network" in pieces:
            self._predicting = torch.compile(self._predict, dynamic=False, backend=backend)
        if "objective" in pieces:
            self._judging = TracedFunction(self._judge, differentiable=True, backend=backend)
        if "update" in pieces:
            self._updating = torch.compile(self.optimiser.step, dynamic=False, backend=backend)
        if "own" in pieces:
            self._own_window.fuse(backend)

    def begin_again(self, generator: Generator, windows: WindowSampler, settings: StepSettings, seed: int) -> None:
        """As if made anew for these weights and windows; compiled code is kept, so only the schedule may be another."""
        rate, age = settings.adam.rate, settings.adam.average_age
        adam = replace(self.settings.adam, rate=rate, average_age=age)
        if settings != replace(self.settings, own_start=settings.own_start, adam=adam):
            raise SettingsError("a training goes on with other settings than rate, age of the average and start of own rollouts")
        self.windows, self.settings = windows, settings
        self.flat.values.copy_(FlatParameters(generator.network, with_gradients=False).values)
        self.group.broadcast_([self.flat.values])
        self.optimiser.begin_again(settings.adam)
        self._own_flat.values.copy_(self.flat.values)
        self.random.manual_seed(_seed(seed, self.group))
        self.steps, self.rolls_out, self._seed = 0, False, seed
        self._gradient = self._update = None

    def prepare(self) -> None:
        """Compile what a run will need before its clock starts; changes nothing. A run that does not compile needs nothing."""
        if self._use_graph and self._is_fused:
            rolls_out = self._own_rows > 0 and self.settings.own_start < 1
            for self.rolls_out in (True, False) if rolls_out else (False,):
                self._capture()

    def fit_statistics(self) -> None:
        """Mean and spread of the features, from windows as recorded."""
        drawn = self.windows.draw(self.settings.statistics_windows, self.random, augment=False)
        window = self.windows.assemble(drawn)
        found = Statistics.of(self.windows.layout, torch.cat([window.past, window.future], 1))
        self.group.broadcast_([found.mean, found.std])
        for part in (self.generator, self._own_window.generator):
            part.mean.copy_(found.mean)
            part.std.copy_(found.std)

    def step(self, used: float) -> None:
        """One step at the share `used` (0..1) of the budget."""
        # the learning rate warms up, then falls along half a cosine
        s = self.settings
        rate = s.adam.rate * min(1.0, (self.steps + 1) / s.warm_up)
        rate *= s.last_rate + (1 - s.last_rate) * 0.5 * (1 + math.cos(math.pi * min(1.0, used)))
        self.optimiser.rate.fill_(rate)

        # from `own_start` on the step is another one, and is captured anew
        rolls_out = used >= s.own_start and self._own_rows > 0 and s.own_start < 1
        if self._use_graph and (self._gradient is None or rolls_out != self.rolls_out):
            self.rolls_out = rolls_out
            self._capture()
        self.rolls_out = rolls_out

        # gradient of each rank, their mean, update
        if self._drops_out:  # layers draw from torch's own stream: begun anew at each step, a resumed run draws the same
            words = np.random.SeedSequence([self._seed, self.group.rank, self.steps]).generate_state(1, np.uint64)
            torch.manual_seed(int(words[0]) >> 1)
        (self._gradient or self._take_gradient)()
        self.group.mean_([self.flat.grads])
        (self._update or self._apply)()
        self.steps += 1

    @property
    def _drops_out(self) -> bool:
        return any(isinstance(part, torch.nn.Dropout) and part.p > 0 for part in self.generator.network.modules())

    @property
    def is_captured(self) -> bool:
        """Whether steps are replays of CUDA graphs."""
        return self._gradient is not None and self._gradient.is_captured

    def _capture(self) -> None:
        """Capture both halves and leave the state as it was; warm-up steps must not count."""
        before = {name: tensor.clone() for name, tensor in self.state().items()}
        random = self.random.get_state()
        self._gradient = CudaGraph(self._take_gradient, self.device, every_run_counts=False, generators=(self.random,))
        self._update = CudaGraph(self._apply, self.device, every_run_counts=False)
        self.restore(before, self.steps)
        self.random.set_state(random)

    def _take_gradient(self) -> None:
        self.flat.grads.zero_()
        with torch.no_grad():
            drawn = self._draw()
            noised = self._teach(self._noising(drawn, self._own_past(drawn) if self.rolls_out else None))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda", cache_enabled=False):
            window = noised.window
            predicted = self._predicting(window.heightmap, window.target, noised.past, noised.noisy, noised.level, noised.sees)
        total, parts = self._judging(window, predicted, noised.level, noised.shown)
        total.backward()
        self.flat.grads.add_(parts[0] * 0.0)  # a loss that is not finite on one rank must stop the step on all
        self.parts.copy_(parts)

    def _apply(self) -> None:
        self._updating(self.parts[0])
        self._own_flat.values.copy_(self.optimiser.average)

    def _draw(self) -> Drawn:
        """`WindowSampler.draw` in pieces."""
        drawn = self.windows.pick(self.settings.batch, self.random, self.windows.settings.random_share)
        height = drawn.state.root_pos[:, PAST_FRAMES - 1, 2]
        return drawn._replace(patch=self._changing(drawn.patch, self.windows.swept(drawn), drawn.is_random, height))

    def _change_ground(self, patch: TerrainBatch, swept: BodyPose, is_random: Tensor, root_height: Tensor) -> TerrainBatch:
        return self.windows.change(patch, swept, is_random, root_height, self.random)

    def _noise(self, drawn: Drawn, own_past: FrameState | None) -> Noised:
        """Windows with several noised copies x_k of their futures (paper, section 3.1)."""
        s, schedule, device = self.settings, self.generator.schedule, self.device
        window = self._assemble(drawn, own_past)

        # noise levels, and who sees the past (paper, section 5.3)
        shape = (s.batch, s.levels)
        level = schedule.draw_levels(shape, self.random, device)
        level = torch.where(window.is_random[:, None], s.random_level + (1 - s.random_level) * level, level)
        shown = torch.rand(shape, generator=self.random, device=device) >= s.past_dropout

        # x_k of the futures
        clean = self.generator.statistics.standardise(window.future).unsqueeze(1).expand(-1, s.levels, -1, -1)
        noise = torch.randn(clean.shape, generator=self.random, device=device)
        noisy = schedule.corrupt(clean, noise, level)
        return Noised(window, self._noisy_past(window), noisy, level, shown, self.generator.network.visibility(shown))

    def _assemble(self, drawn: Drawn, own_past: FrameState | None) -> WindowBatch:
        """Windows after their recorded pasts, the model's own, or pasts that deviate from either."""
        if self.settings.deviation.share > 0:
            past = drawn.state.narrow(0, PAST_FRAMES) if own_past is None else own_past
            own_past = deviate(self.windows.table.character, past, self.settings.deviation, self.random)
        return self.windows.assemble(drawn, own_past)

    def _noisy_past(self, window: WindowBatch) -> Tensor:
        """[B, 2, D] standardised pasts with a little noise."""
        b, device = self.settings.batch, self.device
        strength = 3 * self.settings.past_noise * torch.rand(b, 1, 1, generator=self.random, device=device).square()
        past = self.generator.statistics.standardise(window.past)
        return past + strength * torch.randn(past.shape, generator=self.random, device=device)

    def _teach(self, noised: Noised) -> Noised:
        """What is to be learnt from these windows: what was recorded."""
        return noised

    def _predict(self, heightmap: Tensor, target: Tensor, past: Tensor, noisy: Tensor, level: Tensor, sees: Tensor) -> Tensor:
        network = self.generator.network
        context = network.prefix(heightmap, target, past)
        return network.denoise(noisy, network.level_embedding(level), context, sees).float()

    def _judge(self, window: WindowBatch, predicted: Tensor, level: Tensor, shown: Tensor) -> tuple[Tensor, Tensor]:
        return self.settings.objective(self.generator.layout, self.generator.statistics, window, predicted, level, shown)

    def _own_past(self, drawn: Drawn) -> FrameState:
        """[B, 2, ...] the model's own frames after a chain of windows in the first rows, where they are usable; the recording's
        elsewhere.
        """
        s, window = self.settings, self._own_window
        embeddings = window.generator.level_embeddings(window.plan)
        blend = self._own_blend * torch.rand((), generator=self.random, device=self.device)
        recorded = drawn.state.narrow(0, PAST_FRAMES)
        drawn = drawn.first_rows(self._own_rows)

        # from the recording, some windows before the one that is trained, window by window up to it
        first, *rest = [self.windows.earlier(drawn, back) for back in reversed(self._own_back)]
        past, past_pose, reaches = first
        for here, here_pose, reaches_here in rest:
            noise = torch.randn(window.generator.noise_shape(self._own_rows), generator=self.random, device=self.device)
            start = WindowStart(past, past_pose, self._has_past, drawn.patch, drawn.goal, drawn.pace)
            state, pose = last_two(*window(start, None, noise, blend, embeddings))

            # own frames are usable near the recording at that time; where they are not, it goes on from the recording
            away = (state.root_pos[:, -1] - here.root_pos[:, -1]).norm(dim=-1)
            usable = reaches & (away < s.own_distance) & ~drawn.is_random
            past, past_pose = state.select(usable, here), _select(usable, pose, here_pose)
            reaches = reaches_here
        return FrameState(*(torch.cat([a, b[self._own_rows :]]) for a, b in zip(past, recorded, strict=True)))

    def averaged(self) -> Generator:
        """A generator with the averaged weights: what is saved and used."""
        result = self.generator.in_precision(torch.float32)
        flat = FlatParameters(result.network, with_gradients=False)
        flat.values.copy_(self.optimiser.average)
        return result.eval()

    def state(self) -> dict[str, Tensor]:
        """Everything that a checkpoint keeps, by name."""
        return {**self.optimiser.state(), "mean": self.generator.mean, "std": self.generator.std}

    def restore(self, state: dict[str, Tensor], steps: int) -> None:
        """The inverse of `state`, at a number of steps."""
        self.optimiser.restore(state)
        for part in (self.generator, self._own_window.generator):
            part.mean.copy_(state["mean"])
            part.std.copy_(state["std"])
        self._own_flat.values.copy_(self.optimiser.average)
        self.steps = steps


def _seed(seed: int, group: Group) -> int:
    return seed * 1000003 + group.rank


def last_two(state: FrameState, pose: BodyPose) -> Frames:
    """The past of the window that follows."""
    first = state.root_pos.shape[1] - PAST_FRAMES
    return state.narrow(first, PAST_FRAMES), BodyPose(*(part.narrow(1, first, PAST_FRAMES) for part in pose))


def _select(condition: Tensor, pose: BodyPose, other: BodyPose) -> BodyPose:
    """One pose where `condition` [B] holds, the other elsewhere."""
    pairs = zip(pose, other, strict=True)
    return BodyPose(*(torch.where(condition.view(-1, *[1] * (a.dim() - 1)), a, b) for a, b in pairs))


def _averaged_copy(generator: Generator) -> Generator:
    """For own rollouts: bfloat16 on CUDA."""
    return generator.in_precision(torch.bfloat16 if generator.device.type == "cuda" else torch.float32).requires_grad_(False)
