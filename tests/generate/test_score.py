"""Choosing among candidate windows: what keeps to its path is preferred."""

import pytest
import torch

from parc.generate.score import ScoreWeights, departure


def test_departure_counts_metres_beside_and_below_the_path_beyond_what_is_allowed():
    weights = ScoreWeights(astray=2.0, astray_allowed=0.2, below=3.0, below_allowed=0.4, standing=0.9)
    on_path = torch.tensor([[1.0, 2.0, 0.5]]).expand(4, 3)
    root = torch.tensor(
        [
            [1.1, 2.0, 1.4],  # standing on the path
            [1.0, 2.7, 1.4],  # 0.7 m beside it
            [1.0, 2.0, 0.7],  # 0.7 m too low: in a pit
            [1.0, 2.0, 2.4],  # higher than need be
        ]
    )
    assert departure(root, on_path, weights).tolist() == pytest.approx([0.0, 2 * 0.5, 3 * 0.3, 0.0], abs=1e-6)
