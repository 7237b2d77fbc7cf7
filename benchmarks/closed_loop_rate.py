"""How fast closed-loop training is: milliseconds of each part of a control step and of an update, and samples a second.

The models and the motions in the box. A part is timed alone, the device idle before and after; `samples_per_second` is of whole
iterations as in training, terrains exchanged.
"""

import time
from collections.abc import Callable
from dataclasses import replace

import torch

from parc.character.humanoid import humanoid
from parc.dataset.clip import Clip
from parc.errors import DatasetError
from parc.generate.model.motion_generator import Generator
from parc.models import shipped_generator, shipped_tracker
from parc.physics.choose_engine import make_world
from parc.reflex.reflex_settings import DevelopmentSettings, ReflexTrainingSettings
from parc.reflex.reflex_training import ReflexTrainer
from parc.reflex.terrain_bank import CrossingSource
from parc.run.distributed import setup
from parc.track.env.reference_library import build_library
from parc.track.learn.policy import load_actor
from parc.track.learn.training_plan import TrainingPlan


def bench_closed_loop(
    clips: list[Clip],
    settings: ReflexTrainingSettings,
    device: str = "cpu",
    seed: int = 0,
    worlds: int | None = None,
    repeats: int = 20,
    iterations: int = 8,
    threads: int = 0,
    compiled: bool = False,
) -> dict:
    """Milliseconds of act (both networks), before, physics, judge, turn (starts, plans), show, clips (a whole step), update."""
    if not clips:
        raise DatasetError("no clips to follow; closed-loop training mixes them in")
    group, character = setup(device), humanoid()
    is_gpu = group.device.type == "cuda"
    worlds = worlds or (8192 if is_gpu else 87)
    generator = Generator.load(shipped_generator(), character, group.device)
    if is_gpu:
        generator = generator.in_precision(torch.bfloat16)
    start = load_actor(shipped_tracker(), character, group.device)
    small = DevelopmentSettings(families=("boxes",), terrains=1, runs=1)
    closed = replace(settings, development=small)
    library = build_library(character, clips, start.settings.reference, group.device, float(start.contract.control_hz))
    _, following = closed.worlds(worlds)
    world = make_world(character, start.contract, max(following, 1), group.device, threads, library.bank.cell)
    plan = TrainingPlan(worlds=worlds, seed=seed, threads=threads)
    with CrossingSource.opened(closed.bank, closed.starts.each, seed) as source, world.on_stream():
        trainer = ReflexTrainer(start, generator, library, world, source, closed, plan, group, compiled)
        trainer.warm_start(shipped_tracker())
        trainer._compile()
        trainer._restart()
        env, ppo, following_env = trainer.crossing_env, trainer.ppo, trainer.env
        for _ in range(5 if is_gpu else 1):  # graphs are recorded
            trainer._iteration()

        def timed(part: Callable[[], object], count: int = repeats) -> float:
            part()
            _wait(is_gpu)
            began = time.perf_counter()
            for _ in range(count):
                part()
            _wait(is_gpu)
            return 1000.0 * (time.perf_counter() - began) / count

        seen = torch.cat([env.observation, following_env.observation]) if following else env.observation
        action = ppo.act(0, seen)
        with torch.no_grad():
            parts = {
                "act": timed(lambda: ppo.act(0, seen)),
                "before": timed(env._before),
                "physics": timed(lambda: env.world.step(env.targets)),
                "judge": timed(env._after),
                "turn": timed(lambda: env.take_turn(env.turns.at(0))),
                "show": timed(env._show),
                "crossing_step": timed(lambda: env.step(action[: env.num_worlds])),
            }
            if following:
                parts["clips"] = timed(lambda: following_env.step(action[env.num_worlds :]))
        parts["update"] = timed(ppo.update, max(1, repeats // 10))
        trainer._restart()
        _wait(is_gpu)
        began, samples = time.perf_counter(), trainer.clock.samples
        for _ in range(iterations):
            trainer._iteration()
        rate = (trainer.clock.samples - samples) / (time.perf_counter() - began)
    return {"worlds": ppo.rewards.shape[1], "plans_a_step": len(env.group), **parts, "samples_per_second": rate}


def _wait(is_gpu: bool) -> None:
    if is_gpu:
        torch.cuda.synchronize()
