"""Flat ground for motions that come without a terrain."""

import torch

from parc.errors import MotionError
from parc.motion.motion import Motion
from parc.terrain.terrain import CELL, MOST_CELLS, Terrain


def flat_ground(motion: Motion, height: float = 0.0, margin: float = 2.0, cell: float = CELL) -> Terrain:
    """A level terrain that reaches `margin` metres beyond the root's track on every side, cell centres at multiples of `cell`."""
    track = motion.root_pos[:, :2].detach().cpu().double()
    low = torch.floor((track.amin(0) - margin) / cell)
    high = torch.ceil((track.amax(0) + margin) / cell)
    size = (high - low) + 1
    if not float(size.prod()) <= MOST_CELLS:
        wide = ((size - 1) * cell - 2 * margin).clamp_min(0).tolist()
        raise MotionError(
            f"the motion goes {wide[0]:.4g} x {wide[1]:.4g} m, too far for level ground under it; is its unit the metre, "
            "and are all its frames in place?"
        )
    size = size.long()
    heights = torch.full((int(size[0]), int(size[1])), float(height))
    return Terrain(heights, (low * cell).float(), cell)
