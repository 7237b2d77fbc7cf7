"""`parc demo`: a first look, in seconds."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import tyro

from parc.author.procedural_walk import stroll
from parc.character import humanoid
from parc.cli.base_command import Command, progress
from parc.dataset import Clip, Dataset, DatasetWriter
from parc.metrics import UNITS, measure_clips
from parc.path import NavigationGraph, plan_path, plan_random_path
from parc.render import draw_clip, draw_navigation, filmstrip
from parc.report import Report
from parc.run.atomic_files import write_bytes_atomically
from parc.terrain import RandomBoxes, Terrain, random_boxes, save_terrain


@dataclass(frozen=True, kw_only=True)
class Demo(Command):
    """Terrain, navigation graph, planned path, a walk along it, its metrics; written as a data set and an HTML report."""

    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("out/demo")
    """folder to write"""
    pictures: Path | None = None
    """also write the pictures of the documentation into this folder"""

    def run(self) -> dict[str, Any]:
        self.out.mkdir(parents=True, exist_ok=True)
        character = humanoid()
        with progress(4, "demo") as bar:
            boxes = random_boxes(RandomBoxes(), np.random.default_rng(self.seed))
            graph = NavigationGraph.of(boxes)
            route = plan_random_path(boxes, np.random.default_rng(self.seed), graph=graph)
            save_terrain(boxes, self.out / "boxes.terrain")
            bar.update()
            ground = _walkable_ground()
            walk = stroll(ground, plan_path(ground, (1, 4), (24, 6), self.seed))
            metrics = measure_clips([walk], character, self.torch_device)[0]
            bar.update()
            with DatasetWriter(self.out / "dataset", character) as writer:
                if walk.name not in writer:
                    writer.append([walk])
            clips = len(Dataset.open(self.out / "dataset"))
            bar.update()
            report = self.out / "report.html"
            write_bytes_atomically(report, self._report(boxes, graph, route, walk, (metrics)).encode())
            bar.update()
        return {"report": str(report), "clips": clips, "path_m": route.length, **metrics}

    def _report(self, boxes: "Terrain", graph: "NavigationGraph", route, walk: "Clip", metrics: dict[str, float]) -> str:
        navigation = draw_navigation(boxes, graph.edges, graph.is_jump, route)
        ghosts = draw_clip(walk, humanoid())
        if self.pictures:
            self.pictures.mkdir(parents=True, exist_ok=True)
            navigation.save(self.pictures / "navigation.png")
            ghosts.save(self.pictures / "walk.png")
        report = Report("parc: terrain, path, walk")
        report.add_text("A terrain of random boxes, its navigation graph (jumps in colour) and a planned path.")
        report.add_image(navigation, "navigation graph and path")
        report.add_text("A walk made by rule along a planned path: feet planted, legs by inverse kinematics.")
        report.add_image(ghosts, "the walk")
        report.add_image(filmstrip(walk, humanoid()), "film strip")
        report.add_table([[k, metrics[k], unit] for k, unit in UNITS.items()], ["metric", "value", "unit"], "the walk, measured")
        report.add_replay(walk, humanoid(), "drag to turn, wheel to zoom")
        return report.html()


def _walkable_ground() -> "Terrain":
    """Low steps, a bump and a landing: heights that a foot can reach."""

    heights = torch.zeros(26, 10)
    for step in range(4):
        heights[6 + 2 * step :, :] = 0.15 * (step + 1)
    heights[18:22, :] = 0.45
    heights[22:, :] = 0.3
    return Terrain(heights, torch.zeros(2))
