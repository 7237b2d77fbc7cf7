"""What a run of the loop does, stage by stage: frozen settings, and presets of several sizes.

A preset whose budgets are steps and iterations (tiny, scratch, quick) gives the same data set every time on one machine; one
whose budgets are seconds (gpu, paper) does as much as the machine can in that time. The small ones run torch on one thread: their
networks gain little from more, and two threads that wait for each other on a busy machine are ten times slower than one.

`paper` is composed of the `paper()` settings of every stage and of nothing else (`docs/paper_to_code.md`); all others are ours.

Neither synthesis nor recording stores mirrored copies: the generator trains on mirror images anyway, and our tracker is
symmetric by construction.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from parc.correct.correct_motions import OptimiseSettings
from parc.correct.synthesise_clips import SynthesisSettings
from parc.errors import SettingsError
from parc.generate.model.motion_generator import GeneratorSettings
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.generate.training.flat_adamw import AdamSettings
from parc.generate.training.generator_training import TrainSettings
from parc.generate.training.training_step import StepSettings
from parc.loop.admission_rules import GuardSettings
from parc.loop.leaf_stages import ClosedLoop, Measurement
from parc.path.path_endpoints import EndpointSettings
from parc.path.path_planning import PlanSettings
from parc.quality.limit_profiles import AdmissionLimits, RecordingLimits
from parc.record.choose_segments import StretchSettings
from parc.record.record_clips import RecordSettings
from parc.record.tracking_attempts import AttemptSettings
from parc.terrain.procedural_terrain import RandomBoxes
from parc.track.learn.tracker_training import TrainingPlan
from parc.track.tracker_settings import PPOSettings, TrackerSettings
from parc.vary.dataset_variations import VarySetSettings


@dataclass(frozen=True)
class StartSettings:
    """The starting set D_0 where none is given: walks made by rule on low boxes."""

    clips: int = 16
    boxes: RandomBoxes = field(default_factory=lambda: RandomBoxes(boxes=4, height=(-0.15, 0.15)))
    speed: tuple[float, float] = (0.8, 1.2)
    """m/s, slowest and fastest"""
    endpoint: EndpointSettings = field(default_factory=EndpointSettings)

    def __post_init__(self) -> None:
        if self.clips < 1:
            raise SettingsError(f"the starting set has {self.clips} clips, expected at least 1")


@dataclass(frozen=True)
class SynthesisPlan:
    """How many motions an iteration makes, and how."""

    clips: int = 1000
    """wanted; units are made until there are as many"""
    most_units: int = 1000
    """units after which it is given up"""
    settings: Annotated[SynthesisSettings, tyro.conf.arg(name="")] = field(default_factory=SynthesisSettings)


@dataclass(frozen=True)
class TrackerPlan:
    """How an iteration trains its tracker."""

    settings: Annotated[TrackerSettings, tyro.conf.arg(name="")] = field(default_factory=TrackerSettings)
    training: Annotated[TrainingPlan, tyro.conf.arg(name="")] = field(default_factory=TrainingPlan)
    least_followed: float = 0.0
    """share of a synthesised motion that the policy before must follow for the new one to train on it; 0: it trains on all"""
    continued: tyro.conf.Suppress[PPOSettings | None] = None
    """PPO of a training that begins with trained weights; None: as one that begins with nothing. As options those of `settings`
    hold for both"""

    @classmethod
    def paper(cls) -> "TrackerPlan":
        """2048 worlds for the time of about the released code's 1e10 samples; all synthesised motions are trained on."""
        return cls(TrackerSettings.paper(), TrainingPlan(worlds=2048, seconds=10 * 3600, milestone_seconds=600))

    def __post_init__(self) -> None:
        if not 0 <= self.least_followed <= 1:
            raise SettingsError(f"least_followed is {self.least_followed}, expected a share from 0 to 1")

    def settings_from(self, first: Path | None) -> TrackerSettings:
        """Of a training that begins with the weights `first`, or with none."""
        return self.settings if first is None or self.continued is None else replace(self.settings, ppo=self.continued)


@dataclass(frozen=True)
class Expected:
    """s each stage takes on the machine a preset is meant for: the estimate of the time left until there is a better one."""

    generator: float = 0.0
    synthesis: float = 0.0
    tracker: float = 0.0
    recording: float = 0.0
    dataset: float = 0.0
    variation: float = 0.0


@dataclass(frozen=True)
class IterationPlan:
    """All stages of an iteration."""

    generator: TrainSettings = field(default_factory=TrainSettings)
    synthesis: SynthesisPlan = field(default_factory=SynthesisPlan)
    tracker: TrackerPlan = field(default_factory=TrackerPlan)
    record: RecordSettings = field(default_factory=RecordSettings)
    guard: GuardSettings = field(default_factory=GuardSettings)
    expected: tyro.conf.Suppress[Expected] = field(default_factory=Expected)

    @classmethod
    def paper(cls, clips: int, ground: Literal["boxes", "course"]) -> "IterationPlan":
        """An iteration of the paper; the training times are ours, for it tells none, and what is expected is estimated."""
        made = replace(SynthesisSettings.paper(), ground=ground)
        return cls(
            generator=TrainSettings.paper(seconds=24 * 3600),
            synthesis=SynthesisPlan(clips, clips // 4, made),
            tracker=TrackerPlan.paper(),
            record=replace(RecordSettings.paper(), clips_per_unit=256),
            guard=GuardSettings.off(),
            expected=Expected(24 * 3600 + 60, 30 * clips, 10 * 3600 + 600, clips / 5, 60),
        )

    def without_tracking(self, kinematic: bool) -> "IterationPlan":
        """Generated clips join the data set: after kinematic correction (`kinematic`), or with nothing done to them (paper)."""
        if kinematic:
            return replace(self, guard=replace(self.guard, quality=None, refuse_surplus=False))
        made = replace(self.synthesis, settings=self.synthesis.settings.uncorrected())
        return replace(self, synthesis=made, guard=GuardSettings.off())


@dataclass(frozen=True)
class VariationPlan:
    """Before iteration 1: spatial variations of every clip are made, tracked and recorded; those recordings join D_0 (paper)."""

    count: int = 50
    """variations of each clip (paper)"""
    vary: VarySetSettings = field(default_factory=VarySetSettings)
    tracker: TrackerPlan = field(default_factory=TrackerPlan)
    record: RecordSettings = field(default_factory=RecordSettings)
    guard: GuardSettings = field(default_factory=GuardSettings)
    expected: Expected = field(default_factory=Expected)

    def __post_init__(self) -> None:
        if self.count < 1:
            raise SettingsError(f"{self.count} variations of each clip were asked for, expected at least 1")

    @classmethod
    def paper(cls) -> "VariationPlan":
        """50 of each clip, recorded and kept as motions of the loop are."""
        return cls(
            tracker=TrackerPlan.paper(),
            record=replace(RecordSettings.paper(), clips_per_unit=256),
            guard=GuardSettings.off(),
            expected=Expected(tracker=10 * 3600 + 600, recording=600, dataset=60, variation=3600),
        )


@dataclass(frozen=True)
class LoopSettings:
    """All of a run: its plans, its start, and what is left out."""

    name: str
    plans: tuple[IterationPlan, ...]
    """of iterations 1, 2, ...; the last one serves for all further ones"""
    iterations: int
    start: StartSettings = field(default_factory=StartSettings)
    variations: VariationPlan | None = None
    """of the starting set, recorded in simulation; None: D_0 is the starting set"""
    closed_loop: ClosedLoop | None = None
    """after each iteration's tracker: the same trained to cross terrain without rehearsal. Nothing else of the run uses it"""
    evaluation: Measurement | None = None
    """of each iteration's models on the development set; None: none. Nothing else of the run uses it, but the division of
    `minutes`"""
    physics_correction: bool = True
    """False: generated clips join the data set, and nothing is tracked but the variations of the starting set"""
    kinematic_correction: bool = True
    """False: generated motions are chosen by the paper's heuristic and not corrected; without physics correction either it is the
    paper's ablation"""
    seed: int = 0
    shipped: bool = False
    """start from the models in the box, and its motions if there are some, where no others are given"""
    shipped_motions: bool = False
    """start from the motions in the box, but not from its models, where no others are given"""
    scale: float | None = None
    """share of the preset's work that was asked for (`parc.loop.budget.time_budget`)"""
    minutes: float | None = None
    """about how long the run was asked to take, all iterations together (`parc.loop.budget.time_budget`)"""
    stretch: float | None = None
    """share of the preset's training times that fits into the minutes"""
    options: dict[str, Any] = field(default_factory=dict)
    """settings of stages that were asked for, by place (`parc.loop.stage_options`)"""
    torch_threads: int = 0
    """of torch on the CPU, part of what makes a run repeatable; 0: as they are"""

    def __post_init__(self) -> None:
        if self.torch_threads < 0:
            raise SettingsError(f"torch_threads is {self.torch_threads}, expected 0 or more")
        if self.iterations < 1 or not self.plans:
            raise SettingsError(f"{self.iterations} iterations with {len(self.plans)} plans, expected at least one of each")
        if self.physics_correction and not self.kinematic_correction:
            raise SettingsError("motions that are tracked are corrected kinematically before; leave out both corrections or none")

    def with_variations(self, count: int | None) -> "LoopSettings":
        """So many recorded variations of each clip of the starting set, 0 for none; None leaves it as it is.

        Where there were none they are tracked, recorded and judged as motions of iteration 1 are.
        """
        if count is None:
            return self
        first = self.plans[0]
        plan = self.variations or VariationPlan(1, VarySetSettings(), first.tracker, first.record, first.guard, first.expected)
        return replace(self, variations=replace(plan, count=count) if count else None)

    def plan(self, iteration: int) -> IterationPlan:
        """Of iteration 1, 2, ..., with what is left out of it left out."""
        plan = self.plans[min(iteration, len(self.plans)) - 1]
        return plan if self.physics_correction else plan.without_tracking(self.kinematic_correction)


_RECORDED = GuardSettings(quality=AdmissionLimits.recorded())
_LOW_BOXES = 0.2
"""least diversity where only low boxes are asked for: walks over them are a third as diverse as mocap of all skills"""


def tiny() -> LoopSettings:
    """Seconds on one core: everything is touched, nothing is learned. For tests."""
    low = RandomBoxes(size=(12, 12), boxes=1, height=(-0.03, 0.03))
    near = EndpointSettings(min_distance=3.0)
    step = StepSettings(
        batch=12, levels=2, warm_up=5, own_start=1.0, statistics_windows=200, adam=AdamSettings(rate=4e-3, average=0.95)
    )
    generator = TrainSettings(
        steps=60, generator=GeneratorSettings(network=PrefixSettings(width=32, layers=1, heads=2, hidden=64)), step=step,
        checkpoint_seconds=0.3, log_steps=5,
    )  # fmt: skip
    synthesis = SynthesisSettings(
        boxes=low, terrains_per_unit=1, candidates=4, rollout=RolloutSettings(seconds=2.0, steps=2, lock_feet=False),
        plan=PlanSettings(endpoint=near), optimise=OptimiseSettings(iterations=10), only_valid=False, shortest=10,
    )  # fmt: skip
    small = TrackerSettings.small()
    ppo = replace(small.ppo, steps=4, epochs=1, minibatch=32)
    screen = replace(small.reference.screen, enabled=False)
    tracker = replace(
        small, policy=replace(small.policy, hidden=(16, 16)), ppo=ppo, reference=replace(small.reference, screen=screen)
    )
    plan = IterationPlan(
        generator=generator,
        synthesis=SynthesisPlan(3, 3, synthesis),
        tracker=TrackerPlan(tracker, TrainingPlan(worlds=8, iterations=12, milestone_iterations=3, log_seconds=0.2)),
        record=_recording(0.2, 0.1, clips_per_unit=1, accept=replace(RecordingLimits.anything(), shortest=0.2)),
        guard=GuardSettings(quality=None, shortest=0.2),
        expected=Expected(3, 3, 3, 2, 1),
    )
    return LoopSettings("tiny", (plan,), 1, StartSettings(2, low, (1.0, 1.0), near), torch_threads=1)


def scratch() -> LoopSettings:
    """A CPU of two cores, minutes: the whole method in small, from walks made by rule and untrained networks."""
    low = RandomBoxes(boxes=4, height=(-0.15, 0.15))
    step = StepSettings(
        batch=64, levels=2, warm_up=20, own_start=0.7, own_windows=1, statistics_windows=1000,
        adam=AdamSettings(rate=2e-3, average=0.98),
    )  # fmt: skip
    generator = TrainSettings(
        steps=500, generator=GeneratorSettings(network=PrefixSettings(width=64, layers=2, heads=4, hidden=128)), step=step,
        checkpoint_seconds=10.0, log_steps=20,
    )  # fmt: skip
    synthesis = SynthesisSettings(
        boxes=low, terrains_per_unit=4, rollout=RolloutSettings(), optimise=OptimiseSettings(iterations=200)
    )
    small = TrackerSettings.small()
    tracker = replace(small, policy=replace(small.policy, hidden=(128, 128)))
    plan = IterationPlan(
        generator=generator,
        synthesis=SynthesisPlan(8, 6, synthesis),
        tracker=TrackerPlan(tracker, TrainingPlan(worlds=64, iterations=300, milestone_iterations=50)),
        record=_recording(1.0, 0.3, clips_per_unit=4),
        guard=GuardSettings(quality=AdmissionLimits(foot_skate=60.0), least_diversity=_LOW_BOXES),
        expected=Expected(90, 60, 120, 10, 5),
    )
    return LoopSettings("scratch", (plan,), 1, torch_threads=1)


def quick() -> LoopSettings:
    """A CPU of two cores, minutes: one real iteration from the models and motions in the box; what `make run` does."""
    low = RandomBoxes(boxes=4, height=(-0.15, 0.15))
    step = StepSettings(
        batch=32, levels=2, warm_up=5, own_start=0.7, own_windows=1, statistics_windows=500,
        adam=AdamSettings(rate=1e-5, average=0.95),
    )  # fmt: skip
    synthesis = SynthesisSettings(
        boxes=low, terrains_per_unit=4, candidates=8, rollout=RolloutSettings(seconds=12.0),
        optimise=OptimiseSettings(iterations=150),
    )  # fmt: skip
    base = TrackerSettings()
    ppo = replace(
        base.ppo, epochs=1, minibatch=512, actor_rate=3e-5, rate_range=(1e-5, 5e-5), critic_rate=1e-4, average=0.95
    )  # fmt: skip
    plan = IterationPlan(
        generator=TrainSettings(steps=40, step=step, checkpoint_seconds=10.0, log_steps=4),
        synthesis=SynthesisPlan(6, 4, synthesis),
        tracker=TrackerPlan(replace(base, ppo=ppo), TrainingPlan(worlds=64, iterations=30, milestone_iterations=30)),
        record=_recording(1.0, 0.3, clips_per_unit=2),
        guard=replace(_RECORDED, least_diversity=_LOW_BOXES),
        expected=Expected(45, 40, 70, 15, 10),
    )
    return LoopSettings("quick", (plan,), 1, shipped=True, torch_threads=1)


def gpu() -> LoopSettings:
    """One GPU, about half an hour an iteration, from untrained networks: boxes, then crowded boxes and platforms, then slices of
    the course, by the recipe of the models in the box (LOG.md, fifth and sixth day).
    """
    synthesis = SynthesisSettings(
        terrains_per_unit=64, candidates=16, rollout=RolloutSettings(choices=4), optimise=OptimiseSettings(iterations=400)
    )
    step = StepSettings(own_start=0.0, adam=AdamSettings(rate=3e-4))
    base = TrackerSettings()
    careful = replace(base.ppo, actor_rate=5e-5, rate_range=(1e-5, 1e-4), target_kl=0.02, stop_kl=0.1)
    plan = IterationPlan(
        generator=TrainSettings(seconds=480, step=step, balance=0.8),
        synthesis=SynthesisPlan(800, 60, synthesis),
        tracker=TrackerPlan(base, TrainingPlan(seconds=960, milestone_seconds=300), least_followed=0.35, continued=careful),
        record=RecordSettings(clips_per_unit=256),
        guard=_RECORDED,
        expected=Expected(500, 110, 990, 40, 25),
    )
    mixed, park = (
        replace(plan, synthesis=replace(plan.synthesis, settings=replace(synthesis, ground=ground)))
        for ground in ("mixed", "course")
    )
    # a generator that begins with nothing trains longer
    first = replace(plan, generator=replace(plan.generator, seconds=720), expected=replace(plan.expected, generator=740))
    settings = LoopSettings("gpu", (first, mixed, park), 4, shipped_motions=True)
    varied = settings.with_variations(2).variations
    assert varied is not None
    few = replace(varied.tracker.training, seconds=720.0)
    expected = replace(varied.expected, variation=60.0, tracker=750.0)
    return replace(settings, variations=replace(varied, tracker=replace(varied.tracker, training=few), expected=expected))


PAPER = "paper"


def paper() -> LoopSettings:
    """The paper from end to end: 50 recorded variations of each clip, then 1000 motions on random boxes in iterations 1 and 2 and
    2000 on slices of the large course in 3 and 4. Other than the paper's are the simulator (MuJoCo), the data and the course.
    """
    boxes, course = IterationPlan.paper(1000, "boxes"), IterationPlan.paper(2000, "course")
    return LoopSettings(
        PAPER, (boxes, boxes, course), 4, StartSettings(clips=64), variations=VariationPlan.paper(), shipped_motions=True
    )


PRESETS: dict[str, Callable[[], LoopSettings]] = {"tiny": tiny, "scratch": scratch, "quick": quick, "gpu": gpu, "paper": paper}


def preset(name: str) -> LoopSettings:
    """The settings of that name."""
    if name not in PRESETS:
        raise SettingsError(f"there is no preset '{name}'; there are {', '.join(PRESETS)}")
    return PRESETS[name]()


def _recording(shortest: float, cut: float, clips_per_unit: int, accept: RecordingLimits | None = None) -> RecordSettings:
    """Stretches from `shortest` s on are kept: a tracker of minutes holds a clip for seconds, not to its end."""
    return RecordSettings(
        attempt=AttemptSettings(shortest=shortest),
        stretch=StretchSettings(shortest=shortest, cut_before_failure=cut),
        accept=accept or RecordingLimits(shortest=shortest),
        clips_per_unit=clips_per_unit,
    )
