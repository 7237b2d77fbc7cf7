from collections.abc import Callable
from dataclasses import replace

import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.metrics.clip_batch import groups
from parc.track.env.reference_library import ReferenceSettings, build_library
from parc.track.env.terrain_nearness import near_ground


def test_feet_on_the_ground_are_near_and_the_head_is_not(character: Character, squat: Clip) -> None:
    (near,) = near_ground(character, [squat], 0.03)
    assert near.shape == squat.motion.contacts.shape
    assert near[:, list(character.feet)].all() and not near[:, character.index("head")].any()
    assert not near_ground(character, [squat], 0.0)[0].any()


def test_groups_hold_every_clip_once_in_order(squats: Callable[..., Clip]) -> None:
    clips = [squats(frames=700 + 300 * (k % 3), name=f"clip{k}") for k in range(9)]
    clips[4] = replace(clips[4], motion=replace(clips[4].motion, fps=60.0))
    found = list(groups(clips))
    assert [c.name for g in found for c in g] == [c.name for c in clips]
    assert all(len({c.motion.fps for c in g}) == 1 for g in found) and 3 <= len(found) < 9


def test_unlabelled_bodies_near_the_ground_may_touch(character: Character, squat: Clip) -> None:
    foot = character.feet[0]
    labels = squat.motion.contacts.clone()
    labels[:20, foot] = 0.0
    clip = replace(squat, motion=replace(squat.motion, contacts=labels))
    strict, fair = (build_library(character, [clip], ReferenceSettings(near=near)) for near in (0.0, 0.03))
    assert not strict.may_touch.any()
    assert fair.may_touch[:20, foot].all() and not fair.may_touch[20:, foot].any()
    assert torch.equal(strict.contacts, fair.contacts)
