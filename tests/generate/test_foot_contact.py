"""Contact, lifts and labels of feet: from numbers whose answer is known."""

import torch

from parc.generate.repair.foot_contact import contact_of, gap_below, label_of, lift_of
from parc.generate.repair.repair_settings import RepairSettings
from parc.terrain.terrain import Terrain, TerrainBatch

ONE, SETTINGS = torch.ones(()), RepairSettings()


def rows(*values: float) -> torch.Tensor:
    """[1, T, 1] of one foot."""
    return torch.tensor(values, dtype=torch.float32).view(1, -1, 1)


def steady(label: float, gap: float, slide: float, frames: int = 6) -> torch.Tensor:
    full = torch.ones(1, frames + 1, 1)
    return contact_of(label * full, gap * full, slide * full[:, 1:], SETTINGS)[0, 1:, 0]


def test_contact_needs_a_label_or_a_hint_of_one():
    assert (steady(0.9, 0.05, 0.03) == 1).all()  # said, and in reach
    assert (steady(0.3, 0.0, 0.005) == 1).all()  # half said, on the ground and slow
    assert (steady(0.3, 0.0, 0.05) == 0).all()  # on the ground but swinging
    assert (steady(0.3, 0.09, 0.0) == 0).all()  # slow but in the air
    assert (steady(0.0, 0.0, 0.0) == 0).all()  # not said at all
    assert (steady(1.0, SETTINGS.floor_gap + 0.01, 0.0) == 0).all()  # out of reach


def test_a_frame_of_doubt_does_not_break_a_stance():
    label = rows(1, 1, 1, 0.3, 1, 1, 1)
    contact = contact_of(label, torch.zeros_like(label), torch.full((1, 6, 1), 0.02), SETTINGS)
    assert contact.min() == 1


def test_feet_in_contact_are_brought_to_the_ground_and_led_there():
    gap = rows(0.1, 0.09, 0.08, 0.07, 0.06, 0.05, 0.05, 0.05)
    contact = rows(0, 0, 0, 0, 0, 1, 1, 1)
    lift = lift_of(gap, contact, ONE, SETTINGS)[0, :, 0]
    torch.testing.assert_close((gap[0, :, 0] + lift)[5:], torch.zeros(3), atol=1e-6, rtol=0)
    assert (lift[1:5].diff() < 0).all() and lift.diff().abs().max() <= SETTINGS.lift_step + 1e-6


def test_a_foot_that_swings_past_another_clears_the_ground():
    gap = torch.zeros(1, 6, 2)
    contact = torch.tensor([1.0, 0.0]).expand(1, 6, 2)
    lift = lift_of(gap, contact, ONE, SETTINGS)
    assert lift[..., 0].abs().max() == 0
    torch.testing.assert_close(lift[0, 1:, 1], torch.full((5,), SETTINGS.swing_clearance))


def test_with_no_foot_in_contact_feet_only_leave_the_ground_if_they_are_in_it():
    gap = torch.stack([torch.full((1, 6), 0.01), torch.full((1, 6), -0.03)], -1)
    lift = lift_of(gap, torch.zeros_like(gap), ONE, SETTINGS)
    assert lift[..., 0].abs().max() == 0
    torch.testing.assert_close(lift[0, 1:, 1], torch.full((5,), 0.03))


def test_walls_are_not_floors():
    gap = torch.full((1, 6, 2), -SETTINGS.floor_gap - 0.05)
    assert lift_of(gap, torch.ones_like(gap), ONE, SETTINGS).abs().max() == 0
    label = torch.full_like(gap, 0.37)
    assert torch.equal(label_of(label, torch.ones_like(gap), gap, torch.zeros_like(gap), SETTINGS), label)


def test_labels_say_what_is_seen():
    label = rows(1, 0, 0, 0)
    contact = rows(1, 0, 0, 1)
    gap, slide = rows(0.1, 0.0, 0.0, 0.02), rows(0, 0.01, 0.04, 0)
    torch.testing.assert_close(label_of(label, contact, gap, slide, SETTINGS), rows(0, 1, 0, 0.5))


def test_the_gap_is_that_of_the_lowest_point_over_its_own_cell():
    heights = torch.zeros(8, 8)
    heights[4:] = 0.3
    terrain = TerrainBatch.stack([Terrain(heights, torch.zeros(2))])
    soles = torch.tensor([[1.0, 1.0, 0.35], [1.9, 1.0, 0.35]]).view(1, 1, 1, 2, 3)
    torch.testing.assert_close(gap_below(soles, terrain), torch.tensor([[[0.05]]]))


def test_a_swing_is_an_arc_from_the_ground_to_its_clearance_and_back():
    """A foot that the network drags along the ground, between two stances, beside one that stands."""
    contact = torch.ones(1, 15, 2)
    contact[:, 2:13, 1] = 0.0
    height = lift_of(torch.zeros(1, 15, 2), contact, ONE, SETTINGS)[0, :, 1]
    torch.testing.assert_close(height[[0, 1, 13, 14]], torch.zeros(4))
    assert (height[1:7].diff() > 0).all() and (height[8:14].diff() < 0).all()
    torch.testing.assert_close(height[6:9], torch.full((3,), SETTINGS.swing_clearance), atol=1e-3, rtol=0)
