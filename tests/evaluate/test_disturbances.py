"""Pushes and blurred height maps: what is drawn for a run is its own, and of the size that was asked for."""

import pytest
import torch

from parc.errors import SettingsError
from parc.evaluate.disturbances import Disturbance, believed, pushes
from parc.evaluate.terrain_sets import set_case

CASE, OTHER = set_case("development", "walks", 0), set_case("development", "walks", 1)
FPS = 30.0


def test_pushes_have_their_strength_and_come_at_times_of_their_own() -> None:
    what = Disturbance(push=1.5, push_gap=2.0)
    found = pushes(CASE, 0, what, 3000, FPS, seed=1)
    at = found.norm(dim=-1).nonzero()[:, 0]
    torch.testing.assert_close(found[at].norm(dim=-1), torch.full((len(at),), 1.5))
    assert not found[:, 2].any()
    gaps = torch.cat([at[:1], at.diff()]) / FPS
    assert float(gaps.min()) >= 0.95 and float(gaps.max()) <= 3.05 and float(gaps.mean()) == pytest.approx(2.0, abs=0.3)
    assert float(found[at].mean(0).norm()) < 0.6, "all directions"
    assert torch.equal(pushes(CASE, 0, what, 600, FPS, seed=1), found[:600]), "a longer run only goes on"
    first = set_case("first", "walks", 0)
    assert not torch.equal(*(pushes(first, run, what, 3000, FPS, seed=1) for run in (0, 1)))
    for case, run, seed in ((CASE, 1, 1), (OTHER, 0, 1), (CASE, 0, 2), (first, 0, 1)):
        assert not torch.equal(pushes(case, run, what, 3000, FPS, seed), found)
    assert not pushes(CASE, 0, Disturbance(), 300, FPS, seed=1).any()


def test_heights_are_believed_with_the_noise_that_was_asked_for() -> None:
    true = CASE.terrain.heights
    seen = believed(CASE, 0, Disturbance(height_noise=0.05), seed=1).heights
    assert float((seen - true).std()) == pytest.approx(0.05, rel=0.1)
    assert not torch.equal(believed(CASE, 1, Disturbance(height_noise=0.05), seed=1).heights, seen)
    assert torch.equal(believed(CASE, 0, Disturbance(height_noise=0.05), seed=1).heights, seen)
    assert torch.equal(believed(CASE, 0, Disturbance(), seed=1).heights, true)


def test_a_cell_that_is_not_known_is_as_high_as_the_nearest_that_is() -> None:
    """By search over all cells."""
    true = CASE.terrain.heights
    seen = believed(CASE, 0, Disturbance(missing=0.3), seed=1).heights
    changed = (seen != true).nonzero()
    assert 0.05 < len(changed) / true.numel() < 0.3
    # of a changed cell, some cell no farther than the nearest unchanged one has the height that is believed
    same = (seen == true).nonzero()
    for cell in changed[:40]:
        away = (same - cell).float().norm(dim=-1)
        reach = (away <= max(float(away.min()), 1.0) + 4.0).nonzero()[:, 0]
        assert float(seen[tuple(cell)]) in {float(true[tuple(same[k])]) for k in reach}


@pytest.mark.parametrize("wrong", [{"push": -1.0}, {"height_noise": -0.1}, {"missing": 1.0}, {"push_gap": 0.0}])
def test_impossible_disturbances_are_refused(wrong: dict) -> None:
    with pytest.raises(SettingsError):
        Disturbance(**wrong)
