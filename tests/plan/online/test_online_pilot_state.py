"""The three states of a live character, and what leads from one to another: the table at the head of the module."""

import pytest
import torch

from parc.path import TerrainPath
from parc.plan.online_pilot_state import Following, OnItsOwn, Standing
from parc.plan.online_planner import PathOnTerrain, Plan, Planner, PlannerSettings, Request, Start
from parc.terrain import Terrain
from parc.track.follow.follower import Follower

FLAT = Terrain.flat((20, 12))
WAY = PathOnTerrain(FLAT, TerrainPath(torch.tensor([[2.0, 2.4, 0.0], [6.0, 2.4, 0.0]])), 0.0)


@pytest.fixture(scope="module")
def planner(generator, tracker) -> Planner:
    return Planner(generator, tracker, FLAT, PlannerSettings(candidates=2, beam=1, rehearse=12, frames=27))


@pytest.fixture(scope="module")
def first(planner: Planner) -> Plan:
    return planner.rehearse(Request(WAY, commit=6), torch.Generator().manual_seed(0))


@pytest.fixture
def body(tracker) -> Follower:
    return Follower(tracker, FLAT)


def following(first: Plan, body: Follower) -> Following:
    state = Standing().on_plan(first, body)
    assert isinstance(state, Following)
    return state


def on_its_own(first: Plan, body: Follower, planner: Planner) -> tuple[OnItsOwn, Plan]:
    """Pushed after two steps; the plan for it is due four steps later."""
    state = following(first, body)
    for _ in range(2):
        state.move(body)
    body.push(torch.tensor([0.0, 0.3, 0.0]))
    alone = state.on_break()
    assert isinstance(alone, OnItsOwn) and body.reference is not None
    start = Start(body.snapshot(), body.reference, body.frame, 4)
    plan = planner.rehearse(Request(WAY, start=start, commit=6), torch.Generator().manual_seed(1))
    for _ in range(4):
        alone.move(body)
    return alone, plan


def test_who_stands_has_nothing_to_lose_and_begins_with_its_first_plan(first: Plan, body: Follower) -> None:
    standing = Standing()
    assert standing.on_break() is standing
    following(first, body)
    assert torch.equal(body.snapshot().qpos, first.best.at(0).qpos) and body.frame == 0


def test_who_follows_is_shown_the_record(first: Plan, body: Follower) -> None:
    state = following(first, body)
    for step in (1, 2, 3):
        state.move(body)
        assert torch.equal(body.snapshot().qpos, first.best.at(step).qpos) and body.frame == step
    assert state.on_plan(first, body) is state


def test_who_was_pushed_is_simulated_until_a_plan_knows_where_it_is(first: Plan, body: Follower, planner: Planner) -> None:
    alone, plan = on_its_own(first, body, planner)
    assert alone.on_break() is alone
    state = alone.on_plan(plan, body)
    assert isinstance(state, Following) and state.tree.has_ended and not state.tree.is_bare
    torch.testing.assert_close(state.tree.now.qpos, body.snapshot().qpos, atol=1e-3, rtol=0)


def test_a_plan_for_a_body_that_was_pushed_again_is_only_a_reference(first: Plan, body: Follower, planner: Planner) -> None:
    alone, plan = on_its_own(first, body, planner)
    body.push(torch.tensor([0.5, 0.0, 0.0]))
    alone.move(body)
    assert alone.on_plan(plan, body) is alone
    assert body.reference is plan.best.reference and body.frame == 0
