"""Two-bone inverse kinematics: ends come to where they are wanted, bones keep their lengths, the rest does not move."""

import math

import pytest
import torch

from parc.character import Character
from parc.character.body_shape import Sphere
from parc.character.character import Body, Joint
from parc.dataset.clip import Clip
from parc.fit.two_bone_ik import bend_legs, legs_of, limb_angles, limb_bones, shortest_turn
from parc.motion.frame_state import FrameState


def test_feet_reach_what_is_in_reach(character: Character, walk: Clip) -> None:
    state = FrameState(*(part[10:30].unsqueeze(0) for part in FrameState.of_motion(walk.motion)))
    pose = state.body_pose(character)
    feet = list(character.feet)
    shift = torch.randn(1, 20, 2, 3, generator=torch.Generator().manual_seed(0)) * 0.03
    shift[..., 2] = shift[..., 2].abs()
    goal = pose.pos[..., feet, :] + shift
    bent = bend_legs(legs_of(character, torch.device("cpu")), state, pose, goal).body_pose(character)
    torch.testing.assert_close(bent.pos[..., feet, :], goal, atol=2e-3, rtol=0)
    torch.testing.assert_close(bent.rot[..., feet, :, :], pose.rot[..., feet, :, :], atol=1e-4, rtol=0)
    others = [b for b in range(15) if character.names[b].split("_")[-1] not in ("thigh", "shin", "foot")]
    torch.testing.assert_close(bent.pos[..., others, :], pose.pos[..., others, :])


def test_bodies_without_such_legs_have_none() -> None:
    ball = (Sphere((0, 0, 0), 0.1, 1000),)
    foot = Body("foot", 0, (0, 0, -0.3), Joint(), ball, is_foot=True)
    assert legs_of(Character("stump", (Body("trunk", -1, (0, 0, 0), shapes=ball), foot)), torch.device("cpu")) is None


def ways() -> torch.Tensor:
    """Near, in reach, and out of reach."""
    directions = torch.nn.functional.normalize(torch.randn(60, 3, generator=torch.Generator().manual_seed(1)).double(), dim=-1)
    return directions * torch.linspace(0.02, 1.2, 60).double().unsqueeze(-1)


def test_bones_keep_their_lengths_and_end_on_the_way() -> None:
    way, towards = ways(), torch.tensor([0.3, -0.2, 1.0]).double()
    first, second = limb_bones(way, towards.expand_as(way), 0.45, 0.4, nearest=0.02, straight=0.99)
    for bone, length in ((first, 0.45), (second, 0.4)):
        torch.testing.assert_close(bone.norm(dim=-1), torch.full((60,), length).double())
    reach = way.norm(dim=-1)
    torch.testing.assert_close((first + second).norm(dim=-1), reach.clamp(0.07, 0.99 * 0.85))
    torch.testing.assert_close(torch.linalg.cross(first + second, way, dim=-1), torch.zeros_like(way), atol=1e-12, rtol=0)
    across = towards - (towards * way).sum(-1, keepdim=True) * way / reach.square().unsqueeze(-1)
    assert ((first * across).sum(-1) > 0).all(), "the middle joint is on the wrong side"


def test_angles_are_those_between_the_bones() -> None:
    way = ways()[10:40]
    first, second = limb_bones(way, torch.ones_like(way), 0.45, 0.4, nearest=0.0, straight=1.0)
    start, bend = limb_angles(way.norm(dim=-1), 0.45, 0.4)

    def between(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.acos((a * b).sum(-1) / a.norm(dim=-1) / b.norm(dim=-1))

    torch.testing.assert_close(start, between(first, way))
    torch.testing.assert_close(bend, between(first, second))
    assert float(limb_angles(torch.tensor(0.5), 0.3, 0.4)[1]) == pytest.approx(math.pi / 2)


def test_the_shortest_turn_takes_one_direction_to_the_other_by_the_angle_between_them() -> None:
    a, b = torch.randn(2, 50, 3, generator=torch.Generator().manual_seed(2)).double()
    turn = shortest_turn(a, b)
    torch.testing.assert_close(
        (turn @ a.unsqueeze(-1)).squeeze(-1) / a.norm(dim=-1, keepdim=True), b / b.norm(dim=-1, keepdim=True)
    )
    cosine = (a * b).sum(-1) / a.norm(dim=-1) / b.norm(dim=-1)
    torch.testing.assert_close((turn.diagonal(dim1=-2, dim2=-1).sum(-1) - 1) / 2, cosine)
