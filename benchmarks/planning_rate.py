"""How fast paths are planned: the graph of a map, then plans on it with a fresh cost draw each."""

import time
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np
import torch

from parc.path.navigation_graph import NavigationGraph
from parc.path.path_batch import PathBatch
from parc.path.path_endpoints import EndpointSettings
from parc.path.path_planning import PlanSettings, plan_path, plan_random_path
from parc.terrain.terrain import Terrain

PLANS = {16: 100, 32: 60, 100: 20}
"""plans timed on a map of so many cells a side"""
AGENTS = 4096


def bench_plan(device: str, seed: int) -> dict:
    """Graph seconds, ms a plan and plans a second on one core for maps of 16, 32 and 100 cells a side.

    Planning runs on the CPU whatever the device; on the device, the time to advance a batch of agents along their paths.
    """
    result: dict = {"seed": seed, "device": device}
    for size, plans in PLANS.items():
        rng = np.random.default_rng([seed, size])
        terrain = _boxes(size, rng)
        NavigationGraph.of(terrain)  # the table of crossed cells is made once
        graph_seconds = [_seconds(partial(NavigationGraph.of, terrain)) for _ in range(5)]
        graph = NavigationGraph.of(terrain)
        plan = partial(plan_path, terrain, (1, 1), (size - 2, size - 2), graph=graph)
        plan()  # the graph's rows are made once
        plan_seconds = [_seconds(partial(plan, seed=seed + k)) for k in range(plans)]
        result[f"{size}x{size}"] = {
            "edges": graph.num_edges,
            "jump_edges": int(graph.is_jump.sum()),
            "graph_seconds": median(graph_seconds),
            "ms_per_plan": 1e3 * median(plan_seconds),
            "plans_per_second": 1 / median(plan_seconds),
        }
    result["follow"] = {"agents": AGENTS, "ms_per_advance": 1e3 * _follow_seconds(device, seed)}
    return result


def _boxes(size: int, rng: np.random.Generator) -> Terrain:
    """Boxes of 2 to 12 cells a side that a step can always climb: their heights span less than the highest step."""
    heights = np.zeros((size, size), np.float32)
    for _ in range(size * size // 60):
        i, j = rng.integers(0, size, 2)
        a, b = rng.integers(2, 13, 2)
        heights[i : i + a, j : j + b] = rng.uniform(-1.0, 1.0)
    return Terrain(torch.from_numpy(heights), torch.zeros(2))


def _follow_seconds(device: str, seed: int) -> float:
    rng = np.random.default_rng([seed, 1])
    terrain = _boxes(16, rng)
    paths = [plan_random_path(terrain, rng, PlanSettings(endpoint=EndpointSettings(min_distance=4.0))) for _ in range(8)]
    batch = PathBatch.stack(paths, device=device).select(torch.arange(AGENTS, device=device) % len(paths))
    progress, xy = batch.start(), batch.points[:, 3, :2]

    def advance() -> None:
        batch.advance(progress, xy)
        if torch.device(device).type == "cuda":
            torch.cuda.synchronize(device)

    advance()
    return median(_seconds(advance) for _ in range(20))


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
