"""Physics with wild targets, bad states and changing terrain, by the million control steps (part of `tools/soak.py`)."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from memory_curve import FLAT, MemoryCurve

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
_TERRAINS, _GRID = 8, (24, 24)
_TELL = 10.0
"""s between two looks at the figures"""
_COUNTS = (
    "control_steps", "blocks", "steps_per_second", "not_finite_or_too_fast", "nonsense_refused", "nonsense_not_flagged",
    "huge_diverged", "diverged_otherwise",
)  # fmt: skip
"""figures of processes that are added up"""


@dataclass(frozen=True)
class PhysicsSoak:
    steps: int
    """control steps of all worlds together"""
    seconds: float
    """of wall time, after which it ends in any case"""
    seed: int


def make_engine(engine: str, worlds: int, device: str, threads: int) -> World:
    """The engine that belongs to the device, or Warp on any."""
    if engine == "warp":
        from parc.physics.warp_world import WarpWorld

        return WarpWorld(humanoid(), Contract(), worlds, device)
    return make_world(humanoid(), Contract(), worlds, device, threads)


def soak_physics(world: World, asked: PhysicsSoak, tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Control steps until there are enough, or the time is over; `tell` gets the figures so far every 10 s."""
    draw = torch.Generator(device=world.device).manual_seed(asked.seed)
    numbers = np.random.default_rng(asked.seed)
    flaws = torch.zeros(5, dtype=torch.long, device=world.device)
    done = blocks = 0
    curve, gpu, start = MemoryCurve(), MemoryCurve(_gpu_memory), time.monotonic()
    told_at = start
    while done < asked.steps and (spent := time.monotonic() - start) < asked.seconds:
        for each in (curve, gpu) if world.device.type == "cuda" else (curve,):
            each.note(max(done / asked.steps, spent / asked.seconds))
        _change_terrain(world, blocks, numbers)
        _restart(world, draw)
        flaws += _block(world, draw)
        done, blocks = done + world.num_worlds * BLOCK, blocks + 1
        if time.monotonic() - told_at > _TELL:
            told_at = time.monotonic()
            tell(_told(asked, done, blocks, flaws, start, curve, gpu))
    return _told(asked, done, blocks, flaws, start, curve, gpu)


def _told(
    asked: PhysicsSoak, done: int, blocks: int, flaws: torch.Tensor, start: float, curve: MemoryCurve, gpu: MemoryCurve
) -> dict[str, Any]:
    took = time.monotonic() - start
    broken, refused, lost, huge, otherwise = flaws.tolist()
    memory = curve.told() | {f"gpu_{name}": value for name, value in gpu.told().items()}
    is_flat = memory["grown_mb"] < FLAT and memory.get("gpu_grown_mb", 0.0) < FLAT
    figures = (done, blocks, round(done / took), broken, refused, lost, huge, otherwise)
    return {
        **dict(zip(_COUNTS, figures, strict=True)), "seconds": round(took, 1), "ended": done >= asked.steps, **memory,
        "holds": not (broken or lost) and is_flat,
    }  # fmt: skip


def _change_terrain(world: World, blocks: int, numbers: np.random.Generator) -> None:
    """A new bank every 200 blocks, for which a GPU records its step again; in between two rows of eight every 20 blocks."""
    if blocks % 200 == 0:
        world.set_terrains(TerrainBatch.stack([random_boxes(RandomBoxes(size=_GRID), numbers) for _ in range(_TERRAINS)]))
    elif blocks % 20 == 0:
        rows = torch.as_tensor(numbers.choice(_TERRAINS, 2, replace=False), device=world.device)
        new = TerrainBatch.stack([random_boxes(RandomBoxes(size=_GRID), numbers) for _ in range(2)])
        world.replace_terrains(rows, new.to(world.device))


def _restart(world: World, draw: torch.Generator) -> None:
    """Every body somewhere on a terrain, a few of them in a state that is nonsense, which must not be taken."""
    n, device = world.num_worlds, world.device
    world.terrain_row.copy_(torch.randint(0, _TERRAINS, (n,), generator=draw, device=device))
    root = torch.rand(n, 3, generator=draw, device=device) * _GRID[0] * world.cell
    root[:, 2] = root_height(world.character) + 1.0
    qpos, everywhere = standing_qpos(world.character, root), torch.ones(n, dtype=torch.bool, device=device)
    world.reset(everywhere, qpos, torch.zeros_like(world.qvel))
    few = torch.rand(n, generator=draw, device=device) < 0.002
    world.reset(few, torch.full_like(qpos, torch.nan), torch.zeros_like(world.qvel))
    world.reset(few, qpos, torch.zeros_like(world.qvel))


def _block(world: World, draw: torch.Generator) -> torch.Tensor:
    """30 control steps, and how often each law was broken or kept: see `_COUNTS` from the fourth on."""
    n, character = world.num_worlds, world.character
    # Who gets which targets: quiet, shaken, out of range, and now and then huge or not finite.
    kind = torch.randint(0, 100, (n,), generator=draw, device=world.device)
    size = torch.where(kind < 40, 0.1, torch.where(kind < 80, 1.0, torch.where(kind == 98, 1e30, 6.0))).unsqueeze(-1)
    nonsense, huge = kind == 99, kind == 98
    value = torch.tensor([torch.nan, torch.inf, -torch.inf], device=world.device)
    bad = value[torch.randint(0, 3, (n,), generator=draw, device=world.device)].unsqueeze(-1)
    for step in range(BLOCK):
        targets = size * torch.randn(n, character.num_dof, generator=draw, device=world.device)
        if step == BLOCK // 2:
            targets = torch.where(nonsense.unsqueeze(-1), bad, targets)
        world.step(targets)
    # The laws: what is shown is finite and bounded; who got nonsense is flagged; the quiet ones go on.
    shown = torch.cat([world.qpos, world.qvel, world.body_pos.flatten(1), world.body_rot.flatten(1)], -1)
    broken = (~shown.isfinite()).any(-1) | (world.qvel.abs() > MAX_SPEED).any(-1)
    flagged = world.diverged
    flaws = (broken, flagged & nonsense, nonsense & ~flagged, flagged & huge, flagged & ~nonsense & ~huge)
    return torch.stack([flaw.sum() for flaw in flaws])


def _gpu_memory() -> int:
    """Bytes that torch and Warp hold for this process."""
    import warp as wp

    device = wp.get_device("cuda")
    pool = wp.get_mempool_used_mem_current(device) if wp.is_mempool_enabled(device) else 0
    return torch.cuda.memory_reserved() + pool


def soak_in_processes(command: Sequence[str], processes: int, asked: PhysicsSoak, tell: Callable[[dict[str, Any]], None]) -> dict:
    """The steps shared out over processes with seeds of their own; figures are added up, and memory is that of the worst."""
    with tempfile.TemporaryDirectory() as name:
        files = [Path(name) / f"{k}.json" for k in range(processes)]
        share = ["--steps", str(-(-asked.steps // processes)), "--seconds", str(asked.seconds)]
        own = [["--seed", str(asked.seed * 1000 + k), "--result", str(file)] for k, file in enumerate(files)]
        running = [subprocess.Popen([*command, *share, *last], stdout=subprocess.DEVNULL) for last in own]
        try:
            while any(process.poll() is None for process in running):
                tell(_sum(files, processes))
                _wait(running, _TELL)
        finally:
            for process in running:
                process.kill()
        return _sum(files, processes) | {"exit_codes": [process.wait() for process in running]}


def _wait(running: Sequence[subprocess.Popen], seconds: float) -> None:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and any(process.poll() is None for process in running):
        time.sleep(0.1)


def _sum(files: Sequence[Path], processes: int) -> dict[str, Any]:
    parts = [json.loads(file.read_text()) for file in files if file.exists()]
    worst = max(parts, key=lambda part: part["grown_mb"], default={})
    return {
        "processes": processes, **{name: sum(part[name] for part in parts) for name in _COUNTS},
        "seconds": max((part["seconds"] for part in parts), default=0.0),
        "ended": len(parts) == processes and all(part["ended"] for part in parts),
        **{name: worst.get(name) for name in ("memory_mb", "grown_mb", "peak_mb")},
        "holds": len(parts) == processes and all(part["holds"] for part in parts),
    }  # fmt: skip


def write_result(file: Path | None, told: dict[str, Any]) -> None:
    """Whole or not at all, so that a soak that is cut leaves its last figures."""
    if file is None:
        return
    part = file.with_suffix(".part")
    part.write_text(json.dumps(told) + "\n")
    os.replace(part, file)
