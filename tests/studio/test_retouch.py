"""Hand edits: full inside their range, nothing beyond the fade, and no jump at the ends."""

import math

import pytest
import torch

from parc.character import humanoid, rotation
from parc.errors import MotionError
from parc.studio.actions import retouch

BODY = humanoid()


def test_the_ramp_is_one_inside_zero_outside_and_smooth() -> None:
    weight = retouch.ramp(40, 15, 20, 6)
    assert (weight[15:20] == 1).all()
    torch.testing.assert_close(weight[:9], torch.zeros(9))
    torch.testing.assert_close(weight[26:], torch.zeros(14))
    assert float(weight.diff().abs().max()) < 0.25
    assert (retouch.ramp(10, 3, 5, 0) == torch.tensor([0, 0, 0, 1, 1, 0, 0, 0, 0, 0])).all()


def test_the_root_is_moved_and_turned_where_it_stands(walk) -> None:
    moved = retouch.offset_root(walk, (0.1, -0.2, 0.3), math.pi / 2, 10, 20, 0).motion
    torch.testing.assert_close(
        moved.root_pos[10:20] - walk.motion.root_pos[10:20], torch.tensor([[0.1, -0.2, 0.3]]).repeat(10, 1)
    )
    assert torch.equal(moved.root_pos[:10], walk.motion.root_pos[:10])
    turn = rotation.yaw(moved.root_rot[12]) - rotation.yaw(walk.motion.root_rot[12])
    assert float(turn) == pytest.approx(math.pi / 2, abs=1e-5)
    with pytest.raises(MotionError, match=r"frames 5\.\.99"):
        retouch.offset_root(walk, (0, 0, 0), 0.0, 5, 99)


def test_bending_there_and_back_is_nothing(walk) -> None:
    there = retouch.bend_joint(walk, BODY, "left_thigh", (0.2, 0.0, 0.0), 5, 30, 8)
    back = retouch.bend_joint(there, BODY, "left_thigh", (-0.2, 0.0, 0.0), 5, 30, 8)
    torch.testing.assert_close(back.motion.joint_rot, walk.motion.joint_rot, atol=1e-5, rtol=0)
    changed = (there.motion.joint_rot != walk.motion.joint_rot).any(-1).any(0).nonzero().flatten().tolist()
    assert changed == [BODY.index("left_thigh") - 1]
    angle = rotation.angle(rotation.difference(walk.motion.joint_rot[10], there.motion.joint_rot[10]))
    assert float(angle.max()) == pytest.approx(0.2, abs=1e-4)


def test_a_hinge_takes_one_angle(walk) -> None:
    hinge = next(b.name for b in BODY.bodies if b.joint.is_hinge)
    retouch.bend_joint(walk, BODY, hinge, (0.1,))
    with pytest.raises(MotionError, match="needs 1 angles"):
        retouch.bend_joint(walk, BODY, hinge, (0.1, 0.2, 0.3))
    with pytest.raises(MotionError, match="root or has a fixed joint"):
        retouch.bend_joint(walk, BODY, BODY.names[0], ())


def test_labels_are_set_in_the_range_only(walk) -> None:
    column = BODY.index("head")
    labelled = retouch.label_contacts(walk, BODY, ["head"], 3, 7, True).motion.contacts
    assert labelled[:, column].nonzero().flatten().tolist() == [3, 4, 5, 6]
    others = [b for b in range(BODY.num_bodies) if b != column]
    assert torch.equal(labelled[:, others], walk.motion.contacts[:, others])
    assert "contacts of head on 3..7" in retouch.label_contacts(walk, BODY, ["head"], 3, 7, True).provenance.edits


def test_geometry_finds_the_feet_that_a_stroll_plants(walk) -> None:
    feet = list(BODY.feet)
    wiped = retouch.label_contacts(walk, BODY, [BODY.names[b] for b in feet], 0, len(walk.motion), False)
    found = retouch.label_by_geometry(wiped, BODY, 0.02, 0.3).motion.contacts[:, feet] > 0.5
    planted = walk.motion.contacts[:, feet] > 0.5
    assert float((found & planted).sum() / planted.sum()) > 0.95
    assert float((found == planted).float().mean()) > 0.8
    nothing = retouch.label_by_geometry(retouch.offset_root(walk, (0, 0, 1.0)), BODY).motion.contacts
    assert not nothing[:, feet].any()
