"""Training windows, made on the device: 2 past and 13 future frames, the ground around them, and where the motion is heading.

The ground is a square patch of the clip's terrain, large enough for the heightmap at any heading. It is changed at random, but
never into the body: a cell may rise to just under the lowest point that passes over it in the neighbouring frames and sink
without limit, unless the body comes close to it; then it stays (it may carry the foot, or be the wall the hand is on). A point
reaches `padding` sideways, for the body is wider than its sample points.

A share of the items is *random terrain* (paper): only the past is kept clear, so the recorded future means nothing there and no
loss compares with it. The paper's objective then has the penetration loss alone, ours also others that need no recording.

Everything is gathers and arithmetic on fixed shapes; a batch can be drawn inside a captured CUDA graph. Only `pick`, `swept` and
`earlier` read the table, so that code compiled for the rest does not depend on the size of the data.
"""

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character.body_surface import world_points
from parc.character.kinematics import BodyPose
from parc.generate.data.body_sample_points import probe_points
from parc.generate.data.frame_table import FPS, FrameTable
from parc.generate.model.canonical_frame import CanonicalFrame
from parc.generate.model.feature_layout import FeatureLayout
from parc.generate.model.prefix_transformer import PAST_FRAMES
from parc.generate.model.wanted_pace import pace_features
from parc.generate.training.own_rollout_target import follow_own_past
from parc.motion.frame_state import FrameState
from parc.terrain.heightmap import HeightmapGrid
from parc.terrain.random_augmentation import BoxAugmentation, random_boxes_on_grid
from parc.terrain.terrain import TerrainBatch


@dataclass(frozen=True)
class WindowSettings:
    """How windows are drawn and their terrain is changed."""

    future: int = 13
    """frames to predict"""
    target_nearest: float = 0.4
    """s ahead, soonest frame that may give the direction"""
    target_farthest: float = 1.5
    """s ahead, latest"""
    target_noise: float = 0.05
    """m"""
    random_share: float = 0.1
    """share of random-terrain items"""
    unchanged_share: float = 0.15
    """share of items whose terrain is left as recorded"""
    padding: float = 0.06
    """m a sample point reaches sideways"""
    clearance: float = 0.02
    """m left under a passing body"""
    touching: float = 0.12
    """m: a cell with the body nearer than this above it, or beside it, is kept"""
    new_floor_share: float = 0.3
    """share of items whose ground, where it is free, is first levelled to a new height"""
    new_floor: tuple[float, float] = (-2.0, 2.0)
    """m, lowest and highest new level against the feet: from ledges no wider than the body's way to trenches as narrow"""
    boxes: BoxAugmentation = field(default_factory=BoxAugmentation)
    pace_hidden: float = 0.15
    """share of items whose pace is not told, for a generator that can be asked for one: then it may be left out"""

    @classmethod
    def paper(cls) -> "WindowSettings":
        """The ground of every window gets boxes, and nothing else is done to it."""
        return cls(unchanged_share=0.0, new_floor_share=0.0)


class Drawn(NamedTuple):
    """Windows as recorded, on changed ground."""

    first: Tensor
    """[B] row of the first frame in the table"""
    clip: Tensor
    """[B]"""
    state: FrameState
    """[B, 2 + future, ...] in the world"""
    body_pos: Tensor
    """[B, 2 + future, bodies, 3] of the same frames"""
    patch: TerrainBatch
    """B patches of terrain"""
    goal: Tensor
    """[B, 2] world point that gives the direction"""
    is_random: Tensor
    """[B] bool"""
    pace: Tensor | None = None
    """[B] m/s over the next second, NaN where it is hidden; None: of no interest"""

    def first_rows(self, count: int) -> "Drawn":
        """The first windows of these."""
        patch = TerrainBatch(self.patch.heights[:count], self.patch.min_point[:count], self.patch.size[:count], self.patch.cell)
        state = FrameState(*(part[:count] for part in self.state))
        first, clip, goal, is_random = (t[:count] for t in (self.first, self.clip, self.goal, self.is_random))
        pace = None if self.pace is None else self.pace[:count]
        return Drawn(first, clip, state, self.body_pos[:count], patch, goal, is_random, pace)


class WindowBatch(NamedTuple):
    """What the network and its losses see; features are not standardised."""

    past: Tensor
    """[B, 2, D]"""
    future: Tensor
    """[B, future, D]"""
    heightmap: Tensor
    """[B, 31, 31]"""
    target: Tensor
    """[B, 2] direction, or [B, 4] with the pace (`Generator.target`)"""
    patch: TerrainBatch
    frame: CanonicalFrame
    is_random: Tensor
    """[B] bool"""


class WindowSampler:
    """Draws training windows from a table of frames (paper, section 5.1)."""

    def __init__(
        self, table: FrameTable, layout: FeatureLayout, grid: HeightmapGrid, settings: WindowSettings, has_pace: bool = False
    ) -> None:
        self.table, self.layout, self.grid, self.settings, self.has_pace = table, layout, grid, settings, has_pace
        device = table.odds.device
        self._steps = torch.arange(PAST_FRAMES + settings.future, device=device)
        swept = [*range(-14, -1, 3), *range(-1, PAST_FRAMES + settings.future), *range(18, 34, 3)]
        self._swept = torch.tensor(swept, device=device)
        self._past_only = torch.tensor([t if 0 <= t < PAST_FRAMES else 0 for t in swept], device=device)
        self._centre, self.patch_cells = _patch_of(grid, table.terrain.cell)
        self._cells = torch.arange(self.patch_cells, device=device)
        self._reach = settings.padding * torch.tensor([[-1.0], [1.0]], device=device)

    def draw(self, count: int, generator: torch.Generator, augment: bool = True) -> Drawn:
        """Windows on changed ground, or without `augment` all as recorded."""
        drawn = self.pick(count, generator, self.settings.random_share if augment else 0.0)
        if not augment:
            return drawn
        height = drawn.state.root_pos[:, PAST_FRAMES - 1, 2]
        return drawn._replace(patch=self.change(drawn.patch, self.swept(drawn), drawn.is_random, height, generator))

    def pick(self, count: int, generator: torch.Generator, random_share: float) -> Drawn:
        """Windows on the ground as recorded (paper, section 5.1); `random_share` of them are to become random terrain (5.3)."""
        table, settings = self.table, self.settings
        first, clip = table.draw(count, generator)
        rows = first[:, None] + self._steps
        state = table.at(rows)
        frame = CanonicalFrame.of(state.root_pos[:, PAST_FRAMES - 1], state.root_rot[:, PAST_FRAMES - 1])
        device = first.device
        is_random = torch.rand(count, generator=generator, device=device) < random_share

        # a random later frame gives the direction
        span = torch.rand(count, generator=generator, device=device) * (settings.target_farthest - settings.target_nearest)
        ahead = ((settings.target_nearest + span) * FPS).round().long()
        last = table.clip_end[clip] - 1
        goal = table.frames.root_pos[torch.minimum(first + PAST_FRAMES - 1 + ahead, last)][:, :2]
        goal = goal + settings.target_noise * torch.randn(count, 2, generator=generator, device=device)

        # the speed of the next second, told to most
        pace = None
        if self.has_pace:
            hidden = torch.rand(count, generator=generator, device=device) < settings.pace_hidden
            pace = table.pace[first + PAST_FRAMES - 1].masked_fill(hidden, torch.nan)
        return Drawn(first, clip, state, table.bodies.pos[rows], self._patch(clip, frame), goal, is_random, pace)

    def swept(self, drawn: Drawn) -> BodyPose:
        """Bodies [B, frames, ...] under which the ground must keep clear: around the window, of random items only its past."""
        table = self.table
        offsets = torch.where(drawn.is_random[:, None], self._past_only, self._swept)
        rows = torch.minimum(drawn.first[:, None] + offsets, table.clip_end[drawn.clip][:, None] - 1)
        rows = torch.maximum(rows, table.clip_start[drawn.clip][:, None])
        return BodyPose(table.bodies.pos[rows], table.bodies.rot[rows])

    def earlier(self, drawn: Drawn, frames: int | Tensor) -> tuple[FrameState, BodyPose, Tensor]:
        """The recorded past [B, 2, ...] `frames` before the windows' own, and whether the clip reaches that far back [B]."""
        table, first = self.table, drawn.first - frames
        start = table.clip_start[drawn.clip]
        rows = torch.maximum(first, start)[:, None] + self._steps[:PAST_FRAMES]
        return table.at(rows), BodyPose(table.bodies.pos[rows], table.bodies.rot[rows]), first >= start

    def assemble(self, drawn: Drawn, own_past: FrameState | None = None) -> WindowBatch:
        """Features of the windows; with `own_past` [B, 2, ...], of windows that continue it (see `own_rollout_target`)."""
        if own_past is None:
            last = PAST_FRAMES - 1
            frame = CanonicalFrame.of(drawn.state.root_pos[:, last], drawn.state.root_rot[:, last])
            features = self.layout.encode(frame.to_local(drawn.state), frame.points_to_local(drawn.body_pos[:, :, 1:]))
            past, future = features[:, :PAST_FRAMES], features[:, PAST_FRAMES:]
        else:
            past, future, frame = follow_own_past(self.layout, own_past, drawn.state)
        target = frame.direction_to(drawn.goal)
        if drawn.pace is not None:
            target = torch.cat([target, pace_features(drawn.pace)], -1)
        heightmap = frame.heightmap(drawn.patch, self.grid)
        return WindowBatch(past, future, heightmap, target, drawn.patch, frame, drawn.is_random)

    def _patch(self, clip: Tensor, frame: CanonicalFrame) -> TerrainBatch:
        """Cells around the middle of each heightmap; beyond the clip's terrain its border cells go on."""
        terrain = self.table.terrain
        c, s = frame.yaw.cos(), frame.yaw.sin()
        x, y = self._centre
        middle = frame.origin[:, :2] + torch.stack([c * x - s * y, s * x + c * y], -1)
        corner = terrain.min_point[clip]
        low = torch.floor((middle - corner) / terrain.cell + 0.5).long() - self.patch_cells // 2
        size = terrain.size[clip]
        i = torch.minimum((low[:, :1] + self._cells).clamp_min(0), size[:, :1] - 1)
        j = torch.minimum((low[:, 1:] + self._cells).clamp_min(0), size[:, 1:] - 1)
        heights = terrain.heights[clip[:, None, None], i[:, :, None], j[:, None, :]]
        return TerrainBatch(heights, corner + low * terrain.cell, torch.full_like(size, self.patch_cells), terrain.cell)

    def change(
        self, patch: TerrainBatch, swept: BodyPose, is_random: Tensor, root_height: Tensor, generator: torch.Generator
    ) -> TerrainBatch:
        """The ground with random boxes (paper, appendix A) that do not enter the swept bodies; roots at `root_height` [B]."""
        surface = probe_points(self.table.character, swept.pos.device).surface
        points = world_points(surface, swept).flatten(1, 2)
        low, high = self._bounds(patch, points, root_height)

        # a new level for free ground, then boxes on it
        chance = torch.rand(3, len(patch), 1, 1, generator=generator, device=points.device)
        feet = points[..., 2].amin(-1).view(-1, 1, 1)
        floor = feet + self.settings.new_floor[0] + chance[0] * (self.settings.new_floor[1] - self.settings.new_floor[0])
        base = torch.where(chance[1] < self.settings.new_floor_share, floor, patch.heights)
        heights = random_boxes_on_grid(base, low, high, generator, self.settings.boxes)

        # some windows keep their ground; random terrain never does
        kept = (chance[2] < self.settings.unchanged_share) & ~is_random.view(-1, 1, 1)
        heights = torch.where(kept, patch.heights, heights)
        return TerrainBatch(heights, patch.min_point, patch.size, patch.cell)

    def _bounds(self, patch: TerrainBatch, points: Tensor, root_height: Tensor) -> tuple[Tensor, Tensor]:
        """Lowest and highest height [B, P, P] each cell may take with body points [B, N, 3] passing."""
        # the cells that each point is over, its padding included: two each way
        n = self.patch_cells
        sides = points[:, :, None, :2] + self._reach
        cell = torch.floor((sides - patch.min_point[:, None, None]) / patch.cell + 0.5).int()
        within = (cell >= 0) & (cell < n)
        cell = cell.clamp(0, n - 1)
        corner = (n * cell[..., :, None, 0] + cell[..., None, :, 1]).flatten(1).long()
        inside = (within[..., :, None, 0] & within[..., None, :, 1]).flatten(2)

        # the lowest point over each cell
        limit = _ordered((root_height + 4.0)[:, None])
        z = torch.where(inside, _ordered(points[..., 2:]), limit.unsqueeze(-1)).flatten(1)
        lowest = limit.expand(-1, n * n).contiguous().scatter_reduce(1, corner, z, "amin")
        lowest = _ordered(lowest).view(torch.float32).view(-1, n, n)

        # cells that the body touches stay; others may rise to just under it and sink without limit
        kept = lowest - patch.heights < self.settings.touching
        high = torch.where(kept, patch.heights, lowest - self.settings.clearance)
        low = torch.where(kept, patch.heights, (root_height - 4.0)[:, None, None].expand_as(high))
        return torch.minimum(low, high), high


def _ordered(values: Tensor) -> Tensor:
    """Float32 numbers as int32 ones in the same order, and back (as bits): GPUs find the least integer in one instruction, of
    floats only by trying again while somebody else wrote.
    """
    bits = values.contiguous().view(torch.int32)
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


@lru_cache(maxsize=8)
def _patch_of(grid: HeightmapGrid, cell: float) -> tuple[tuple[float, float], int]:
    """Middle of the heightmap in the canonical frame, m, and cells across a patch that holds it at any heading."""
    (x0, x1), (y0, y1) = grid.x, grid.y
    radius = 0.5 * math.hypot(x1 - x0, y1 - y0)
    return (0.5 * (x0 + x1), 0.5 * (y0 + y1)), 2 * math.ceil(radius / cell + 0.5) + 1
