"""Where motions go: net horizontal displacement of the root, seen from the first frame, and its density.

    d = R(-heading_0) (p_end - p_0),   x forward, y left, m

The paper plots it for the data sets of its iterations: first nearly all clips run straight ahead, later they go everywhere.
"""

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from parc.character import rotation
from parc.dataset.clip import Clip

SECTORS = 8
_NARROWEST = 0.15
"""m, least width of a density's kernel"""


def displacement(root_pos: Tensor, root_rot: Tensor, frames: Tensor) -> Tensor:
    """[N, 2] of motions with roots [N, T, 3] and [N, T, 4], of which `frames` [N] count."""
    last = (frames - 1).view(-1, 1, 1).expand(-1, 1, 3)
    moved = root_pos.gather(1, last).squeeze(1) - root_pos[:, 0]
    return rotation.rotate(rotation.conjugate(rotation.heading(root_rot[:, 0])), moved)[:, :2]


def displacement_of(clips: Iterable[Clip]) -> list[list[float]]:
    """Of clips, in m, rounded to the centimetre."""
    points = []
    for clip in clips:
        motion = clip.motion
        moved = displacement(motion.root_pos[None], motion.root_rot[None], torch.tensor([len(motion)]))[0]
        points.append([round(float(x), 2) for x in moved])
    return points


def spread(points: list[list[float]]) -> dict[str, float | list[float]]:
    """Mean distance (m) and the share (%) of motions that end in each of 8 directions, ahead first, then to the left.

    `evenness` is the entropy of these shares over its largest value: 0 if all go one way, 100 if all ways are taken alike.
    """
    xy = np.asarray(points, float).reshape(-1, 2)
    if not len(xy):
        return {"distance": float("nan"), "evenness": float("nan"), "sectors": [0.0] * SECTORS}
    turn = np.arctan2(xy[:, 1], xy[:, 0]) / (2 * np.pi / SECTORS)
    share = np.bincount(np.round(turn).astype(int) % SECTORS, minlength=SECTORS) / len(xy)
    some = share[share > 0]
    entropy = -(some * np.log(some)).sum() / np.log(SECTORS)
    return {
        "distance": round(float(np.hypot(*xy.T).mean()), 4),
        "evenness": round(100 * abs(float(entropy)), 2),
        "sectors": [round(100 * float(s), 2) for s in share],
    }


def density(points: list[list[float]], reach: float, cells: int = 64) -> NDArray[np.float64]:
    """Of motions per m2, [cells, cells] at the centres of a grid over -reach .. reach in x and y.

    Gaussian kernel, Scott's width for two dimensions: deviation times n^(-1/6).
    """
    xy = np.asarray(points, float).reshape(-1, 2)
    at = (np.arange(cells) + 0.5) * (2 * reach / cells) - reach
    width = np.maximum(xy.std(0) * len(xy) ** (-1 / 6), _NARROWEST)
    along = [np.exp(-0.5 * ((at[:, None] - xy[:, k]) / width[k]) ** 2) / (width[k] * np.sqrt(2 * np.pi)) for k in (0, 1)]
    return along[0] @ along[1].T / len(xy)
