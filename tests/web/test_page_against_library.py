"""The page against the library: the same seed, ground, way and standing state in Chromium and in Python.

Python's side is the library's own generator, tracker and native MuJoCo 4, with the page's noise (`parc.web.page_random`); the
page has ONNX files of half precision weights, ONNX Runtime and MuJoCo 3.14 in WebAssembly.
"""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
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
from parc.physics.mjcf_export import window_mjcf
from parc.physics.mujoco_model import sealed_contract
from parc.physics.physical_contract import Contract
from parc.plan import Models, plan_route
from parc.plan.path_progress import walk
from parc.plan.reflex import PlanWriter, ReflexSettings
from parc.terrain.terrain import Terrain, TerrainBatch
from parc.track.env.body_tables import BodyTables
from parc.track.follow.reference_table import WrittenTable
from parc.track.follow.trace import Snapshot
from parc.track.follow.tracked_bodies import TrackedBodies
from parc.track.learn.policy import TrainedActor
from parc.web.page_body import PAGE_REFLEX, describe_model
from parc.web.page_random import PageRandom

from .conftest import Visitor


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


@pytest.fixture(scope="module")
def models() -> Models:
    return Models.load(humanoid(), "cpu", half=False)


TERRAIN, START, GOAL = ground(), (8, 10), (15, 10)


def of_library(models: Models, contract: Contract, stand: dict, seed: int) -> np.ndarray:
    """Roots [30, 3] of the first second, in which three plans are made."""
    tracker = replace(models.tracker, contract=sealed_contract(models.tracker.character, contract))
    path = plan_route(TERRAIN, START, GOAL, np.random.default_rng(0))
    place = TERRAIN.centre_of(torch.tensor(START))
    return PageTwin(models.generator, tracker, TERRAIN, path, stand, place, PAGE_REFLEX, seed).run(30)


def of_page(visitor: Visitor, seed: int) -> np.ndarray:
    path = plan_route(TERRAIN, START, GOAL, np.random.default_rng(0))
    visitor.ground(TERRAIN.heights.numpy(), START, seed=seed)
    visitor.ask("parc.along(it)", path.nodes.tolist())
    roots = np.array(visitor.run(30)["roots"])
    assert np.linalg.norm(roots[-1, :2] - roots[0, :2]) > 0.15  # it moves at all
    return roots


def apart(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """m between roots after each control step."""
    distance = np.linalg.norm(ours - theirs, axis=1)
    print(", ".join(f"{1000 * distance[step - 1]:.3f} mm after {step} steps" for step in (10, 20, 30)))
    return distance


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_first_second_is_the_librarys(visitor: Visitor, site: Path, models: Models, seed: int) -> None:
    """Root positions within 2 cm."""
    stand = json.loads((site / "body.json").read_text())["stand"]
    wanted = of_library(models, models.tracker.contract, stand, seed)
    assert apart(of_page(visitor, seed), wanted).max() < 0.02


def test_so_it_is_under_another_contract(
    site: Path, serve: Callable, open_page: Callable, models: Models, tmp_path: Path
) -> None:
    """The same networks in a body of the other contract, which begins with a shove so that the contracts matter.

    It need not walk well; but page and library must simulate the same.
    """
    own, honest = models.tracker.contract, Contract()
    older = replace(honest, damping_in_limit=False, self_collision=False, ball_stops=False, torque_scale=3.0)
    other = older if own.damping_in_limit else honest
    character = models.tracker.character
    folder = tmp_path / "site"
    shutil.copytree(site, folder)
    body = json.loads((site / "body.json").read_text()) | describe_model(character, other)
    body["stand"]["qvel"][:2] = 1.5, 0.8
    (folder / "body.json").write_text(json.dumps(body))
    (folder / "body.xml").write_text(window_mjcf(character, other))
    visitor = open_page("?ground=flat&paused=1&draw=0", at=serve(folder)).wait_until_there()
    roots = of_page(visitor, 1)
    assert not visitor.errors
    visitor.tab.context.close()
    assert apart(roots, of_library(models, other, body["stand"], 1)).max() < 0.02
    assert apart(roots, of_library(models, own, body["stand"], 1)).max() > 0.1  # else the contract would not matter
