"""An evaluation's parts on a cluster are those of this process."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from parc.character import humanoid
from parc.evaluate.cluster_jobs import GeneratorJob, TrackerJob
from parc.evaluate.generator_measurement import GeneratorTest
from parc.evaluate.terrain_sets import SetChoice, set_cases
from parc.evaluate.tracker_measurement import TrackerTest
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.physics.mujoco_model import sealed_contract
from parc.run.work_items import LOCAL, workers_at
from parc.track.follow.runner import Runner
from parc.track.learn.policy import TrackerPolicy, load_actor, save_actor
from parc.track.tracker_settings import TrackerSettings


def test_motions_and_tracking_are_the_same(cluster: Any, tmp_path: Path) -> None:
    torch.manual_seed(0)
    character = humanoid()
    generator = Generator(character, GeneratorSettings(network=PrefixSettings(width=32, layers=1, hidden=32))).eval()
    job = GeneratorJob(lambda: generator, set_cases(SetChoice(), 2), GeneratorTest(candidates=2, limits=(1.0,)), "abc")
    small = TrackerSettings.small()
    settings = replace(small, policy=replace(small.policy, hidden=(16,)))
    actor = tmp_path / "actor.safetensors"
    policy = TrackerPolicy(character, settings, "cpu")
    save_actor(actor, policy.averaged_actor(), character, sealed_contract(character, settings.contract), settings)
    simulator = Runner(load_actor(actor, character), threads=1)
    track = TrackerJob(lambda: simulator, TrackerTest(trials=1, episodes=1))
    groups = [range(1), range(1, 2)]
    with workers_at(cluster.address) as workers:
        here, there = (list(who.map(job, groups)) for who in (LOCAL, workers))
        for a, b in zip(here, there, strict=True):
            assert str(a.values) == str(b.values)
            assert torch.equal(a.best[0].motion.root_pos, b.best[0].motion.root_pos)
        items = [(result.best, k) for k, result in enumerate(here)]
        assert str(list(LOCAL.map(track, items))) == str(list(workers.map(track, items)))
