"""Arrived means near, at the end of the path, and at standing height."""

import torch

from parc.path import PathBatch, TerrainPath
from parc.traverse.arrive import STANDING, at_goal, walk

PATH = PathBatch.stack([TerrainPath(torch.tensor([[0.0, 0.0, 1.0], [4.0, 0.0, 1.0]]))])


def test_progress_never_falls_and_is_the_arc_length() -> None:
    xy = torch.tensor([[[0.5, 0.3], [1.2, 0.0], [0.7, 0.0], [2.0, -0.2]]])
    torch.testing.assert_close(walk(PATH, torch.zeros(1), xy), torch.tensor([[0.5, 1.2, 1.2, 2.0]]), atol=1e-4, rtol=0)


def test_only_a_standing_body_at_the_end_has_arrived() -> None:
    up = 1.0 + STANDING
    roots = torch.tensor([[[4.0, 0.4, up], [4.0, 0.6, up], [4.0, 0.0, up - 0.6], [3.6, 0.0, up + 0.4], [4.0, 0.0, up]]])
    walked = torch.tensor([[4.0, 4.0, 4.0, 3.6, 2.5]])
    assert at_goal(PATH, roots, walked, 0.5).tolist() == [[True, False, False, True, False]]
