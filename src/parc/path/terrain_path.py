"""A route over a terrain: waypoints on the ground, walked in order."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from parc.errors import PathError


@dataclass(frozen=True, eq=False)
class TerrainPath:
    """Waypoints from a start to a goal, and the curve through them."""

    nodes: Tensor
    """[N, 3] waypoints on the ground, m"""
    pace: Tensor | None = None
    """[N] m/s wanted from each waypoint to the next; NaN or nothing: none is wanted"""

    def __post_init__(self) -> None:
        if self.nodes.dim() != 2 or self.nodes.shape[-1] != 3 or len(self.nodes) == 0:
            raise PathError(f"a path needs waypoints of shape [N, 3], got {list(self.nodes.shape)}")
        if not torch.isfinite(self.nodes).all():
            raise PathError("a waypoint of the path is not finite")
        if self.pace is not None and (
            self.pace.shape != self.nodes.shape[:1] or (self.pace < 0).any() or self.pace.isinf().any()
        ):
            raise PathError(f"a path of {len(self.nodes)} waypoints needs as many paces of 0 m/s or more")

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def goal(self) -> Tensor:
        """[3] the last waypoint."""
        return self.nodes[-1]

    @property
    def arc_length(self) -> Tensor:
        """[N] horizontal distance walked on reaching each waypoint, m."""
        steps = (self.nodes[1:, :2] - self.nodes[:-1, :2]).norm(dim=-1)
        return torch.cat([steps.new_zeros(1), steps.cumsum(0)])

    @property
    def length(self) -> float:
        """Over the ground, m."""
        return float(self.arc_length[-1])

    def resampled(self, spacing: float) -> "TerrainPath":
        """Waypoints every `spacing` metres along the path, the last one kept."""
        if not spacing > 0:
            raise PathError(f"spacing is {spacing}, expected a positive number of metres")
        arc = self.arc_length
        if float(arc[-1]) == 0:
            return replace(self, nodes=self.nodes[-1:], pace=None if self.pace is None else self.pace[-1:])
        at = torch.arange(0, float(arc[-1]), spacing, dtype=arc.dtype, device=arc.device)
        at = torch.cat([at[(arc[-1] - at) > 0.25 * spacing], arc[-1:]])
        right = torch.searchsorted(arc, at, right=True).clamp(1, len(arc) - 1)
        span = (arc[right] - arc[right - 1]).clamp_min(1e-9)
        t = ((at - arc[right - 1]) / span).clamp(0, 1).unsqueeze(-1)
        pace = None if self.pace is None else self.pace[right - 1]
        return TerrainPath(self.nodes[right - 1] * (1 - t) + self.nodes[right] * t, pace)
