import math

import torch

from parc.character import rotation
from parc.track.env import reward
from parc.track.tracker_settings import TrackerSettings


def test_each_term_is_one_where_simulation_and_reference_agree() -> None:
    q = rotation.normalize(torch.randn(4, 3, 4, generator=torch.Generator().manual_seed(0)))
    v = torch.randn(4, 5)
    ones = torch.ones(4)
    assert torch.equal(reward.pose_reward(q, q, torch.ones(3)), ones)
    assert torch.equal(reward.pose_velocity_reward(v, v, torch.ones(5)), ones)
    assert torch.equal(reward.root_reward(torch.zeros(4), torch.zeros(4)), ones)
    assert torch.equal(reward.root_velocity_reward(v[:, :3], v[:, :3], v[:, 2:], v[:, 2:]), ones)
    assert torch.equal(reward.key_reward(torch.zeros(4, 4)), ones)


def test_the_terms_by_hand() -> None:
    turned = rotation.from_exp(torch.tensor([[[0.2, 0.0, 0.0], [0.0, 0.1, 0.0]]]))
    level = rotation.identity((1, 2))
    pose = reward.pose_reward(turned, level, torch.tensor([1.0, 0.5]))
    assert math.isclose(float(pose), math.exp(-0.25 * (0.04 + 0.5 * 0.01)), rel_tol=1e-5)
    velocity = reward.pose_velocity_reward(torch.tensor([[3.0, 1.0]]), torch.tensor([[1.0, 1.0]]), torch.tensor([0.5, 1.0]))
    assert math.isclose(float(velocity), math.exp(-0.01 * 0.5 * 4), rel_tol=1e-6)
    assert math.isclose(
        float(reward.root_reward(torch.tensor(0.1), torch.tensor(0.3))), math.exp(-5 * (0.01 + 0.009)), rel_tol=1e-6
    )
    root_velocity = reward.root_velocity_reward(
        torch.tensor([1.0, 0, 0]), torch.tensor([0.5, 0, 0]), torch.tensor([0, 2.0, 0]), torch.zeros(3)
    )
    assert math.isclose(float(root_velocity), math.exp(-(0.25 + 0.4)), rel_tol=1e-6)
    assert math.isclose(float(reward.key_reward(torch.tensor([0.1, 0.2]))), math.exp(-10 * 0.05), rel_tol=1e-6)


def test_contacts_pay_where_the_reference_touches_and_cost_where_it_does_not() -> None:
    reference = torch.tensor([1.0, 1.0, 0.0, 0.0])
    both = torch.tensor([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 1.0, 0.0]])
    assert reward.contact_reward(both, reference).tolist() == [0.5, 0.0, -0.5, 0.0]


def test_the_papers_weights() -> None:
    assert TrackerSettings.paper().reward.weights == (0.5, 0.1, 0.15, 0.1, 0.15, 1.0, 0.0, 0.0)
    assert reward.RewardSettings().weights[:6] == TrackerSettings.paper().reward.weights[:6]


def test_a_body_near_the_ground_may_touch_it() -> None:
    touching, labels = torch.tensor([1.0, 1.0, 1.0, 0.0]), torch.tensor([1.0, 0.0, 0.0, 0.0])
    assert reward.contact_reward(touching, labels, torch.tensor([0.0, 1.0, 0.0, 0.0])).item() == 0.0
    assert reward.contact_reward(touching, labels).item() == -0.25


def test_velocities_of_hands_and_feet_and_jumping_targets() -> None:
    meant = torch.zeros(2, 3)
    one_slides = torch.tensor([[0.3, 0.0, 0.4], [0.0, 0.0, 0.0]])
    for touching, rate in ((torch.zeros(2), 2), (torch.ones(2), 20)):
        got = float(reward.key_velocity_reward(one_slides, meant, touching))
        assert math.isclose(got, (1 / (1 + rate * 0.25) + 1) / 2, rel_tol=1e-6)
        assert float(reward.key_velocity_reward(meant, meant, touching)) == 1.0
    assert math.isclose(float(reward.smooth_reward(torch.tensor([0.1, -0.3]))), -0.05, rel_tol=1e-6)
    assert math.isclose(float(reward.smooth_reward(torch.tensor([5.0, 5.0]))), -0.1, rel_tol=1e-6)
