"""Where feet tread: which frames are contact, how far each foot has to be raised for it, and the labels that are then true.

A foot is in contact where the network says so, or half says so while the foot is near the ground and slow. In contact the sole is
brought onto the ground; before and after, the foot is led there over a few frames (kernel K); a foot that swings past another
that stands clears the ground in an arc, and no foot is left in it:

    contact:  lift_t = -gap_t
    else:     lift_t = max(sum_s K(t - s) contact_s (-gap_s) / w_t, clearance k0 / w_t - gap_t)
              w_t = k0 + sum_s K(t - s) contact_s

at most `lift_step` a frame. Feet that are off by more than `floor_gap` are left alone: that is a wall, not a floor. In the end a
label says what is seen: a sole on the ground that is not swept over it. The numbers are `RepairSettings`.
"""

import torch
from torch import Tensor

from parc.generate.repair.repair_settings import RepairSettings
from parc.terrain.heightmap import heights_at
from parc.terrain.terrain import TerrainBatch


def gap_below(soles: Tensor, terrain: TerrainBatch) -> Tensor:
    """Least height of each foot over the ground straight below, [B, T, F] m; soles [B, T, F, S, 3]."""
    xy = soles[..., :2].unflatten(0, (terrain.count, -1))
    return (soles[..., 2] - heights_at(terrain, xy).flatten(0, 1)).amin(-1)


def contact_of(label: Tensor, gap: Tensor, slide: Tensor, settings: RepairSettings) -> Tensor:
    """Contact [B, 1 + T, F] in [0, 1]; labels and gaps [B, 1 + T, F] begin with the past frame; slides [B, T, F], m a frame."""
    near = ((settings.far_gap - gap) / (settings.far_gap - settings.near_gap)).clamp(0, 1)
    evidence = label[:, 1:] + settings.near_slow_hint * near[:, 1:] * _slow(slide, settings)
    padded = torch.cat([label[:, :1], evidence, evidence[:, -1:]], 1)
    evidence = 0.25 * padded[:, :-2] + 0.5 * padded[:, 1:-1] + 0.25 * padded[:, 2:]
    evidence = torch.where(gap[:, 1:] < settings.floor_gap, evidence, torch.zeros_like(evidence))
    return ((torch.cat([label[:, :1], evidence], 1) - 0.5) * settings.contact_sharpness + 0.5).clamp(0, 1)


def lift_of(gap: Tensor, contact: Tensor, has_past: Tensor, settings: RepairSettings) -> Tensor:
    """How far to raise each foot, [B, T, F] m; gap and contact [B, T, F]; without a past (`has_past` 0) feet begin in place."""
    is_floor = gap.abs() <= settings.floor_gap
    landing = torch.where(is_floor, -gap, torch.zeros_like(gap))
    t = torch.arange(gap.shape[1], device=gap.device)
    kernel = torch.exp(-((t[:, None] - t) / settings.lead_frames).square())
    weight = kernel.unsqueeze(-1) * contact.unsqueeze(1)
    far = settings.lead_spare / (weight.sum(2) + settings.lead_spare)  # 1 in the middle of a swing, 0 beside a contact
    led = (weight * landing.unsqueeze(1)).sum(2) * (far / settings.lead_spare)
    another_stands = (contact.sum(-1, keepdim=True) - contact).clamp_max(1)
    least = torch.where(is_floor, settings.swing_clearance * far * another_stands - gap, -settings.floor_gap)
    wanted = torch.lerp(torch.maximum(led, least), landing, contact)
    lift = (1 - has_past) * wanted[:, 0]
    lifts = []
    for aim in wanted.unbind(1):
        lift = lift + (aim - lift).clamp(-settings.lift_step, settings.lift_step)
        lifts.append(lift)
    return torch.stack(lifts, 1)


def label_of(label: Tensor, contact: Tensor, gap: Tensor, slide: Tensor, settings: RepairSettings) -> Tensor:
    """Labels [B, T, F] that are true of feet `gap` above the ground, one half at `near_gap`; in a wall the network's."""
    touching = ((1.5 * settings.near_gap - gap) / settings.near_gap).clamp(0, 1)
    return torch.where(gap < -settings.floor_gap, label, touching * torch.maximum(contact, _slow(slide, settings)))


def _slow(slide: Tensor, settings: RepairSettings) -> Tensor:
    return ((settings.fast_step - slide) / (settings.fast_step - settings.slow_step)).clamp(0, 1)
