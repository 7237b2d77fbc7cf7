"""Foot locking: feet that slide under contact labels stand still afterwards, the leg reaches them, the rest is left alone."""

import dataclasses

import torch

from parc.character import humanoid
from parc.generate.data.body_sample_points import probe_points, sole_points
from parc.generate.repair.plant_feet import plant_feet
from parc.motion.frame_state import FrameState
from parc.terrain.terrain import Terrain, TerrainBatch

ONE = torch.ones(())


def ground(clip) -> TerrainBatch:
    return TerrainBatch.stack([clip.terrain])


def batch(motion, start, length) -> FrameState:
    return FrameState(*(part[start : start + length].unsqueeze(0) for part in FrameState.of_motion(motion)))


def slide_of(state: FrameState) -> torch.Tensor:
    """Horizontal steps [T, feet] of the slowest sole point, where both frames are labelled in contact."""
    character = humanoid()
    soles = sole_points(probe_points(character, torch.device("cpu")), state.body_pose(character))[0]
    step = soles.diff(dim=0)[..., :2].norm(dim=-1).amin(-1)
    on = state.contacts[0][:, list(character.feet)] > 0.5
    return torch.where(on[1:] & on[:-1], step, torch.zeros_like(step))


def test_a_walk_that_does_not_slide_is_left_alone(walk):
    character = humanoid()
    state, past = batch(walk.motion, 11, 13), batch(walk.motion, 10, 1)
    locked = plant_feet(character, state, state.body_pose(character), past, past.body_pose(character), ONE, ground(walk))
    torch.testing.assert_close(locked.root_pos, state.root_pos, atol=2e-3, rtol=0)
    torch.testing.assert_close(locked.body_pose(character).pos, state.body_pose(character).pos, atol=5e-3, rtol=0)


def test_a_walk_that_slides_stands_again(walk):
    """The same walk with 0.3 m/s of drift and a wobble added to the root: every planted foot slides with it."""
    character = humanoid()
    t = torch.arange(len(walk.motion)).unsqueeze(-1)
    drift = torch.cat([0.01 * t, 0.004 * torch.sin(0.9 * t), 0 * t], -1)
    sliding = dataclasses.replace(walk.motion, root_pos=walk.motion.root_pos + drift)
    state, past = batch(sliding, 11, 40), batch(sliding, 10, 1)
    locked = plant_feet(character, state, state.body_pose(character), past, past.body_pose(character), ONE, ground(walk))
    assert (slide_of(state) > 0.2 / 30).float().mean() > 0.3
    assert (slide_of(locked) > 0.2 / 30).float().mean() < 0.02
    assert slide_of(locked).mean() < 0.1 * slide_of(state).mean()
    jerk = locked.body_pose(character).pos[0].diff(n=3, dim=0).norm(dim=-1)
    assert jerk.max() * 30**3 < 6000


def test_sunk_and_floating_feet_find_the_ground(walk):
    """The walk lowered or raised by 4 cm: within the first frames planted soles are back on the ground, without a jump."""
    character = humanoid()
    for shift in (-0.04, 0.04):
        moved = dataclasses.replace(walk.motion, root_pos=walk.motion.root_pos + torch.tensor([0.0, 0.0, shift]))
        state, past = batch(moved, 11, 30), batch(moved, 10, 1)
        locked = plant_feet(character, state, state.body_pose(character), past, past.body_pose(character), ONE, ground(walk))
        soles = sole_points(probe_points(character, torch.device("cpu")), locked.body_pose(character))[0]
        gap = (soles[..., 2] - walk.terrain.height_at(soles[..., :2])).amin(-1)
        on = state.contacts[0][:, list(character.feet)] > 0.5
        planted = gap[6:][on[6:]].abs()
        assert planted.quantile(0.8) < 0.005 and planted.max() < 0.035  # a foot that lands needs a few frames
        joints = torch.cat([past.body_pose(character).pos[0], locked.body_pose(character).pos[0]])
        assert joints.diff(n=3, dim=0).norm(dim=-1).max() * 30**3 < 6000


def test_without_a_past_feet_stand_at_once(walk):
    character = humanoid()
    moved = dataclasses.replace(walk.motion, root_pos=walk.motion.root_pos - torch.tensor([0.0, 0.0, 0.04]))
    state, past = batch(moved, 11, 10), batch(moved, 10, 1)
    locked = plant_feet(character, state, state.body_pose(character), past, past.body_pose(character), 0 * ONE, ground(walk))
    soles = sole_points(probe_points(character, torch.device("cpu")), locked.body_pose(character))[0, 0]
    on = state.contacts[0, 0][list(character.feet)] > 0.5
    assert on.any() and (soles[..., 2] - walk.terrain.height_at(soles[..., :2])).amin(-1)[on].abs().max() < 0.005


def test_labels_are_true_afterwards(walk):
    """Labels with noise, on a walk raised by 6 cm: where a foot then stands is labelled, where it does not is not."""
    character = humanoid()
    moved = dataclasses.replace(walk.motion, root_pos=walk.motion.root_pos + torch.tensor([0.0, 0.0, 0.06]))
    state, past = batch(moved, 11, 40), batch(moved, 10, 1)
    noise = 0.4 * torch.rand(state.contacts.shape, generator=torch.Generator().manual_seed(1))
    state = state._replace(contacts=(0.8 * state.contacts + noise).clamp(0, 1))
    locked = plant_feet(character, state, state.body_pose(character), past, past.body_pose(character), ONE, ground(walk))
    soles = sole_points(probe_points(character, torch.device("cpu")), locked.body_pose(character))[0]
    gap = (soles[..., 2] - walk.terrain.height_at(soles[..., :2])).amin(-1)
    label = locked.contacts[0][:, list(character.feet)]
    assert (label[gap > 0.03] < 0.5).all() and (label[gap < 0.01] > 0.5).float().mean() > 0.9
    assert (gap[label > 0.5] < 0.025).all()
    others = [b for b in range(15) if b not in character.feet]
    assert torch.equal(locked.contacts[..., others], state.contacts[..., others])


def test_bodies_without_such_legs_pass_through(hopper):
    still = FrameState(
        torch.zeros(1, 4, 3), torch.eye(3).expand(1, 4, 3, 3), torch.eye(3).expand(1, 4, 4, 3, 3), torch.ones(1, 4, 5)
    )
    pose, past = still.body_pose(hopper), still.narrow(0, 1)
    flat = TerrainBatch.stack([Terrain.flat((4, 4))])
    assert plant_feet(hopper, still, pose, past, past.body_pose(hopper), ONE, flat) is still
