"""The closed loop on ground the models in the box can walk on."""

from dataclasses import replace

import pytest
import torch

from parc.errors import SettingsError, TerrainError
from parc.path import TerrainPath
from parc.plan.online_pilot import OnlineReflexSettings, Pilot, PilotSettings
from parc.plan.online_planner import PlannerSettings
from parc.terrain import Terrain
from parc.track.follow.follower import Follower

FLAT = Terrain.flat((20, 20))
QUICK = PilotSettings(planner=PlannerSettings(candidates=1, beam=1))
BROADER = replace(QUICK, planner=PlannerSettings(candidates=2, beam=2))
OUT_OF_STEP = replace(QUICK, period=17, delay=10, planner=PlannerSettings(candidates=4, beam=2))
"""branches end while plans are made, and there are pauses"""
REFLEX = replace(QUICK, rehearse=False, reflex=OnlineReflexSettings(every=6, delay=2, frames=14))
START = torch.tensor([2.0, 4.0])


def driven(generator, tracker, threaded: bool, settings: PilotSettings, steps: int = 95) -> torch.Tensor:
    """A walk, a push that fells it while a plan is being made, and the walk on after it was put back."""
    with Pilot(generator, tracker, FLAT, settings, seed=3, threaded=threaded) as pilot:
        pilot.stand(START, 0.0)
        pilot.go_to(torch.tensor([6.0, 4.0]))
        places = []
        for k in range(steps):
            if k == 31:
                pilot.push(torch.tensor([0.0, 6.0, 3.0]))
            places.append(pilot.step().root_pos)
        assert pilot.statistics.resets == 1
        return torch.stack(places)


@pytest.mark.parametrize("settings", [BROADER, OUT_OF_STEP], ids=["in step", "out of step"])
def test_the_same_seed_gives_the_same_run_whoever_makes_the_plans(generator, tracker, settings) -> None:
    between, beside = (driven(generator, tracker, threaded, settings) for threaded in (False, True))
    assert torch.equal(between, beside)
    assert float((between[:31] - between[0]).norm(dim=-1).max()) > 0.02, "it moves"


def test_by_reflex_too_the_same_seed_gives_the_same_run(generator, tracker) -> None:
    def driven(threaded: bool) -> torch.Tensor:
        with Pilot(generator, tracker, FLAT, REFLEX, seed=3, threaded=threaded) as pilot:
            pilot.stand(START, 0.0)
            pilot.go_towards(torch.tensor([1.0, 0.0]))
            return torch.stack([pilot.step().root_pos for _ in range(20)])

    between = driven(False)
    assert torch.equal(between, driven(True))
    assert float(between[-1, 0] - between[0, 0]) > 0.1, "it walks"


def test_by_reflex_a_key_changes_the_plan_after_the_delay_and_physics_moves_the_body(generator, tracker) -> None:
    with Pilot(generator, tracker, FLAT, REFLEX, seed=4) as pilot:
        pilot.stand(START, 0.0)
        for _ in range(4):
            pilot.step()
        pilot.go_towards(torch.tensor([0.0, 1.0]))
        for k in range(1, 10):
            before, plan = pilot._body.snapshot(), pilot.plan
            pilot.step()
            asked = k - 1 in (2, 8)  # taken at the beginning of the step: 2 after the key, and 6 after that plan was asked for
            assert (pilot.plan is not plan) == asked
            if asked:
                assert pilot.plan_frame == 3, "the body has gone on for two steps while the plan was made, and one after it"
            alone = Follower(tracker, FLAT)
            alone.put(before)
            alone.follow(pilot.plan, pilot.plan_frame - 1)
            alone.step()
            torch.testing.assert_close(alone.world.body_pos[0, 0], pilot._body.world.body_pos[0, 0], atol=1e-4, rtol=0)
        assert pilot.statistics.answer_steps == [2] and pilot.statistics.safe_plans == 1
        assert pilot.statistics.answer_seconds[0] > 0


def test_what_is_played_is_what_physics_does(generator, tracker) -> None:
    """From every state that is shown, one step of simulation with the plan in use leads to the next that is shown."""
    with Pilot(generator, tracker, FLAT, QUICK, seed=4) as pilot:
        pilot.stand(START, 0.0)
        pilot.go_towards(torch.tensor([1.0, 0.0]))
        alone = Follower(tracker, FLAT)
        for _ in range(32):
            before = pilot._body.snapshot()
            moment = pilot.step()
            assert not pilot.is_on_its_own and pilot.plan is not None
            alone.put(before)
            alone.follow(pilot.plan, pilot.plan_frame - 1)
            alone.step()
            torch.testing.assert_close(alone.world.body_pos[0, 0], moment.root_pos, atol=1e-3, rtol=0)


def test_a_push_makes_the_body_go_on_its_own_until_a_plan_knows(generator, tracker) -> None:
    with Pilot(generator, tracker, FLAT, QUICK, seed=5, threaded=True) as pilot:
        pilot.stand(START, 0.0)
        pilot.step()
        pilot.push(torch.tensor([0.0, 0.3, 0.0]))
        velocity = pilot._body.snapshot().qvel[1]
        alone = []
        for _ in range(QUICK.delay + 1):
            pilot.step()
            alone.append(pilot.is_on_its_own)
        assert alone == [True] * QUICK.delay + [False]
        assert float(velocity) > 0.1
        far, near = FLAT.heights.clone(), FLAT.heights.clone()
        far[19, 19] = near[6, 10] = 1.0
        pilot.set_terrain(FLAT.with_heights(far))
        pilot.step()
        assert not pilot.is_on_its_own, "an edit far away changes nothing that was simulated"
        pilot.set_terrain(FLAT.with_heights(near))
        pilot.step()
        assert pilot.is_on_its_own


def test_a_wish_is_answered_after_the_delay_however_deep_the_tree_is(generator, tracker) -> None:
    with Pilot(generator, tracker, FLAT, QUICK, seed=6) as pilot:
        pilot.stand(START, 0.0)
        while pilot._tree.ahead <= QUICK.period:
            pilot.step()
        pilot.go_to(torch.tensor([6.0, 4.0]))
        pilot.step()
        assert pilot._tree.ahead == QUICK.delay - 1 and pilot._order.is_open
        asked = pilot._order._pending
        for _ in range(5):
            pilot.go_to(torch.tensor([6.0, 5.0]))
            pilot.step()
        assert pilot._order._pending is asked, "wishes that come faster than plans wait for the plan that is being made"


def test_it_walks_to_a_goal_and_stops_counting_there(generator, tracker) -> None:
    with Pilot(generator, tracker, FLAT, BROADER, seed=0) as pilot:
        pilot.stand(START, 0.0)
        goal = torch.tensor([3.8, 4.3])
        path = pilot.go_to(goal)
        torch.testing.assert_close(path.goal[:2], goal)
        arrived = [pilot.step().arrived for _ in range(1)]
        while not pilot.arrived and pilot.statistics.steps < 240:
            arrived.append(pilot.step().arrived)
        statistics = pilot.statistics
        assert pilot.arrived and sum(arrived) == 1 and arrived[-1]
        assert statistics.falls == statistics.resets == 0 and statistics.arrivals == 1
        assert float((pilot.xy - goal).norm()) < 0.8
        motion = pilot.motion()
        assert len(motion) == statistics.steps == len(arrived)
        assert float(motion.root_pos.diff(dim=0).norm(dim=-1).max()) < 0.3, "nothing teleports"
        assert statistics.plans == len(statistics.plan_seconds) >= statistics.steps // QUICK.period
        assert statistics.latency(0.5) <= statistics.latency(0.95)
        pilot.go_along(TerrainPath(torch.tensor([[3.8, 4.3, 0.0], [6.0, 4.4, 0.0]])))
        assert not pilot.arrived and pilot.steering.wish == "line"
        pilot.stay()
        assert pilot.steering.wish == "stay"


def test_a_fall_is_seen_and_the_character_stands_again(generator, tracker) -> None:
    with Pilot(generator, tracker, FLAT, QUICK, seed=1) as pilot:
        pilot.stand(START, 0.0)
        pilot.go_towards(torch.tensor([1.0, 0.0]))
        pilot.step()
        pilot.push(torch.tensor([0.0, 6.0, 3.0]))
        assert pilot.statistics.pushes == 1
        while pilot.statistics.falls == 0 and pilot.statistics.steps < 150:
            moment = pilot.step()
        assert moment.fell and pilot.statistics.falls == pilot.statistics.resets == 1
        moment = pilot.step()
        assert pilot.statistics.falls == pilot.statistics.resets == 1 and not moment.fell
        assert float(moment.root_pos[2]) > 0.6
        assert float((moment.root_pos[:2] - START).norm()) < 0.6


def test_the_ground_changes_under_it(generator, tracker) -> None:
    with Pilot(generator, tracker, FLAT, QUICK, seed=2) as pilot:
        pilot.stand(START, 0.0)
        first = pilot.go_to(torch.tensor([7.0, 4.0]))
        pilot.step()
        heights = FLAT.heights.clone()
        heights[12, :18] = 4.0
        pilot.set_terrain(FLAT.with_heights(heights))
        for _ in range(QUICK.delay + 1):
            pilot.step()
        path, _ = pilot.steering.route(pilot.terrain, pilot.xy)
        assert path.length > first.length + 3, "the way leads around the new wall"
        assert pilot.statistics.edits == 1
        with pytest.raises(TerrainError, match=r"cells of 0\.2"):
            pilot.set_terrain(Terrain.flat((20, 20), cell=0.2))


def test_what_cannot_be_is_refused(generator, tracker) -> None:
    with pytest.raises(SettingsError, match="run out before"):
        PilotSettings(period=20, delay=15)
    with pytest.raises(SettingsError, match="at least 1"):
        PilotSettings(foresight=0)
    with pytest.raises(SettingsError, match="delay <= period"):
        PilotSettings(period=5, delay=6)
    with pytest.raises(SettingsError, match="delay <= every"):
        OnlineReflexSettings(every=3, delay=4)
    with pytest.raises(SettingsError, match="run out before"):
        OnlineReflexSettings(frames=13)
    with pytest.raises(SettingsError, match="at least 1"):
        PlannerSettings(candidates=0)
    with pytest.raises(SettingsError, match="shares of motions"):
        PlannerSettings(from_plan=1.5)
    with Pilot(generator, tracker, FLAT, QUICK) as pilot:
        with pytest.raises(SettingsError, match="stand first"):
            pilot.step()
        with pytest.raises(TerrainError, match="off the terrain"):
            pilot.stand(torch.tensor([-3.0, 0.0]))


def test_without_delay_plans_come_at_once(generator, tracker) -> None:
    settings = replace(QUICK, delay=0, foresight=1, planner=replace(QUICK.planner, candidates=1))
    with Pilot(generator, tracker, FLAT, settings, seed=0) as pilot:
        pilot.stand(START, 0.0)
        pilot.go_towards(torch.tensor([0.0, 1.0]))
        pilot.step()
        assert pilot.statistics.plans == 2
        for _ in range(QUICK.period):
            pilot.step()
        assert pilot.statistics.plans == 3
