"""Whether a window of frames arrives at the end of its path, judged by the mean foot position (`parc.path.goal_reached`).

A window that has arrived goes on as far as it brings the root nearer to the goal.
"""

from typing import NamedTuple

from torch import Tensor

from parc.path.goal_reached import SAME_HEIGHT, has_arrived
from parc.path.path_batch import PathBatch


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
    near = has_arrived(feet, goal, (paths.length - progress)[:, None], radius, same_height)
    arrived = (near.int().cumsum(1) > 0).int()
    distance = (root - goal)[..., :2].norm(dim=-1) + (1 - arrived) * 1e9
    end = (distance.argmin(1) + 1).where(near.any(1), window)
    return Arrival(progress, window + 1 - arrived.sum(1), end)
