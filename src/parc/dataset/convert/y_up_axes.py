"""Our z-up world for files that are y up: (x, y, z) becomes (x, z, -y), a quarter turn about x.

The body then faces +X with its right hand towards +Z. It is the turn that `parc.terrain.triangle_mesh` and DeepMimic use, so
exported terrains and motions line up; Blender's importers of y-up files undo it, so that Blender shows our own coordinates.
The vector part of a quaternion turns like any vector.
"""

import numpy as np
from numpy.typing import NDArray


def to_y_up(values: NDArray) -> NDArray:
    """Vectors [..., 3] or quaternions [..., 4] (xyzw)."""
    x, y, z = values[..., 0:1], values[..., 1:2], values[..., 2:3]
    return np.concatenate([x, z, -y, values[..., 3:]], -1)


def from_y_up(values: NDArray) -> NDArray:
    """Points [.., 3] or quaternions [.., 4] of a y-up file in our axes."""
    x, y, z = values[..., 0:1], values[..., 1:2], values[..., 2:3]
    return np.concatenate([x, -z, y, values[..., 3:]], -1)
