"""Under a wall nobody gets on, going up is worth something, and arrived means near, at the end of the path and standing."""

import torch

from parc.path import PathBatch, TerrainPath
from parc.plan.path_progress import CROUCH, LEAST, STANDING, at_goal, walk, worth

PATH = PathBatch.stack([TerrainPath(torch.tensor([[0.0, 0.0, 1.0], [4.0, 0.0, 1.0]]))])


def test_progress_never_falls_and_is_the_arc_length() -> None:
    roots = torch.tensor([[[0.5, 0.3, 1.9], [1.2, 0.0, 1.9], [0.7, 0.0, 1.9], [2.0, -0.2, 1.9]]])
    torch.testing.assert_close(walk(PATH, torch.zeros(1), roots), torch.tensor([[0.5, 1.2, 1.2, 2.0]]), atol=1e-4, rtol=0)


def test_only_a_standing_body_at_the_end_has_arrived() -> None:
    up = 1.0 + STANDING
    roots = torch.tensor([[[4.0, 0.4, up], [4.0, 0.6, up], [4.0, 0.0, up - 0.6], [3.6, 0.0, up + 0.4], [4.0, 0.0, up]]])
    walked = torch.tensor([[4.0, 4.0, 4.0, 3.6, 2.5]])
    assert at_goal(PATH, roots, walked, 0.5).tolist() == [[True, False, False, True, False]]


UP = PathBatch.stack([TerrainPath(torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.2, 0.0, 1.5], [1.2, 3.0, 1.5]]))])
"""A wall of 1.5 m that is climbed at x = 1.1, and then along its edge."""


def test_who_walks_along_the_foot_of_a_wall_gets_no_farther() -> None:
    along = torch.tensor([[[0.9, 0.0, STANDING], [1.0, 0.5, STANDING], [1.0, 1.5, STANDING], [1.0, 3.0, STANDING]]])
    walked = walk(UP, torch.zeros(1), along)
    assert float(UP.position(walked[:, -1])[0, 2]) <= STANDING - LEAST
    on_top = along + torch.tensor([0.2, 0.0, 1.5])
    assert float(walk(UP, torch.zeros(1), on_top)[0, -1]) > 3.0


def test_going_up_an_edge_is_worth_more_and_more_and_being_over_it_changes_nothing() -> None:
    arcs = torch.tensor([0.9, 0.9, 0.9, 0.9, 1.25])
    heights = STANDING + torch.tensor([0.0, 0.5, 1.5, 2.5, 1.5])
    values = worth(UP.select(torch.zeros(5, dtype=torch.long)), arcs, heights, 2.0)
    torch.testing.assert_close(values, torch.tensor([0.9, 1.9, 3.9, 3.9, 4.25]), atol=1e-4, rtol=0)


def test_who_fell_off_has_lost_and_who_crouches_has_not() -> None:
    arcs = torch.full((3,), 2.0)
    heights = 1.5 + STANDING - torch.tensor([0.0, CROUCH, CROUCH + 1.0])
    values = worth(UP.select(torch.zeros(3, dtype=torch.long)), arcs, heights, 2.0)
    torch.testing.assert_close(values, torch.tensor([5.0, 5.0, 3.0]), atol=1e-4, rtol=0)
