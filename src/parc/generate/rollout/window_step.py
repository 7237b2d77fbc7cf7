"""One window of a motion: two past frames, the terrain and a goal in, the next frames out (paper, section 5.3).

    past --describe--> features, heightmap, direction --denoise, blended--> features --decode--> frames --repair--> frames

Rollouts take such steps along a path, training takes them along recorded clips to get the model's own pasts. Every step is a
fixed list of tensor operations that asks nothing of the host, so that its caller can capture it in a CUDA graph; `fuse` compiles
its pieces first. Pieces that two kinds of step share compile once.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from parc.character.kinematics import BodyPose
from parc.generate.model.blended_denoising import Blend
from parc.generate.model.canonical_frame import CanonicalFrame
from parc.generate.model.motion_generator import Generator
from parc.generate.model.noise_schedule import SamplerPlan
from parc.generate.model.prefix_transformer import PAST_FRAMES
from parc.generate.repair.repair_settings import RepairSettings
from parc.generate.repair.repair_window import repair
from parc.generate.rollout.window_overlap import continue_plan, fade_in
from parc.motion.frame_state import FrameState
from parc.run.compile_traced import TracedFunction
from parc.terrain.terrain import TerrainBatch

Frames = tuple[FrameState, BodyPose]
"""frames in the world, and the bodies in them"""


class WindowStart(NamedTuple):
    """What a window continues, B rows; B / N rows in turn are on each of N terrains."""

    past: FrameState
    """[B, 2, ...] in the world"""
    past_pose: BodyPose
    """[B, 2, bodies, ...] of the same frames"""
    has_past: Tensor
    """0-d: 1, or 0 if the past frames only tell where the motion starts"""
    terrain: TerrainBatch
    aim: Tensor
    """[B, ...] what `WindowStep` makes the goal of"""
    pace: Tensor | None = None
    """[B] wanted speed, m/s; NaN or nothing: none"""


class PlannedFrames(NamedTuple):
    """What the window before has planned for the first frames of this one."""

    frames: FrameState
    """[B, overlap, ...] in the world"""
    is_there: Tensor
    """0-d: 1, or 0 if there was no such window"""


class WindowStep:
    """Windows of one generator, sampler plan and repair."""

    def __init__(
        self,
        generator: Generator,
        plan: SamplerPlan,
        blend: Blend,
        frames: int,
        goal: Callable[[Tensor], Tensor],
        repairs: RepairSettings | None,
        overlap: int = 0,
        candidates: int = 1,
    ) -> None:
        """Windows of `frames` and `overlap` frames more, which the next one also plans; `candidates` of each row.

        `blend`: where two branches are blended (s itself comes with each window). `goal` makes the points [B, 2] that give
        the direction from a start's `aim`.
        """
        self.generator, self.plan, self.frames, self.overlap, self.candidates = generator, plan, frames, overlap, candidates
        self._blend, self._mixed, self._goal, self._repairs = blend, blend.mixed(len(plan)), goal, repairs
        self._fade_in = fade_in(overlap, generator.device)
        self._describing: Callable[..., tuple[Tensor, ...]] = self._describe
        self._decoding: Callable[..., Frames] = self._decode
        self._repairing: Callable[..., Frames] = self._repair

    def fuse(self, backend: str = "inductor") -> None:
        """Compile the network, and what comes before and after it, at their next calls."""
        self.generator.fuse(backend)
        self._describing = TracedFunction(self._describe, backend=backend)
        self._decoding = TracedFunction(self._decode, backend=backend)
        self._repairing = TracedFunction(self._repair, backend=backend)

    @property
    def is_compiled(self) -> bool:
        """Whether every piece around the network could be compiled."""
        pieces = (self._describing, self._decoding, *(() if self._repairs is None else (self._repairing,)))
        return all(isinstance(piece, TracedFunction) and piece.is_compiled for piece in pieces)

    def __call__(
        self,
        start: WindowStart,
        planned: PlannedFrames | None,
        noise: Tensor,
        coefficients: Tensor,
        embeddings: list[list[Tensor]],
    ) -> Frames:
        """[B * candidates, frames + overlap, ...] in the world; noise [B * candidates, T, D].

        `coefficients` [S]: s of each sampler step on uneven ground; `embeddings`: the network's view of each
        (`Generator.level_embeddings`).
        """
        past, heightmap, target = self._describing(start.past, start.past_pose, start.terrain, start.aim, start.pace)
        s = coefficients
        if self._blend.uneven:
            root = past[..., self.generator.layout.slices["root_pos"]]
            rows = self._blend.row_coefficients(s, root, heightmap, target[:, :2], self.generator.settings.grid)
            s = torch.where(start.has_past > 0, rows, s.view(-1, 1, 1, 1))  # without a past there is nothing to blend
        features = self.generator.denoise_window(past, heightmap, target, noise, s, self.plan, embeddings, self._mixed)
        frames = self._decoding(features, start.past, planned)
        if self._repairs is not None:
            frames = self._repairing(*frames, start.past, start.past_pose, start.has_past, start.terrain)
        return frames

    def for_candidates(self, *parts: Tensor) -> tuple[Tensor, ...]:
        """Rows repeated for every candidate."""
        return tuple(part.repeat_interleave(self.candidates, 0) for part in parts) if self.candidates > 1 else parts

    def _describe(
        self, past: FrameState, past_pose: BodyPose, terrain: TerrainBatch, aim: Tensor, pace: Tensor | None
    ) -> tuple[Tensor, ...]:
        """What the network is told: past features, heightmap h, direction d in the frame of the last past root, and pace."""
        generator = self.generator
        frame = CanonicalFrame.of(past.root_pos[:, -1], past.root_rot[:, -1])
        features = generator.layout.encode(frame.to_local(past), frame.points_to_local(past_pose.pos[..., 1:, :]))
        heightmap = frame.heightmap(terrain, generator.settings.grid)
        return self.for_candidates(features, heightmap, generator.target(frame.direction_to(self._goal(aim)), pace))

    def _decode(self, features: Tensor, past: FrameState, planned: PlannedFrames | None) -> Frames:
        """The network's features [B * candidates, T, D] as frames in the world, which leave an earlier plan gradually."""
        generator, last = self.generator, PAST_FRAMES - 1
        frame = CanonicalFrame.of(*self.for_candidates(past.root_pos[:, last], past.root_rot[:, last]))
        state = frame.to_world(generator.layout.decode(features[:, : self.frames + self.overlap]).state)
        state = state._replace(contacts=state.contacts.clamp(0, 1))
        if planned is not None and self.overlap:
            before = FrameState(*self.for_candidates(*planned.frames))
            state = continue_plan(before, state, self._fade_in, planned.is_there)
        return state, state.body_pose(generator.character)

    def _repair(
        self, state: FrameState, pose: BodyPose, past: FrameState, past_pose: BodyPose, has_past: Tensor, terrain: TerrainBatch
    ) -> Frames:
        """Feet are planted, and what nothing carries falls (`repair`)."""
        assert self._repairs is not None
        past, past_pose = FrameState(*self.for_candidates(*past)), BodyPose(*self.for_candidates(*past_pose))
        return repair(self.generator.character, state, pose, past, past_pose, has_past, terrain, self._repairs)
