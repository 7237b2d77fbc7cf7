"""Follow many paths at once: how far has each agent come, where should it head, has it arrived.

The nearest waypoint is a poor measure of progress: where a path crosses itself it jumps to the other branch, and on a path that
returns to its start it reports arrival at once. Here each agent carries its progress, the arc length walked, m. `advance` moves
it to the nearest point of the stretch [progress, progress + window] and never back:

    a loop of 6 m that crosses itself at arc 1 and at arc 7, window 1.5 m:
    progress 0.9, agent at the crossing -> 1.0 (arc 7 is out of the window);  progress 6.8, agent at the crossing -> 7.0

All paths lie side by side as points every `spacing` metres, so the stretch is a fixed number of segments found by arithmetic from
the progress; no search, no branch, no transfer to the host: the methods may be captured into a CUDA graph.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from parc.errors import PathError
from parc.path.terrain_path import TerrainPath

NEARER_IN_ARC = 1e-4
"""m^2 per m: of two points of the path equally far from the agent, the earlier one counts"""


@dataclass(frozen=True, eq=False)
class PathBatch:
    """Paths side by side, sampled at even distances."""

    points: Tensor
    """[N, M, 3] point k of a path lies at arc length min(k * spacing, length); the rest repeat the last, m"""
    length: Tensor
    """[N] length of each path in the plane, m"""
    spacing: float
    """arc length between points, m"""
    pace: Tensor | None = None
    """[N, M] m/s wanted from each point on, NaN where none is; None: of no path"""

    @classmethod
    def stack(cls, paths: Sequence[TerrainPath], spacing: float = 0.1, device: torch.device | str = "cpu") -> "PathBatch":
        """Paths of different lengths as one batch on a device."""
        if not paths:
            raise PathError("a batch needs at least one path")
        if not 0 < spacing < float("inf"):
            raise PathError(f"spacing is {spacing}, expected a positive number of metres")
        arcs = [path.arc_length.cpu() for path in paths]
        most = max(math.ceil(float(arc[-1]) / spacing) for arc in arcs) + 1
        points = torch.stack(
            [_at_arc(p.nodes.cpu(), arc, torch.arange(most) * spacing) for p, arc in zip(paths, arcs, strict=True)]
        )
        pace = None
        if any(path.pace is not None for path in paths):
            at = torch.arange(most) * spacing
            pace = torch.stack([_pace_at(p, arc, at) for p, arc in zip(paths, arcs, strict=True)]).to(device)
        return cls(points.to(device), torch.stack([arc[-1] for arc in arcs]).to(device), spacing, pace)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def goal(self) -> Tensor:
        """[N, 3] the last waypoint of each path."""
        return self.points[:, -1]

    def select(self, rows: Tensor) -> "PathBatch":
        """Paths `rows` [K], repeated as often as they are named."""
        pace = None if self.pace is None else self.pace[rows]
        return replace(self, points=self.points[rows], length=self.length[rows], pace=pace)

    def to(self, device: torch.device | str) -> "PathBatch":
        """On a device."""
        pace = None if self.pace is None else self.pace.to(device)
        return replace(self, points=self.points.to(device), length=self.length.to(device), pace=pace)

    def clone(self) -> "PathBatch":
        """In memory of its own."""
        pace = None if self.pace is None else self.pace.clone()
        return replace(self, points=self.points.clone(), length=self.length.clone(), pace=pace)

    def start(self) -> Tensor:
        """[N] progress before the first step."""
        return torch.zeros_like(self.length)

    def advance(self, progress: Tensor, xy: Tensor, window: float = 1.5) -> Tensor:
        """Progress [N] after agents stand at `xy` [N, 2]: the nearest point within `window` metres ahead on the path."""
        segments = math.ceil(window / self.spacing) + 1
        first = (progress / self.spacing).long()
        index = first[:, None] + torch.arange(segments + 1, device=first.device)
        points = self._points(index)[..., :2]
        arc = torch.minimum(index * self.spacing, self.length[:, None])
        span = (arc[:, 1:] - arc[:, :-1]).clamp_min(1e-9)
        edge = points[:, 1:] - points[:, :-1]
        along = ((xy[:, None] - points[:, :-1]) * edge).sum(-1) / edge.square().sum(-1).clamp_min(1e-12)
        candidate = arc[:, :-1] + along.clamp(0, 1) * (arc[:, 1:] - arc[:, :-1])
        candidate = torch.minimum(torch.maximum(candidate, progress[:, None]), progress[:, None] + window)
        part = ((candidate - arc[:, :-1]) / span).clamp(0, 1)
        distance2 = (points[:, :-1] + part.unsqueeze(-1) * edge - xy[:, None]).square().sum(-1)
        # A last segment that starts beyond the window is judged by its start, and that the segment before it already offers.
        ahead = candidate - progress[:, None]
        score = distance2 + NEARER_IN_ARC * ahead
        best = candidate.gather(1, score.argmin(1, keepdim=True)).squeeze(1)
        # A comparison rather than a maximum: the position of an agent whose simulation broke is not a number, and it stays put.
        return torch.minimum(torch.where(best > progress, best, progress), self.length)

    def position(self, arc: Tensor) -> Tensor:
        """Points [N, 3] at arc lengths [N], clamped to the ends."""
        arc = torch.minimum(arc.clamp_min(0), self.length)
        first = (arc / self.spacing).long()
        ends = self._points(torch.stack([first, first + 1], dim=-1))
        from_first = arc - first * self.spacing
        span = torch.minimum(self.length - first * self.spacing, torch.full_like(arc, self.spacing)).clamp_min(1e-9)
        part = (from_first / span).clamp(0, 1).unsqueeze(-1)
        return ends[:, 0] + part * (ends[:, 1] - ends[:, 0])

    def target(self, progress: Tensor, lookahead: float = 1.4) -> Tensor:
        """Where to head [N, 2]: the point `lookahead` metres further along the path, the goal near its end."""
        return self.position(progress + lookahead)[:, :2]

    def pace_at(self, arc: Tensor) -> Tensor | None:
        """m/s wanted [N] at arc lengths [N], NaN where none is; None if no path wants any."""
        if self.pace is None:
            return None
        index = (arc.clamp_min(0) / self.spacing).long().clamp_max(self.pace.shape[1] - 1)
        return self.pace.gather(1, index.unsqueeze(-1)).squeeze(1)

    def _points(self, index: Tensor) -> Tensor:
        """Points [N, K, 3] of indices [N, K]; past the end, the last."""
        index = index.clamp(0, self.points.shape[1] - 1)
        return self.points.gather(1, index.unsqueeze(-1).expand(-1, -1, 3))


def _pace_at(path: TerrainPath, arc: Tensor, at: Tensor) -> Tensor:
    """[M] m/s wanted of a path at arc lengths [M]."""
    if path.pace is None:
        return torch.full_like(at, torch.nan)
    waypoint = torch.searchsorted(arc, at.to(arc), right=True) - 1
    return path.pace.cpu().float()[waypoint.clamp(0, len(arc) - 1)]


def _at_arc(nodes: Tensor, arc: Tensor, at: Tensor) -> Tensor:
    """Points [M, 3] of a polyline at arc lengths [M]; past the end, the last."""
    if len(nodes) == 1:
        return nodes.expand(len(at), 3)
    at = at.clamp_max(float(arc[-1]))
    right = torch.searchsorted(arc, at, right=True).clamp(1, len(arc) - 1)
    part = ((at - arc[right - 1]) / (arc[right] - arc[right - 1]).clamp_min(1e-9)).clamp(0, 1).unsqueeze(-1)
    return nodes[right - 1] + part * (nodes[right] - nodes[right - 1])
