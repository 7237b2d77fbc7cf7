"""How fast a tracker trains: the time of each stage of a control step and of an update, and samples a second in all.

On the CPU also how fast the tracker in the box plays: one character on one thread, as in `parc track`.
"""

import math
import time
from collections.abc import Callable

import torch

from parc.character import rotation
from parc.character.character import Character
from parc.character.humanoid import humanoid
from parc.dataset.clip import Clip
from parc.models import shipped_tracker
from parc.motion.motion import Motion
from parc.physics.choose_engine import make_world
from parc.quality.limit_profiles import TrackerInputLimits
from parc.run.distributed import setup
from parc.terrain.terrain import Terrain
from parc.track.env.reference_library import ReferenceSettings, build_library
from parc.track.follow.runner import Runner
from parc.track.learn.policy import load_actor
from parc.track.learn.tracker_training import TrackerTrainer, TrainingPlan
from parc.track.tracker_settings import TrackerSettings


def bench_tracker(device: str = "cpu", seed: int = 0, worlds: int | None = None, repeats: int = 20, threads: int = 0) -> dict:
    """Milliseconds of each stage: pre (actions to targets), physics, post (reward, restart, observation), policy, update.

    A stage is timed alone, the device idle before and after; `samples_per_second` is of whole iterations as in training.
    """
    group = setup(device)
    is_gpu = group.device.type == "cuda"
    worlds = worlds or (8192 if is_gpu else 64)
    settings = TrackerSettings() if is_gpu else TrackerSettings.small()
    character = humanoid()
    unscreened = ReferenceSettings(TrackerInputLimits(enabled=False))
    library = build_library(character, [_sway(character, seed + k) for k in range(16)], unscreened, group.device)
    world = make_world(character, settings.contract, worlds, group.device, threads)
    with world.on_stream():
        trainer = TrackerTrainer(character, library, world, settings, TrainingPlan(worlds=worlds, seed=seed), group)
        env, ppo = trainer.env, trainer.ppo
        env.restart_all()
        iterations = 3 if is_gpu else 1
        for _ in range(iterations):
            trainer._iteration()

        def timed(stage: Callable[[], object], count: int = repeats) -> float:
            return _milliseconds(stage, count, is_gpu)

        action = ppo.act(0, env.observation).clone()
        stages = {
            "pre": timed(env._before),
            "physics": timed(lambda: world.step(env.targets)),
            "post": timed(env.judge),
            "policy": timed(lambda: ppo.act(0, env.observation)),
            "control_step": timed(lambda: env.step(action)),
            "update": timed(ppo.update, max(1, repeats // 10)),
        }
        iteration = timed(trainer._iteration, max(1, repeats // 10))
    steps = settings.ppo.steps
    return {
        "device": str(group.device),
        "seed": seed,
        "worlds": worlds,
        "milliseconds": stages,
        "minibatch_milliseconds": stages["update"] / (settings.ppo.epochs * ppo.minibatches),
        "iteration_milliseconds": iteration,
        "control_steps_per_second": 1e3 * worlds / stages["control_step"],
        "samples_per_second": 1e3 * worlds * steps / iteration,
        "one_character_seconds_per_second": None if is_gpu else one_character(seed),
    }


def one_character(seed: int = 0, seconds: float = 10.0, repeats: int = 5) -> float:
    """s simulated a second of wall time, the best of some runs of the tracker in the box, on one thread."""
    trained = load_actor(shipped_tracker(), humanoid())
    runner = Runner(trained, "cpu", worlds=1, threads=1)
    clip = _sway(trained.character, seed, round(seconds * runner.fps))
    threads, rates = torch.get_num_threads(), []
    torch.set_num_threads(1)
    try:
        for _ in range(repeats):
            start = time.perf_counter()
            trace = runner.follow([clip])
            rates.append(int(trace.survived) / runner.fps / (time.perf_counter() - start))
    finally:
        torch.set_num_threads(threads)
    return max(rates)


def _milliseconds(stage: Callable[[], object], count: int, is_gpu: bool) -> float:
    for _ in range(2):
        stage()
    if is_gpu:
        torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        stage()
    if is_gpu:
        torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - start) / count


def _sway(character: Character, seed: int, frames: int = 120) -> Clip:
    """A humanoid that stands on a box and sways: enough to load contacts and motors, made without data."""
    generator = torch.Generator().manual_seed(seed)
    phase = torch.linspace(0, math.pi * frames / 30, frames).unsqueeze(-1) + 2 * math.pi * torch.rand(1, 3, generator=generator)
    joints = rotation.identity((frames, character.num_joints))
    joints[:, character.index("torso") - 1] = rotation.from_exp(0.2 * torch.sin(phase))
    legs = sum(-character.bodies[character.index(f"left_{part}")].offset[2] for part in ("shin", "foot"))
    height = 0.4 * float(torch.rand((), generator=generator))
    root = torch.tensor([0.0, 0.0, legs + 0.05 + height]).expand(frames, 3).clone()
    contacts = torch.zeros(frames, character.num_bodies)
    contacts[:, list(character.feet)] = 1.0
    motion = Motion(root, rotation.identity((frames,)), joints, contacts)
    return Clip(f"sway_{seed}", motion, Terrain(torch.full((8, 8), height), torch.tensor([-1.4, -1.4])))
