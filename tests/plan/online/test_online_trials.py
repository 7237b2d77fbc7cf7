import json
from dataclasses import replace

import pytest
import torch

from parc.cli.main import main
from parc.errors import SettingsError
from parc.path import TerrainPath
from parc.plan.online_pilot import OnlineReflexSettings, PilotSettings
from parc.plan.online_planner import PlannerSettings
from parc.plan.online_trials import TrialResult, TrialSettings, answers_to_keys, run_trial, summary, trial_ground, trouble_at


def test_grounds_are_seeded_one_by_one() -> None:
    for index in range(6):
        ground, again = trial_ground(index, 5), trial_ground(index, 5)
        assert torch.equal(ground.terrain.heights, again.terrain.heights) and torch.equal(ground.goal, again.goal)
        assert float((ground.goal - ground.start).norm()) >= 5.0 - 1e-4
        assert bool(ground.terrain.contains(ground.start)) and bool(ground.terrain.contains(ground.goal))
    assert not torch.equal(trial_ground(0, 5).terrain.heights, trial_ground(0, 6).terrain.heights)
    assert not torch.equal(trial_ground(0, 5).terrain.heights, trial_ground(1, 5).terrain.heights)


def test_the_summary_is_what_it_says() -> None:
    one = TrialResult(0, True, True, 4.0, None, 0.3, 0, 0, 8, 6, 2, 0, 0.05, 0.5, 0.8, 0.1, 0.2, "none", (0.1, 0.3), 1.4, 90.0)
    two = TrialResult(1, False, True, 12.0, 2.0, 3.1, 2, 2, 24, 12, 6, 1, 0.09, 1.0, 1.6, 0.9, 0.0, "climb", (0.2, 0.4))
    total = summary([one, two])
    assert total["reached"] == 0.5 and total["reached_after_resets"] == 1.0
    assert total["falls"] == total["resets"] == 2 and total["stalls"] == 1
    assert total["simulated_seconds"] == 16.0
    assert total["wall_per_simulated_second"] == pytest.approx((4 * 0.5 + 12 * 1.0) / 16)
    assert total["cpu_per_simulated_second"] == pytest.approx((4 * 0.8 + 12 * 1.6) / 16)
    assert total["trouble"] == {"none": 1, "climb": 1}
    assert total["joint_error"] == pytest.approx((4 * 0.05 + 12 * 0.09) / 16)
    assert total["plan_p50"] == pytest.approx(0.25)
    assert total["safe_plans"] == pytest.approx(18 / 32) and total["continued_plans"] == pytest.approx(8 / 32)
    assert [t["index"] for t in total["trials"]] == [0, 1]
    assert total["walk_r"] == pytest.approx(1.4) and total["human_n"] == pytest.approx(90.0)
    json.dumps(total)


def test_trouble_is_named_by_the_path_around_a_fall() -> None:
    way = torch.zeros(9, 3)
    way[:, 0] = torch.arange(9.0)
    way[3:, 2], way[6:, 2] = 0.8, 0.2
    path = TerrainPath(way)
    assert [trouble_at(path, torch.tensor([x, 0.3])) for x in (0.2, 2.4, 5.6, 8.0)] == ["level", "climb", "drop", "level"]
    assert trouble_at(path, torch.tensor([20.0, 20.0])) == "level"


def test_a_trial_runs_and_says_how_it_went(generator, tracker) -> None:
    pilot = PilotSettings(planner=PlannerSettings(candidates=1, beam=1))
    settings = replace(TrialSettings(seconds=1.5), pilot=pilot)
    result, motion = run_trial(generator, tracker, 0, 0, settings)
    assert len(motion) == 45 == round(30 * result.seconds)
    assert result.trouble in ("slow", "climb", "drop", "level") and result.cpu > 0 and result.climb >= 0 and result.drop >= 0
    assert not result.reached and result.nearest <= 6.9 and result.wall > 0 and result.plans == len(result.plan_seconds) > 2
    with pytest.raises(SettingsError, match="time limit"):
        TrialSettings(seconds=0)


def test_answers_to_keys_come_after_the_delay(generator, tracker) -> None:
    settings = replace(TrialSettings(), pilot=PilotSettings(False, OnlineReflexSettings(every=8, delay=2, frames=14)))
    told = answers_to_keys(generator, tracker, 1, 0, settings, paced=False)
    assert told["answer_steps_p50"] == told["answer_steps_p95"] == 2 and told["answer_p95"] > 0


def test_the_command_prints_one_object(generator, tracker, capsys, tmp_path) -> None:
    words = ["live", "--terrains", "1", "--seconds", "0.7", "--pilot.no-rehearse", "--keys", "0", "--json"]
    words += ["-o", str(tmp_path / "runs")]
    assert main(words) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["terrains"] == 1 and not result["rehearse"] and result["plan_p95"] >= result["plan_p50"] > 0
    assert (tmp_path / "runs" / "index.json").exists()
    assert main(["live", "--terrains", "0"]) == 2
    assert "expected at least 1" in capsys.readouterr().err
