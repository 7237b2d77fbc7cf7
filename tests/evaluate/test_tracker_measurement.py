"""Table 2's protocol: the same verdicts as the training's own evaluation and as the recorder's attempts."""

import math
from dataclasses import replace

import pytest
import torch

from parc.character import humanoid
from parc.dataset.clip import Provenance
from parc.errors import SettingsError
from parc.evaluate.tracker_measurement import ClipResult, TrackerTest, by_skill, evaluate_tracker, summarise_tracker
from parc.quality.limit_profiles import TrackerInputLimits
from parc.record.tracking_attempts import run_attempts
from parc.track.env.reference_library import ReferenceSettings, build_library
from parc.track.env.track_env import TrackEnv
from parc.track.follow.evaluate_tracking import evaluate
from parc.track.follow.runner import Runner
from parc.track.learn.policy import load_actor


@pytest.fixture(scope="module")
def simulator(models) -> Runner:
    return Runner(load_actor(models / "s.safetensors", humanoid()), worlds=8, threads=1)


@pytest.fixture(scope="module")
def clips(walk):
    still = replace(walk.motion.slice(20, 21), root_pos=walk.motion.root_pos[20:21])
    standing = replace(
        still,
        root_pos=still.root_pos.expand(12, -1).clone(),
        root_rot=still.root_rot.expand(12, -1).clone(),
        joint_rot=still.joint_rot.expand(12, -1, -1).clone(),
        contacts=still.contacts.expand(12, -1).clone(),
    )
    return [
        replace(walk, name="walk", motion=walk.motion.slice(0, 60), provenance=Provenance(skill="walk")),
        replace(walk, name="stand", motion=standing, provenance=Provenance(skill="stand")),
        replace(walk, name="blink", motion=walk.motion.slice(0, 3)),
    ]


@pytest.fixture(scope="module")
def results(simulator, clips) -> list[ClipResult]:
    return evaluate_tracker(simulator, clips, TrackerTest(trials=3, episodes=2))


def unscreened_library(clips, simulator):
    return build_library(humanoid(), clips, ReferenceSettings(TrackerInputLimits(enabled=False)), "cpu", simulator.fps)


def test_verdicts_are_those_of_the_trainings_evaluation(simulator, clips, results) -> None:
    library = unscreened_library(clips[:2], simulator)
    world = simulator.world_for(2, library.bank.cell)
    env = TrackEnv(world, library, simulator.trained.settings, torch.Generator().manual_seed(0))
    for ours, theirs in zip(results, evaluate(env, simulator.trained.actor).clips, strict=False):
        assert (ours.name, ours.success) == (theirs.name, theirs.success)
        assert ours.tracked == pytest.approx(theirs.tracked, abs=1e-6)
        assert ours.first_error == pytest.approx(theirs.joint_error, rel=1e-4)


def test_verdicts_are_those_of_the_recorder(simulator, clips, results) -> None:
    attempts = run_attempts(simulator, unscreened_library(clips[:2], simulator), [(0, 0), (1, 0)])
    for ours, attempt in zip(results, attempts, strict=False):
        assert ours.success == attempt.reached_end
        assert ours.first_error == pytest.approx(float(attempt.errors[1:].mean()), rel=1e-4)


def test_there_is_something_to_tell_apart(results) -> None:
    walk, stand, blink = results
    assert stand.success and all(stand.noisy) and stand.tracked >= 0.8, "a motor holds a standing body for a third of a second"
    assert not walk.success and 0 < walk.tracked < 1, "an untrained policy falls"
    assert not blink.success and math.isnan(blink.joint_error), "three frames cannot be tracked, and count as a failure"
    assert len(walk.noisy) == 2


def test_the_same_twice(simulator, clips, results) -> None:
    assert str(evaluate_tracker(simulator, clips, TrackerTest(trials=3, episodes=2))) == str(results)


def test_summary_by_hand() -> None:
    def result(skill: str, success: bool, noisy: tuple[bool, ...], error: float) -> ClipResult:
        return ClipResult("x", skill, 1.0, success, noisy, 0.5, 0.1, error)

    rows = [
        result("run", True, (True, False), 0.1),
        result("run", False, (True, False), 0.3),
        result("", False, (False, False), math.nan),
    ]
    whole = summarise_tracker(rows)
    assert whole["success"] == pytest.approx(100 / 3)
    assert whole["success_error"] == pytest.approx(100 * math.sqrt((1 / 3) * (2 / 3) / 3))
    assert whole["success_noisy"] == pytest.approx([200 / 3, 0])
    assert whole["joint_error"] == pytest.approx(0.2)
    assert whole["joint_error_error"] == pytest.approx(math.sqrt(2) * 0.1 / math.sqrt(2))
    skills = by_skill(rows)
    assert list(skills) == ["run", "unnamed"]
    assert skills["run"]["success"] == 50.0
    assert math.isnan(skills["unnamed"]["joint_error"])


def test_no_trials_are_refused() -> None:
    with pytest.raises(SettingsError, match="0 trials"):
        TrackerTest(trials=0)
