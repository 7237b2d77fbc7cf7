"""Planted feet stay planted: a repair of sliding, sunk and floating feet at the end of a window.

Which feet are planted, and how far they have to be raised, is for `foot_contact` to say. Between two frames that have a foot in
contact, the slowest of its lowest sole points moves by u; it should not move at all. The root takes the mean of the held feet,
which costs nothing in the pose; what is left for each foot is its offset q against the root, which stays while the foot is held
and fades once it is lifted:

    r_t = r_{t-1} - mean_held u_t
    q_t = a_t q_{t-1} - h_t (u_t + r_t - r_{t-1})     h_t: held (0..1),   a_t: 1 while held, `offset_kept` in the air

With one foot on the ground q is zero. The recurrence is linear and solved for all frames at once by the matrix of products of a.
The root also rises and sinks by the mean of what the feet are raised by. Inverse kinematics then bring each foot to its place.
"""

import torch
from torch import Tensor
from torch.nn import functional

from parc.character.character import Character
from parc.character.kinematics import BodyPose
from parc.fit.two_bone_ik import bend_legs, legs_of
from parc.generate.data.body_sample_points import probe_points, sole_points
from parc.generate.repair.foot_contact import contact_of, gap_below, label_of, lift_of
from parc.generate.repair.repair_settings import RepairSettings
from parc.motion.frame_state import FrameState
from parc.terrain.terrain import TerrainBatch


def plant_feet(
    character: Character,
    state: FrameState,
    pose: BodyPose,
    past: FrameState,
    past_pose: BodyPose,
    has_past: Tensor,
    terrain: TerrainBatch,
    settings: RepairSettings = RepairSettings(),
) -> FrameState:
    """Frames [B, T, ...] that continue the past [B, 1, ...] if `has_past` (0-d) is 1, and have none if it is 0.

    The labels of the feet become what is then seen. B / N rows in turn are on each of N terrains. A foot that slides more than
    `held_step` a frame is not held.
    """
    legs = legs_of(character, state.root_pos.device)
    if legs is None:
        return state

    # which feet are held between each frame and the one before
    probe = probe_points(character, state.root_pos.device)
    soles = torch.cat([sole_points(probe, past_pose), sole_points(probe, pose)], 1)
    label = torch.cat([past.contacts * has_past, state.contacts], 1).index_select(-1, probe.feet)
    slide = _slide(soles, settings.sole_patch)
    speed = slide.norm(dim=-1)
    contact = contact_of(label, gap_below(soles, terrain), speed, settings)
    held = torch.minimum(contact[:, 1:], contact[:, :-1])
    held = torch.where(speed < settings.held_step, held, torch.zeros_like(held)).unsqueeze(-1)
    contact, label = contact[:, 1:], label[:, 1:]

    # in the plane: the root's steps undo the mean slide of held feet, offsets what is left of each
    root_step = -(held * slide).sum(2) / held.sum(2).clamp_min(1.0)
    source = -held * (slide + root_step.unsqueeze(2))
    log_kept = torch.log(settings.offset_kept + (1 - settings.offset_kept) * held).cumsum(1)
    steps = torch.arange(held.shape[1], device=held.device)
    earlier = (steps[:, None] >= steps)[:, :, None, None]
    products = torch.where(earlier, (log_kept.unsqueeze(2) - log_kept.unsqueeze(1)).clamp_max(0).exp(), 0.0)
    offset = (products * source.unsqueeze(1)).sum(2)

    # how far each foot is raised onto the ground from there, and the labels that are then true
    root = root_step.cumsum(1)
    shift = functional.pad(root.unsqueeze(2) + offset, (0, 1))
    gap = gap_below(soles[:, 1:] + shift.unsqueeze(-2), terrain)
    lift = lift_of(gap, contact, has_past, settings)
    still = (slide + torch.diff(shift[..., :2], dim=1, prepend=torch.zeros_like(shift[:, :1, :, :2]))).norm(dim=-1)
    labels = label_of(label, contact, gap + lift, still, settings)

    # the root rises by the mean; legs bend to where the feet belong
    rise = lift.mean(2, keepdim=True)
    root = torch.cat([root, rise], -1)
    offset = torch.cat([offset, (lift - rise).unsqueeze(-1)], -1)
    shifted = BodyPose(pose.pos + root.unsqueeze(-2), pose.rot)
    goal = shifted.pos.index_select(-2, probe.feet) + offset
    contacts = torch.cat([state.contacts, labels], -1).index_select(-1, legs.label_order)
    return bend_legs(legs, state._replace(root_pos=state.root_pos + root, contacts=contacts), shifted, goal)


def _slide(soles: Tensor, patch: float) -> Tensor:
    """Horizontal step [B, T, F, 2] of the slowest standing point between frames; soles [B, 1 + T, F, S, 3]."""
    step = soles[:, 1:, ..., :2] - soles[:, :-1, ..., :2]
    height = soles[:, 1:, ..., 2]
    speed = torch.where(height <= height.amin(-1, keepdim=True) + patch, step.norm(dim=-1), torch.inf)
    slowest = speed.argmin(-1, keepdim=True).unsqueeze(-1).expand(*speed.shape[:-1], 1, 2)
    return step.gather(-2, slowest).squeeze(-2)
