"""The terms by hand, and that padding never counts."""

from dataclasses import replace

import pytest
import torch

from parc.character import Character, forward_kinematics
from parc.character.self_distance import self_depth
from parc.dataset.clip import Clip
from parc.fit import penalty_terms
from parc.fit.watched_depth import SelfDepth, SelfDepthByPair, TerrainDepth
from parc.metrics.clip_batch import ClipBatch


def test_jerk_term_is_zero_below_the_limit_and_linear_above() -> None:
    pos = torch.zeros(1, 8, 1, 3, dtype=torch.float64)
    valid = torch.ones(1, 8, dtype=torch.float64)
    pos[0, 4:, 0, 0] = 0.01
    third = torch.tensor([0.01, 0.02, 0.01])
    limit = 0.015 * 30**3
    expected = (third - 0.015).clamp_min(0).sum()
    assert float(penalty_terms.excess_jerk(pos, valid, limit, 30.0)) == pytest.approx(float(expected), rel=1e-3)


def test_sliding_measures_the_slowest_point_of_the_patch() -> None:
    points = torch.zeros(1, 2, 1, 2, 3)
    points[0, 1, 0, 0, 0], points[0, 1, 0, 1, 0] = 0.3, 0.1
    held = torch.ones(1, 1, 1)
    both = torch.ones(1, 2, 1, 2, dtype=torch.bool)
    assert float(penalty_terms.sliding(points, both, held)) == pytest.approx(0.1, abs=1e-3)
    only_first = torch.tensor([True, False]).expand(1, 2, 1, 2)
    assert float(penalty_terms.sliding(points, only_first, held)) == pytest.approx(0.3, abs=1e-3)


def test_differences_are_those_of_torch() -> None:
    x = torch.randn(2, 9, 4, generator=torch.Generator().manual_seed(0)).double()
    torch.testing.assert_close(penalty_terms.second_difference(x), x.diff(n=2, dim=1))
    torch.testing.assert_close(penalty_terms.third_difference(x), x.diff(n=3, dim=1))


def test_a_soft_distance_is_smooth_where_it_turns_into_the_distance() -> None:
    width = 0.01
    at = torch.tensor([0.0, width, width + 1e-6, 1.0], dtype=torch.float64, requires_grad=True)
    value = penalty_terms.soft_distance(at, width)
    (slope,) = torch.autograd.grad(value.sum(), at)
    torch.testing.assert_close(slope, torch.tensor([0.0, 1.0, 1.0, 1.0]).double())
    torch.testing.assert_close(value[1:2], value[2:3], atol=2e-6, rtol=0)


def test_padding_never_counts() -> None:
    valid = torch.tensor([[1.0, 1.0, 1.0, 0.0, 0.0], [1.0] * 5])
    values = torch.rand(2, 5, 3, generator=torch.Generator().manual_seed(1))
    changed = torch.where(valid.unsqueeze(-1) > 0, values, 1e3)
    for reduce in (penalty_terms.frame_sum, penalty_terms.frame_mean):
        torch.testing.assert_close(reduce(values, valid), reduce(changed, valid))
    torch.testing.assert_close(penalty_terms.frame_mean(values, valid)[1], values[1].sum() / 5)


def test_watched_depths_are_those_of_all_points(character: Character, walk: Clip) -> None:
    """With a width of nothing: sums of depths of all points and of all pairs, mean over frames."""
    batch = ClipBatch.stack([walk], character)
    low = forward_kinematics(character, batch.root_pos - torch.tensor([0.0, 0.0, 0.05]), batch.root_rot, batch.joint_rot)
    valid = batch.valid.float()
    sunk = replace(batch, root_pos=batch.root_pos - torch.tensor([0.0, 0.0, 0.05]))
    found = TerrainDepth(character, [walk.terrain], valid, near=0.5, renew=5, soft=1e-9)(low)
    torch.testing.assert_close(found, sunk.depth.sum((1, 2)) / valid.sum(1), atol=1e-5, rtol=1e-3)
    margin = 0.05
    expected = (self_depth(character, low) + margin).clamp_min(0).sum((1, 2)) / valid.sum(1)
    torch.testing.assert_close(SelfDepthByPair(character, valid, 0.3, 5, 1e-9, margin)(low), expected, atol=1e-5, rtol=1e-3)
    assert float(SelfDepth(character, valid, 0.3, 5, 1e-9, margin)(low)) >= float(expected) - 1e-5 > 0
