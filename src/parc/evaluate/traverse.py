"""How many terrains are crossed in physics: a fixed suite of 50 random-box and 50 random-walk terrains.

Boxes 0 to 9 and walks 0 and 4 were in view when the search was developed; nothing was tuned on the others.

The suite is code: item i of a kind draws terrain, start, goal and route from SeedSequence([seed, version, i]). Results are lines
of JSON, one a terrain, appended as they come; a run that was stopped goes on behind the last whole line.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from parc.errors import FormatError, PathError
from parc.metrics.naturalness import UNITS, naturalness_of
from parc.path import TerrainPath
from parc.terrain import RandomBoxes, RandomWalks, Terrain, random_boxes, random_walks
from parc.traverse import Models, RouteSettings, Traverse, TraverseSettings, plan_random_route, traverse

VERSION = 1
SEEDS = {"boxes": 5021, "walks": 5022}
Kind = Literal["boxes", "walks"]


@dataclass(frozen=True, eq=False)
class TraverseCase:
    name: str
    terrain: Terrain
    path: TerrainPath
    index: int
    """of its kind"""


def traverse_case(kind: Kind, index: int, route: RouteSettings = RouteSettings()) -> TraverseCase:
    """Terrains on which no endpoints can be joined are drawn again from the same stream."""
    rng = np.random.default_rng(np.random.SeedSequence([SEEDS[kind], VERSION, index]))
    while True:
        terrain = random_boxes(RandomBoxes(), rng) if kind == "boxes" else random_walks(RandomWalks(), rng)
        try:
            return TraverseCase(f"{kind}_{index:03d}", terrain, plan_random_route(terrain, rng, route), index)
        except PathError:
            continue


def row_of(case: TraverseCase, result: Traverse) -> dict[str, Any]:
    rise = case.path.nodes[1:, 2] - case.path.nodes[:-1, 2]
    return {
        "name": case.name,
        "reached": result.reached,
        "tries": result.tries,
        "length": case.path.length,
        "progress": result.progress,
        "climb": float(rise.clamp_min(0).max()) if len(rise) else 0.0,
        "drop": float((-rise).clamp_min(0).max()) if len(rise) else 0.0,
        "motion_seconds": result.seconds,
        "rounds": result.rounds,
        "survival": result.survival,
        "wall": result.wall,
        "cpu": result.cpu,
    }


def evaluate_traverse(
    models: Models,
    cases: Sequence[TraverseCase],
    settings: TraverseSettings,
    file: Path,
    seed: int = 0,
    on_result: Callable[[TraverseCase, Traverse], object] | None = None,
    tag: str = "",
) -> dict[str, Any]:
    """Cross the terrains that `file` has no line for, and sum up all lines of these cases.

    tag: names the models; lines with other settings or another tag are refused, so that no table mixes two experiments.
    """
    setup = json.loads(json.dumps({"settings": asdict(settings), "seed": seed, "models": tag}))
    done = read_results(file, setup)
    file.parent.mkdir(parents=True, exist_ok=True)
    for case in cases:
        if case.name in done:
            continue
        entropy = np.random.SeedSequence([seed, VERSION, case.index]).generate_state(1, np.uint64)
        random = torch.Generator(models.generator.device).manual_seed(int(entropy[0] >> 1))
        result = traverse(case.terrain, case.path, models, settings, random, case.name)
        done[case.name] = row_of(case, result)
        if result.simulated is not None:
            done[case.name] |= naturalness_of(result.simulated, models.tracker.character)
        if on_result is not None:
            on_result(case, result)
        with file.open("a") as lines:
            lines.write(json.dumps(done[case.name] | {"setup": setup}) + "\n")
    return summary([done[case.name] for case in cases])


def read_results(file: Path, setup: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Rows by name; a torn last line is cut off."""
    if not file.is_file():
        return {}
    whole = file.read_text()
    if whole and not whole.endswith("\n"):
        whole = whole[: whole.rfind("\n") + 1]
        file.write_text(whole)
    rows = {}
    for line in whole.splitlines():
        try:
            row = json.loads(line)
            name, found = row["name"], row.pop("setup")
        except (ValueError, KeyError, TypeError):
            raise FormatError(f"{file} is not a file of traverse results: a line of it reads '{line[:60]}'") from None
        if found != setup:
            raise FormatError(f"{file} holds results of other settings, seed or models; name another file, or remove it")
        rows[name] = row
    return rows


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
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
