"""The generator on a set of terrains: the paper's Table 1 protocol, and the blending sweep of its Table 3.

Every terrain gets `candidates` motions; nothing is selected, corrected or cropped, unfinished motions count, and each
metric is the mean over all of them. The paper's time limit is not stated, so there may be several: a motion under a short
limit is the beginning of the one under a long limit (the same noise, window by window), so one rollout under the longest
serves for all.

Terrains are rolled out in groups of one family, each with random numbers of its own: SeedSequence([seed, first]), the number of
its first terrain in its family. A group is what an interrupted evaluation goes on with.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np
import torch

from parc.correct.select_candidates import SelectSettings, select
from parc.dataset.clip import Clip, Provenance
from parc.errors import SettingsError
from parc.evaluate.net_displacement import displacement
from parc.evaluate.terrain_sets import TestCase
from parc.generate.model.blended_denoising import Blend
from parc.generate.model.motion_generator import Generator
from parc.generate.rollout.path_rollout import RolloutSettings, roll_out
from parc.generate.rollout.rollout_batch import RolloutBatch
from parc.metrics import ClipBatch, measure
from parc.metrics.jerk import seam_jerk_ratio
from parc.motion.motion import Motion
from parc.terrain import TerrainBatch

_FRAMES_AT_ONCE = 16384
"""padded frames that are measured together, to bound memory"""
FPS = 30.0

Values = dict[str, list[float]]
"""of each metric, one for each motion; motions of a terrain stand together"""


@dataclass(frozen=True)
class GeneratorTest:
    """How a generator is measured."""

    candidates: int = 32
    """motions on each terrain"""
    rollout: RolloutSettings = field(default_factory=RolloutSettings)
    """its `seconds` are the limit, unless `limits` are given"""
    seed: int = 1
    terrains_at_once: int = 20
    """of a group"""
    limits: tuple[float, ...] = ()
    """s, several time limits; the first is the one by which motions are selected"""
    select: SelectSettings = field(default_factory=SelectSettings)
    """how the best motion of a terrain is chosen"""

    def __post_init__(self) -> None:
        if self.candidates < 1 or self.terrains_at_once < 1:
            raise SettingsError(f"{self.candidates} motions on each terrain were asked for, expected at least 1")
        if any(not 1 / FPS <= limit < math.inf for limit in self.limits) or len(set(self.limits)) < len(self.limits):
            raise SettingsError(f"the time limits are {self.limits} s, expected different positive numbers")

    @property
    def all_limits(self) -> tuple[float, ...]:
        """Time limits, s, the first one that of the table."""
        return self.limits or (self.rollout.seconds,)


BLENDS = {
    **{f"s {s:g}": Blend.constant(s) for s in (0.0, 0.25, 0.5, 0.65, 0.75, 1.0)},
    "1 to 0 by the end": Blend(1.0, 0.0, 1.0, uneven=0.0),
    "1 to 0 by the middle": Blend(1.0, 0.0, 0.5, uneven=0.0),
    "the same, 0 on level ground": Blend(),
}
"""the paper's constants (Table 3), and annealed schedules; the last is the default"""


@dataclass(frozen=True, eq=False)
class GroupResult:
    """What was measured of a group of terrains."""

    values: dict[float, Values]
    """metrics by time limit: those of `parc.metrics`, goal (100: arrived, 0: not), seam_jerk, ahead and left (displacement, m)"""
    best: list[Clip]
    """the best motion of each terrain under the first limit, by the selection score"""


def groups_of(cases: Sequence[TestCase], test: GeneratorTest) -> list[range]:
    """Cases that stand together and are of one family, so that what a group gives does not depend on the other families."""
    groups, first = [], 0
    for _, family in groupby(cases, key=lambda case: case.family):
        end = first + len(list(family))
        groups += [range(i, min(i + test.terrains_at_once, end)) for i in range(first, end, test.terrains_at_once)]
        first = end
    return groups


def evaluate_group(
    generator: Generator, cases: Sequence[TestCase], group: range, test: GeneratorTest, model: str = ""
) -> GroupResult:
    """Motions on the terrains of one group; `model` goes into the provenance of the best."""
    chosen = [cases[i] for i in group]
    seed = int(np.random.SeedSequence([test.seed, chosen[0].index]).generate_state(1)[0] >> 1)
    settings = replace(test.rollout, seconds=max(test.all_limits))
    rollouts = roll_out(generator, [c.terrain for c in chosen], [c.path for c in chosen], test.candidates, settings, seed)
    values = {limit: measure_rows(cut_short(rollouts, limit), chosen, generator, test) for limit in test.all_limits}
    main = cut_short(rollouts, test.all_limits[0])
    names = [case.name for case in chosen]
    origin = Provenance(
        source=f"{chosen[0].set_name} set", seed=test.seed, skill="generated", models={"generator": model} if model else {}
    )
    return GroupResult(values, best_motions(main, chosen, names, generator, test, origin))


def cut_short(rollouts: RolloutBatch, seconds: float) -> RolloutBatch:
    """What the rollouts would have been under a shorter time limit."""
    limit = round(seconds * FPS)
    frames = rollouts.frames.clamp_max(limit)
    return replace(rollouts, frames=frames, reached=rollouts.reached & (rollouts.frames <= limit))


def batch_of(
    rollouts: RolloutBatch, cases: Sequence[TestCase], candidates: int, generator: Generator, rows: slice = slice(None)
) -> ClipBatch:
    """Rows of rollouts, which stand in the order of the cases, as a batch to be measured."""
    which = torch.arange(len(rollouts))[rows] // candidates
    device = rollouts.root_pos.device
    frames = rollouts.frames[rows].clamp_min(1)
    longest = int(frames.max())
    used, inverse = torch.unique(which, return_inverse=True)
    goals = torch.stack([cases[i].path.goal[:2] for i in used.tolist()])
    return ClipBatch(
        character=generator.character,
        root_pos=rollouts.root_pos[rows, :longest],
        root_rot=rollouts.root_rot[rows, :longest],
        joint_rot=rollouts.joint_rot[rows, :longest],
        contacts=rollouts.contacts[rows, :longest],
        frames=frames,
        terrains=TerrainBatch.stack([cases[i].terrain for i in used.tolist()]).to(device).select(inverse.to(device)),
        goal=goals[inverse].to(device),
        fps=FPS,
    )


def _portions(rollouts: RolloutBatch) -> list[slice]:
    size = max(1, _FRAMES_AT_ONCE // max(1, int(rollouts.frames.max())))
    return [slice(i, min(i + size, len(rollouts))) for i in range(0, len(rollouts), size)]


def measure_rows(rollouts: RolloutBatch, cases: Sequence[TestCase], generator: Generator, test: GeneratorTest) -> Values:
    """Every metric of every motion."""
    values: Values = {}
    keep = test.rollout.keep
    for rows in _portions(rollouts):
        batch = batch_of(rollouts, cases, test.candidates, generator, rows)
        ahead, left = displacement(batch.root_pos, batch.root_rot, batch.frames).unbind(-1)
        found = measure(batch) | {
            "seam_jerk": seam_jerk_ratio(batch, keep, keep),
            "goal": 100.0 * rollouts.reached[rows],
            "ahead": ahead,
            "left": left,
        }
        for name, column in found.items():
            values.setdefault(name, []).extend(column.tolist())
    return values


def best_motions(
    rollouts: RolloutBatch,
    cases: Sequence[TestCase],
    names: Sequence[str],
    generator: Generator,
    test: GeneratorTest,
    provenance: Provenance,
) -> list[Clip]:
    """The best of each terrain by the selection score, as clips; the losses they were selected by in their provenance."""
    ranks, losses = [], []
    for rows in _portions(rollouts):
        part = select(batch_of(rollouts, cases, test.candidates, generator, rows), rollouts.reached[rows], test.select)
        ranks.append(part.rank.cpu())
        losses.append(torch.stack([part.penetration, part.contact], -1).cpu())
    chosen = torch.cat(ranks).view(len(cases), -1).argmin(1) + test.candidates * torch.arange(len(cases))
    clips = []
    for case, name, row in zip(cases, names, chosen.tolist(), strict=True):
        frames = max(1, int(rollouts.frames[row]))
        root_pos, root_rot, joint_rot, contacts = (
            part[row, :frames].cpu().clone()
            for part in (rollouts.root_pos, rollouts.root_rot, rollouts.joint_rot, rollouts.contacts)
        )
        motion = Motion(root_pos, root_rot, joint_rot, contacts, FPS)
        penetration, contact = torch.cat(losses)[row].tolist()
        measured = {
            "selection_penetration": penetration,
            "selection_contact": contact,
            "reached": float(rollouts.reached[row]),
        }
        origin = replace(provenance, losses=measured)
        clips.append(Clip(name, motion, case.terrain, case.path, generator.character.fingerprint, origin))
    return clips


@dataclass(frozen=True)
class Summary:
    """Every metric in numbers for a table."""

    mean: dict[str, float]
    """over all motions for which a metric has a value"""
    error: dict[str, float]
    """standard error of that mean, with terrains, not motions, as what was drawn; NaN for a single terrain"""
    by_terrain: dict[str, list[float]]


def summarise(values: Values, candidates: int) -> Summary:
    """Means over motions, and errors of these means over terrains (paper, section 7.2)."""
    mean, error, by_terrain = {}, {}, {}
    for name, column in values.items():
        rows = np.asarray(column, float).reshape(-1, candidates)
        known = ~np.isnan(rows)
        each = np.where(known, rows, 0.0).sum(1) / np.where(known.any(1), known.sum(1), np.nan)
        seen = each[~np.isnan(each)]
        mean[name] = float(rows[known].mean()) if known.any() else math.nan
        error[name] = float(seen.std(ddof=1) / math.sqrt(len(seen))) if len(seen) > 1 else math.nan
        by_terrain[name] = each.tolist()
    return Summary(mean, error, by_terrain)


def join(parts: Sequence[Values]) -> Values:
    """Values of several groups, one after the other."""
    return {name: [x for part in parts for x in part[name]] for name in (parts[0] if parts else {})}


def evaluate_generator(
    generator: Generator, cases: Sequence[TestCase], test: GeneratorTest = GeneratorTest()
) -> dict[str, float]:
    """Means over all motions under the first time limit."""
    parts = [evaluate_group(generator, cases, group, test).values[test.all_limits[0]] for group in groups_of(cases, test)]
    return summarise(join(parts), test.candidates).mean | {"motions": len(cases) * test.candidates}
