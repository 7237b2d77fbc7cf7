"""Choosing among candidate windows: what keeps to its path is preferred."""

import pytest
import torch

from parc.character import humanoid
from parc.character.body_surface import world_points
from parc.character.kinematics import BodyPose
from parc.generate.data.body_sample_points import probe_points
from parc.generate.rollout.window_score import ScoreWeights, departure, score_window
from parc.motion.frame_state import FrameState
from parc.terrain.terrain import Terrain, TerrainBatch


def test_departure_counts_metres_beside_and_below_the_path_beyond_what_is_allowed():
    weights = ScoreWeights(astray=2.0, astray_allowed=0.2, below=3.0, below_allowed=0.4, standing=0.9)
    on_path = torch.tensor([[1.0, 2.0, 0.5]]).expand(4, 3)
    root = torch.tensor(
        [
            [1.1, 2.0, 1.4],  # standing on the path
            [1.0, 2.7, 1.4],  # 0.7 m beside it
            [1.0, 2.0, 0.7],  # 0.7 m too low: in a pit
            [1.0, 2.0, 2.4],  # higher than need be
        ]
    )
    assert departure(root, on_path, weights).tolist() == pytest.approx([0.0, 2 * 0.5, 3 * 0.3, 0.0], abs=1e-6)


def test_being_lifted_beside_a_wall_has_the_price_of_hovering_and_falling_there_none():
    body, t = humanoid(), torch.arange(13.0)
    eye = torch.eye(3)

    def price(rise: torch.Tensor, walls_carry: bool = False) -> float:
        root = torch.stack([0 * t, 0 * t, 3.0 + rise], -1)
        state = FrameState(root, eye.expand(13, 3, 3), eye.expand(13, 14, 3, 3), torch.zeros(13, 15))
        pose = BodyPose(*(part[None] for part in state.body_pose(body)))
        front = float(world_points(probe_points(body, root.device).surface, pose)[..., 0].max())
        heights = torch.where(torch.arange(40)[:, None] < 20, 0.0, 9.0).expand(40, 40).clone()
        wall = TerrainBatch.stack([Terrain(heights, torch.tensor([front + 0.02 - 20 * 0.4 + 0.2, -8.0]))])
        rest = pose, torch.zeros(1, 13, 15), pose.pos[:, :2], torch.zeros(()), torch.tensor([[1.0, 0.0]]), wall
        with_it, without = (float(score_window(body, *rest, ScoreWeights(flight=w), walls_carry)) for w in (2.0, 0.0))
        return with_it - without

    assert price(0.03 * t) == pytest.approx(2.0 * 0.5 * 11, rel=1e-3)
    assert price(0.03 * t, walls_carry=True) == pytest.approx(0, abs=1e-2)
    assert price(0.03 * t - 0.5 * 9.81 * (t / 30) ** 2) == pytest.approx(0, abs=1e-2)


def test_sliding_has_a_price_for_feet_that_are_labelled():
    """3 cm a frame over twelve steps between frames, both feet: 0.72 m."""
    body, t, eye = humanoid(), torch.arange(13.0), torch.eye(3)
    root = torch.stack([0.03 * t, 0 * t, torch.full((13,), 0.9)], -1)
    pose = FrameState(root, eye.expand(13, 3, 3), eye.expand(13, 14, 3, 3), torch.zeros(13, 15)).body_pose(body)
    pose = BodyPose(*(part[None] for part in pose))
    ground = TerrainBatch.stack([Terrain.flat((12, 12))])

    def price(contacts: torch.Tensor) -> float:
        rest = pose, contacts, pose.pos[:, :2], torch.zeros(()), torch.tensor([[1.0, 0.0]]), ground
        with_it, without = (float(score_window(body, *rest, ScoreWeights(slide=w))) for w in (5.0, 0.0))
        return with_it - without

    feet = torch.zeros(1, 13, 15)
    feet[..., list(body.feet)] = 1.0
    assert price(feet) == pytest.approx(5.0 * 0.72, rel=1e-4)
    assert price(1 - feet) == 0


def test_a_window_in_a_crouch_costs_what_its_knees_are_bent_beyond_what_is_allowed():
    body, eye = humanoid(), torch.eye(3)
    ground = TerrainBatch.stack([Terrain.flat((12, 12))])
    feet = torch.zeros(1, 13, 15)
    feet[..., list(body.feet)] = 1.0

    def price(degrees: float) -> float:
        angle = torch.deg2rad(torch.tensor(degrees))
        turn = torch.tensor([[angle.cos(), 0, angle.sin()], [0, 1, 0], [-angle.sin(), 0, angle.cos()]])
        turns = eye.expand(13, 14, 3, 3).clone()
        for shin in ("left_shin", "right_shin"):
            turns[:, body.names.index(shin) - 1] = turn
        root = torch.tensor([0.0, 0.0, 0.9]).expand(13, 3)
        state = FrameState(root, eye.expand(13, 3, 3), turns, torch.zeros(13, 15))
        pose = BodyPose(*(part[None] for part in state.body_pose(body)))
        rest = pose, feet, pose.pos[:, :2], torch.zeros(()), torch.tensor([[1.0, 0.0]]), ground
        costs = (float(score_window(body, *rest, ScoreWeights(crouch=w, crouch_allowed=0.3))) for w in (2.0, 0.0))
        return next(costs) - next(costs)

    assert price(10.0) == pytest.approx(0.0, abs=1e-4)
    assert price(60.0) == pytest.approx(2.0 * (torch.pi / 3 - 0.3), abs=0.02)
