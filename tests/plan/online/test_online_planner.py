"""Rounds of planning: where candidates begin, how they are judged, who goes on."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from parc.motion.frame_state import FrameState
from parc.path import TerrainPath
from parc.plan.future_tree import Branch, spread_out
from parc.plan.online_planner import FALL, PathOnTerrain, Plan, Planner, PlannerSettings, Request, Start, again, origins
from parc.plan.path_progress import CROUCH, STANDING
from parc.plan.plan_writing import GivenUp
from parc.terrain import Terrain
from parc.track.follow.follower import SETTLED
from parc.track.follow.plan_reference import PlanReference
from parc.track.follow.trace import Snapshot

FLAT = Terrain.flat((20, 12))
WAY = PathOnTerrain(FLAT, TerrainPath(torch.tensor([[2.0, 2.4, 0.0], [6.0, 2.4, 0.0]])), 0.0)
SETTINGS = PlannerSettings(candidates=4, beam=2, rehearse=12, frames=27)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def planner(generator, tracker) -> Planner:
    return Planner(generator, tracker, FLAT, SETTINGS)


@pytest.fixture(scope="module")
def first(planner: Planner) -> Plan:
    return planner.rehearse(Request(WAY, commit=6), seeded())


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
    children = [replace(one, parent=one) for _ in range(3)] + [replace(one, parent=two)]
    assert spread_out(children, [9.0, 8.0, 7.0, 1.0], 3) == [0, 1, 3]
    assert spread_out(children[:3], [7.0, 8.0, 9.0], 3) == [2, 1, 0]
    children[2].origin = "pause"
    assert spread_out(children, [9.0, 8.0, 7.0, 1.0], 2) == [0, 3, 2], "a pause is kept besides"
    children[2].survived = 3
    assert spread_out(children, [9.0, 8.0, 7.0, 1.0], 2) == [0, 3], "but not one that falls"


def test_what_would_be_the_same_again_is_written_in_another_way(first: Plan) -> None:
    fresh, tried = replace(first.best, tries=0), replace(first.best, tries=2)
    assert again([fresh, tried, tried, tried], ["held", "held", "plan", "body"]) == ["held", "plan", "plan", "body"]


def test_new_leaves_begin_where_the_old_ones_end(planner: Planner, first: Plan) -> None:
    assert len(first.leaves) == 4 and list(first.scores) == sorted(first.scores, reverse=True)
    assert all(leaf.parent is None and leaf.end == 6 and leaf.recorded == 12 for leaf in first.leaves)
    second = planner.rehearse(Request(WAY, first.leaves, commit=6), seeded(1))
    assert set(second.parents) == set(first.leaves[:2]), "the best two go on"
    assert all(leaf in second.leaves for leaf in first.leaves), "all are kept, to be tried again"
    for leaf in second.leaves[:]:
        if leaf in first.leaves:
            continue
        assert leaf.parent in second.parents
        for mine, others in zip(leaf.at(0), leaf.parent.last, strict=True):
            assert torch.equal(mine, others)
        origin = leaf.parent.reference.frames.root_pos[0, 6] if leaf.from_plan else leaf.parent.last.qpos[:3]
        torch.testing.assert_close(leaf.reference.frames.root_pos[0, 0], origin, atol=1e-5, rtol=0)


def test_the_same_numbers_give_the_same_plan(planner: Planner, first: Plan) -> None:
    again = planner.rehearse(Request(WAY, commit=6), seeded())
    assert torch.equal(again.best.states.qpos, first.best.states.qpos) and again.scores == first.scores
    other = planner.rehearse(Request(WAY, commit=6), seeded(5))
    assert not torch.equal(other.best.states.qpos, first.best.states.qpos)


def test_who_is_on_its_own_is_followed_until_the_plan_is_due(planner: Planner, first: Plan) -> None:
    branch = first.best
    start = Start(branch.at(3), branch.reference, 3, 4)
    plan = planner.rehearse(Request(WAY, start=start, commit=6), seeded(2))
    alone = plan.best.lineage()[0]
    assert alone.end == 4 and alone.first == 3
    torch.testing.assert_close(alone.last.qpos, branch.at(7).qpos, atol=2e-3, rtol=0)


def test_a_pause_is_tried_where_it_is_asked_for(planner: Planner, first: Plan) -> None:
    plan = planner.rehearse(Request(WAY, first.leaves[1:2], stop=first.best, commit=6), seeded(7))
    assert plan.stop is first.best and plan.parents == (*first.leaves[1:2] * 3, first.best)
    for leaf in plan.leaves:
        if leaf.origin == "pause":
            assert leaf.parent is first.best and leaf.end == (12 if leaf.is_steady else 6)


def test_who_stands_safely_goes_on_standing(planner: Planner) -> None:
    spot = PathOnTerrain(FLAT, TerrainPath(torch.tensor([[2.0, 2.4, 0.0], [2.05, 2.4, 0.0]])), 0.0)
    pause = replace(planner.rehearse(Request(spot, commit=12), seeded(7)).best, origin="pause")
    plan = planner.rehearse(Request(spot, (pause,), wait=9, commit=6), seeded(8))
    (longer,) = plan.leaves
    assert plan.parents == () and longer.parent is pause and longer.origin == "pause"
    assert longer.end == longer.recorded == longer.survived == 9 and longer.first == 12
    torch.testing.assert_close(longer.at(0).qpos, pause.last.qpos)
    assert float((longer.last.qpos - pause.last.qpos)[:2].norm()) < 0.2


def shaped(like: Branch, change: Callable[[Tensor], object] = lambda qpos: None, **fields) -> Branch:
    """A branch in the middle of the way and standing, changed."""
    qpos = like.states.qpos.clone()
    qpos[:, :3] = torch.tensor([2.4, 2.4, STANDING])
    change(qpos)
    return replace(like, states=like.states._replace(qpos=qpos), parent=None, **fields)


def test_whoever_makes_no_headway_weighs_progress_more(planner: Planner, first: Plan) -> None:
    """Of two bodies, one lost soon some metres ahead and one safe on the spot, the bold choose the first."""

    def ahead(qpos: Tensor) -> None:
        qpos[:, 0] = 2.4 + 0.2 * torch.arange(13.0)

    bodies = [shaped(first.best, value=8.0), shaped(first.best, ahead, survived=10, value=0.0)]
    careful, bold = (planner._score(Request(WAY, caution=caution), bodies) for caution in (1.0, 0.0))
    assert int(careful.argmax()) == 0 and int(bold.argmax()) == 1


def test_a_pit_the_ground_and_the_edge_of_the_map_cost_progress(planner: Planner, first: Plan) -> None:
    def beyond(qpos: Tensor) -> None:
        qpos[:, 1] = FLAT.extent[0][1] - 1.0

    def lying(qpos: Tensor) -> None:
        qpos[:, 2] = 0.2

    bodies = [shaped(first.best), shaped(first.best, lying), shaped(first.best, beyond)]
    cost = (lambda score: score[0] - score)(planner._score(Request(WAY), bodies))
    low = STANDING - 0.2
    worth = 0.4 + SETTINGS.climb * (low - CROUCH)  # who lies has not come along the path
    pit, lies = SETTINGS.pit * (low - SETTINGS.corridor), SETTINGS.low * (low - CROUCH)
    aside = 2.4 - float(FLAT.extent[0][1] - 1.0) - SETTINGS.corridor
    expected = [0.0, worth + pit + lies, SETTINGS.off_map + aside * SETTINGS.off_path]
    torch.testing.assert_close(cost, torch.tensor(expected), atol=1e-4, rtol=0)


def test_time_a_pause_and_more_tries_cost_progress_and_contentment_does_not_grow(planner: Planner, first: Plan) -> None:
    early = shaped(first.best, value=SETTINGS.content)
    late = replace(early, parent=early)
    bodies = [early, late, replace(early, origin="pause"), replace(early, value=3 * SETTINGS.content)]
    score = planner._score(Request(WAY), bodies)
    expected = [0.0, SETTINGS.pace * early.end / 30, SETTINGS.idle, 0.0]
    torch.testing.assert_close(score[0] - score, torch.tensor(expected), atol=1e-4, rtol=0)
    plan = planner._plan(Request(WAY), [early, replace(early, tries=3)], [early], [], 0.0)
    assert plan.scores[0] - plan.scores[1] == pytest.approx(2 * SETTINGS.fatigue, abs=1e-4)


def test_who_climbs_gains_and_who_walks_along_the_wall_does_not(planner: Planner, first: Plan) -> None:
    """A path that goes up 1 m at 2 m: below it, one that hauls itself up is worth more than one that went on at its foot."""
    way = TerrainPath(torch.tensor([[2.0, 2.4, 0.0], [4.0, 2.4, 0.0], [4.01, 2.4, 1.0], [6.0, 2.4, 1.0]]))

    def at(x: float, z: float) -> Callable[[Tensor], object]:
        def change(qpos: Tensor) -> None:
            qpos[:, 0] = x
            qpos[:, 2] = STANDING + z

        return change

    bodies = [shaped(first.best, at(x, z)) for x, z in ((3.9, 0.0), (3.9, 0.4), (4.5, 0.0), (4.5, 1.0))]
    foot, hauling, along, up = planner._score(Request(PathOnTerrain(FLAT, way, 0.0)), bodies).tolist()
    assert hauling == pytest.approx(foot + 0.4 * SETTINGS.climb, abs=0.05) and up > hauling > foot >= along - 0.2


def test_a_plan_that_nobody_wants_is_given_up(planner: Planner, first: Plan) -> None:
    request = Request(WAY, first.leaves, commit=6)
    request = request._replace(given_up=type(request.given_up)())
    request.given_up.set()
    with pytest.raises(GivenUp):
        planner.rehearse(request, seeded(3))


def test_what_is_held_is_kept_to_its_end(planner: Planner, first: Plan) -> None:
    leaves: list[Branch] = list(first.leaves[:2])
    held = planner.write(WAY, leaves, ["held", "held"], 27, seeded())
    for k, leaf in enumerate(leaves):
        left = leaf.reference.frames.root_pos[0, 6:]
        assert torch.equal(held.root_pos[k, : len(left)], left)
    assert held.root_pos.shape[1] == 27 and bool(held.root_pos.isfinite().all())
    used_up = [leaf.cut(12) for leaf in leaves]
    for leaf in used_up:
        leaf.first = 15
    written = planner.write(WAY, used_up, ["held", "held"], 27, seeded())
    torch.testing.assert_close(written.root_pos[0, 0], leaves[0].reference.frames.root_pos[0, -1])


def test_motions_of_all_kinds_go_on_from_their_own_leaf(planner: Planner, first: Plan) -> None:
    leaves = [first.leaves[k % 2] for k in range(4)]
    frames = planner.write(WAY, leaves, ["body", "held", "plan", "pause"], 40, seeded(2))
    assert float(frames.root_pos.diff(dim=1).norm(dim=-1).max()) < 0.15
    for k, leaf in ((0, leaves[0]), (3, leaves[3])):
        torch.testing.assert_close(frames.root_pos[k, 0], leaf.last.qpos[:3], atol=1e-5, rtol=0)
    kept = leaves[1].reference.frames.root_pos[0, 6:]
    assert torch.equal(frames.root_pos[1, : len(kept)], kept)
    ends = frames.root_pos[:, -1]
    assert float((ends[:, None] - ends).norm(dim=-1).add(torch.eye(4)).min()) > 1e-3, "no two are the same"


def test_who_pauses_gets_less_far(planner: Planner, first: Plan) -> None:
    frames = planner.write(WAY, [first.best] * 8, ["body"] * 4 + ["pause"] * 4, 40, seeded(4))
    gone = frames.root_pos[:, -1, 0] - frames.root_pos[:, 0, 0]
    assert float(gone[:4].mean()) > float(gone[4:].mean()) + 0.2


def test_a_trial_is_what_a_follower_does(planner: Planner, first: Plan) -> None:
    leaf = first.best
    copies = FrameState(*(part.repeat_interleave(4, 0) for part in leaf.reference.frames))
    reference = PlanReference.of(planner._stage.follower.anatomy, copies)
    trial = planner._stage.follow(FLAT, Snapshot.stack([leaf.at(0)] * 4), reference, 12, 0, SETTLED, FALL)
    for k in range(4):
        torch.testing.assert_close(trial.states.qpos[k], leaf.states.qpos, atol=5e-3, rtol=0)
    assert int(trial.survived[0]) == leaf.survived and trial.error.shape == trial.drift.shape == (4, 12)
    torch.testing.assert_close(trial.states.qpos_before[:, 1:], trial.states.qpos[:, :-1])
    assert planner._stage.value(trial, 6) is None and leaf.value == 0.0, "there is no critic"


def test_who_lies_has_not_survived(planner: Planner, first: Plan) -> None:
    """All follow a pose that does not move; one of them lies on its back."""
    frames = FrameState(*(part[:, :1].repeat(4, 30, *(1,) * (part.dim() - 2)) for part in first.best.reference.frames))
    back = torch.tensor([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    frames.root_pos[:, :, 2] = torch.tensor([[STANDING], [0.15], [STANDING], [STANDING]])
    frames.root_rot[1] = back
    reference = PlanReference.of(planner._stage.follower.anatomy, frames)
    trial = planner._stage.follow(FLAT, None, reference, 14, 0, SETTLED, FALL)
    assert int(trial.survived[0]) == 14 and int(trial.survived[1]) < round(30 * FALL.patience)
    assert float(trial.drift[1, : int(trial.survived[1])].max()) < 0.5, "the reference itself was not lost"
