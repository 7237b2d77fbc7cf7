"""The folder is all that a reflex loop needs: the loop in numpy arrives, and its parts do what the library's do."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import mujoco
import numpy as np
import pytest
import torch

from parc.character import humanoid
from parc.errors import SettingsError
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.path.path_batch import PathBatch
from parc.path.terrain_path import TerrainPath
from parc.physics.native_world import NativeWorld
from parc.plan import Models
from parc.plan.crossing.reflex_crossings import ReflexSettings
from parc.plan.path_progress import LEAST, walk
from parc.plan.reflex import Reflex
from parc.terrain.terrain import Terrain, TerrainBatch


@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_level_ground_is_crossed_in_numpy(example: ModuleType, in_precision: Callable[[str], Path], precision: str) -> None:
    folder = in_precision(precision)
    networks = example.Networks(folder, seed=1)
    way = example.Way(np.array([[0.8, 0.8, 0.0], [2.4, 0.8, 0.0], [3.8, 0.8, 0.0]]))
    body = example.Body(folder, networks.facts, example.Ground(np.zeros((12, 5)), (0.0, 0.0), 0.4))
    crossed = example.cross(networks, body, way)
    assert crossed["result"] == "arrived", crossed
    assert 1.0 < crossed["seconds"] < 8.0


def test_the_example_needs_neither_torch_nor_parc(folder: Path) -> None:
    script = Path(__file__).parents[2] / "examples" / "06_onnx_reflex.py"
    block = "import sys; sys.modules.update(torch=None, parc=None); import runpy; sys.argv = sys.argv[1:]; "
    words = [sys.executable, "-c", f"{block}runpy.run_path(sys.argv[0], run_name='__main__')", str(script), str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "arrived" in done.stdout.splitlines()[0]


def test_a_body_of_the_exported_model_moves_as_in_our_own_world(
    models: Models, example: ModuleType, folder: Path, facts: dict[str, Any]
) -> None:
    terrain = Terrain(0.3 * torch.rand(14, 11, generator=torch.Generator().manual_seed(2)), torch.tensor([-1.1, -0.7]))
    world = NativeWorld(humanoid(), models.tracker.contract, 1, 1)
    world.set_terrains(TerrainBatch.stack([terrain]))
    body = example.Body(folder, facts, example.Ground(terrain.heights.numpy(), (-1.1, -0.7), 0.4))
    qpos = world.qpos.clone()
    qpos[0, :3] = torch.tensor([0.55, 0.63, 1.1])
    rest = qpos[0].numpy().astype(float)
    body.put(rest, rest, np.zeros((2, humanoid().num_bodies)))
    world.reset(torch.ones(1, dtype=torch.bool), qpos, torch.zeros_like(world.qvel))
    random, felt = torch.Generator().manual_seed(5), torch.zeros(humanoid().num_bodies)
    for _ in range(12):
        targets = 0.3 * torch.randn(1, humanoid().num_dof, generator=random)
        world.step(targets)
        body.step(targets[0].numpy())
        np.testing.assert_allclose(body.data.qpos, world.qpos[0].numpy(), atol=2e-3)
        np.testing.assert_array_equal(body.contacts[1], world.contacts[0].numpy())
        felt += world.contacts[0]
    assert float(felt.sum()) > 5, "it has come to the ground"


class SameNoise:
    """The random numbers of the library's loop in the place of numpy's."""

    def __init__(self, random: torch.Generator) -> None:
        self.random = random

    def standard_normal(self, shape: tuple[int, ...], kind: type) -> np.ndarray:
        return torch.zeros(shape).normal_(generator=self.random).numpy().astype(kind)


def test_the_loop_in_numpy_is_the_librarys_loop(models: Models, example: ModuleType, folder: Path) -> None:
    heights = torch.zeros(14, 6)
    heights[5:] = 0.25
    nodes = torch.tensor([[0.83, 0.87, 0.0], [1.77, 0.87, 0.0], [1.83, 0.87, 0.25], [4.21, 0.93, 0.25]])
    terrain, path = Terrain(heights, torch.zeros(2)), TerrainPath(nodes)
    reflex = Reflex(models.generator, models.tracker, [terrain], [path], [0], random=torch.Generator().manual_seed(11), threads=1)
    reflex.begin()

    networks = example.Networks(folder)
    networks.random = SameNoise(torch.Generator().manual_seed(11))
    low, high = networks.facts["reflex"]["start_height"]
    start = low + (high - low) * float(torch.rand(1, generator=networks.random.random))
    networks.facts["reflex"]["start_height"] = [start, start]
    body = example.Body(folder, networks.facts, example.Ground(heights.numpy(), (0.0, 0.0), 0.4))
    off = []

    class Compared(Exception):
        pass

    def compare(targets: np.ndarray) -> None:
        if not off:
            np.testing.assert_allclose(body.data.qpos, reflex.world.qpos[0].numpy(), atol=1e-4)
        stepped(targets)
        reflex.step()
        off.append(np.linalg.norm(body.root - reflex.world.qpos[0, :3].numpy()))
        if len(off) == 45:
            raise Compared

    stepped, body.step = body.step, compare
    with pytest.raises(Compared):
        example.cross(networks, body, example.Way(nodes.double().numpy()))
    print(f"roots apart after 10, 30, 45 control steps: {off[9]:.1e} {off[29]:.1e} {off[44]:.1e} m")
    assert off[9] < 1e-3 and off[29] < 0.02
    assert float(reflex.crossings.progress[0]) > 0.5, "it has walked"


def test_ways_are_followed_as_in_the_library(example: ModuleType) -> None:
    generator = torch.Generator().manual_seed(4)
    nodes = torch.cat([torch.rand(7, 2, generator=generator) * 4, (torch.rand(7, 1, generator=generator) > 0.7) * 0.9], -1)
    path, way = PathBatch.stack([TerrainPath(nodes)]), example.Way(nodes.double().numpy())
    ours, theirs = torch.zeros(1), 0.0
    held_back = 0
    for k in range(60):
        root = path.position(torch.full((1,), 0.12 * k)) + 0.25 * torch.randn(1, 3, generator=generator)
        root[0, 2] = 0.85 + 0.2 * float(torch.randn(1, generator=generator))
        free = path.advance(ours, root[:, :2])
        ours = walk(path, ours, root[:, None])[:, 0]
        held_back += int(free > ours + 1e-3)
        theirs = way.walk(theirs, root[0].double().numpy(), LEAST)
        assert theirs == pytest.approx(float(ours), abs=2e-3)
        np.testing.assert_allclose(way.position(theirs + 1.4)[:2], path.target(ours)[0].numpy(), atol=5e-3)
    assert theirs > 2 and held_back


def test_facts_say_what_the_files_hold(models: Models, folder: Path, facts: dict[str, Any]) -> None:
    import json

    import onnx

    model = mujoco.MjModel.from_xml_path(str(folder / facts["mjcf"]["file"]))
    character, motors = facts["character"], facts["motors"]
    assert (model.nq, model.nv, model.nu) == (character["nq"], character["nv"], character["dof"])
    assert [model.body(k + 1).name for k in range(len(character["bodies"]))] == character["bodies"]
    assert [model.sensor(k).name for k in range(model.nsensor)] == facts["mjcf"]["contact_sensors"]
    for joint in character["joints"]:
        row = model.joint(joint["name"])
        assert (row.qposadr[0], row.dofadr[0]) == (joint["qpos"], joint["qvel"])
    for k, motor in enumerate(motors):
        assert model.joint(model.actuator_trnid[k, 0]).name == motor["joint"]
        assert model.actuator_gainprm[k, 0] == pytest.approx(motor["kp"], rel=1e-5)
        assert model.actuator_forcerange[k, 1] == pytest.approx(motor["torque_limit"], rel=1e-5)
    text = (folder / facts["mjcf"]["file"]).read_text()
    assert not [words for words in facts["mjcf"]["stripped"] if words in text]
    assert model.opt.timestep == pytest.approx(facts["contract"]["timestep"], abs=1e-6)
    for name, graph in (("generator", "generator.onnx"), ("tracker", "tracker.onnx")):
        file = onnx.load(folder / graph)
        told = json.loads({p.key: p.value for p in file.metadata_props}["parc"])
        assert told["kind"] == name and told["character"] == character and told[name] == facts[name]
        assert list(told["inputs"]) == facts[name]["inputs"] and list(told["outputs"]) == facts[name]["outputs"]
        assert told["precision"] == "fp32" and 17 <= told["opset"] <= 21 and file.opset_import[0].version == told["opset"]
        assert {opset.domain for opset in file.opset_import} <= {"", "ai.onnx"}, "operators of the standard alone"


def test_what_cannot_be_exported_is_refused_in_one_sentence(models: Models, tmp_path: Path) -> None:
    from parc.plan.reflex_export import export_reflex
    from parc.track.export.generator_graph import GeneratorGraph

    with pytest.raises(SettingsError, match="7 frames of a window are kept"):
        export_reflex(models.generator, models.tracker, tmp_path, ReflexSettings(rollout=RolloutSettings(overlap=0)))
    assert GeneratorGraph(models.generator, RolloutSettings(keep=13, overlap=0, steps=3)).steps == 3
    assert not list(tmp_path.iterdir())
