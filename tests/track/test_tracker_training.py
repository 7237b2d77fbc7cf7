"""Training learns, survives a stop, shares its gradients, and does not mind a broken simulation."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.clip_reading import read_clips
from parc.dataset.convert.clip_files import save_clip
from parc.errors import DatasetError, MotionError, SettingsError
from parc.physics.choose_engine import make_world
from parc.physics.physical_contract import Contract, ContractError
from parc.run.checkpoint import load_checkpoint
from parc.run.distributed import Group
from parc.run.metrics_log import read_metrics
from parc.track.env.reference_library import build_library
from parc.track.follow.runner import Runner
from parc.track.learn.policy import load_actor
from parc.track.learn.tracker_training import ACTOR, CHECKPOINT, CLIPS, METRICS, TrackerTrainer, TrainingPlan, train_tracker
from parc.track.tracker_settings import TrackerSettings

ALONE = Group(0, 1, torch.device("cpu"))
PLAN = TrainingPlan(worlds=8, iterations=2, milestone_iterations=2, threads=1)


def parameters(out: Path) -> torch.Tensor:
    tensors, _ = load_checkpoint(out / CHECKPOINT)
    return torch.cat([tensors[f"ppo.{name}"] for name in ("actor", "critic", "averaged", "normalizer.mean")])


def make_trainer(character: Character, clip: Clip, settings: TrackerSettings, plan: TrainingPlan) -> TrackerTrainer:
    world = make_world(character, settings.contract, plan.worlds, "cpu", threads=2)
    return TrackerTrainer(character, build_library(character, [clip]), world, settings, plan, ALONE)


@pytest.mark.parametrize("symmetry", ["canonical", "augment"])
def test_a_resumed_run_equals_one_that_never_stopped(
    character: Character, squat: Clip, tiny: TrackerSettings, tmp_path: Path, symmetry: str
) -> None:
    settings = replace(tiny, policy=replace(tiny.policy, symmetry=symmetry))
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train_tracker(character, [squat], whole, settings, replace(PLAN, iterations=4))
    train_tracker(character, [squat], parts, settings, PLAN)
    halfway = parameters(parts)
    train_tracker(character, [squat], parts, settings, replace(PLAN, iterations=4))
    torch.testing.assert_close(parameters(parts), parameters(whole), atol=0, rtol=0)
    assert not torch.equal(halfway, parameters(parts))


def test_files_of_a_run(character: Character, squat: Clip, tiny: TrackerSettings, tmp_path: Path) -> None:
    short = replace(squat, name="short", motion=squat.motion.slice(0, 4))
    evaluation = train_tracker(character, [squat, short], tmp_path, tiny, PLAN)
    events = [row["event"] for row in read_metrics(tmp_path / METRICS)]
    assert events == ["train", "train", "evaluation"]
    results = json.loads((tmp_path / CLIPS).read_text())
    assert [c["name"] for c in results["clips"]] == ["squat"] == [c.name for c in evaluation.clips]
    assert "frames" in results["refused"][0]["reason"]
    assert load_actor(tmp_path / ACTOR, character).contract.character == character.fingerprint


def test_resuming_with_other_clips_is_refused_and_a_warm_start_is_not(
    character: Character, squats: Callable[..., Clip], tiny: TrackerSettings, tmp_path: Path
) -> None:
    train_tracker(character, [squats()], tmp_path / "a", tiny, PLAN)
    other = [squats(frames=30, name="other")]
    with pytest.raises(DatasetError, match="other clips"):
        train_tracker(character, other, tmp_path / "a", tiny, PLAN)
    train_tracker(character, other, tmp_path / "b", tiny, replace(PLAN, iterations=1), init=tmp_path / "a" / CHECKPOINT)
    with pytest.raises(SettingsError, match="another shape"):
        wider = replace(tiny, policy=replace(tiny.policy, hidden=(48,)))
        train_tracker(character, other, tmp_path / "c", wider, PLAN, init=tmp_path / "a" / CHECKPOINT)


def test_another_contract_is_told_at_a_warm_start_and_refused_at_a_resume(
    character: Character, squat: Clip, tiny: TrackerSettings, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    plan = replace(PLAN, iterations=1)
    softer = replace(tiny, contract=replace(tiny.contract, contact_margin=0.003))
    train_tracker(character, [squat], tmp_path / "a", softer, plan)
    for file in (CHECKPOINT, ACTOR):
        capsys.readouterr()
        make_trainer(character, squat, tiny, plan).warm_start(tmp_path / "a" / file)
        assert "contact_margin is 0.0007, the policy needs 0.003" in capsys.readouterr().out
        make_trainer(character, squat, softer, plan).warm_start(tmp_path / "a" / file)
        assert capsys.readouterr().out == ""
    with pytest.raises(ContractError, match="contact_margin"):
        train_tracker(character, [squat], tmp_path / "a", tiny, plan)


def test_a_world_without_time_or_strength_is_refused() -> None:
    for wrong in ({"control_hz": 0}, {"substeps": -4}, {"torque_scale": 0.0}, {"friction": float("nan")}):
        with pytest.raises(SettingsError, match=next(iter(wrong))):
            Contract(**wrong)


def test_what_a_run_without_a_milestone_logged_is_not_mixed_with_the_next(
    character: Character, squat: Clip, tiny: TrackerSettings, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / METRICS).write_text('{"event": "train", "iteration": 1, "lost": true}\n')
    train_tracker(character, [squat], tmp_path, tiny, replace(PLAN, iterations=1))
    first = (tmp_path / METRICS).read_text()
    assert "lost" not in first and "goes on" not in capsys.readouterr().out
    train_tracker(character, [squat], tmp_path, tiny, replace(PLAN, iterations=2))
    assert "goes on after" in capsys.readouterr().out
    assert (tmp_path / METRICS).read_text().startswith(first)


def test_a_policy_that_never_saw_the_held_offset_starts_warm_and_acts_the_same(
    character: Character, squat: Clip, tiny: TrackerSettings, tmp_path: Path
) -> None:
    blind = replace(tiny, observation=replace(tiny.observation, held=False))
    make_trainer(character, squat, blind, PLAN).run(tmp_path, None)
    trained = load_actor(tmp_path / ACTOR, character)
    trainer = make_trainer(character, squat, tiny, PLAN)
    trainer.warm_start(tmp_path / ACTOR)
    layout = trainer.env.observer.layout
    rows = torch.randn(8, layout.size)
    rows[:, layout.width :] = 0.0
    without = rows.clone()
    without[:, layout["held"]] = 0.0
    torch.testing.assert_close(trainer.policy.averaged_actor()(rows), trained.actor(without), atol=1e-5, rtol=1e-4)


def test_a_warm_start_from_the_small_files_has_the_same_policy_and_value(
    character: Character, squat: Clip, tiny: TrackerSettings, tmp_path: Path
) -> None:
    train_tracker(character, [squat], tmp_path, tiny, PLAN)
    tensors, _ = load_checkpoint(tmp_path / CHECKPOINT)
    trainer = make_trainer(character, squat, tiny, PLAN)
    trainer.warm_start(tmp_path / ACTOR)
    averaged = tensors["ppo.averaged"]
    torch.testing.assert_close(trainer.ppo.actor_flat.detach()[: len(averaged)], averaged, atol=1e-3, rtol=0)
    torch.testing.assert_close(trainer.ppo.critic_flat.detach(), tensors["ppo.critic"], atol=1e-3, rtol=0)
    torch.testing.assert_close(trainer.policy.normalizer.mean, tensors["ppo.normalizer.mean"])
    with pytest.raises(SettingsError, match="other networks"):
        wider = replace(tiny, policy=replace(tiny.policy, hidden=(48,)))
        make_trainer(character, squat, wider, PLAN).warm_start(tmp_path / ACTOR)


def test_a_fixed_std_stays_what_it_was_set_to_at_a_warm_start(
    character: Character, squat: Clip, tiny: TrackerSettings, tmp_path: Path
) -> None:
    train_tracker(character, [squat], tmp_path, tiny, replace(PLAN, iterations=1))
    fixed = replace(tiny, policy=replace(tiny.policy, learn_std=False, std=0.11))
    trainer = make_trainer(character, squat, fixed, PLAN)
    trainer.warm_start(tmp_path / ACTOR)
    torch.testing.assert_close(trainer.policy.log_std.exp(), torch.full_like(trainer.policy.log_std, 0.11))


def test_a_broken_simulation_does_not_stop_training(character: Character, squat: Clip, tiny: TrackerSettings) -> None:
    trainer = make_trainer(character, squat, tiny, PLAN)
    trainer.env.restart_all()
    trainer.env.world.reset(
        torch.arange(8) == 3, torch.full_like(trainer.env.world.qpos, float("nan")), torch.zeros_like(trainer.env.world.qvel)
    )
    first = trainer._iteration()
    second = trainer._iteration()
    assert first["broken"] == 1 == second["broken"]
    assert torch.isfinite(trainer.ppo.actor_flat).all() and torch.isfinite(trainer.env.observation).all()


def test_training_improves_the_reward(character: Character, squat: Clip) -> None:
    """Absolute targets, so that an untrained policy is far from the reference."""
    base = TrackerSettings.small()
    ppo = replace(base.ppo, minibatch=256, actor_rate=1e-3, rate_range=(3e-4, 3e-3), target_kl=0.1, gamma=0.9, lam=0.9)
    policy = replace(base.policy, hidden=(64, 64), std=0.1)
    settings = replace(base, action=replace(base.action, residual=False), policy=policy, ppo=ppo)
    trainer = make_trainer(character, squat, settings, replace(PLAN, worlds=32))
    trainer.env.restart_all()
    rows = [trainer._iteration() for _ in range(80)]
    early, late = (sum(r["reward"] for r in part) / 5 for part in (rows[5:10], rows[-5:]))
    assert late > early + 0.05, (early, late)
    early, late = (sum(r["failures_per_second"] for r in part) / 5 for part in (rows[5:10], rows[-5:]))
    assert late < 0.8 * early, (early, late)


def test_two_ranks_end_with_the_same_parameters(character: Character, squat: Clip, tiny: TrackerSettings, tmp_path: Path) -> None:
    save_clip(squat, tmp_path / "squat.motion", character)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    script = Path(__file__).with_name("two_ranks.py")
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(
            [sys.executable, str(script), str(tmp_path)],
            env={**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    first, second = (load_checkpoint(tmp_path / f"rank{rank}.safetensors")[0] for rank in range(2))
    for name in ("actor", "critic", "averaged", "normalizer.mean", "normalizer.variance", "actor_rate"):
        torch.testing.assert_close(first[name], second[name], atol=0, rtol=0)
    torch.testing.assert_close(first["failures"], second["failures"], atol=0, rtol=0)
    assert not torch.equal(first["qpos"], second["qpos"]), "ranks must simulate different episodes"


def test_tracking_a_clip_gives_a_motion_and_says_how_it_went(
    character: Character, squat: Clip, tiny: TrackerSettings, tmp_path: Path
) -> None:
    """Residual targets with a policy that does nothing hold the squat for a while: physics decides how long."""
    train_tracker(character, [squat], tmp_path, tiny, replace(PLAN, iterations=1))
    trained = load_actor(tmp_path / ACTOR, character)
    runner = Runner(trained, worlds=2, threads=1)
    alone = runner.follow([squat], [10])
    motion, errors, steps = alone.motions[0], alone.errors[0], int(alone.steps)
    assert len(motion) == len(errors) == steps + 1 and errors[0] == 0
    torch.testing.assert_close(motion.root_pos[0], squat.motion.root_pos[10], atol=1e-5, rtol=0)
    assert bool(alone.reached_end) == (10 + steps >= len(squat.motion) - 3)
    assert float(alone.error) == pytest.approx(float(errors[1:].mean()))
    together = runner.follow([squat, squat, squat], [0, 10, 10])
    assert [len(m) for m in together.motions] == (together.steps + 1).tolist()
    torch.testing.assert_close(together.motions[0].root_pos[0], squat.motion.root_pos[0], atol=1e-5, rtol=0)
    torch.testing.assert_close(together.motions[1].root_pos, motion.root_pos)
    with pytest.raises(MotionError, match="cannot be tracked from frame 999"):
        runner.follow([squat], [999])


def test_clips_are_read_from_folders_files_and_data_sets(character: Character, squat: Clip, tmp_path: Path) -> None:
    save_clip(squat, tmp_path / "one.pkl", character)
    save_clip(squat, tmp_path / "two.motion", character)
    assert len(read_clips(tmp_path, character)) == 2
    assert len(read_clips(tmp_path / "one.pkl", character)) == 1
    with pytest.raises(DatasetError, match="holds neither"):
        (tmp_path / "empty").mkdir()
        read_clips(tmp_path / "empty", character)
