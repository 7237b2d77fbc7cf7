"""How long an iteration of the loop takes on 1, 8 and 64 GPUs: arithmetic on rates that were measured on one.

Training: the work of one GPU's budget is kept and shared out; every step then waits for one exchange of the gradient, a ring:

    t_N = t_1 / N * (1 + t_exchange / t_step)        t_exchange = 2 (N - 1) / N * bytes / bandwidth + latency

Batch sizes are those of each GPU, so the global batch grows with N. How much more data a larger batch needs is not known here:
the times are lower bounds of the times to equal quality, and exact only for the time to equal numbers of samples.

Synthesis and recording: units share nothing, so t_N = ceil(units / N) * t_unit; a GPU without a unit idles. What is not measured
on several GPUs is named an assumption.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

from parc.errors import SettingsError
from parc.generate.model.noise_schedule import FlowSchedule
from parc.loop.loop_plan import IterationPlan, preset


@dataclass(frozen=True)
class Rates:
    """Of one H200; how each was measured is in LOG.md."""

    generator_windows: float = 27_800.0
    """windows/s of training with own rollouts, not compiled"""
    generator_bytes: float = 4 * 5.4e6
    """of the gradient"""
    tracker_samples: float = 510_000.0
    """control steps/s of training at 120 Hz, end to end"""
    tracker_bytes: float = 4 * 9.4e6
    """of the gradient, actor and critic"""
    row_window: float = 26.9e-3 / 2048
    """s to generate one window of one motion, in a large batch"""
    correction_step: float = 2.77e-3 / 320
    """s an iteration of the correction takes for a second of motion"""
    terrain: float = 34e-3
    """s a terrain takes beside: path, choice, writing (what is left of the 111 s that 1184 terrains took)"""
    control_step: float = 10.1e-3
    """s of one control step of 8192 worlds"""
    valid: float = 0.92
    """share of terrains that give a clip (1094 of 1184 random boxes)"""
    clip_seconds: float = 10.0
    """s, usual length of a clip"""


@dataclass(frozen=True)
class Network:
    """Assumptions about the machines; not measured."""

    gpus_per_machine: int = 8
    inside: float = 300e9
    """bytes/s between GPUs of a machine"""
    between: float = 50e9
    """bytes/s between machines, for each ring"""
    latency: float = 50e-6
    """s, of an exchange"""

    def exchange(self, count: float, gpus: int) -> float:
        """s to sum so many bytes over all GPUs."""
        if gpus == 1:
            return 0.0
        bandwidth = self.inside if gpus <= self.gpus_per_machine else self.between
        return 2 * (gpus - 1) / gpus * count / bandwidth + self.latency


@dataclass(frozen=True)
class StageTimes:
    """s"""

    generator: float
    synthesis: float
    tracker: float
    recording: float
    dataset: float

    @property
    def total(self) -> float:
        return self.generator + self.synthesis + self.tracker + self.recording + self.dataset


def stage_times(plan: IterationPlan, gpus: int, rates: Rates = Rates(), network: Network = Network()) -> StageTimes:
    """Of one iteration whose trainings have budgets in seconds of one GPU."""
    if gpus < 1:
        raise SettingsError(f"{gpus} GPUs were asked for, expected at least 1")
    step = plan.generator.step.batch / rates.generator_windows
    generator = plan.generator.seconds / gpus * (1 + network.exchange(rates.generator_bytes, gpus) / step)

    ppo, training = plan.tracker.settings.ppo, plan.tracker.training
    rollout = ppo.steps * training.worlds
    exchanges = ppo.epochs * max(1, round(rollout / ppo.minibatch))
    iteration = rollout / rates.tracker_samples
    tracker = training.seconds / gpus * (1 + exchanges * network.exchange(rates.tracker_bytes, gpus) / iteration)

    made = plan.synthesis.settings
    clips_of_unit = made.terrains_per_unit * made.keep * rates.valid
    units = math.ceil(plan.synthesis.clips / clips_of_unit)
    windows = made.rollout.seconds * 30.0 / made.rollout.keep
    unit = made.terrains_per_unit * made.candidates * made.rollout.choices * windows * rates.row_window
    unit += made.terrains_per_unit * rates.terrain
    if made.optimise is not None:
        unit += made.optimise.iterations * rates.correction_step * clips_of_unit * rates.clip_seconds
    synthesis = math.ceil(units / gpus) * unit

    size = plan.record.clips_per_unit or 1024
    rounds = 2 * made.rollout.seconds * 30.0 * rates.control_step
    recording = math.ceil(math.ceil(plan.synthesis.clips / size) / gpus) * rounds
    return StageTimes(generator, synthesis, tracker, recording, plan.expected.dataset)


def bench_scaling(names: tuple[str, ...] = ("gpu",), gpus: tuple[int, ...] = (1, 8, 64)) -> dict[str, Any]:
    """Seconds of each stage of the first iteration of presets."""
    rows = []
    for name in names:
        plan = preset(name).plan(1)
        if plan.generator.steps is not None or plan.tracker.training.iterations:
            raise SettingsError(f"preset '{name}' has budgets in steps; expected one in seconds of a GPU: gpu")
        if not isinstance(plan.generator.generator.schedule, FlowSchedule):
            raise SettingsError(f"preset '{name}' trains another network than the one whose rates were measured; expected gpu")
        alone = stage_times(plan, 1).total
        for count in gpus:
            times = stage_times(plan, count)
            rows.append({"preset": name, "gpus": count, **asdict(times), "total": times.total, "speed_up": alone / times.total})
    return {"rows": rows, "measured": asdict(Rates()), "assumed": asdict(Network())}
