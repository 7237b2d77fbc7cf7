"""How fast the generator is: windows end to end (canonical frame to kinematics), and training steps.

Every number is of the default network with random weights: speed does not depend on what they are.
"""

import time
from collections.abc import Callable
from functools import partial
from statistics import median

import torch

from parc.author.procedural_walk import stroll
from parc.character.humanoid import humanoid
from parc.generate.data.frame_table import FPS, FrameTable
from parc.generate.data.training_windows import WindowSampler, WindowSettings
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.prefix_transformer import PREFIX_TOKENS, PrefixSettings
from parc.generate.rollout.path_rollout import PathRunner, RolloutSettings
from parc.generate.training.student_step import StudentSettings
from parc.generate.training.training_step import GeneratorTrainer, StepSettings
from parc.path.path_batch import PathBatch
from parc.path.terrain_path import TerrainPath
from parc.run.distributed import setup
from parc.terrain.terrain import Terrain, TerrainBatch

_CHOICES = 4
"""candidates of each window where scoring is measured, which then takes a quarter of the motions: the batch counts candidates"""


def bench_generator(
    device: str = "cpu",
    seed: int = 0,
    batches: tuple[int, ...] | None = None,
    train_batch: int | None = None,
    seconds: float = 2.0,
    compiled: bool = False,
    student: int = 0,
    tell: Callable[[str, dict], object] = lambda name, row: None,
) -> dict:
    """Median ms of a window and frames a second by batch size, windows a second in training (plain, and with own rollouts).

    `seconds` of measurement each; `compiled` fuses the whole window, and in training the network, with torch.compile first,
    which takes minutes: `tell` is given each row as soon as it is measured. `student`: windows of a student of so many steps;
    0: of the usual generator.
    """
    target = setup(device).device
    is_gpu = target.type == "cuda"
    settings = StudentSettings(student).generator(GeneratorSettings()) if student else GeneratorSettings()
    torch.manual_seed(seed)
    generator = Generator(humanoid(), settings).to(target).in_precision(torch.bfloat16 if is_gpu else torch.float32)
    result: dict = {
        "seed": seed,
        "device": device,
        "compiled": compiled,
        "student": student,
        "parameters": sum(p.numel() for p in generator.parameters()),
    }
    mixed = generator.blend_of(RolloutSettings().blend).mixed(len(generator.sampler_plan()))
    network = settings.network
    assert isinstance(network, PrefixSettings)
    for batch in batches or ((1, 32, 2048) if is_gpu else (1, 32)):
        runner = _runner(generator, batch, compiled)
        repaired = _runner(generator, batch, compiled, repaired=True)
        random = torch.Generator(target).manual_seed(seed)
        s = _median_seconds(partial(runner.step, random), target, seconds)
        flops = window_flops(network, generator.layout.width, settings.future, mixed) * batch
        keep = runner.settings.keep
        with_repair = _median_seconds(partial(repaired.step, random), target, seconds)
        scored = None
        if batch % _CHOICES == 0:
            choosing = _runner(generator, batch // _CHOICES, compiled, repaired=True, choices=_CHOICES)
            scored = _median_seconds(partial(choosing.step, random), target, seconds)
        result[f"batch_{batch}"] = {
            "window_ms": 1e3 * s,
            "window_with_foot_repair_ms": 1e3 * with_repair,
            "window_with_repair_and_scoring_ms": None if scored is None else 1e3 * scored,
            "frames_per_s": batch * keep / s,
            "generated_frames_with_foot_repair_per_s": batch * settings.future / with_repair,
            "real_time_factor": keep / FPS / s,
            "gflop": flops / 1e9,
            "tflop_per_s": flops / s / 1e12,
            "captured": runner.is_captured,
            "launches": _launches(runner) if is_gpu else None,
        }
        tell(f"batch_{batch}", result[f"batch_{batch}"])
    for name, own in (("training", False), ("training_own_rollouts", True)):
        result[name] = _training(target, seed, train_batch or (1024 if is_gpu else 16), own, seconds, compiled)
        tell(name, result[name])
    return result


def window_flops(network: PrefixSettings, features: int, future: int, mixed: tuple[bool, ...]) -> float:
    """Multiplications and additions of one window's matrix products: the prefix once, one or (`mixed`) two branches a step."""
    token = 2 * (4 * network.width**2 + 2 * network.width * network.hidden) * network.layers
    attention = 4 * network.width * network.layers
    full = (network.layers - 1) / network.layers  # of the last block only keys and values are asked for
    prefix = PREFIX_TOKENS * (full * token + 4 * network.width**2) + PREFIX_TOKENS**2 * full * attention
    conv = 2 * 9 * (256 * 64 + 64 * 64 * 128 + 64 * 128 * network.width)
    steps = 0.0
    for frames in (future * (1 + both) for both in mixed):
        steps += frames * (token + 4 * features * network.width) + frames * (PREFIX_TOKENS + frames) * attention
    return prefix + conv + steps


def _runner(generator: Generator, batch: int, compiled: bool, repaired: bool = False, choices: int = 1) -> PathRunner:
    terrain = TerrainBatch.stack([Terrain.flat((32, 32))] * batch)
    path = TerrainPath(torch.tensor([[1.0, 1.0, 0.0], [11.0, 11.0, 0.0]]))
    settings = RolloutSettings(lock_feet=repaired, choices=choices)
    return PathRunner(generator, terrain, PathBatch.stack([path] * batch), 1, settings, compiled=compiled)


def _training(device: torch.device, seed: int, batch: int, own: bool, seconds: float, compiled: bool) -> dict:
    torch.manual_seed(seed)
    settings = GeneratorSettings()
    generator = Generator(humanoid(), settings).to(device)
    window = WindowSettings()
    path = TerrainPath(torch.tensor([[1.0, 1.0, 0.0], [5.0, 2.0, 0.0], [9.0, 8.0, 0.0]]))
    clips = [stroll(Terrain.flat((28, 28)), path)]
    table = FrameTable.build(clips, generator.character, 2 + window.future, device)
    windows = WindowSampler(table, generator.layout, settings.grid, window)
    step = StepSettings(batch=batch, own_start=0.0 if own else 1.0)
    trainer = GeneratorTrainer(generator, windows, step, setup(device), seed, use_compile=compiled)
    trainer.fit_statistics()
    s = _median_seconds(lambda: trainer.step(0.5), device, seconds)
    return {"batch": batch, "step_ms": 1e3 * s, "windows_per_s": batch / s, "captured": trainer.is_captured}


def _median_seconds(call: Callable[[], object], device: torch.device, seconds: float) -> float:
    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    for _ in range(3):
        call()
    wait()
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < 5 or time.perf_counter() - began < seconds:
        start = time.perf_counter()
        call()
        wait()
        times.append(time.perf_counter() - start)
    return median(times)


def _launches(runner: PathRunner) -> int:
    """Kernels of one window, run without the graph."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        runner.window_without_graph()
        torch.cuda.synchronize()
    return sum(event.count for event in profile.key_averages() if event.device_type == torch.autograd.DeviceType.CUDA)
