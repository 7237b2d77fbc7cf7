"""What a fit may change: hinges stay hinges, splines move many frames, padding is cut off."""

from dataclasses import replace

import pytest
import torch

from parc.character import Character
from parc.character.joint_coordinates import dof_to_joints, joints_to_dof
from parc.dataset.clip import Clip
from parc.fit.unknowns import Unknowns, pad, splines


def unknowns(character: Character, walk: Clip, knots: tuple[int, ...] = ()) -> Unknowns:
    motions = [walk.motion.slice(0, 20), walk.motion.slice(5, 17)]
    return Unknowns.of(character, motions, "cpu", knots)


def test_without_a_change_clips_are_as_they_were(character: Character, walk: Clip) -> None:
    found = unknowns(character, walk, (4,)).motions([torch.zeros(20, 15), torch.zeros(12, 15)], 30.0)
    for motion, source in zip(found, (walk.motion.slice(0, 20), walk.motion.slice(5, 17)), strict=True):
        torch.testing.assert_close(motion.root_pos, source.root_pos)
        torch.testing.assert_close((motion.joint_rot * source.joint_rot).sum(-1).abs(), torch.ones(len(source), 14))


def test_changed_hinges_stay_hinges_and_take_the_change(character: Character, walk: Clip) -> None:
    """A hinge turned by its coordinate: no turn off its axis, and the coordinate has changed by just that."""
    problem = unknowns(character, walk)
    change = 0.1 * torch.randn(problem.change.shape, generator=torch.Generator().manual_seed(0))
    joints = problem.poses(change)[2]
    torch.testing.assert_close(
        (joints * dof_to_joints(character, joints_to_dof(character, joints))).sum(-1).abs(), torch.ones(2, 20, 14)
    )
    hinges = [start for body, start in zip(character.bodies, character.dof_start, strict=True) if body.joint.is_hinge]
    moved = joints_to_dof(character, joints) - joints_to_dof(character, problem.joint_rot)
    torch.testing.assert_close(moved[..., hinges], change[..., 6:][..., hinges], atol=1e-4, rtol=0)


def test_splines_add_up_to_one_and_a_wave_moves_its_neighbours(character: Character, walk: Clip) -> None:
    torch.testing.assert_close(splines(50, 12).sum(1), torch.ones(50))
    problem = unknowns(character, walk, (4,))
    change, wave = problem.parameters
    with torch.no_grad():
        wave[:, 3] = 1.0
    moved = problem.total()[0, :, 0].detach()
    assert int((moved > 0).sum()) == 15 and float(moved.max()) == pytest.approx(2 / 3) and not change.any()


def test_padding_repeats_the_last_frame_or_is_zero() -> None:
    tracks = [torch.arange(3.0), torch.arange(5.0)]
    assert pad(tracks).tolist() == [[0, 1, 2, 2, 2], [0, 1, 2, 3, 4]]
    assert pad(tracks, zeros=True)[0].tolist() == [0, 1, 2, 0, 0]


def test_labels_are_the_callers(character: Character, walk: Clip) -> None:
    labels = torch.rand(12, 15, generator=torch.Generator().manual_seed(3)).round()
    source = replace(walk.motion.slice(5, 17), contacts=labels)
    (motion,) = Unknowns.of(character, [source], "cpu").motions([labels], 24.0)
    assert motion.fps == 24.0 and torch.equal(motion.contacts, labels)
