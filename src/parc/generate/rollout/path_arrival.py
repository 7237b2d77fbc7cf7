"""Whether a window of frames arrives at the end of its path.

Arrived is a mean foot position within a radius of the goal in the plane, at the goal's height, with at most a metre of path left:
who stands at the foot of the wall that the goal is on has not arrived. The window then goes on as far as it brings the root
nearer to the goal.
"""

from typing import NamedTuple

from torch import Tensor

from parc.path.path_batch import PathBatch

SAME_HEIGHT = 0.4
"""m between the feet and a goal that they stand on: more is the foot of a wall, or a ledge above"""
REMAINING = 1.0
"""m of path that may be left"""


class Arrival(NamedTuple):
    """How far a window of every row comes."""

    progress: Tensor
    """[B] m, after the window"""
    frames: Tensor
    """[B] of the window until it has arrived; one more than there are if it has not"""
    end: Tensor
    """[B] frames of the window that belong to the motion; all if it has not arrived"""


def arrive(
    paths: PathBatch, progress: Tensor, root: Tensor, feet: Tensor, radius: float, same_height: float = SAME_HEIGHT
) -> Arrival:
    """For windows with roots [B, T, 3] and mean foot positions [B, T, 3] that begin at progress [B] m."""
    goal, window = paths.goal[:, None], root.shape[1]
    progress = paths.advance(progress, root[:, -1, :2])
    away = feet - goal
    near = (away[..., :2].norm(dim=-1) <= radius) & (away[..., 2].abs() <= same_height)
    near = near & (paths.length - progress <= REMAINING)[:, None]
    arrived = (near.int().cumsum(1) > 0).int()
    distance = (root - goal)[..., :2].norm(dim=-1) + (1 - arrived) * 1e9
    end = (distance.argmin(1) + 1).where(near.any(1), window)
    return Arrival(progress, window + 1 - arrived.sum(1), end)
