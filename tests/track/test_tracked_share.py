"""What a policy follows of each reference, from the first frame to where it is lost."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.physics.choose_engine import make_world
from parc.track.follow.runner import Runner
from parc.track.follow.tracked_share import shares_followed
from parc.track.learn.policy import TrackerPolicy, load_actor, save_actor
from parc.track.tracker_settings import TrackerSettings


def test_shares_are_where_the_simulation_ends(
    tmp_path: Path, character: Character, squats: Callable[..., Clip], tiny: TrackerSettings
) -> None:
    file = tmp_path / "actor.safetensors"
    torch.manual_seed(0)
    world = make_world(character, tiny.contract, 1, "cpu", threads=1)
    save_actor(file, TrackerPolicy(character, tiny, "cpu").averaged_actor(), character, world.contract, tiny)
    gentle = squats(frames=40, depth=0.1, name="gentle")
    hard = squats(frames=40, depth=0.1, name="hard")
    leaning = hard.motion.root_pos + torch.linspace(0, 3.0, 40)[:, None] * torch.tensor([1.0, 0.0, 0.0])
    hard = replace(hard, motion=replace(hard.motion, root_pos=leaning))
    sunk = squats(frames=40, depth=0.1, name="sunk")
    sunk = replace(sunk, motion=replace(sunk.motion, root_pos=sunk.motion.root_pos - torch.tensor([0.0, 0.0, 0.5])))

    shares = shares_followed(file, [hard, sunk, gentle], character, worlds=1, threads=1)

    assert list(shares) == ["hard", "sunk", "gentle"] and shares["sunk"] == 0.0, "screening refuses what is in the ground"
    assert 0.0 < shares["hard"] < shares["gentle"] <= 1.0
    simulated = Runner(load_actor(file, character), threads=1).follow([hard]).motions[0]
    assert abs(len(simulated) / 40 - shares["hard"]) < 0.06
    assert shares_followed(file, [sunk], character, threads=1) == {"sunk": 0.0}
