"""What a CUDA graph may not hold, checked without a GPU: questions to the host and data copied from Python lists.

Every operation of a step passes through a dispatch mode that refuses those that synchronise or that build tensors from host data.
"""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from parc.character import humanoid
from parc.generate.data.training_windows import WindowSampler
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.generate.rollout.path_rollout import PathRunner, RolloutSettings
from parc.generate.training.training_step import GeneratorTrainer, StepSettings
from parc.path.path_batch import PathBatch
from parc.path.terrain_path import TerrainPath
from parc.run import distributed
from parc.terrain.terrain import Terrain, TerrainBatch

ASKS_THE_HOST = {
    "_local_scalar_dense", "nonzero", "masked_select", "_unique2", "unique_consecutive", "is_nonzero", "equal",
    "repeat_interleave", "lift_fresh", "lift_fresh_copy",
}  # fmt: skip


class Captured(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        if name in ASKS_THE_HOST and not (name == "repeat_interleave" and isinstance(args[-1], int)):
            raise AssertionError(f"{func} in captured code")
        if name == "index" and any(i is not None and i.dtype == torch.bool for i in args[1]):
            raise AssertionError("indexing by a mask in captured code")
        self.count += 1
        return func(*args, **(kwargs or {}))


def test_the_net_catches():
    for sin in (lambda: float(torch.ones(1).sum()), lambda: torch.tensor([1, 2]), lambda: torch.ones(3)[torch.ones(3) > 0]):
        with pytest.raises(AssertionError, match="captured code"), Captured():
            sin()


@pytest.mark.parametrize("rolls_out", [False, True])
def test_training_step(windows, rolls_out):
    torch.manual_seed(0)
    generator = Generator(humanoid(), GeneratorSettings(network=PrefixSettings(32, 1, 2, 32), pace=rolls_out))
    windows = WindowSampler(windows.table, windows.layout, windows.grid, windows.settings, has_pace=rolls_out)
    trainer = GeneratorTrainer(
        generator, windows, StepSettings(batch=4, levels=2, statistics_windows=64), distributed.setup("cpu"), seed=0
    )
    trainer.fit_statistics()
    trainer.rolls_out = rolls_out
    for function in (trainer._take_gradient, trainer._apply):
        function()
        with Captured() as captured:
            function()
        assert captured.count > 20


@pytest.mark.parametrize("asked", [False, True])
def test_rollout_window(asked):
    generator = Generator(humanoid(), GeneratorSettings(network=PrefixSettings(32, 1, 2, 32), pace=asked)).eval()
    terrain = TerrainBatch.stack([Terrain.flat((20, 20))] * 2)
    path = TerrainPath(torch.tensor([[1.0, 1.0, 0.0], [5.0, 5.0, 0.0]]), torch.tensor([1.4, torch.nan]) if asked else None)
    runner = PathRunner(generator, terrain, PathBatch.stack([path] * 2), 2, RolloutSettings(choices=2))
    with torch.no_grad():
        runner.window_without_graph()
        with Captured() as captured:
            runner.window_without_graph()
    assert captured.count > 100
