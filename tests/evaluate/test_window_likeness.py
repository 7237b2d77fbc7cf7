"""Likeness: data is like itself, something else is not, and too little data says nothing."""

from dataclasses import replace

import torch

from parc.character import humanoid, rotation
from parc.evaluate.window_likeness import likeness


def still(walk, frames: int):
    """Someone who stands where the walk began."""
    motion = walk.motion
    first = {name: getattr(motion, name)[:1] for name in ("root_pos", "root_rot", "joint_rot", "contacts")}
    return replace(walk, motion=replace(motion, **{k: v.expand(frames, *v.shape[1:]).clone() for k, v in first.items()}))


def shaken(walk, seed: int):
    """The walk with joints that tremble, so that no two windows are alike."""
    random = torch.Generator().manual_seed(seed)
    noise = rotation.from_exp(0.2 * torch.randn(*walk.motion.joint_rot.shape[:2], 3, generator=random))
    return replace(walk, motion=replace(walk.motion, joint_rot=rotation.multiply(walk.motion.joint_rot, noise)))


def test_too_little_says_nothing(walk) -> None:
    told = likeness([walk], [walk], humanoid())
    assert told["frechet"] is None and told["frechet_floor"] is None
    assert abs(told["diversity"] - 100) < 1e-6


def test_data_is_like_itself_and_standing_is_not(walk) -> None:
    data = [shaken(walk, k) for k in range(24)]
    same = likeness([shaken(walk, k) for k in range(24, 48)], data, humanoid())
    other = likeness([still(walk, 600), *[still(walk, 600)] * 2], data, humanoid())
    assert same["frechet"] < 3 * same["frechet_floor"]
    assert other["frechet"] > 3 * same["frechet"]
    assert other["diversity"] < 1 < 80 < same["diversity"] < 120
