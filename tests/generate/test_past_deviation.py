"""Pasts that deviate by metres and radians: errors have the size that was asked for, and the motion goes on from there."""

import math
from dataclasses import replace

import pytest
import torch

from parc.character import humanoid, rotation
from parc.errors import SettingsError
from parc.generate.training.past_deviation import PastDeviation, deviate
from parc.generate.training.training_step import GeneratorTrainer, StepSettings
from parc.motion.frame_state import FrameState
from parc.run import distributed

NONE = PastDeviation(1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def pasts(walk, count: int) -> FrameState:
    return FrameState(*(part[20:22].unsqueeze(0).expand(count, *part[20:22].shape) for part in FrameState.of_motion(walk.motion)))


def moved(walk, count: int = 4000, **sizes: float) -> tuple[FrameState, FrameState]:
    before = pasts(walk, count)
    return before, deviate(humanoid(), before, replace(NONE, **sizes), torch.Generator().manual_seed(1))


def test_noise_of_so_many_metres_moves_every_body_by_as_many(walk) -> None:
    before, after = moved(walk, position=0.07)
    way = after.body_pose(humanoid()).pos - before.body_pose(humanoid()).pos
    torch.testing.assert_close(way[:, :1, :1].expand_as(way), way, atol=1e-5, rtol=0)
    torch.testing.assert_close(way[:, 0, 0].std(0), torch.full((3,), 0.07), rtol=0.05, atol=0)
    assert float(way[:, 0, 0].mean(0).abs().max()) < 0.005
    assert torch.equal(after.joint_rot, before.joint_rot) and torch.equal(after.contacts, before.contacts)


def test_velocity_is_off_by_metres_a_second_and_the_last_frame_stays(walk) -> None:
    before, after = moved(walk, velocity=0.3)
    torch.testing.assert_close(after.root_pos[:, 1], before.root_pos[:, 1])
    velocity = 30 * (after.root_pos - before.root_pos).diff(dim=1)[:, 0]
    torch.testing.assert_close(velocity.std(0), torch.full((3,), 0.3), rtol=0.05, atol=0)


@pytest.mark.parametrize(("size", "frame"), [("turn", 1), ("joint", 1), ("turn_rate", 0), ("joint_rate", 0)])
def test_rotations_are_off_by_radians_about_the_axes_that_there_are(walk, size: str, frame: int) -> None:
    asked = 0.05 if frame else 1.5
    expected = asked if frame else asked / 30
    before, after = moved(walk, **{size: asked})
    if not frame:
        torch.testing.assert_close(after.joint_rot[:, 1], before.joint_rot[:, 1], atol=1e-6, rtol=0)
    pairs = (before.root_rot, after.root_rot) if "turn" in size else (before.joint_rot, after.joint_rot)
    off = rotation.angle(rotation.from_matrix((pairs[0].mT @ pairs[1])[:, frame])).square().mean(0).sqrt()
    if "turn" in size:
        assert float(off) == pytest.approx(math.sqrt(3) * expected, rel=0.05)
        return
    axes = torch.tensor([len(body.joint.axes) for body in humanoid().bodies[1:]])
    torch.testing.assert_close(off, axes.sqrt() * expected, rtol=0.05, atol=2e-4)
    hinge = int((axes == 1).nonzero()[0, 0])
    axis = torch.tensor(humanoid().bodies[1 + hinge].joint.axes[0])
    axis = axis.expand(len(after.joint_rot), 3)
    kept = rotation.matrix_rotate(before.joint_rot[:, frame, hinge], axis)
    torch.testing.assert_close(rotation.matrix_rotate(after.joint_rot[:, frame, hinge], axis), kept, atol=1e-5, rtol=0)


def test_a_share_of_the_pasts_deviates(walk) -> None:
    before, after = moved(walk, share=0.3, position=0.1, joint=0.1)
    same = (after.root_pos == before.root_pos).flatten(1).all(1)
    assert float(same.float().mean()) == pytest.approx(0.7, abs=0.03)
    assert torch.equal(same, (after.joint_rot - before.joint_rot).flatten(1).abs().amax(1) < 1e-6)


def test_a_step_trains_on_pasts_that_deviate_and_on_targets_that_go_on_from_them(windows, tiny_generator) -> None:
    """The height of the first target frames follows the past up and down; later ones are the recording's again."""
    batches = {}
    for size in (0.0, 0.1):
        step = StepSettings(
            batch=64, levels=1, statistics_windows=100, past_noise=0.0, deviation=replace(NONE, position=size, share=1.0)
        )
        trainer = GeneratorTrainer(tiny_generator, windows, step, distributed.setup("cpu"), seed=0)
        trainer.fit_statistics()
        with torch.no_grad():
            batches[size] = trainer._noising(trainer._draw(), None).window
    up = batches[0.1].frame.origin[:, 2] - batches[0.0].frame.origin[:, 2]
    assert float(up.std()) == pytest.approx(0.1, rel=0.3)
    z = [batches[size].future[:, :, 2] + batches[size].frame.origin[:, 2:3] for size in (0.0, 0.1)]
    away = z[1] - z[0]
    torch.testing.assert_close(away[:, 0], up, atol=0.3 * float(up.abs().max()), rtol=0)
    assert float((away[:, 0] / up).min()) > 0.8 and float(away[:, -1].abs().max()) < 0.1 * float(up.abs().max())


def test_settings_that_mean_nothing_are_refused() -> None:
    for wrong in ({"share": 1.5}, {"position": -1.0}, {"joint_rate": float("inf")}):
        with pytest.raises(SettingsError, match="deviates"):
            PastDeviation(**wrong)
