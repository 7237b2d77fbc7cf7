"""The generator on the test set: the paper's Table 1 protocol, and the blending sweep of its Table 3.

Every terrain gets `candidates` motions; nothing is selected, corrected or cropped, unfinished motions count, and each metric
is the mean over all of them. The paper's time limit is not stated: ours is `seconds`, and with `slowest` a long path gets as
much time as it needs at that speed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch

from parc.evaluate.terrains import TestCase
from parc.generate.blend import Blend
from parc.generate.generator import Generator
from parc.generate.rollout import RolloutBatch, RolloutSettings, roll_out
from parc.metrics import ClipBatch, mean_of, measure
from parc.metrics.jerk import seam_jerk_ratio
from parc.terrain import TerrainBatch


@dataclass(frozen=True)
class GeneratorTest:
    candidates: int = 32
    """motions on each terrain"""
    rollout: RolloutSettings = field(default_factory=RolloutSettings)
    seed: int = 1
    terrains_at_once: int = 10
    """measured together, to bound memory"""


BLENDS = {
    **{f"s {s:g}": Blend.constant(s) for s in (0.0, 0.25, 0.5, 0.65, 0.75, 1.0)},
    "1 to 0 by the end": Blend(1.0, 0.0, 1.0),
    "1 to 0 by the middle": Blend(1.0, 0.0, 0.5),
}
"""the paper's constants (Table 3), and annealed schedules"""


def batch_of(
    rollouts: RolloutBatch, cases: Sequence[TestCase], candidates: int, generator: Generator, rows: slice = slice(None)
) -> ClipBatch:
    """Rollouts of some terrains, rows in terrain order, as a batch to be measured."""
    chosen = cases[rows]
    device = rollouts.root_pos.device
    which = torch.arange(len(chosen), device=device).repeat_interleave(candidates)
    at = slice((rows.start or 0) * candidates, (rows.start or 0) * candidates + len(which))
    goals = torch.stack([c.path.goal[:2] for c in chosen]).to(device)
    return ClipBatch(
        character=generator.character,
        root_pos=rollouts.root_pos[at],
        root_rot=rollouts.root_rot[at],
        joint_rot=rollouts.joint_rot[at],
        contacts=rollouts.contacts[at],
        frames=rollouts.frames[at].clamp_min(1),
        terrains=TerrainBatch.stack([c.terrain for c in chosen]).to(device).select(which),
        goal=goals[which],
        fps=30.0,
    )


def measure_rollouts(
    rollouts: RolloutBatch, cases: Sequence[TestCase], generator: Generator, test: GeneratorTest
) -> dict[str, float]:
    """Mean of every metric, share that arrived in %, seam-jerk ratio."""
    results: list[dict[str, float]] = []
    for start in range(0, len(cases), test.terrains_at_once):
        rows = slice(start, min(len(cases), start + test.terrains_at_once))
        batch = batch_of(rollouts, cases, test.candidates, generator, rows)
        values = measure(batch) | {"seam_jerk": seam_jerk_ratio(batch, test.rollout.keep, test.rollout.keep)}
        lists = {k: v.tolist() for k, v in values.items()}
        results += [{k: lists[k][i] for k in lists} for i in range(len(batch))]
    return mean_of(results) | {"goal": 100 * float(rollouts.reached.float().mean()), "motions": len(results)}


def evaluate_generator(
    generator: Generator, cases: Sequence[TestCase], test: GeneratorTest = GeneratorTest()
) -> dict[str, float]:
    rollouts = roll_out(generator, [c.terrain for c in cases], [c.path for c in cases], test.candidates, test.rollout, test.seed)
    return measure_rollouts(rollouts, cases, generator, test)


def blending_sweep(
    generator: Generator,
    cases: Sequence[TestCase],
    test: GeneratorTest = GeneratorTest(),
    on_result: Callable[[str, dict[str, float]], None] | None = None,
) -> dict[str, dict[str, float]]:
    """`evaluate_generator` for each way of blending."""
    table = {}
    for name, blend in BLENDS.items():
        table[name] = evaluate_generator(generator, cases, replace(test, rollout=replace(test.rollout, blend=blend)))
        if on_result:
            on_result(name, table[name])
    return table
