"""A place to try out motions: the generator writes some, simulated bodies follow them, and every step is kept.

Motions are written in four ways. *From the body*: the generator goes on after the two last simulated frames, so that plan and
body agree. *From the plan*: it goes on after the frames of the reference that the body follows, which then has no seam.
*Held*: what is left of that reference is kept to its end, and only then written on. It was followed well so far, and one window
is enough. *Pause*: from the body, but with nowhere to go. Standing still is nearly always possible, and from there most things
are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from parc.generate.model.motion_generator import Generator
from parc.generate.model.prefix_transformer import PAST_FRAMES
from parc.generate.rollout.path_rollout import PathRunner, RolloutSettings
from parc.motion.frame_state import FrameState
from parc.path.path_batch import PathBatch
from parc.path.terrain_path import TerrainPath
from parc.plan.online_fall_watch import FallSettings, are_down
from parc.plan.online_future_tree import Branch, Origin
from parc.plan.tracker_critic import Critic
from parc.terrain.terrain import Terrain, TerrainBatch
from parc.track.follow.follower import Follower, Snapshot
from parc.track.follow.plan_reference import PlanReference
from parc.track.learn.policy import TrainedActor

FALL = FallSettings()
LYING = 12
"""control steps in a row that a body is down, after which it has fallen"""
NEAR = 4.0
"""m around a body within which an edit of the ground matters for what was simulated"""
REACH = 4.0
"""m along the path that a body may have come since its progress was last known"""


class Rehearsal(NamedTuple):
    """K bodies that followed their references for S steps."""

    states: Snapshot
    """[K, S + 1, ...]"""
    reference: PlanReference
    """[K]"""
    survived: Tensor
    """[K] steps before the reference was lost or the body lay"""
    error: Tensor
    """[K, S] m, mean distance of the bodies from the reference's, root-relative"""
    drift: Tensor
    """[K, S] m, distance of the root from the reference's"""
    value: Tensor
    """[K] of the tracker's value function after `commit` steps; 0 without a critic"""


class GivenUp(Exception):
    """Nobody wants the plan any more."""


@dataclass(frozen=True)
class PathOnTerrain:
    """Where to and on what."""

    terrain: Terrain
    path: TerrainPath
    progress: float
    """m along the path, of the character when the plan was asked for"""


def differ_near(one: Terrain, other: Terrain, xy: Tensor) -> bool:
    """Whether two grounds differ within `NEAR` of a point [2], or are laid out differently."""
    if one.size != other.size or not torch.equal(one.min_point, other.min_point):
        return True
    cells = (one.heights != other.heights).nonzero()
    return bool(((one.centre_of(cells) - xy).norm(dim=-1) < NEAR).any()) if len(cells) else False


class RehearsalStage:
    def __init__(
        self,
        generator: Generator,
        trained: TrainedActor,
        critic: Critic | None,
        terrain: Terrain,
        bodies: int,
        rollout: RolloutSettings,
    ) -> None:
        self.generator, self.critic, self.rollout = generator, critic, rollout
        self.follower = Follower(trained, terrain, bodies, threads=2)
        self._terrain = terrain

    @torch.no_grad()
    def write(
        self,
        ground: PathOnTerrain,
        leaves: Sequence[Branch],
        origins: Sequence[Origin],
        frames: int,
        random: torch.Generator,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> FrameState:
        """A motion [K, frames, ...] after each leaf; frame 0 is the leaf's last."""
        runner = self._runner(ground, len(leaves))
        heads = []
        for row, (leaf, origin) in enumerate(zip(leaves, origins, strict=True)):
            heads.append(self._head(leaf, origin))
            if origin == "pause":
                runner.paths.points[row] = leaf.last.qpos[:3]
                runner.paths.length[row] = 0.0
        past = _stack([head.past for head in heads])
        runner.reset(past, random)
        runner.progress.copy_(self.progress(runner.paths, ground, past.root_pos[:, -1, :2]))
        missing = frames - min(len(head.kept.root_pos) for head in heads)
        written = self._written(runner, missing, random, is_wanted)
        rows = []
        for row, head in enumerate(heads):
            both = zip(head.kept, written, strict=True)
            rows.append(FrameState(*(torch.cat([kept, new[row]])[:frames] for kept, new in both)))
        return _stack(rows)

    @torch.no_grad()
    def begin(self, ground: PathOnTerrain, count: int, frames: int, random: torch.Generator) -> FrameState:
        """Motions out of nothing, at the beginning of the path."""
        runner = self._runner(ground, count)
        runner.reset(None, random)
        return FrameState(*(part[:, :frames] for part in self._written(runner, frames, random, lambda: True)))

    @torch.no_grad()
    def follow(
        self,
        terrain: Terrain,
        states: Snapshot,
        reference: PlanReference,
        steps: int,
        commit: int,
        is_wanted: Callable[[], bool] = lambda: True,
        first: int = 0,
    ) -> Rehearsal:
        """`first` is the frame of the references at which the bodies should be."""
        follower = self.follower
        if terrain is not self._terrain:
            self._terrain = terrain
            follower.set_terrain(terrain)
        follower.put(states)
        follower.follow(reference, first)
        kept = [follower.snapshots()]
        error, drift = [], []
        alive = torch.ones(follower.bodies, dtype=torch.bool)
        down = torch.zeros(follower.bodies, dtype=torch.long)
        survived = torch.zeros(follower.bodies, dtype=torch.long)
        value = torch.zeros(follower.bodies)
        for step in range(steps):
            if not is_wanted():
                raise GivenUp
            follower.step()
            tracking = follower.tracking()
            root = follower.world.body_pos[:, 0], follower.world.body_rot[:, 0]
            down = torch.where(are_down(terrain, *root, FALL), down + 1, 0)
            alive = alive & ~tracking.lost & (down < LYING)
            survived += alive
            kept.append(follower.snapshots())
            error.append(tracking.error)
            drift.append(tracking.root)
            if step + 1 == commit and self.critic is not None:
                value = self.critic(follower.observe())
        states_of_all = Snapshot(*(torch.stack(parts, 1) for parts in zip(*kept, strict=True)))
        return Rehearsal(states_of_all, reference, survived, torch.stack(error, 1), torch.stack(drift, 1), value)

    @staticmethod
    def progress(paths: PathBatch, ground: PathOnTerrain, xy: Tensor) -> Tensor:
        """m along the path [K] of bodies at xy [K, 2]."""
        return paths.advance(torch.full_like(paths.length, ground.progress), xy.to(paths.length.device), REACH)

    def _head(self, leaf: Branch, origin: Origin) -> "_Head":
        reference, at = leaf.reference.frames, min(leaf.first + leaf.end, leaf.reference.length - 1)
        if origin in ("body", "pause"):
            past = leaf.last.frames(self.follower.character)
        elif origin == "held" and leaf.reference.length - at >= PAST_FRAMES:
            rest = FrameState(*(part[0, at:] for part in reference))
            return _Head(rest, _last(rest, PAST_FRAMES))
        else:
            begin = max(at + 1 - PAST_FRAMES, 0)
            past = FrameState(*(part[0, begin : begin + PAST_FRAMES] for part in reference))
        return _Head(_last(past, 1), past)

    def _runner(self, ground: PathOnTerrain, count: int) -> PathRunner:
        bank, path = TerrainBatch.stack([ground.terrain]), PathBatch.stack([ground.path])
        return PathRunner(self.generator, bank, path, count, self.rollout, use_graph=False)

    def _written(self, runner: PathRunner, frames: int, random: torch.Generator, is_wanted: Callable[[], bool]) -> FrameState:
        """Whole windows, [K, `frames` or more, ...]."""
        parts: list[FrameState] = []
        while len(parts) * self.rollout.keep < frames:
            if not is_wanted():
                raise GivenUp
            parts.append(FrameState(*(part.clone() for part in runner.step(random))))
        return FrameState(*(torch.cat(each, 1).cpu() for each in zip(*parts, strict=True)))


class _Head(NamedTuple):
    """What a motion begins with."""

    kept: FrameState
    """[n, ...] its first frames; the leaf's last is the first"""
    past: FrameState
    """[2, ...] the frames that the generator goes on after; the last is the last that is kept"""


def _last(frames: FrameState, count: int) -> FrameState:
    return FrameState(*(part[len(part) - count :] for part in frames))


def _stack(rows: Sequence[FrameState]) -> FrameState:
    return FrameState(*(torch.stack(parts) for parts in zip(*rows, strict=True)))
