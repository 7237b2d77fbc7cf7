"""FWD: how far from the end of its path a motion stops."""

from torch import Tensor

from parc.metrics.clip_batch import ClipBatch


def final_waypoint_distance(batch: ClipBatch) -> Tensor:
    """Horizontal distance of the last real frame's root to the last waypoint, [N], m; NaN without a path."""
    last = (batch.frames - 1).view(-1, 1, 1).expand(-1, 1, 3)
    root = batch.root_pos.gather(1, last).squeeze(1)
    return (root[:, :2] - batch.goal).norm(dim=-1)
