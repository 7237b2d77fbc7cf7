"""How fast distances to terrains are: 32 clips of 300 frames of 304 surface points, each on its own random terrain."""

import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from parc.character import forward_kinematics, humanoid, rotation, surface_points, world_points
from parc.terrain.procedural_terrain import RandomBoxes, RandomWalks, random_boxes, random_walks
from parc.terrain.terrain import TerrainBatch
from parc.terrain.terrain_distance import signed_distance, signed_distance_local


def bench_sdf(device: str = "cpu", seed: int = 0, clips: int = 32, frames: int = 300) -> dict[str, float]:
    """Seconds and points/s of the exact distance, of the local one, and of the local one with its gradient."""
    terrains, points = _walkers(seed, clips, frames)
    terrains, points = terrains.to(device), points.to(device)
    leaf = points.clone().requires_grad_()

    def with_gradient() -> None:
        leaf.grad = None
        signed_distance_local(terrains, leaf).sum().backward()

    timings = {
        "exact": _seconds(lambda: signed_distance(terrains, points), device),
        "local": _seconds(lambda: signed_distance_local(terrains, points), device),
        "local_gradient": _seconds(with_gradient, device),
    }
    count = points.numel() // 3
    result: dict[str, float] = {"points": count}
    for name, seconds in timings.items():
        result[f"{name}_s"] = seconds
        result[f"{name}_points_per_s"] = count / seconds
    return result


def _walkers(seed: int, clips: int, frames: int) -> tuple[TerrainBatch, Tensor]:
    """Bodies in random poses along straight lines over random boxes (16 x 16) and random walks (32 x 32)."""
    numbers = np.random.default_rng(seed)
    generator = torch.Generator().manual_seed(seed)
    made = [random_boxes(RandomBoxes(), numbers) if k % 2 else random_walks(RandomWalks(), numbers) for k in range(clips)]
    character = humanoid()
    surface = surface_points(character)
    clouds = []
    for terrain in made:
        low, high = terrain.extent
        ends = low + (high - low) * torch.rand(2, 2, generator=generator)
        share = torch.linspace(0, 1, frames)[:, None]
        xy = ends[0] * (1 - share) + ends[1] * share
        root = torch.cat([xy, terrain.height_at(xy)[:, None] + 0.9], -1)
        turn = rotation.from_yaw(6.28 * torch.rand(frames, generator=generator))
        joints = rotation.from_exp(0.4 * torch.randn(frames, character.num_joints, 3, generator=generator))
        clouds.append(world_points(surface, forward_kinematics(character, root, turn, joints)))
    return TerrainBatch.stack(made), torch.stack(clouds)


def _seconds(work: Callable[[], object], device: str, repeats: int = 3) -> float:
    """Best of a few runs after one to warm up."""
    best = float("inf")
    for attempt in range(repeats + 1):
        _wait(device)
        start = time.perf_counter()
        work()
        _wait(device)
        if attempt:
            best = min(best, time.perf_counter() - start)
    return best


def _wait(device: str) -> None:
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)
