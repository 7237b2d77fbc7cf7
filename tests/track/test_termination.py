import math

import torch

from parc.character.character import Character
from parc.track.env.termination import TerminationSettings, body_limits, pose_lost


def test_limits_are_the_papers_and_feet_are_free(character: Character) -> None:
    limits = body_limits(character, TerminationSettings(), "cpu")
    for body, limit in zip(character.bodies, limits.tolist(), strict=True):
        assert limit == (math.inf if body.is_foot else torch.tensor(0.7).item())


def test_each_limit_ends_an_episode_by_itself_and_not_within_the_grace(character: Character) -> None:
    settings = TerminationSettings(grace=1)
    limits = body_limits(character, settings, "cpu")
    root, angle, bodies = torch.zeros(5), torch.zeros(5), torch.zeros(5, character.num_bodies)
    root[1], angle[2] = 0.61, math.radians(76)
    bodies[3, character.index("head")] = 0.71
    bodies[4, character.index("left_foot")] = 5.0
    later = torch.full((5,), 2)
    assert pose_lost(root, angle, bodies, limits, later, settings).tolist() == [False, True, True, True, False]
    assert not pose_lost(root, angle, bodies, limits, torch.ones(5), settings).any()
