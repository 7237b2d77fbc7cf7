"""How far bodies have come along their paths, and whether they are there.

Arrived is a root within `radius` of the goal in the plane, at most a metre of path left, and standing height: a body that
fell off the ledge the goal is on passes under it, and that is no arrival.
"""

import torch
from torch import Tensor

from parc.path.follow import PathBatch

STANDING = 0.87
"""m of the root over the ground when standing"""
STANDING_SLACK = 0.5
"""m above and below that a root at the goal may be: bent knees, a jump"""
REMAINING = 1.0
"""m of path that may be left"""


def walk(paths: PathBatch, progress: Tensor, xy: Tensor) -> Tensor:
    """Arc lengths [B, T] after roots at xy [B, T, 2], beginning at progress [B], m."""
    walked = []
    for step in range(xy.shape[1]):
        progress = paths.advance(progress, xy[:, step])
        walked.append(progress)
    return torch.stack(walked, 1)


def at_goal(path: PathBatch, root_pos: Tensor, walked: Tensor, radius: float) -> Tensor:
    """[B, T] of roots [B, T, 3] that have walked [B, T] along the one path."""
    goal = path.goal[0]
    near = (root_pos[..., :2] - goal[:2]).norm(dim=-1) <= radius
    upright = (root_pos[..., 2] - goal[2] - STANDING).abs() <= STANDING_SLACK
    return near & upright & (path.length - walked <= REMAINING)
