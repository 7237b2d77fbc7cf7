"""Ways to cross terrain side by side in one table, group by group, so that a stopped evaluation goes on where it was.

A group of terrains is a part (`parc.evaluate.result_cache`). Shard k of n does groups k, k + n, .. of each row of the table; the
parts of all shards in one folder are the whole evaluation, which then measures nothing anew.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import torch

from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.evaluate.cluster_jobs import CrossingJob
from parc.evaluate.crossing_summary import CrossingRun, by_difficulty, summarise_crossings
from parc.evaluate.reflex_measurement import CrossedGroup, CrossingTest
from parc.evaluate.result_cache import Measured, Part, PartStore, code_fingerprint
from parc.evaluate.terrain_sets import TestCase, version_of
from parc.plan import Models
from parc.run.hashing import hash_settings
from parc.run.work_items import LOCAL, Workers


@dataclass(frozen=True)
class WorkShard:
    """A part of the work, for one of several machines."""

    number: int = 0
    of: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.number < self.of:
            raise SettingsError(f"shard {self.number} of {self.of} does not exist, expected 0 to {self.of - 1}")


class CrossingEvaluator:
    """One pair of generator and tracker on given terrains; `row` measures one way to cross them."""

    def __init__(
        self,
        out: Path,
        models: Callable[[], Models],
        hashes: dict[str, str],
        cases: Sequence[TestCase],
        device: torch.device | str = "cpu",
        threads: int = 0,
        shard: WorkShard = WorkShard(),
        keeps_motions: bool = False,
        on_part: Callable[[str], object] = lambda what: None,
        workers: Workers = LOCAL,
    ) -> None:
        """`models` loads them to `device`; `hashes` are of their files, by any name; `cases` go family by family.

        keeps_motions: beside the numbers.
        """
        self.store, self.cases, self.threads, self.shard = PartStore(out), list(cases), threads, shard
        self._load, self._hashes, self.keeps_motions = models, hashes, keeps_motions
        self.on_part, self.workers, self._device = on_part, workers, torch.device(device).type

    @cached_property
    def models(self) -> Models:
        """Loaded when the first part is measured."""
        return self._load()

    def row(self, test: CrossingTest) -> dict[str, Any]:
        """{"label", "method", "every", "disturbance", "all": summary, "by_family", "by_difficulty", "runs": a line each}."""
        parts = self.parts(test)
        runs = [CrossingRun(**line) for part in parts for line in part.result["runs"]]
        families = dict.fromkeys(case.family for case in self.cases)
        return {
            "label": test.label,
            "method": test.method,
            "every": test.reflex.every if test.method == "reflex" else None,
            "disturbance": asdict(test.disturbance),
            "all": summarise_crossings(runs),
            "by_family": {f: summarise_crossings([run for run in runs if run.family == f]) for f in families},
            "by_difficulty": by_difficulty(runs),
            "runs": [asdict(run) for run in runs],
            "took": sum(part.seconds for part in parts),
        }

    def motions(self, test: CrossingTest) -> list[Clip]:
        """What the bodies did, where motions are kept."""
        return [clip for part in self.parts(test) for clip in part.clips()]

    def parts(self, test: CrossingTest) -> list[Part]:
        """Of the groups of this shard, read or measured."""
        groups = self.groups(test)[self.shard.number :: self.shard.of]
        kept = {"motions": "kept"} if self.keeps_motions else {}
        inputs = [self._common() | kept | {"test": hash_settings(test, *_told(group))} for group in groups]

        def measured(found: CrossedGroup) -> Measured:
            return {"runs": [asdict(run) for run in found.runs]}, found.clips if self.keeps_motions else []

        def announce(number: int) -> None:
            family, first, last = groups[number][0].family, groups[number][0].index, groups[number][-1].index
            self.on_part(f"{test.label}: {family} {first} to {last}")

        job = CrossingJob(lambda: self.models, test, self.threads)
        return self.store.parts("crossing", inputs, job, groups.__getitem__, measured, self.workers, announce)

    def groups(self, test: CrossingTest) -> list[list[TestCase]]:
        """All terrains in groups of one family."""
        found = []
        for _, family in groupby(self.cases, lambda case: case.family):
            some = list(family)
            found += [some[first : first + test.group_size] for first in range(0, len(some), test.group_size)]
        return found

    def _common(self) -> dict[str, str]:
        return {**self._hashes, "device": self._device, "code": code_fingerprint()}


def _told(group: Sequence[TestCase]) -> tuple[str, int, str, list[tuple[int, str]]]:
    """Set, version, family, and what each case is: its number and its route."""
    first = group[0]
    cases = [(case.index, hash_settings(case.path.nodes.tolist())) for case in group]
    return first.set_name, version_of(first.set_name), first.family, cases
