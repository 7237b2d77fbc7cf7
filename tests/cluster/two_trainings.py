"""Run by torchrun on two ranks, and alone as the one process with the same global batch. FOLDER gets curve and parameters.

Alone, the generator's trainer takes both ranks' windows (their random streams) in every step, and the tracker's PPO has both
ranks' worlds; so the global batch is the same to the sample, and only the order of sums differs.
"""

import sys
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from parc.author.procedural_walk import stroll
from parc.character.humanoid import humanoid
from parc.dataset.clip import Clip
from parc.generate.data.frame_table import FrameTable
from parc.generate.data.training_windows import WindowSampler, WindowSettings
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.prefix_transformer import PAST_FRAMES, PrefixSettings
from parc.generate.training.flat_adamw import AdamSettings
from parc.generate.training.training_step import GeneratorTrainer, StepSettings
from parc.path.terrain_path import TerrainPath
from parc.run import distributed
from parc.run.checkpoint import save_checkpoint
from parc.terrain.terrain import Terrain
from parc.track.env.episode_restart import Restart, RestartSettings
from parc.track.env.reference_library import build_library
from parc.track.learn.mlp_network import initialise
from parc.track.learn.policy import TrackerPolicy, log_probability
from parc.track.learn.ppo import PPO
from parc.track.tracker_settings import TrackerSettings

RANKS, STEPS, ITERATIONS, WORLDS = 2, 20, 12, 8
BODY = humanoid()


def make_walk() -> Clip:
    path = TerrainPath(torch.tensor([[3.0, 6.0, 0.0], [8.0, 6.0, 0.0]]))
    return stroll(Terrain.flat((30, 30)), path)


class BothRanks(GeneratorTrainer):
    """The windows of all ranks in one step."""

    streams: list[torch.Generator]

    def fit_statistics(self) -> None:
        self.streams = [torch.Generator().manual_seed(rank) for rank in range(RANKS)]
        for stream in reversed(self.streams):  # every rank draws, and the first one's count
            self.random = stream
            super().fit_statistics()

    def _take_gradient(self) -> None:
        grads, parts = torch.zeros_like(self.flat.grads), torch.zeros_like(self.parts)
        for stream in self.streams:
            self.random = stream
            super()._take_gradient()
            grads += self.flat.grads / RANKS
            parts += self.parts / RANKS
        self.flat.grads.copy_(grads)
        self.parts.copy_(parts)


def train_generator(group: distributed.Group) -> dict[str, Tensor]:
    torch.manual_seed(0)
    generator = Generator(BODY, GeneratorSettings(network=PrefixSettings(width=32, layers=1, heads=2, hidden=64)))
    settings = StepSettings(batch=8, levels=2, warm_up=5, own_start=0.5, statistics_windows=50, adam=AdamSettings(rate=1e-3))
    table = FrameTable.build([make_walk()], BODY, PAST_FRAMES + WindowSettings().future, "cpu", True, 0.5)
    sampler = WindowSampler(table, generator.layout, generator.settings.grid, WindowSettings())
    kind = BothRanks if group.world_size == 1 else GeneratorTrainer
    trainer = kind(generator, sampler, settings, group, seed=0)
    trainer.fit_statistics()
    curve = []
    for step in range(STEPS):
        trainer.step(step / STEPS)
        parts = trainer.parts.clone()
        group.mean_([parts])
        curve.append(parts)
    return {"curve": torch.stack(curve), **trainer.state()}


def train_tracker(group: distributed.Group) -> dict[str, Tensor]:
    small = TrackerSettings.small()
    worlds = RANKS * WORLDS // group.world_size
    ppo_settings = replace(small.ppo, steps=4, epochs=2, minibatch=4 * worlds)  # all samples in one minibatch: order is no matter
    settings = replace(small, policy=replace(small.policy, hidden=(32,)), ppo=ppo_settings)
    policy = TrackerPolicy(BODY, settings, "cpu")
    initialise(policy, torch.Generator().manual_seed(0))
    ppo = PPO(policy, worlds, settings.ppo, settings.policy, group, torch.Generator().manual_seed(group.rank))
    restart = Restart(build_library(BODY, [make_walk()]), RestartSettings())
    mine = slice(group.rank * worlds, (group.rank + 1) * worlds)
    curve = []
    for iteration in range(ITERATIONS):
        draw = torch.Generator().manual_seed(iteration)
        observations = torch.randn(5, RANKS * WORLDS, policy.size, generator=draw)[:, mine]
        noise = torch.randn(4, RANKS * WORLDS, policy.actions, generator=draw)[:, mine]
        failed = (torch.rand(4, RANKS * WORLDS, generator=draw) < 0.1)[:, mine]
        rows = torch.randint(len(restart.unit_of_row), (4, RANKS * WORLDS), generator=draw)[:, mine]
        for t in range(4):
            ppo.act(t, observations[t])
            ppo.actions[t] = ppo.means[t] + 0.05 * noise[t]
            ppo.log_probs[t] = log_probability(ppo.actions[t], ppo.means[t], policy.log_std.detach())
            reward = torch.cos(observations[t].mean(-1) + ppo.actions[t].sum(-1))
            ppo.record(t, reward, failed[t], torch.zeros_like(failed[t]), reward)
            restart.count(rows[t], failed[t], failed[t], torch.ones(()))
        ppo.finish(observations[4])
        curve.append(ppo.update())
        restart.refresh(group)
    return {"curve": torch.stack(curve), **ppo.state(), **restart.state()}


def main(what: str, folder: Path) -> None:
    torch.set_num_threads(1)
    group = distributed.setup("cpu")
    tensors = {"generator": train_generator, "tracker": train_tracker}[what](group)
    save_checkpoint(folder / f"{what}-{group.world_size}-{group.rank}.safetensors", tensors, {})
    group.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
