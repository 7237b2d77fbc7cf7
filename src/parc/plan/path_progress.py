"""How far bodies have come along their paths, what that is worth, and whether they are there (`parc.path.goal_reached`).

Who walks along the foot of a wall that the path goes up is no farther for it, though points of the path lie above his head:
progress ends where the path is higher than a body's root less `LEAST`. Going up is worth as much as going on. With arc length
s, the path's height z(s), the sum of all its rises so far C(s), and the highest it gets within `REACH`, z(s) + R(s):

    worth = s + climb (C(s) + h),    h = min(root height - STANDING - z(s), R(s)), crouching is free

A body that hauls itself up an edge gains from the first moment, and going over the edge changes nothing; one that fell off
the path loses.
"""

import math

import torch
from torch import Tensor

from parc.path.goal_reached import has_arrived
from parc.path.path_batch import PathBatch

STANDING = 0.87
"""m of the root over the ground when standing; this and the other heights are the humanoid's, of others in proportion"""
STANDING_SLACK = 0.5
"""m above and below that a root at the goal may be: bent knees, a jump"""
LEAST = 0.45
"""m of a root over the path that it has come along"""
REACH = 0.6
"""m of path ahead of a body that begins to climb"""
CROUCH = 0.3
"""m below standing that cost nothing"""
NEARBY = 0.8
"""m of the path before and behind a character whose heights it may be at"""


def walk(paths: PathBatch, progress: Tensor, roots: Tensor, size: float = 1.0) -> Tensor:
    """Arc lengths [B, T] after roots at [B, T, 3], beginning at progress [B], m; `size` of the body (`character.posture`)."""
    arcs = paths.spacing * torch.arange(paths.points.shape[1], device=progress.device)
    walked = []
    for step in range(roots.shape[1]):
        root = roots[:, step]
        too_high = (paths.points[..., 2] > root[:, 2:] - LEAST * size) & (arcs > progress[:, None])
        wall = torch.where(too_high, arcs - paths.spacing, math.inf).amin(1)
        progress = torch.maximum(progress, torch.minimum(paths.advance(progress, root[:, :2]), wall))
        walked.append(progress)
    return torch.stack(walked, 1)


def worth(paths: PathBatch, arc: Tensor, root_z: Tensor, climb: float, size: float = 1.0) -> Tensor:
    """[B] m of progress that bodies at arc lengths [B] with roots at heights [B] are worth."""
    z = paths.points[..., 2]
    rises = torch.diff(z, prepend=z[:, :1]).clamp_min(0).cumsum(1)
    last = (arc / paths.spacing).long().clamp(0, z.shape[1] - 1)
    here = paths.position(arc)[:, 2]
    window = last[:, None] + torch.arange(math.ceil(REACH / paths.spacing) + 1, device=arc.device)
    ahead = (z.gather(1, window.clamp_max(z.shape[1] - 1)).amax(1) - here).clamp_min(0)
    climbed = rises.gather(1, last[:, None]).squeeze(1) + (here - z.gather(1, last[:, None]).squeeze(1)).clamp_min(0)
    above = root_z - STANDING * size - here
    height = torch.where(above > 0, torch.minimum(above, ahead), (above + CROUCH * size).clamp_max(0))
    return arc + climb * (climbed + height)


def levels_near(paths: PathBatch, progress: Tensor) -> Tensor:
    """[9, B] m, levels of the paths within `NEARBY` of where bodies are."""
    around = torch.linspace(-NEARBY, NEARBY, 9, device=progress.device)
    return torch.stack([paths.position(progress + step)[:, 2] for step in around])


def lowest_near(paths: PathBatch, progress: Tensor) -> Tensor:
    """[B] m, the lowest of these levels."""
    return levels_near(paths, progress).amin(0)


def at_goal(paths: PathBatch, root_pos: Tensor, walked: Tensor, radius: float, size: float = 1.0) -> Tensor:
    """[B, T] of roots [B, T, 3] that have walked [B, T] along their paths, one for all or one for each."""
    goal, left = paths.goal.unsqueeze(1), paths.length.unsqueeze(1) - walked
    return has_arrived(root_pos, goal, left, radius, STANDING_SLACK * size, STANDING * size)
