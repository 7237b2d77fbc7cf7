"""What nothing carries falls: a repair of bodies that hover, glide off ledges, hang over voids or are lifted beside walls.

A body with nothing near ground that carries (`parc.terrain.carrying_surface`) is free. Its centre of mass c then accelerates with
gravity, whatever was planned; the planned acceleration counts only within a share k of g (`flight_slack`) of free fall, so that a
true flight is left alone. A body that is carried keeps its planned motion, moved by what it has fallen:

    free:     c_t = 2 c_{t-1} - c_{t-2} + clamp(h_t - 2 h_{t-1} + h_{t-2}, -(1 + k) G, -(1 - k) G)
    carried:  c_t = h_t + c_{t-1} - h_{t-1}

h: planned height of the centre of mass, G = 9.81 / fps^2. Nothing falls deeper than the ground straight below its lowest point,
parts that are in a wall left out; nor deeper than the lowest ground below any part, for a body may be in walls altogether.
The next window goes on from where the body has come to, so a walk past a ledge becomes a fall and a landing.
"""

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.body_surface import world_points
from parc.character.character import Character
from parc.character.kinematics import BodyPose
from parc.generate.data.body_sample_points import Probe, probe_points
from parc.generate.repair.repair_settings import RepairSettings
from parc.generate.training.window_losses import FALL_PER_FRAME
from parc.terrain.carrying_surface import distances
from parc.terrain.heightmap import heights_at
from parc.terrain.terrain import TerrainBatch


def apply_gravity(
    character: Character,
    pose: BodyPose,
    past_pose: BodyPose,
    has_past: Tensor,
    terrain: TerrainBatch,
    settings: RepairSettings = RepairSettings(),
) -> Tensor:
    """How far to raise the body, [B, T] m, mostly negative; poses [B, T, ...] that continue past_pose [B, 2, ...].

    `has_past` (0-d): 1, or 0 if there is none; then the body begins on the ground. B / N rows in turn are on each of N terrains.
    """
    # how free the body is of ground that carries, 0..1
    probe = probe_points(character, pose.pos.device)
    points = world_points(probe.surface, pose).unflatten(0, (terrain.count, -1))
    distance = distances(terrain, points)[0 if settings.walls_carry else 1].flatten(0, 1).amin(-1)
    free = ((distance - settings.carried_distance) / (settings.free_distance - settings.carried_distance)).clamp(0, 1)

    # how far it may fall
    ground = heights_at(terrain, points[..., :2])
    gap = (points[..., 2] - ground).flatten(0, 1)
    above_floor = (points[..., 2].amin(-1) - ground.amin(-1)).flatten(0, 1)
    room = torch.where(gap > -settings.wall_depth, gap, settings.deepest_fall).amin(-1).minimum(above_floor).clamp_min(0)

    # by how much its planned acceleration is not that of a flight
    height = torch.cat([_centre_height(past_pose, probe), _centre_height(pose, probe)], 1)
    planned = height[:, 2:] - 2 * height[:, 1:-1] + height[:, :-2]
    change = planned.clamp(-(1 + settings.flight_slack) * FALL_PER_FRAME, -(1 - settings.flight_slack) * FALL_PER_FRAME) - planned

    # the recurrence above, in c - h
    before = rise = (has_past - 1) * room[:, 0]
    rises = []
    for turn, is_free, least in zip(change.unbind(1), free.unbind(1), (-room).unbind(1), strict=True):
        falling = torch.lerp(rise, 2 * rise - before + turn, is_free)
        before, rise = rise, falling.maximum(least.minimum(rise + settings.push_step))
        rises.append(rise)
    return torch.stack(rises, 1)


def _centre_height(pose: BodyPose, probe: Probe) -> Tensor:
    """[B, T] of the centre of mass."""
    return ((pose.pos + rotation.matrix_rotate(pose.rot, probe.centre))[..., 2] * probe.mass).sum(-1)
