"""Arrived means near, on the goal's level, and at the end of the path."""

import math

import torch

from parc.path.goal_reached import has_arrived

GOAL = torch.tensor([3.0, 1.0, 1.0])


def test_each_condition_counts_by_itself() -> None:
    offsets = torch.tensor(
        [[0.3, 0.3, 0.1], [0.4, 0.4, 0.0], [0.0, 0.0, -0.9], [0.0, 0.0, 0.9], [0.0, 0.0, 0.0], [0.0, 0.0, math.nan]]
    )
    left = torch.tensor([0.9, 0.0, 0.0, 0.0, 1.1, 0.0])
    assert has_arrived(GOAL + offsets, GOAL, left, 0.5).tolist() == [True, False, False, False, False, False]


def test_a_root_stands_above_its_goal() -> None:
    """Bent knees and jumps count, passing under the ledge does not."""
    heights = torch.tensor([0.87, 0.4, 1.3, 0.3, -0.13])
    roots = GOAL + torch.stack([torch.zeros(5), torch.zeros(5), heights], -1)
    assert has_arrived(roots, GOAL, 0.0, 0.5, height=0.5, above=0.87).tolist() == [True, True, True, False, False]
