"""Laws of hastening: slow becomes faster, fast and falling stay, the route and the poses are those of the recording."""

import torch

from parc.character.humanoid import humanoid
from parc.motion.hasten_motion import HastenSettings, hasten
from parc.motion.motion import Motion

G = 9.81


def _moving(pos: torch.Tensor, on_ground: torch.Tensor) -> Motion:
    frames = len(pos)
    identity = torch.tensor([0.0, 0.0, 0.0, 1.0])
    swing = 0.2 * torch.sin(torch.arange(frames) / 10.0)
    joints = identity.repeat(frames, 14, 1)
    joints[:, 8, 1], joints[:, 8, 3] = torch.sin(swing), torch.cos(swing)
    contacts = torch.zeros(frames, 15)
    contacts[on_ground, 11] = 1.0
    return Motion(pos, identity.repeat(frames, 1), joints, contacts, 30.0)


def _straight(speed: float, frames: int = 181) -> torch.Tensor:
    t = torch.arange(frames) / 30.0
    return torch.stack([speed * t, torch.zeros_like(t), torch.full_like(t, 0.9)], -1)


def test_a_slow_walk_comes_to_the_wanted_speed_on_the_same_route() -> None:
    everywhere = torch.ones(181, dtype=torch.bool)
    slow = _moving(_straight(0.8), everywhere)
    quick = hasten(slow, humanoid(), HastenSettings(speed=1.2))
    middle = quick.root_pos[20:-20]
    speed = (middle[1:] - middle[:-1]).norm(dim=-1) * 30
    torch.testing.assert_close(speed, torch.full_like(speed, 1.2), atol=1e-3, rtol=0)
    torch.testing.assert_close(quick.root_pos[0], slow.root_pos[0])
    assert (quick.root_pos[-1] - slow.root_pos[-1]).norm() < 1.2 / 30 + 1e-3


def test_a_run_is_left_alone_and_the_rate_has_a_limit() -> None:
    everywhere = torch.ones(181, dtype=torch.bool)
    run = _moving(_straight(2.0), everywhere)
    torch.testing.assert_close(hasten(run, humanoid()).root_pos, run.root_pos)
    crawl = hasten(_moving(_straight(0.1), everywhere), humanoid(), HastenSettings(fastest=2.0))
    assert len(crawl) == 91


def test_a_fall_stays_a_fall() -> None:
    t = torch.arange(150) / 30.0
    falls = (t > 2.0) & (t < 2.6)
    z = torch.where(t <= 2.0, 2.0, 2.0 - 0.5 * G * (t.clamp(2.0, 2.6) - 2.0) ** 2)
    pos = torch.stack([0.5 * t, torch.zeros_like(t), z], -1)
    quick = hasten(_moving(pos, ~falls), humanoid())
    assert len(quick) < 130
    airborne = (quick.contacts < 0.5).all(1).nonzero().flatten()
    assert abs(len(airborne) - int(falls.sum())) <= 1
    inner = quick.root_pos[airborne[2:-2], 2]
    acceleration = (inner[2:] - 2 * inner[1:-1] + inner[:-2]) * 900
    torch.testing.assert_close(acceleration, torch.full_like(acceleration, -G), atol=0.3, rtol=0)
    assert ((quick.root_pos[1:] - quick.root_pos[:-1]).norm(dim=-1) * 30).max() < 6.2


def test_no_body_is_hurried_beyond_its_limit() -> None:
    everywhere = torch.ones(181, dtype=torch.bool)
    slow = _moving(_straight(0.2), everywhere)
    limit = 0.3
    quick = hasten(slow, humanoid(), HastenSettings(body_speed=limit))
    pos = quick.body_poses(humanoid()).pos
    before = slow.body_poses(humanoid()).pos
    fastest_before = float((before[1:] - before[:-1]).norm(dim=-1).max() * 30)
    assert float((pos[1:] - pos[:-1]).norm(dim=-1).max() * 30) < max(limit, fastest_before) * 1.1
