"""Rounds of planning: where candidates begin, how they are judged, who goes on."""

from dataclasses import replace

import pytest
import torch

from parc.generate.frame import FrameState
from parc.live.branch import Branch
from parc.live.follower import Reference, Snapshot
from parc.live.planner import Plan, Planner, PlannerSettings, Request, Start, origins, spread
from parc.live.stage import GivenUp, Ground, Stage, Trial
from parc.path import TerrainPath
from parc.terrain import Terrain
from parc.traverse.arrive import STANDING

FLAT = Terrain.flat((20, 12))
WAY = Ground(FLAT, TerrainPath(torch.tensor([[2.0, 2.4, 0.0], [6.0, 2.4, 0.0]])), 0.0)
SETTINGS = PlannerSettings(candidates=4, beam=2, rehearse=12, frames=27)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def planner(generator, tracker) -> Planner:
    return Planner(generator, tracker, FLAT, SETTINGS)


@pytest.fixture(scope="module")
def first(planner: Planner) -> Plan:
    return planner.plan(Request(WAY, commit=6), seeded())


def test_every_motion_is_written_in_some_way() -> None:
    for candidates in (1, 2, 3, 5, 6, 8, 16):
        settings = PlannerSettings(candidates=candidates)
        kinds = origins(settings)
        assert len(kinds) == candidates and kinds == sorted(kinds, key=["held", "plan", "body", "pause"].index)
        assert kinds.count("held") == round(settings.held * candidates)
        assert kinds.count("pause") == (candidates >= 4) and "body" in kinds
    assert origins(PlannerSettings(candidates=4, held=1.0, from_plan=0.0)) == ["held"] * 4


def test_half_of_the_places_are_for_one_parent_at_most(first: Plan) -> None:
    one, two = first.leaves[0], first.leaves[1]
    children = [replace(one, parent=one, score=s) for s in (9.0, 8.0, 7.0)] + [replace(one, parent=two, score=1.0)]
    taken = spread(children, 3)
    assert [(branch.parent is one, branch.score) for branch in taken] == [(True, 9.0), (True, 8.0), (False, 1.0)]
    assert [branch.score for branch in spread(children[:3], 3)] == [9.0, 8.0, 7.0]


def test_new_leaves_begin_where_the_old_ones_end(planner: Planner, first: Plan) -> None:
    assert len(first.leaves) == 2 and first.best.score >= first.leaves[1].score
    assert all(leaf.parent is None and leaf.end == 6 and leaf.recorded == 12 for leaf in first.leaves)
    second = planner.plan(Request(WAY, first.leaves, commit=6), seeded(1))
    for leaf in second.leaves:
        assert leaf.parent in first.leaves
        for mine, others in zip(leaf.at(0), leaf.parent.last, strict=True):
            assert torch.equal(mine, others)
        origin = leaf.parent.reference.frames.root_pos[0, 6] if leaf.from_plan else leaf.parent.last.qpos[:3]
        torch.testing.assert_close(leaf.reference.frames.root_pos[0, 0], origin, atol=1e-5, rtol=0)


def test_the_same_numbers_give_the_same_plan(planner: Planner, first: Plan) -> None:
    again = planner.plan(Request(WAY, commit=6), seeded())
    assert torch.equal(again.best.states.qpos, first.best.states.qpos) and again.best.score == first.best.score
    other = planner.plan(Request(WAY, commit=6), seeded(5))
    assert not torch.equal(other.best.states.qpos, first.best.states.qpos)


def test_who_is_on_its_own_is_followed_until_the_plan_is_due(planner: Planner, first: Plan) -> None:
    branch = first.best
    start = Start(branch.at(3), branch.reference, 3, 4)
    plan = planner.plan(Request(WAY, start=start, commit=6), seeded(2))
    alone = plan.best.lineage()[0]
    assert alone.end == 4 and alone.first == 3
    torch.testing.assert_close(alone.last.qpos, branch.at(7).qpos, atol=2e-3, rtol=0)


def test_whoever_makes_no_headway_weighs_progress_more(planner: Planner, first: Plan) -> None:
    """Of two bodies, one lost at once some metres ahead and one safe on the spot, the bold choose the first."""
    safe = replace(first.best, score=0.0)
    states = Snapshot(*(torch.stack([part, part]) for part in safe.states))
    states.qpos[1, :, 0] += 2.5
    trial = Trial(states, safe.reference, torch.tensor([12, 4]), torch.zeros(2, 12), torch.zeros(2, 12), torch.tensor([8.0, 4.0]))
    careful, bold = (planner._score(Request(WAY, caution=caution), trial) for caution in (1.0, 0.0))
    assert int(careful.argmax()) == 0 and int(bold.argmax()) == 1


def test_a_pit_and_the_edge_of_the_map_cost_progress(planner: Planner, first: Plan) -> None:
    rows = Snapshot(*(torch.stack([part] * 4) for part in first.best.states))
    rows.qpos[..., 1:3] = torch.tensor([2.4, STANDING])
    trial = Trial(rows, first.best.reference, torch.full((4,), 12), torch.zeros(4, 12), torch.zeros(4, 12), torch.zeros(4))
    rows.qpos[1, :, 2] -= 1.5
    rows.qpos[2, :, 2] += 1.5
    rows.qpos[3, :, 1] = FLAT.extent[0][1] - 1.0
    cost = (lambda score: score[0] - score)(planner._score(Request(WAY), trial))
    aside = 2.4 - float(rows.qpos[3, 0, 1]) - SETTINGS.corridor
    expected = [0.0, SETTINGS.pit + SETTINGS.off_path, SETTINGS.off_path, SETTINGS.off_map + aside * SETTINGS.off_path]
    torch.testing.assert_close(cost, torch.tensor(expected), atol=1e-4, rtol=0)


def test_a_plan_that_nobody_wants_is_given_up(planner: Planner, first: Plan) -> None:
    request = Request(WAY, first.leaves, commit=6)
    request = request._replace(given_up=type(request.given_up)())
    request.given_up.set()
    with pytest.raises(GivenUp):
        planner.plan(request, seeded(3))


@pytest.fixture(scope="module")
def stage(generator, tracker) -> Stage:
    return Stage(generator, tracker, None, FLAT, 2, SETTINGS.rollout)


def test_what_is_held_is_kept_to_its_end(stage: Stage, first: Plan) -> None:
    leaves: list[Branch] = list(first.leaves)
    held = stage.write(WAY, leaves, ["held", "held"], 27, seeded())
    for k, leaf in enumerate(leaves):
        left = leaf.reference.frames.root_pos[0, 6:]
        assert torch.equal(held.root_pos[k, : len(left)], left)
    assert held.root_pos.shape[1] == 27 and bool(held.root_pos.isfinite().all())
    used_up = [leaf.cut(12) for leaf in leaves]
    for leaf in used_up:
        leaf.first = 15
    written = stage.write(WAY, used_up, ["held", "held"], 27, seeded())
    torch.testing.assert_close(written.root_pos[0, 0], leaves[0].reference.frames.root_pos[0, -1])


def test_motions_of_all_kinds_go_on_from_their_own_leaf(stage: Stage, first: Plan) -> None:
    leaves = [first.leaves[k % 2] for k in range(4)]
    frames = stage.write(WAY, leaves, ["body", "held", "plan", "pause"], 40, seeded(2))
    assert float(frames.root_pos.diff(dim=1).norm(dim=-1).max()) < 0.15
    for k, leaf in ((0, leaves[0]), (3, leaves[3])):
        torch.testing.assert_close(frames.root_pos[k, 0], leaf.last.qpos[:3], atol=1e-5, rtol=0)
    kept = leaves[1].reference.frames.root_pos[0, 6:]
    assert torch.equal(frames.root_pos[1, : len(kept)], kept)
    ends = frames.root_pos[:, -1]
    assert float((ends[:, None] - ends).norm(dim=-1).add(torch.eye(4)).min()) > 1e-3, "no two are the same"


def test_who_pauses_gets_less_far(stage: Stage, first: Plan) -> None:
    frames = stage.write(WAY, [first.best] * 8, ["body"] * 4 + ["pause"] * 4, 40, seeded(4))
    gone = frames.root_pos[:, -1, 0] - frames.root_pos[:, 0, 0]
    assert float(gone[:4].mean()) > float(gone[4:].mean()) + 0.2


def test_a_trial_is_what_a_follower_does(stage: Stage, first: Plan) -> None:
    leaf = first.best
    reference = Reference.of(
        stage.follower.character, FrameState(*(part.repeat_interleave(2, 0) for part in leaf.reference.frames))
    )
    trial = stage.follow(FLAT, [leaf.at(0)] * 2, reference, 12, 6)
    for k in range(2):
        torch.testing.assert_close(trial.states.qpos[k], leaf.states.qpos, atol=5e-3, rtol=0)
    assert int(trial.survived[0]) == leaf.survived and trial.error.shape == trial.drift.shape == (2, 12)
    torch.testing.assert_close(trial.states.qpos_before[:, 1:], trial.states.qpos[:, :-1])
    assert float(trial.value.abs().max()) == 0.0, "there is no critic"
