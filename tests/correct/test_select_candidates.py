"""Selection: the paper's heuristic by hand, and the term that sees a body hanging in the air."""

from dataclasses import replace

import pytest
import torch

from parc.author.procedural_walk import stroll
from parc.character import humanoid
from parc.correct.select_candidates import SelectSettings, select
from parc.dataset.clip import Clip
from parc.metrics import ClipBatch, measure_clips
from parc.path.terrain_path import TerrainPath
from parc.terrain.terrain import Terrain
from parc.terrain.terrain_distance import signed_distance

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


def by_hand(clip: Clip) -> float:
    """sum_t sum_b c_b min_p |sd(p)|, body by body."""
    batch = ClipBatch.stack([clip], BODY)
    distance = signed_distance(batch.terrains, batch.points.flatten(1, 2)).view(batch.points.shape[:-1])[0].abs()
    rows = [batch.surface.by_body[b].unique() for b in range(BODY.num_bodies)]
    return sum(float((batch.contacts[0, :, b] * distance[:, rows[b]].amin(-1)).sum()) for b in range(BODY.num_bodies))


def test_by_the_papers_heuristic_the_score_alone_decides(walk: Clip) -> None:
    """A sunk motion that arrives against a clean one that does not, by hand; limits are told, and rank nothing."""
    clips = [raised(walk, -0.1), raised(walk, -0.02), walk]
    batch, reached = ClipBatch.stack(clips, BODY), torch.tensor([True, True, False])
    paper = SelectSettings.paper()
    result = select(batch, reached, paper)
    contact = [by_hand(clip) for clip in clips]
    assert contact[0] > measure_clips(clips, BODY)[0]["tcl"] + 0.1, "sunk feet touch by the released code's formula"
    measured = zip(measure_clips(clips, BODY), contact, reached.tolist(), strict=True)
    scores = [m["tpl"] + c + 1000.0 * (not r) for m, c, r in measured]
    assert result.score.tolist() == pytest.approx(scores, rel=1e-4)
    groups = torch.zeros(3, dtype=torch.long)
    assert result.best(groups, 3) == [sorted(range(3), key=scores.__getitem__)] == [[1, 0, 2]]


def test_limits_do_not_rank_in_the_papers_heuristic(walk: Clip) -> None:
    """A motion over a limit with the better score, told as not valid, is still the best; in ours it stands behind."""
    hovering = raised(walk, 1.0)
    hovering = replace(hovering, motion=replace(hovering.motion, contacts=torch.zeros_like(hovering.motion.contacts)))
    batch = ClipBatch.stack([raised(walk, -0.02), hovering], BODY)
    for valid_first, best in ((False, 1), (True, 0)):
        limited = replace(SelectSettings.paper(), most_floating=6, valid_first=valid_first)
        result = select(batch, torch.ones(2, dtype=torch.bool), limited)
        assert result.valid.tolist() == [True, False] and result.score[1] < result.score[0]
        assert result.best(torch.zeros(2, dtype=torch.long)) == [[best]]
    assert not SelectSettings.paper().valid_first
