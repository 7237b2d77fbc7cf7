"""What an action does to the motors' targets."""

from dataclasses import replace

import pytest
import torch

from parc.character.character import Character
from parc.run.dataclass_json import from_json
from parc.track.env.body_tables import BodyTables
from parc.track.env.motor_action import ActionSettings, motor_targets
from parc.track.env.observation_layout import ObservationSettings
from parc.track.tracker_settings import TrackerSettings


def test_a_held_offset_goes_to_what_is_wanted_by_a_constant_factor(character: Character) -> None:
    anatomy, settings = BodyTables(character, "cpu"), ActionSettings(hold=0.5)
    action, pose = torch.full((1, character.num_dof), 0.2), torch.randn(1, character.num_dof)
    offset, wanted = torch.zeros_like(pose), 0.2 * anatomy.action_reach
    for step in range(1, 6):
        targets, offset = motor_targets(action, offset, pose, anatomy, settings)
        torch.testing.assert_close(offset[0], (1 - 0.5**step) * wanted)
        torch.testing.assert_close(targets, pose + offset)


def test_alternating_actions_are_damped_to_a_third(character: Character) -> None:
    anatomy, offset = BodyTables(character, "cpu"), torch.zeros(1, character.num_dof)
    action, pose = torch.full_like(offset, 0.3), torch.zeros_like(offset)
    for step in range(40):
        _, offset = motor_targets(action * (-1) ** step, offset, pose, anatomy, ActionSettings(hold=0.5))
    torch.testing.assert_close(offset[0].abs(), 0.3 * anatomy.action_reach / 3, rtol=1e-4, atol=0)


@pytest.mark.parametrize("residual", [True, False])
def test_without_hold_the_last_step_is_forgotten_and_wild_actions_are_bounded(character: Character, residual: bool) -> None:
    anatomy, settings = BodyTables(character, "cpu"), ActionSettings(residual=residual, hold=0.0)
    pose, held = torch.randn(1, character.num_dof), torch.randn(1, character.num_dof)
    targets, _ = motor_targets(torch.full_like(pose, 99.0), held, pose, anatomy, settings)
    torch.testing.assert_close(targets, (pose if residual else anatomy.action_centre) + 4.0 * anatomy.action_reach.expand(1, -1))


def test_files_written_before_the_hold_mean_none() -> None:
    old = from_json(TrackerSettings, {"action": {"residual": True, "lead": 3}, "observation": {"pad_to": 64}})
    assert old.action == ActionSettings(hold=0.0) and old.observation == ObservationSettings(held=False)
    assert TrackerSettings().action.hold > 0 and replace(old, action=ActionSettings()) != old
