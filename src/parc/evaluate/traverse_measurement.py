"""How many terrains of a set are crossed in physics.

Terrain, start and goal are those of `parc.evaluate.terrain_sets`; the route between them avoids what is hard
(`parc.plan.least_effort_route`), so its difficulty is told in each row. The set `first` is a suite of its own: 50 random boxes
and 50 random walks, item i of SeedSequence([seed, version, i]). The search was developed with its boxes 0 to 9 and walks 0 and 4
in view, and settings were tuned on all of it.

Results are lines of JSON, one a terrain, appended as they come; a run that was stopped goes on behind the last whole line.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from parc.errors import FormatError
from parc.evaluate.terrain_families import Crossing, Family
from parc.evaluate.terrain_sets import SetName, TestCase, case_stream, drawn_crossing, set_case, version_of
from parc.metrics.naturalness import UNITS, naturalness_of
from parc.plan import Models, RouteSettings, Traverse, TraverseSettings, plan_random_route, plan_route, traverse
from parc.plan.least_effort_route import ends_of
from parc.run.atomic_files import write_bytes_atomically
from parc.run.file_reading import read_bytes
from parc.terrain import RandomBoxes, RandomWalks, random_boxes, random_walks

_FIRST_SEEDS = {"boxes": 5021, "walks": 5022}
_FIRST_KEY = b'{"name": "'
"""how each line begins"""
_ROUTE = 1
"""purpose of the random part of a route's cost"""


def traverse_case(set_name: SetName, family: Family, index: int, route: RouteSettings = RouteSettings()) -> TestCase:
    """A case of a set with a route in place of the path that the paper's cost would take."""
    if set_name == "first":
        return _first_case(family, index, route)
    case = set_case(set_name, family, index)
    rng = case_stream(set_name, family, index, _ROUTE)
    return replace(case, path=plan_route(case.terrain, *ends_of(case.terrain, case.path), rng, route))


def _first_case(family: Family, index: int, route: RouteSettings) -> TestCase:
    def make(rng: np.random.Generator) -> Crossing:
        terrain = random_boxes(RandomBoxes(), rng) if family == "boxes" else random_walks(RandomWalks(), rng)
        return terrain, plan_random_route(terrain, rng, route)

    rng = np.random.default_rng(np.random.SeedSequence([_FIRST_SEEDS[family], version_of("first"), index]))
    return TestCase("first", family, index, *drawn_crossing(make, rng))


def row_of(case: TestCase, result: Traverse) -> dict[str, Any]:
    """A crossing as a line of the file of results."""
    return {
        "name": case.name,
        "set": case.set_name,
        "version": version_of(case.set_name),
        "family": case.family,
        "reached": result.reached,
        "tries": result.tries,
        "length": case.path.length,
        "progress": result.progress,
        **case.difficulty._asdict(),
        "motion_seconds": result.seconds,
        "rounds": result.rounds,
        "survival": result.survival,
        "wall": result.wall,
        "cpu": result.cpu,
    }


def evaluate_traverse(
    models: Models,
    cases: Sequence[TestCase],
    settings: TraverseSettings,
    file: Path,
    seed: int = 0,
    on_result: Callable[[TestCase, Traverse], object] | None = None,
    tag: str = "",
) -> dict[str, Any]:
    """Cross the terrains that `file` has no line for, and sum up all lines of these cases, which are of one set.

    tag: names the models; lines with another set, other settings or another tag are refused, so that no table mixes two
    experiments.
    """
    sets = sorted({f"{case.set_name} {version_of(case.set_name)}" for case in cases})
    setup = json.loads(json.dumps({"settings": asdict(settings), "seed": seed, "models": tag, "set": sets}))
    done = read_results(file, setup)
    file.parent.mkdir(parents=True, exist_ok=True)
    for case in cases:
        if case.name in done:
            continue
        entropy = np.random.SeedSequence([seed, version_of(case.set_name), case.index]).generate_state(1, np.uint64)
        random = torch.Generator(models.generator.device).manual_seed(int(entropy[0] >> 1))
        result = traverse(case.terrain, case.path, models, settings, random, case.name)
        done[case.name] = row_of(case, result)
        if result.simulated is not None:
            done[case.name] |= naturalness_of(result.simulated, models.tracker.character)
        if on_result is not None:
            on_result(case, result)
        with file.open("ab") as lines:
            lines.write(json.dumps(done[case.name] | {"setup": setup}).encode() + b"\n")
    return summary([done[case.name] for case in cases])


def read_results(file: Path, setup: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Rows by name; a torn last line is cut off, once the file is known to hold results and nothing else."""
    if not file.is_file():
        return {}
    content = read_bytes(file)
    whole, _, torn = content.rpartition(b"\n")
    if torn and not whole and not torn.startswith(_FIRST_KEY[: len(torn)]):
        raise _no_results(file, torn)
    rows = {}
    for line in whole.splitlines():
        try:
            row = json.loads(line)
            name, found = row["name"], row.pop("setup")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise _no_results(file, line) from None
        if found != setup:
            raise FormatError(
                f"{file} holds results of another set, other settings, seed or models; name another file, or remove it"
            )
        rows[name] = row
    if torn:
        write_bytes_atomically(file, whole + b"\n" if whole else b"")
    return rows


def _no_results(file: Path, line: bytes) -> FormatError:
    return FormatError(f"{file} is not a file of traverse results: a line of it reads {line[:60].decode(errors='replace')!r}")


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Shares and means over lines."""
    reached = [row for row in rows if row["reached"]]

    def mean(key: str, of: Sequence[dict[str, Any]]) -> float:
        return float(np.mean([row[key] for row in of])) if of else float("nan")

    return {
        "terrains": len(rows),
        "reached": len(reached),
        "share_reached": len(reached) / len(rows) if rows else float("nan"),
        "first_try": sum(row["tries"] == 1 for row in reached) / len(rows) if rows else float("nan"),
        "share_of_path": float(np.mean([1.0 if r["reached"] else min(r["progress"] / max(r["length"], 1e-6), 1.0) for r in rows]))
        if rows
        else float("nan"),
        "tries": mean("tries", reached),
        "wall": mean("wall", rows),
        "wall_95": float(np.quantile([row["wall"] for row in rows], 0.95)) if rows else float("nan"),
        "cpu": mean("cpu", rows),
        "motion_seconds": mean("motion_seconds", reached),
        "survival": mean("survival", rows),
        **{name: _known_mean([row.get(name, math.nan) for row in rows]) for name in UNITS},
    }


def _known_mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan
