"""The page against the library: the same seed, ground, way and standing state in Chromium and in Python.

Python's side is the library's own generator, tracker and native MuJoCo 4, with the page's noise (`parc.web.page_random`); the
page has ONNX files of half precision weights, ONNX Runtime and MuJoCo 3.14 in WebAssembly.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch

from parc.character import humanoid
from parc.generate.model.motion_generator import Generator
from parc.path import TerrainPath
from parc.path.path_batch import PathBatch
from parc.physics.choose_engine import make_world
from parc.plan import Models, plan_route
from parc.plan.crossing.reflex_crossings import ReflexSettings
from parc.plan.path_progress import walk
from parc.plan.reflex import PlanWriter
from parc.terrain.terrain import Terrain, TerrainBatch
from parc.track.env.body_tables import BodyTables
from parc.track.follow.reference_table import WrittenTable
from parc.track.follow.trace import Snapshot
from parc.track.follow.tracked_bodies import TrackedBodies
from parc.track.learn.policy import TrainedActor
from parc.web.page_body import PAGE_REFLEX
from parc.web.page_random import PageRandom


class PageTwin:
    """One body on a terrain, along a path, from `body.json`'s standing state at a place [2]."""

    def __init__(
        self,
        generator: Generator,
        tracker: TrainedActor,
        terrain: Terrain,
        path: TerrainPath,
        stand: dict[str, Sequence[float]],
        place: torch.Tensor,
        settings: ReflexSettings,
        seed: int = 0,
    ) -> None:
        self.tracker, self.settings = tracker, settings
        bank = TerrainBatch.stack([terrain])
        self.world = make_world(tracker.character, tracker.contract, 1, torch.device("cpu"), 1, bank.cell)
        table = WrittenTable.empty(
            BodyTables(tracker.character, "cpu"), 1, settings.length, tracker.contract.control_hz, velocities=False
        )
        self.bodies = TrackedBodies(self.world, table, bank, tracker.settings, graphs=False, keeps_past=True)
        self.paths = PathBatch.stack([path])
        self._only = torch.zeros(1, dtype=torch.long)
        self._writer = PlanWriter(generator, self.bodies, bank, settings, cast(torch.Generator, PageNoise(seed)), use_graph=False)
        shift = torch.tensor([*place.tolist(), float(terrain.height_at(place))])
        qpos, before = (torch.tensor(stand[name])[None] for name in ("qpos", "qpos_before"))
        for state in (qpos, before):
            state[:, :3] += shift
        qvel, contacts = (torch.tensor(stand[name])[None] for name in ("qvel", "contacts"))
        held, contacts_before = torch.tensor(stand["held"])[None], torch.tensor(stand["contacts_before"])[None]
        self.bodies.restore(Snapshot(qpos, qvel, contacts, before, contacts_before, held))
        self.bodies.place(0, 0)
        self.progress = walk(self.paths, torch.zeros(1), qpos[:, None, :3])[:, 0]

    @torch.no_grad()
    def run(self, steps: int) -> np.ndarray:
        """Roots [steps, 3] after each control step."""
        roots = []
        for step in range(steps):
            if step % self.settings.every == 0:
                self._writer.write(self._only, self._only, self.paths, self.progress)
                self.bodies.observe()
            self.bodies.step(self.tracker.act(self.bodies.observation))
            roots.append(self.world.qpos[0, :3].clone())
            self.progress = walk(self.paths, self.progress, self.world.qpos[:, None, :3])[:, 0]
        return torch.stack(roots).numpy()


class PageNoise:
    """Fills tensors with the page's normal numbers, window after window."""

    def __init__(self, seed: int) -> None:
        self._random = PageRandom(seed)

    def __call__(self, noise: torch.Tensor) -> None:
        drawn = self._random.normal(size=noise.numel())
        noise.copy_(torch.from_numpy(drawn).view(noise.shape))


def ground() -> Terrain:
    """Level, with a box of 40 cm two metres ahead."""
    heights = torch.zeros(20, 20)
    heights[13:18, 6:15] = 0.4
    return Terrain(heights, torch.zeros(2))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_first_second_is_the_librarys(visitor, site: Path, seed: int) -> None:
    """Root positions within 2 cm for 30 control steps, in which three plans are made."""
    terrain, start, goal = ground(), (8, 10), (15, 10)
    described = json.loads((site / "body.json").read_text())
    path = plan_route(terrain, start, goal, np.random.default_rng(0))
    models = Models.load(humanoid(), "cpu", half=False)
    twin = PageTwin(
        models.generator,
        models.tracker,
        terrain,
        path,
        described["stand"],
        terrain.centre_of(torch.tensor(start)),
        PAGE_REFLEX,
        seed,
    )
    wanted = twin.run(30)
    visitor.ground(terrain.heights.numpy(), start, seed=seed)
    visitor.ask("parc.along(it)", path.nodes.tolist())
    roots = np.array(visitor.run(30)["roots"])
    apart = np.linalg.norm(roots - wanted, axis=1)
    print(
        f"seed {seed}: {1000 * apart[9]:.3f} mm after 10 steps, {1000 * apart[19]:.3f} after 20, {1000 * apart[29]:.3f} after 30"
    )
    assert apart.max() < 0.02, apart
    assert np.linalg.norm(roots[-1, :2] - roots[0, :2]) > 0.15  # it moves at all
