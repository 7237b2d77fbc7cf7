"""How good is a candidate window: lower is better. Used to choose one of several at every window of a rollout.

    depth of all probe points + distance of labelled bodies + jerk beyond what motion has + departure from free fall
    + distance from the path + height lost below it + crouching - progress

Free fall matters because penetration and contact distance are zero for a body that hovers, or is lifted beside a wall, with its
labels off.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from parc.character.body_surface import min_per_body, world_points
from parc.character.character import Character
from parc.character.kinematics import BodyPose
from parc.character.posture import crouch
from parc.generate.data.body_sample_points import probe_points
from parc.generate.training.window_losses import flight_departure
from parc.terrain.carrying_surface import distances
from parc.terrain.terrain import TerrainBatch


@dataclass(frozen=True)
class ScoreWeights:
    """What each fault and each metre costs."""

    penetration: float = 1.0
    """per m, summed over frames and points"""
    contact: float = 1.0
    """per m, summed over frames and bodies"""
    jerk: float = 1.0
    """per m/frame3 beyond `jerk_allowed`, summed over frames and bodies"""
    jerk_allowed: float = 0.2
    """m/frame3"""
    flight: float = 3.0
    """per frame of full departure from free fall"""
    slide: float = 3.0
    """per m that feet move while they are labelled in contact"""
    progress: float = 3.0
    """per m towards the target, up to the wanted pace"""
    crouch: float = 0.0
    """per rad that the straighter knee is bent beyond `crouch_allowed` while only feet touch, mean over frames"""
    crouch_allowed: float = 0.35
    """rad: what people do on level ground"""
    astray: float = 4.0
    """per m that the root ends beside the path, beyond `astray_allowed`: beside it there may be a pit"""
    astray_allowed: float = 0.2
    """m"""
    below: float = 4.0
    """per m that the root ends lower than `standing` over the path, beyond `below_allowed`"""
    below_allowed: float = 0.4
    """m: a deep crouch"""
    standing: float = 0.9
    """m of the root over the ground; this and `below_allowed` are the humanoid's, of others in proportion"""


def departure(root: Tensor, on_path: Tensor, weights: ScoreWeights, size: float = 1.0) -> Tensor:
    """[B] price of roots [B, 3] beside and below the nearest points [B, 3] of their paths, of a body of this size."""
    beside = (root - on_path)[:, :2].norm(dim=-1) - weights.astray_allowed
    below = on_path[:, 2] + size * weights.standing - root[:, 2] - size * weights.below_allowed
    return weights.astray * beside.clamp_min(0) + weights.below * below.clamp_min(0)


def score_window(
    character: Character,
    pose: BodyPose,
    contacts: Tensor,
    past_pos: Tensor,
    past_counts: Tensor,
    direction: Tensor,
    terrain: TerrainBatch,
    weights: ScoreWeights,
    walls_carry: bool = False,
    wanted: Tensor | None = None,
) -> Tensor:
    """[B] of windows [B, T, bodies, ...] in the world.

    past_pos [B, 2, bodies, 3] and past_counts (a 0-d 0 or 1: whether there is a past) for the jerk at the seam; direction [B, 2]
    is a world unit vector; B / N windows in turn are on each of N terrains.
    `walls_carry`: nothing falls that is near the face of a wall. `wanted` [B] m: progress beyond it counts against the window,
    for a slower pace was asked for; NaN: the more the better.
    """
    probe = probe_points(character, contacts.device)
    points = world_points(probe.surface, pose)
    distance, carrying = (d.flatten(0, 1) for d in distances(terrain, points.unflatten(0, (len(terrain), -1))))
    above = min_per_body(probe.surface, distance).clamp_min(0)
    support = distance if walls_carry else carrying
    positions = torch.cat([past_pos, pose.pos], 1)
    jerk = positions[:, 3:] - 3 * positions[:, 2:-1] + 3 * positions[:, 1:-2] - positions[:, :-3]
    excess = (jerk.norm(dim=-1) - weights.jerk_allowed).clamp_min(0).sum(-1)
    inner = excess[:, past_pos.shape[1] :].sum(-1)
    seam = excess[:, : past_pos.shape[1]].sum(-1)
    gain = ((pose.pos[:, -1, 0, :2] - pose.pos[:, 0, 0, :2]) * direction).sum(-1)
    if wanted is not None:
        gain = torch.where(gain > wanted, 2 * wanted - gain, gain)  # nothing is greater than NaN
    return (
        weights.penetration * (-distance).clamp_min(0).sum((-1, -2))
        + weights.contact * (above * contacts).sum((-1, -2))
        + weights.jerk * (inner + past_counts * seam)
        + weights.slide * _slide(character, pose, contacts)
        + weights.flight * flight_departure(pose, support.amin(-1), probe).sum(-1)
        + weights.crouch * crouch(character, pose, contacts, weights.crouch_allowed).mean(-1)
        - weights.progress * gain
    )


def _slide(character: Character, pose: BodyPose, contacts: Tensor) -> Tensor:
    """[B] m that the slowest point of each sole moves while its foot is labelled, as in the metric of skating."""
    probe = probe_points(character, contacts.device)
    soles = world_points(probe.soles, pose)
    moved = (soles[:, 1:] - soles[:, :-1]).norm(dim=-1).unflatten(-1, (len(probe.feet), -1)).amin(-1)
    label = contacts.index_select(-1, probe.feet)
    return (moved * torch.minimum(label[:, 1:], label[:, :-1])).sum((-1, -2))
