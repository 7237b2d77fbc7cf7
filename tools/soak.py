"""Does it stay healthy for hours? Physics with wild targets and changing terrain, or a character that is driven and disturbed.

    python tools/soak.py physics --steps 10000000                      # control steps, native MuJoCo
    python tools/soak.py physics --steps 1000000000 --device cuda      # MuJoCo Warp
    python tools/soak.py live --seconds 3600                           # goals, pushes, edited terrain

Every block of physics draws new targets: quiet ones, shaken ones, ones far beyond the joints' ranges, and in one world of a
hundred numbers that are not finite. Terrains are replaced every 20 blocks, and the states of a few worlds are reset to nonsense.
Laws: no state that is shown is ever infinite or too fast, a world with such targets is flagged, and the memory of the
process stays flat. One JSON object is printed; exit code 1 if a law was broken.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from parc.character import humanoid
from parc.motion.mujoco_qpos import standing_qpos
from parc.physics.choose_engine import make_world
from parc.physics.mujoco_model import root_height
from parc.physics.physical_contract import Contract
from parc.physics.simulated_world import MAX_SPEED, World
from parc.terrain import RandomBoxes, random_boxes
from parc.terrain.terrain import TerrainBatch

BLOCK = 30
"""control steps between two draws of targets"""
FLAT = 64 * 2**20
"""bytes by which memory may grow from the first tenth of a soak to its end"""


def memory() -> int:
    """Bytes of this process that are in memory now, or its peak where the system does not say."""
    pages = Path("/proc/self/statm")
    if pages.exists():
        return int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def soak_physics(steps: int, worlds: int, device: str, seed: int, threads: int) -> dict[str, Any]:
    """Control steps of `worlds` bodies, `steps` in all."""
    character, contract = humanoid(), Contract()
    world = make_world(character, contract, worlds, device, threads)
    draw = torch.Generator(device=world.device).manual_seed(seed)
    numbers = np.random.default_rng(seed)
    done = blocks = diverged = refused = broken_laws = lost = 0
    first, start = 0, time.monotonic()
    while done < steps:
        if blocks % 20 == 0:
            world.set_terrains(TerrainBatch.stack([random_boxes(RandomBoxes(size=(24, 24)), numbers) for _ in range(8)]))
        _restart(world, draw)
        # Who gets which targets: quiet, shaken, out of range, and now and then not finite.
        kind = torch.randint(0, 100, (worlds,), generator=draw, device=world.device)
        size = torch.where(kind < 40, 0.1, torch.where(kind < 80, 1.0, 6.0)).unsqueeze(-1)
        nonsense = kind == 99
        for step in range(BLOCK):
            targets = size * torch.randn(worlds, character.num_dof, generator=draw, device=world.device)
            if step == BLOCK // 2:
                targets[nonsense] = torch.tensor([torch.nan, torch.inf, -torch.inf], device=world.device)[step % 3]
            world.step(targets)
        # The laws: what is shown is finite and bounded; who got nonsense is flagged; the quiet ones go on.
        shown = torch.cat([world.qpos, world.qvel, world.body_pos.flatten(1), world.body_rot.flatten(1)], -1)
        broken_laws += int((~shown.isfinite()).any(-1).sum()) + int((world.qvel.abs() > MAX_SPEED).any(-1).sum())
        refused += int((world.diverged & nonsense).sum())
        lost += int((nonsense & ~world.diverged).sum())
        diverged += int((world.diverged & ~nonsense).sum())
        done, blocks = done + worlds * BLOCK, blocks + 1
        if done <= steps / 10:
            first = memory()
    grown = memory() - first
    seconds = time.monotonic() - start
    return {
        "control_steps": done, "blocks": blocks, "seconds": round(seconds, 1), "steps_per_second": round(done / seconds),
        "not_finite_or_too_fast": broken_laws, "nonsense_refused": refused, "nonsense_not_flagged": lost,
        "diverged_otherwise": diverged, "memory_mb": round(memory() / 2**20), "grown_mb": round(grown / 2**20, 1),
        "holds": not (broken_laws or lost) and grown < FLAT,
    }  # fmt: skip


def _restart(world: World, draw: torch.Generator) -> None:
    """Every body somewhere on a terrain, a few of them in a state that is nonsense, which must not be taken."""
    n, device = world.num_worlds, world.device
    world.terrain_row.copy_(torch.randint(0, 8, (n,), generator=draw, device=device))
    root = torch.rand(n, 3, generator=draw, device=device) * 24 * world.cell
    root[:, 2] = root_height(world.character) + 1.0
    qpos, everywhere = standing_qpos(world.character, root), torch.ones(n, dtype=torch.bool, device=device)
    world.reset(everywhere, qpos, torch.zeros_like(world.qvel))
    few = torch.rand(n, generator=draw, device=device) < 0.002
    world.reset(few, torch.full_like(qpos, torch.nan), torch.zeros_like(world.qvel))
    world.reset(few, qpos, torch.zeros_like(world.qvel))


def soak_live(seconds: float, seed: int) -> dict[str, Any]:
    """A driven character: a new goal every 8 s simulated, pushes up to 1.5 m/s, and cells raised or lowered near it."""
    from parc.plan import Models
    from parc.plan.online_pilot import Pilot

    torch.set_num_threads(1)
    models, numbers = Models.load(humanoid()), np.random.default_rng(seed)
    terrain = random_boxes(RandomBoxes(size=(30, 30)), numbers)
    steps = falls = not_finite = 0
    first, start = 0, time.monotonic()
    with Pilot(models.generator, models.tracker, terrain, seed=seed, threaded=False, critic=models.critic) as pilot:
        low, high = 1.0, 29 * terrain.cell - 1.0
        pilot.stand(torch.tensor([6.0, 6.0]), heading=0.0)
        while (spent := time.monotonic() - start) < seconds:
            if steps % 240 == 0:
                pilot.go_to(torch.tensor(numbers.uniform(low, high, 2), dtype=torch.float32))
            if steps % 330 == 200:
                pilot.push([*numbers.uniform(-1.0, 1.0, 2).tolist(), 0.0])
            if steps % 600 == 599:
                heights = terrain.heights.clone()
                i, j = numbers.integers(0, 30, 2)
                heights[i, j] = float(numbers.uniform(0.0, 0.6))
                terrain = type(terrain)(heights, terrain.min_point, terrain.cell)
                pilot.set_terrain(terrain)
            moment = pilot.step()
            falls += bool(moment.fell)
            not_finite += not bool(pilot.xy.isfinite().all())
            steps += 1
            if spent < seconds / 10:
                first = memory()
    grown = memory() - first
    return {
        "simulated_seconds": round(steps / 30, 1), "seconds": round(time.monotonic() - start, 1), "falls": falls,
        "not_finite": not_finite, "memory_mb": round(memory() / 2**20), "grown_mb": round(grown / 2**20, 1),
        "holds": not not_finite and grown < FLAT,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["physics", "live"])
    parser.add_argument("--steps", type=int, default=10_000_000, help="control steps of all worlds together")
    parser.add_argument("--seconds", type=float, default=3600.0, help="of wall time")
    parser.add_argument("--worlds", type=int, default=256)
    parser.add_argument("--threads", type=int, default=0, help="of native MuJoCo; 0: all cores")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.part == "physics":
        told = soak_physics(asked.steps, asked.worlds, asked.device, asked.seed, asked.threads)
    else:
        told = soak_live(asked.seconds, asked.seed)
    print(json.dumps(told))
    return 0 if told["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
