"""Overlapping plans: equal plans stay, the first frames stay near the old plan, rotations stay rotations."""

import torch

from parc.character import rotation
from parc.generate.rollout.window_overlap import continue_plan, fade_in
from parc.motion.frame_state import FrameState


def _state(random: torch.Generator, frames: int) -> FrameState:
    def turns(*shape: int) -> torch.Tensor:
        return rotation.to_matrix(rotation.normalize(torch.randn(*shape, 4, generator=random)))

    root_pos, contacts = torch.randn(2, frames, 3, generator=random), torch.rand(2, frames, 15, generator=random)
    return FrameState(root_pos, turns(2, frames), turns(2, frames, 14), contacts)


def test_equal_plans_and_no_plan_change_nothing() -> None:
    new = _state(torch.Generator().manual_seed(0), 7)
    weight = fade_in(3, "cpu")
    for old, known in ((new.narrow(0, 3), 1.0), (_state(torch.Generator().manual_seed(1), 3), 0.0)):
        result = continue_plan(old, new, weight, torch.tensor(known))
        for a, b in zip(result, new, strict=True):
            torch.testing.assert_close(a, b)


def test_the_old_plan_is_left_smoothly() -> None:
    random = torch.Generator().manual_seed(2)
    old, new = _state(random, 3), _state(random, 7)
    weight = fade_in(3, "cpu")
    assert ((weight > 0) & (weight < 1)).all() and (weight.diff() > 0).all()
    torch.testing.assert_close(weight, 1 - weight.flip(0))
    result = continue_plan(old, new, weight, torch.tensor(1.0))
    expected = old.root_pos + weight[:, None] * (new.root_pos[:, :3] - old.root_pos)
    torch.testing.assert_close(result.root_pos[:, :3], expected)
    torch.testing.assert_close(result.joint_rot[:, 3:], new.joint_rot[:, 3:])
    eye = torch.eye(3).expand(2, 7, 14, 3, 3)
    torch.testing.assert_close(result.joint_rot.mT @ result.joint_rot, eye, atol=1e-5, rtol=0)
