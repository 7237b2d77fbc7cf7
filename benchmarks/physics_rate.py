"""How fast the simulated world runs: humanoids on random boxes, motors shaking gently around the zero pose."""

import time

import torch

from parc.character.humanoid import humanoid
from parc.motion.mujoco_qpos import standing_qpos
from parc.physics.choose_engine import make_world
from parc.physics.mujoco_model import root_height
from parc.physics.physical_contract import Contract
from parc.physics.simulated_world import World
from parc.terrain.terrain import Terrain, TerrainBatch

_BLOCK = 30
"""control steps between two resets: the characters stumble but most still stand"""


def bench_physics(
    device: str = "cpu", seed: int = 0, worlds: tuple[int, ...] | None = None, seconds: float = 2.0, threads: int = 0
) -> dict:
    """Control and physics steps a second by number of worlds, and how much faster than time one character runs on the CPU.

    `seconds` of measurement for each number of worlds; threads is for the CPU (0: all cores).
    """
    is_cpu = torch.device(device).type == "cpu"
    sizes = worlds or ((1, 64, 512) if is_cpu else (1024, 4096, 8192, 16384))
    runs = {str(n): _measure(device, n, seed, seconds, threads) for n in sizes}
    alone = runs["1"] if is_cpu and "1" in runs else _measure("cpu", 1, seed, seconds, 1)
    return {
        "seed": seed,
        "device": device,
        "worlds": runs,
        "real_time_factor_of_one_on_cpu": alone["control_steps_per_second"] / Contract().control_hz,
    }


def _measure(device: str, num_worlds: int, seed: int, seconds: float, threads: int) -> dict:
    contract, character = Contract(), humanoid()
    world = make_world(character, contract, num_worlds, device, threads)
    generator = torch.Generator().manual_seed(seed)
    bank = TerrainBatch.stack([_boxes(generator) for _ in range(16)])
    world.set_terrains(bank)
    targets = (0.1 * torch.randn(_BLOCK, num_worlds, character.num_dof, generator=generator)).to(device)
    _restart(world, bank)
    for target in targets[:3]:  # compiles, records the graph, replays it
        world.step(target)

    spent, blocks = 0.0, 0
    while spent < seconds:
        _restart(world, bank)
        _wait(device)
        start = time.perf_counter()
        for target in targets:
            world.step(target)
        _wait(device)
        spent += time.perf_counter() - start
        blocks += 1
    rate = num_worlds * _BLOCK * blocks / spent
    return {
        "control_steps_per_second": rate,
        "physics_steps_per_second": rate * contract.substeps,
        "ms_per_control_step": 1e3 * num_worlds / rate,
        "diverged": int(world.diverged.sum()),
    }


def _boxes(generator: torch.Generator) -> Terrain:
    return Terrain((0.3 * torch.rand(24, 24, generator=generator)).round(decimals=1), torch.zeros(2))


def _restart(world: World, bank: TerrainBatch) -> None:
    n, device = world.num_worlds, world.device
    world.terrain_row.copy_(torch.arange(n, device=device) % len(bank))
    middle = 0.5 * bank.cell * bank.heights.shape[1]
    above = root_height(world.character) + float(bank.heights.max())
    root = torch.tensor([middle, middle, above], device=device).expand(n, 3)
    everywhere = torch.ones(n, dtype=torch.bool, device=device)
    world.reset(everywhere, standing_qpos(world.character, root), torch.zeros_like(world.qvel))


def _wait(device: str) -> None:
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()
