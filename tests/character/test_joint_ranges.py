"""A body of hinges is held inside its ranges and under its motors' speeds; what was slow enough is not touched."""

from pathlib import Path

import pytest
import torch

from parc.character import humanoid
from parc.character.joint_coordinates import dof_to_joints, joints_to_dof
from parc.character.mjcf import character_from_mjcf
from parc.character.robot.joint_ranges import speed_excess, speed_limits, violations, within_ranges


@pytest.fixture(scope="module")
def robot():
    return character_from_mjcf(Path(__file__).parent / "robot_mannikin.xml")


def test_wild_joints_are_tamed(robot):
    generator = torch.Generator().manual_seed(0)
    wild = dof_to_joints(robot, 1.5 * torch.randn(80, robot.num_dof, generator=generator))
    assert min(violations(robot, wild, 30.0)) > 40
    assert violations(robot, within_ranges(robot, wild, 30.0), 30.0) == (0, 0)


def test_a_slow_motion_inside_the_ranges_stays(robot):
    times = torch.linspace(0, 2, 61)[:, None]
    slow = dof_to_joints(robot, 0.3 * torch.sin(times + torch.arange(robot.num_dof)) * torch.ones(robot.num_dof))
    lower = torch.tensor([b.joint.lower[0] for b in robot.bodies if b.joint.dof])
    upper = torch.tensor([b.joint.upper[0] for b in robot.bodies if b.joint.dof])
    inside = dof_to_joints(robot, joints_to_dof(robot, slow).clamp(lower + 0.01, upper - 0.01))
    assert torch.allclose(within_ranges(robot, inside, 30.0), inside, atol=1e-6)


def test_a_jump_becomes_a_slope_of_the_motors_speed_around_its_middle(robot):
    dof = torch.zeros(40, robot.num_dof)
    knee = robot.dof_start[robot.index("left_shin")]
    dof[20:, knee] = 2.0
    found = joints_to_dof(robot, within_ranges(robot, dof_to_joints(robot, dof), 30.0))[:, knee]
    assert found[0] == pytest.approx(0.0, abs=1e-4) and found[-1] == pytest.approx(2.0, abs=1e-4)
    assert found.diff().max() == pytest.approx(20 / 30, rel=1e-3) and 0.5 < found[19:21].mean() < 1.5


def test_a_body_without_speed_limits_has_no_excess():
    assert speed_limits(humanoid()) is None
    joints = torch.randn(5, humanoid().num_joints, 4, generator=torch.Generator().manual_seed(1))
    joints = torch.nn.functional.normalize(joints, dim=-1)
    assert speed_excess(humanoid(), joints, 30.0).max() == 0
