"""How fast the kinematic correction is: iterations a second for many clips at once."""

import time

import torch

from parc.character.humanoid import humanoid
from parc.correct.optimise import OptimiseSettings, optimise
from parc.dataset.clip import Clip
from parc.dataset.stroll import stroll
from parc.path.path import TerrainPath
from parc.terrain.stairs import Stairs, stairs


def bench_optimise(
    device: str = "cpu", seed: int = 0, clips: int | None = None, seconds: float = 10.0, iterations: int = 0
) -> dict:
    """Sunken walks over steps, `clips` of them and `seconds` long; the fixed cost of a run is measured apart and taken off."""
    is_gpu = torch.device(device).type == "cuda"
    clips = clips or (32 if is_gpu else 2)
    iterations = iterations or (1000 if is_gpu else 20)
    batch = [_sunken_walk(seconds, seed + k) for k in range(clips)]

    def run(count: int) -> float:
        settings = OptimiseSettings(iterations=count, patience=0)
        start = time.perf_counter()
        optimise(batch, humanoid(), settings, device)
        return time.perf_counter() - start

    run(4)
    fixed = run(4)
    each = (run(4 + iterations) - fixed) / iterations
    return {
        "device": device,
        "seed": seed,
        "clips": clips,
        "frames": sum(len(c.motion) for c in batch),
        "milliseconds_per_iteration": 1e3 * each,
        "seconds_for_3000_iterations": 3000 * each + fixed,
        "clip_iterations_per_second": clips / each,
    }


def _sunken_walk(seconds: float, seed: int) -> Clip:
    ground = stairs(Stairs(steps=6, rise=0.1 + 0.01 * (seed % 10), run=3, landing=6))
    high = float(ground.heights.max())
    walk = stroll(ground, TerrainPath(torch.tensor([[0.4, 1.4, 0.0], [0.4 + 1.02 * seconds, 1.4, high]])))
    frames = min(len(walk.motion), round(30 * seconds))
    motion = walk.motion.slice(0, frames).moved(shift=torch.tensor([0.0, 0.0, -0.05]))
    return Clip(f"walk{seed}", motion, ground)
