"""How fast the kinematic correction is: iterations a second for many clips at once."""

import time

import torch

from parc.author.procedural_walk import stroll
from parc.character.humanoid import humanoid
from parc.correct.correct_motions import Correction, OptimiseSettings
from parc.dataset.clip import Clip
from parc.metrics.clip_batch import ClipBatch
from parc.path.terrain_path import TerrainPath
from parc.terrain.stair_flights import Stairs, stairs


def bench_optimise(
    device: str = "cpu",
    seed: int = 0,
    clips: int | None = None,
    seconds: float = 10.0,
    iterations: int = 0,
    compiled: bool = False,
) -> dict:
    """Sunken walks over steps, `clips` of them and `seconds` long.

    The fixed cost of a run (with `compiled`, of compilation too) is measured apart and stated.
    """
    is_gpu = torch.device(device).type == "cuda"
    clips = clips or (32 if is_gpu else 2)
    iterations = iterations or (1000 if is_gpu else 20)
    batch = [_sunken_walk(seconds, seed + k) for k in range(clips)]

    target = torch.device(device)
    start = time.perf_counter()
    problem = Correction(ClipBatch.stack(batch, humanoid(), target), OptimiseSettings(iterations=0, patience=0))
    if compiled:
        problem.fuse()
    step = problem.stepper()
    step()
    _wait(target)
    fixed = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(iterations):
        step()
    _wait(target)
    each = (time.perf_counter() - start) / iterations
    return {
        "device": device,
        "seed": seed,
        "compiled": compiled,
        "clips": clips,
        "frames": sum(len(c.motion) for c in batch),
        "preparation_s": fixed,
        "milliseconds_per_iteration": 1e3 * each,
        "seconds_for_3000_iterations": 3000 * each + fixed,
        "clip_iterations_per_second": clips / each,
        "loss": float(problem.total),
    }


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _sunken_walk(seconds: float, seed: int) -> Clip:
    ground = stairs(Stairs(steps=6, rise=0.1 + 0.01 * (seed % 10), run=3, landing=6))
    high = float(ground.heights.max())
    walk = stroll(ground, TerrainPath(torch.tensor([[0.4, 1.4, 0.0], [0.4 + 1.02 * seconds, 1.4, high]])))
    frames = min(len(walk.motion), round(30 * seconds))
    motion = walk.motion.slice(0, frames).moved(shift=torch.tensor([0.0, 0.0, -0.05]))
    return Clip(f"walk{seed}", motion, ground)
