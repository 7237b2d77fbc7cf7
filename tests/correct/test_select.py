"""Selection: the paper's heuristic by hand, and the term that sees a body hanging in the air."""

from dataclasses import replace

import pytest
import torch

from parc.character import humanoid
from parc.correct.select import SelectSettings, select
from parc.dataset.clip import Clip
from parc.dataset.stroll import stroll
from parc.metrics import ClipBatch, measure_clips
from parc.path.path import TerrainPath
from parc.terrain.terrain import Terrain

BODY = humanoid()


@pytest.fixture(scope="module")
def walk() -> Clip:
    clip = stroll(Terrain.flat((14, 8)), TerrainPath(torch.tensor([[0.4, 1.2, 0.0], [4.4, 1.2, 0.0]])))
    return replace(clip, path=clip.path)


def raised(clip: Clip, by: float) -> Clip:
    return replace(clip, motion=replace(clip.motion, root_pos=clip.motion.root_pos + torch.tensor([0.0, 0.0, by])))


def test_score_is_penetration_contact_and_incompletion(walk: Clip) -> None:
    clips = [walk, raised(walk, -0.05)]
    measured = measure_clips(clips, BODY)
    result = select(ClipBatch.stack(clips, BODY), torch.tensor([False, True]), SelectSettings(floating=0.0))
    for row, extra in ((0, 1000.0), (1, 0.0)):
        assert float(result.score[row]) == pytest.approx(measured[row]["tpl"] + measured[row]["tcl"] + extra, rel=1e-4)
    assert result.valid.tolist() == [False, measured[1]["tpl"] < 80]


def test_a_hovering_candidate_wins_by_the_papers_heuristic_and_is_not_valid_by_ours(walk: Clip) -> None:
    """Without labels, a body 1 m in the air has neither penetration nor contact loss."""
    hovering = raised(walk, 1.0)
    hovering = replace(hovering, motion=replace(hovering.motion, contacts=torch.zeros_like(hovering.motion.contacts)))
    batch = ClipBatch.stack([raised(walk, -0.002), hovering], BODY)
    reached = torch.tensor([True, True])
    groups = torch.zeros(2, dtype=torch.long)
    assert select(batch, reached, SelectSettings(floating=0.0, most_floating=10_000)).best(groups) == [[1]]
    result = select(batch, reached)
    assert result.best(groups) == [[0]] and result.valid.tolist() == [True, False]
    assert select(batch, reached, SelectSettings(most_floating=10_000)).valid.all()


def test_best_of_each_group_in_order(walk: Clip) -> None:
    clips = [raised(walk, -0.01 * k) for k in (3, 1, 2, 0)]
    result = select(ClipBatch.stack(clips, BODY), torch.ones(4, dtype=torch.bool))
    assert result.best(torch.tensor([0, 0, 1, 1]), count=2) == [[1, 0], [3, 2]]
