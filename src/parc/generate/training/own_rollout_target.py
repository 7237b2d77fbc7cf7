"""What should follow a past that is not quite the data's: the target of training on the model's own rollouts.

The model's past (two frames) differs from the recorded frames at the same time. Where it stands and which way it faces is kept:
the recorded future is laid onto the model's position and heading, for pulling it back would teach the model to slide. Height and
pose return to the recording as a critically damped spring would, which starts with the model's own velocity, so the target has no
jump at the seam:

    d(t) = (d0 + (v0 + w d0) t) exp(-w t),   d0, v0: difference of value and velocity at the last past frame, t in frames

While the pose returns, a planted foot would be dragged along. The root is therefore shifted in the plane by minus the mean drift
of the feet that the recording has in contact: planted feet stay as still as they are in the data.
"""

import torch
from torch import Tensor

from parc.generate.data.body_sample_points import probe_points
from parc.generate.model.canonical_frame import CanonicalFrame
from parc.generate.model.feature_layout import FeatureLayout
from parc.generate.model.prefix_transformer import PAST_FRAMES
from parc.motion.frame_state import FrameState


def follow_own_past(
    layout: FeatureLayout, own: FrameState, data: FrameState, rate: float = 0.4
) -> tuple[Tensor, Tensor, CanonicalFrame]:
    """Features of past [B, 2, D] and target [B, T, D], and their frame; own [B, 2, ...], data [B, 2 + T, ...] in the world.

    For an own past equal to the data's the target is the data.
    """
    last = PAST_FRAMES - 1
    frame = CanonicalFrame.of(own.root_pos[:, last], own.root_rot[:, last])
    data_frame = CanonicalFrame.of(data.root_pos[:, last], data.root_rot[:, last])
    height = data_frame.origin[:, 2] - frame.origin[:, 2]
    own_state = frame.to_local(own)
    own_pose = own_state.body_pose(layout.character)
    past = layout.encode(own_state, own_pose.pos[..., 1:, :])
    recorded_state = data_frame.to_local(data)
    recorded_pose = recorded_state.body_pose(layout.character)
    recorded = layout.encode(recorded_state, recorded_pose.pos[..., 1:, :])
    recorded = torch.cat([recorded[..., :2], recorded[..., 2:3] + height[:, None, None], recorded[..., 3:]], -1)

    d0 = past[:, last] - recorded[:, last]
    v0 = (past[:, last] - past[:, last - 1]) - (recorded[:, last] - recorded[:, last - 1])
    t = torch.arange(1, data.root_pos.shape[1] - last, device=past.device)[None, :, None]
    offset = (d0.unsqueeze(1) + (v0 + rate * d0).unsqueeze(1) * t) * torch.exp(-rate * t)
    rotations = slice(layout.slices["root_pos"].start, layout.slices["joint_rot"].stop)
    target = recorded[:, PAST_FRAMES:].clone()
    target[..., rotations] += offset[..., rotations]

    state = layout.decode(target).state
    pose = state.body_pose(layout.character)
    feet = probe_points(layout.character, past.device).feet
    if layout.character.feet:
        own_feet = own_pose.pos[:, last:].index_select(-2, feet)
        drift = torch.cat([own_feet, pose.pos.index_select(-2, feet)], 1) - recorded_pose.pos[:, last:].index_select(-2, feet)
        drift = drift[..., :2]
        label = data.contacts[:, last:].index_select(-1, feet)
        held = torch.minimum(label[:, :-1], label[:, 1:]).unsqueeze(-1)
        step = (held * (drift[:, 1:] - drift[:, :-1])).sum(2) / held.sum(2).clamp_min(1.0)
        shift = torch.cat([-step.cumsum(1), torch.zeros_like(step[..., :1])], -1)
        state = state._replace(root_pos=state.root_pos + shift)
        joint_pos = pose.pos[..., 1:, :] + shift.unsqueeze(-2)
    else:
        joint_pos = pose.pos[..., 1:, :]
    return past, layout.encode(state, joint_pos), frame
