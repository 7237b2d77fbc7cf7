"""What counts as lost, fallen and broken."""

import math

import pytest
import torch

from parc.character.character import Character
from parc.errors import SettingsError
from parc.track.follow.outcome import (
    FallSettings,
    FallWatch,
    TerminationSettings,
    body_limits,
    is_broken,
    is_down,
    pose_lost,
    reached_end,
)


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


def test_what_is_not_finite_is_broken() -> None:
    diverged = torch.tensor([True, False, False, False])
    assert is_broken(diverged) is diverged
    numbers = torch.tensor([0.0, 1.0, math.nan, math.inf])
    assert is_broken(diverged, numbers).tolist() == [True, False, True, True]


def test_the_last_two_frames_need_not_be_tracked() -> None:
    assert reached_end(torch.tensor([7, 8, 10]), 10).tolist() == [False, True, True]


def test_low_or_tilted_is_down() -> None:
    settings = FallSettings()
    height = torch.tensor([0.9, 0.2, 0.9, 0.9, math.nan])
    tilt = torch.deg2rad(torch.tensor([60.0, 0.0, 80.0, 180.0, 0.0]))
    assert is_down(height, tilt.cos(), None, settings).tolist() == [False, True, True, True, True]


def test_at_once_only_who_is_low_and_level_is_down_or_on_the_head() -> None:
    """Neither who stands, nor who flies, nor who crouches."""
    settings = FallSettings.at_once()
    height = torch.tensor([0.9, 0.25, 0.9, 0.25, 0.9])
    upright = torch.cos(torch.tensor([0.0, 1.5, 1.5, 0.0, 0.0]))
    head = torch.tensor([False, False, False, False, True])
    assert is_down(height, upright, head, settings).tolist() == [False, True, False, False, True]
    assert is_down(height, upright, None, settings).tolist() == [False, True, False, False, False]
    assert FallWatch(settings, 30, 2).look(torch.tensor([True, False]), torch.zeros(2, dtype=torch.bool)).tolist() == [
        True,
        False,
    ]


def test_only_what_lasts_is_a_fall_for_each_body_by_itself() -> None:
    watch, fine = FallWatch(FallSettings(patience=0.5), 30, 2), torch.zeros(2, dtype=torch.bool)
    down, first = ~fine, torch.tensor([True, False])
    for _ in range(14):
        assert not watch.look(down, fine).any()
    assert watch.look(first, fine).tolist() == [True, False]
    for _ in range(14):
        assert watch.look(down, fine).tolist() == [True, False]
    watch.reset()
    assert not watch.look(down, fine).any()
    assert watch.look(fine, first).tolist() == [True, False], "a broken simulation is a fall at once"
    with pytest.raises(SettingsError, match="after -1 s on the ground"):
        FallSettings(patience=-1)
