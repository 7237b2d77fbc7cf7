"""A student: a generator whose windows take one or two sampler steps in one branch, and answer as its teacher's do in many.

The sampler has no randomness of its own: a teacher T makes of each noise e, with the past, the ground and the target, one motion
y = T(e), blended and all. The student S walks its own few steps from the same e, and every step's estimate is held against y by
the losses of training:

    x_0 = e,    y_i = S(x_i, level_i),    x_{i+1} = data_gain_i y_i + state_gain_i x_i,    loss: mean over i of L(y_i, y)

So it is trained on the very x_i that it meets when it samples. What the data gives is pasts and ground, not futures: windows on
random terrain count like all others, for the teacher's answer there means something. A share of the windows hides the past from
both, as at the start of a motion.

After Luhman and Luhman, Knowledge Distillation in Iterative Generative Models (2021). A student may be a teacher.
"""

from dataclasses import asdict, dataclass, field, replace

import torch
from torch import Tensor

from parc.errors import SettingsError
from parc.generate.data.training_windows import Drawn, WindowBatch, WindowSampler
from parc.generate.model.blended_denoising import Blend
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.noise_schedule import FlowSchedule, advance, spaced
from parc.generate.training.training_step import GeneratorTrainer, Noised, StepSettings
from parc.motion.frame_state import FrameState
from parc.run.distributed import Group
from parc.run.hashing import hash_parts

_MOST_STEPS = 8


@dataclass(frozen=True)
class StudentSettings:
    """What a student is to do, and what its teacher does meanwhile."""

    steps: int = 2
    """sampler steps of the student's window"""
    blend: Blend = field(default_factory=Blend)
    """how the teacher's branches are blended; a teacher that is a student has but one"""

    def __post_init__(self) -> None:
        if not 1 <= self.steps <= _MOST_STEPS:
            raise SettingsError(f"a student takes {self.steps} sampler steps, expected 1 to {_MOST_STEPS}")

    def generator(self, teacher: GeneratorSettings) -> GeneratorSettings:
        """What the student of a teacher is made of."""
        return replace(teacher, schedule=FlowSchedule(self.steps), one_branch=True)


class StudentTrainer(GeneratorTrainer):
    """Takes training steps towards a teacher's answers."""

    def __init__(
        self,
        generator: Generator,
        teacher: Generator,
        student: StudentSettings,
        windows: WindowSampler,
        settings: StepSettings,
        group: Group,
        seed: int,
        use_graph: bool = True,
        use_compile: bool = False,
    ) -> None:
        """`generator` is the student. The teacher computes in bfloat16 on CUDA, as in use."""
        device, batch = generator.device, settings.batch
        half = torch.bfloat16 if device.type == "cuda" else torch.float32
        self.teacher = teacher.to(device).in_precision(half).requires_grad_(False)
        if use_compile:
            self.teacher.fuse()
        self._teacher_plan = self.teacher.sampler_plan()
        self._teacher_levels = self.teacher.level_embeddings(self._teacher_plan)
        steps = len(self._teacher_plan)
        self._blend = blend = self.teacher.blend_of(student.blend)
        # rows with the past, and the last ones without: there is nothing to blend for these
        seen = batch - round(settings.past_dropout * batch)
        self._answers = (
            (slice(0, seen), spaced(blend.coefficients(steps, device)), blend.mixed(steps), blend.uneven > 0),
            (slice(seen, batch), spaced(torch.ones(steps, device=device)), (False,) * steps, False),
        )
        self._plan = generator.sampler_plan()
        # estimates are listed from the last step to the first, and judged at the level that each step leads to
        after = torch.cat([self._plan.levels[1:], torch.zeros(1, device=device)]).flip(0)
        self._after = after.expand(batch, -1)
        self._shown = (torch.arange(batch, device=device) < seen).unsqueeze(1)
        weights = hash_parts(p.detach().float().cpu().numpy().tobytes() for p in teacher.network.parameters())
        self.lesson = {"teacher": weights, "blend": asdict(blend)}
        """what tells one teacher's answers from another's"""
        super().__init__(generator, windows, settings, group, seed, use_graph, use_compile)

    def _noise(self, drawn: Drawn, own_past: FrameState | None) -> Noised:
        """Windows with pure noise for a future."""
        window = self._assemble(drawn, own_past)
        shape = (self.settings.batch, 1, window.future.shape[1], window.future.shape[2])
        noise = torch.randn(shape, generator=self.random, device=self.device)
        level = self._plan.levels.expand(self.settings.batch, -1)
        shown = self._shown.expand(-1, level.shape[1])
        return Noised(window, self._noisy_past(window), noise, level, shown, self.generator.network.visibility(self._shown))

    def _teach(self, noised: Noised) -> Noised:
        """What the teacher makes of the same noise."""
        window, teacher, plan = noised.window, self.teacher, self._teacher_plan
        past, noise = teacher.statistics.restore(noised.past), noised.noisy[:, 0]
        answers = []
        for rows, blend, mixed, follows_ground in self._answers:
            if rows.start == rows.stop:
                continue
            heightmap, target = window.heightmap[rows], window.target[rows]
            if follows_ground:
                root = past[rows][..., teacher.layout.slices["root_pos"]]
                blend = self._blend.row_coefficients(blend, root, heightmap, target[:, :2], teacher.settings.grid)
            answers.append(
                teacher.denoise_window(past[rows], heightmap, target, noise[rows], blend, plan, self._teacher_levels, mixed)
            )
        future = torch.cat(answers)
        labels = self.generator.layout.slices["contacts"]
        future = torch.cat([future[..., : labels.start], future[..., labels].clamp(0, 1), future[..., labels.stop :]], -1)
        window = window._replace(future=future, is_random=torch.zeros_like(window.is_random))
        return noised._replace(window=window)

    def _predict(self, heightmap: Tensor, target: Tensor, past: Tensor, noisy: Tensor, level: Tensor, sees: Tensor) -> Tensor:
        """[B, S, T, D] estimates of the student's steps, the last one first."""
        network, plan = self.generator.network, self._plan
        context = network.prefix(heightmap, target, past)
        x, estimates = noisy, []
        for i in range(len(plan)):
            estimates.append(network.denoise(x, network.level_embedding(level[:, i : i + 1]), context, sees).float())
            x = advance(x, estimates[-1], plan.data_gain[i], plan.state_gain[i])
        return torch.cat(estimates[::-1], 1)

    def _judge(self, window: WindowBatch, predicted: Tensor, level: Tensor, shown: Tensor) -> tuple[Tensor, Tensor]:
        return super()._judge(window, predicted, self._after, shown)
