"""The page's physics against the library's, under both contracts: MuJoCo 3.14 in WebAssembly (in Node), MuJoCo 4 in Python.

Motors are driven far beyond what a policy asks for, so that limits saturate, ball joints come to their stops and bodies hit
each other and the ground: what a contract says of these must be in what the page is given.
"""

import json
import shutil
import subprocess
from pathlib import Path

import mujoco
import numpy as np
import pytest
import torch

import parc.web
from parc.character import humanoid
from parc.errors import ParcError
from parc.motion.mujoco_qpos import standing_qpos
from parc.physics.mjcf_export import window_mjcf
from parc.physics.mujoco_model import WINDOW, sealed_contract
from parc.physics.native_world import NativeWorld
from parc.physics.physical_contract import Contract
from parc.terrain.terrain import Terrain, TerrainBatch
from parc.web.build_page import third_party
from parc.web.page_body import describe_model

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")
SOURCES = Path(parc.web.__file__).parent / "page" / "src"
CONTRACTS = {"honest": Contract(), "of older trackers": Contract(**Contract.completed({"torque_scale": 3.0}))}
STEPS = 45


def targets() -> np.ndarray:
    """Motor targets [steps, dof]: each joint swings to and fro over its range and beyond, out of step with the others."""
    character = humanoid()
    rng = np.random.default_rng(5)
    time = np.arange(STEPS)[:, None] / 30
    swing = 1.6 * np.sin(2 * np.pi * (rng.uniform(0.4, 1.2, character.num_dof) * time + rng.uniform(0, 1, character.num_dof)))
    return swing.astype(np.float32)


def ground() -> Terrain:
    heights = torch.zeros(12, 12)
    heights[6:8, 5:8] = 0.25
    return Terrain(heights, torch.zeros(2))


def native(contract: Contract, start: torch.Tensor) -> tuple[np.ndarray, np.ndarray, set[str]]:
    """States and contacts after each control step, and which of the contract's parts had a say in it."""
    world = NativeWorld(humanoid(), contract, 1, 1)
    world.set_terrains(TerrainBatch.stack([ground()]))
    world.reset(torch.ones(1, dtype=torch.bool), start, torch.zeros(1, world.qvel.shape[1]))
    states, contacts, seen = [], [], set()
    dof = world.character.num_dof
    for wanted in torch.from_numpy(targets()):
        world.step(wanted[None])
        model, data = world.data_of(0)
        states.append(data.qpos.copy())
        contacts.append(world.contacts[0].numpy().copy())
        pairs = np.array(data.contact.geom).reshape(-1, 2)
        seen |= {"self-collision"} if (pairs >= WINDOW * WINDOW).all(1).any() else set()
        seen |= {"stops"} if np.abs(data.actuator_force[dof:]).max(initial=0) > 1 else set()
        seen |= {"limits"} if (np.abs(data.actuator_force[:dof]) > 0.999 * model.actuator_forcerange[:dof, 1]).any() else set()
    return np.array(states), np.array(contacts), seen


@pytest.fixture(scope="module")
def page() -> dict[str, list[dict]]:
    """What the page's physics does, by contract."""
    try:
        modules = third_party()
    except ParcError as error:
        pytest.skip(f"npm's packages cannot be fetched here: {error}")
    character, terrain = humanoid(), ground()
    told = {"rows": 12, "columns": 12, "heights": terrain.heights.flatten().tolist()}
    jobs = []
    for contract in CONTRACTS.values():
        body = describe_model(character, contract)
        motion = {"qpos": start()[0].tolist(), "qvel": [0.0] * body["nv"], "targets": targets().tolist()}
        jobs.append({"body": body, "xml": window_mjcf(character, contract), "terrain": told, **motion})
    script = Path(__file__).with_name("page_physics.mjs")
    done = subprocess.run(
        [str(NODE), str(script), str(SOURCES), str(modules)], input=json.dumps(jobs), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(CONTRACTS, json.loads(done.stdout), strict=True))


def balls() -> list:
    return [body for body in humanoid().bodies[1:] if body.joint.is_ball]


def start() -> torch.Tensor:
    return standing_qpos(humanoid(), torch.tensor([[2.1, 2.3, 1.0]]))


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_page_simulates_the_contract(page, name: str) -> None:
    states, contacts, seen = native(CONTRACTS[name], start())
    theirs = np.array([step["qpos"] for step in page[name]])
    apart = np.abs(theirs - states).max(1)
    print(f"{name}: {apart[9]:.1e} after 10 steps, {apart[29]:.1e} after 30, {apart[-1]:.1e} after {STEPS}; {sorted(seen)}")
    assert seen == ({"limits", "self-collision", "stops"} if name == "honest" else {"limits"})
    assert apart.max() < 1e-6
    assert (np.array([step["contacts"] for step in page[name]]) == contacts).all()


def test_the_contracts_differ(page) -> None:
    """Else the comparison above would say nothing."""
    roots = [np.array([step["qpos"][:3] for step in page[name]]) for name in CONTRACTS]
    assert np.abs(roots[0] - roots[1]).max() > 0.05


def test_the_mjcf_says_what_the_contract_says() -> None:
    """Pairs that may not collide, motors without passive damping, stops after the motors."""
    character = humanoid()
    contract = sealed_contract(character, Contract())
    model = mujoco.MjModel.from_xml_string(window_mjcf(character, contract))
    assert model.nexclude == len(contract.excluded_contacts)
    assert model.nu == character.num_dof + 6 * len(balls())
    assert (model.dof_damping == 0).all() and (model.dof_armature[6:] > 0).all()
