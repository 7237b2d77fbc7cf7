"""`parc path`: plan a route over a terrain."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from parc.cli.base_command import Command
from parc.errors import PathError
from parc.path import NavigationGraph, PlanSettings, plan_path, plan_random_path, save_path
from parc.render import draw_navigation
from parc.render.picture_file import check_picture, save_picture
from parc.terrain import load_terrain


@dataclass(frozen=True, kw_only=True)
class PlanPath(Command):
    """Plan a path over a terrain: A* on the navigation graph with the paper's stochastic cost."""

    terrain: Annotated[Path, tyro.conf.Positional]
    """.terrain file, grey image or mesh"""
    start: str | None = None
    """cell "i,j"; without it, a random one near the edge"""
    goal: str | None = None
    """cell "i,j"; without it, a random one near the edge"""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """write the path as JSON"""
    picture: Path | None = None
    """write a picture of terrain, navigation graph and path (.png)"""

    plan: Annotated[PlanSettings, tyro.conf.arg(name="")] = field(default_factory=PlanSettings)

    def run(self) -> dict[str, Any]:
        """Plan."""
        check_picture(self.picture)
        terrain = load_terrain(self.terrain)
        graph = NavigationGraph.of(terrain, self.plan.graph)
        if self.start and self.goal:
            path = plan_path(terrain, read_cell(self.start), read_cell(self.goal), self.seed, self.plan, graph=graph)
        elif self.start or self.goal:
            raise PathError("give both --start and --goal, or neither")
        else:
            path = plan_random_path(terrain, np.random.default_rng(self.seed), self.plan, graph=graph)
        if self.out:
            save_path(path, self.out)
        if self.picture:
            save_picture(draw_navigation(terrain, graph.edges, graph.is_jump, path), self.picture)
        return {
            "length": path.length,
            "climb": float((path.nodes[1:, 2] - path.nodes[:-1, 2]).clamp_min(0).sum()),
            "nodes": path.nodes.tolist(),
        }

    def show(self, result: dict[str, Any]) -> None:
        first, last = result["nodes"][0], result["nodes"][-1]
        print(f"{result['length']:.1f} m along, {result['climb']:.1f} m up, {len(result['nodes'])} waypoints")
        print(f"from ({first[0]:.1f}, {first[1]:.1f}, {first[2]:.1f}) to ({last[0]:.1f}, {last[1]:.1f}, {last[2]:.1f})")


def read_cell(text: str) -> tuple[int, int]:
    """Row and column of "i,j"."""
    try:
        i, j = (int(part) for part in text.split(","))
    except ValueError:
        raise PathError(f"'{text}' is not a cell: write two integers with a comma, as in 3,12") from None
    return i, j
