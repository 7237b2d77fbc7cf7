"""The price of crouching: knees bent by a known angle, and who pays it."""

import math
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from parc.character import humanoid
from parc.character.kinematics import BodyPose, forward_kinematics
from parc.character.limb_chains import limbs_of
from parc.character.posture import bend, crouch

BODY = humanoid()
LIMBS = limbs_of(BODY)


class Pose(NamedTuple):
    pose: BodyPose
    contacts: Tensor


def squat(left: float, right: float, touching: tuple[str, ...] = ("left_foot", "right_foot")) -> Pose:
    """[1, bodies] standing in the air with knees bent by so many degrees."""
    turns = torch.zeros(1, len(BODY) - 1, 4)
    turns[..., 3] = 1.0
    for body, degrees in zip(LIMBS.knee, (left, right), strict=True):
        half = math.radians(degrees) / 2
        turns[0, body - 1] = torch.tensor([0.0, math.sin(half), 0.0, math.cos(half)])
    pose = forward_kinematics(BODY, torch.tensor([[0.0, 0.0, 1.0]]), torch.tensor([[0.0, 0.0, 0.0, 1.0]]), turns)
    contacts = torch.tensor([[float(name in touching) for name in BODY.names]])
    return Pose(pose, contacts)


@pytest.mark.parametrize("degrees", [0.0, 17.0, 90.0, 140.0])
def test_a_knee_turned_by_an_angle_is_bent_by_it(degrees: float) -> None:
    pose = squat(degrees, 0.0).pose
    joints = [pose.pos[:, pair[0]] for pair in (LIMBS.hip, LIMBS.knee, LIMBS.ankle)]
    straight = float(bend(*(squat(0.0, 0.0).pose.pos[:, pair[0]] for pair in (LIMBS.hip, LIMBS.knee, LIMBS.ankle))))
    assert math.degrees(float(bend(*joints)) - straight) == pytest.approx(degrees, abs=0.1)


def test_the_straighter_knee_counts_beyond_what_is_allowed() -> None:
    assert float(crouch(BODY, *squat(80.0, 50.0), 0.35)) == pytest.approx(math.radians(50.0) - 0.35, abs=0.02)
    assert float(crouch(BODY, *squat(80.0, 10.0), 0.35)) == 0.0


def test_who_jumps_or_climbs_does_not_pay() -> None:
    assert float(crouch(BODY, *squat(60.0, 60.0, ()), 0.35)) == 0.0
    assert float(crouch(BODY, *squat(60.0, 60.0, ("left_foot", "right_hand")), 0.35)) == 0.0
    assert float(crouch(BODY, *squat(60.0, 60.0, ("left_foot",)), 0.35)) > 0.5


def test_a_batch_is_priced_like_each_of_it() -> None:
    rows = [squat(60.0, 40.0), squat(0.0, 10.0), squat(90.0, 90.0, ())]
    pose = BodyPose(*(torch.stack([getattr(r.pose, k) for r in rows], 1) for k in ("pos", "rot")))
    together = crouch(BODY, pose, torch.stack([r.contacts for r in rows], 1), 0.2)
    assert together.shape == (1, 3)
    assert together[0].tolist() == pytest.approx([float(crouch(BODY, *r, 0.2)) for r in rows])
