"""Clips side by side on one device, ready to be measured: padded in time, each with its own terrain and goal.

Padding repeats the last frame and is masked by `valid`; every metric sums over valid frames only.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from parc.character.body_surface import Surface, min_per_body, surface_points, world_points
from parc.character.character import Character
from parc.character.inertia import centre_of_mass
from parc.character.kinematics import BodyPose, forward_kinematics
from parc.character.self_distance import self_depth
from parc.dataset.clip import Clip
from parc.errors import MotionError
from parc.metrics.clip_subject import subject_of
from parc.terrain.carrying_surface import carrying_distance
from parc.terrain.terrain import TerrainBatch
from parc.terrain.terrain_distance import clearance, penetration_depth


def groups(clips: Iterable[Clip], frames_at_once: int = 4096) -> Iterator[list[Clip]]:
    """Clips in order, together while of one frame rate and cell size and of about `frames_at_once` padded frames: that bounds the
    memory."""
    group: list[Clip] = []
    longest = 0
    for clip in clips:
        grown = max(longest if group else 0, len(clip.motion))
        alike = not group or (clip.motion.fps, clip.terrain.cell) == (group[0].motion.fps, group[0].terrain.cell)
        if group and (grown * (len(group) + 1) > frames_at_once or not alike):
            yield group
            group, grown = [], len(clip.motion)
        longest = grown
        group.append(clip)
    if group:
        yield group


@dataclass(frozen=True, eq=False)
class ClipBatch:
    """Clips side by side, and what metrics ask of them, each worked out once."""

    character: Character
    root_pos: Tensor
    """[N, T, 3]"""
    root_rot: Tensor
    """[N, T, 4] xyzw"""
    joint_rot: Tensor
    """[N, T, B-1, 4] xyzw"""
    contacts: Tensor
    """[N, T, B]"""
    frames: Tensor
    """[N] frames that are real"""
    terrains: TerrainBatch
    goal: Tensor
    """[N, 2] last waypoint; NaN for a clip without a path"""
    fps: float
    subjects: tuple[str, ...] = ()
    """whom each clip shows (`subject_of`), to be left out of the people it is compared with; empty: nobody"""

    @classmethod
    def stack(cls, clips: list[Clip], character: Character, device: torch.device | str = "cpu") -> "ClipBatch":
        """Clips of different lengths as one batch on a device."""
        if not clips:
            raise MotionError("nothing to measure: no clips given")
        rates = {c.motion.fps for c in clips}
        if len(rates) > 1:
            raise MotionError(f"clips of different frame rates cannot be measured together: {sorted(rates)}; resample them first")
        for clip in clips:
            clip.check_fits(character)
        longest = max(len(c.motion) for c in clips)

        def pad(values: list[Tensor]) -> Tensor:
            at = torch.arange(longest)
            return torch.stack([v[at.clamp_max(len(v) - 1)] for v in values]).to(device)

        nowhere = torch.full((2,), float("nan"))
        return cls(
            character=character,
            root_pos=pad([c.motion.root_pos for c in clips]),
            root_rot=pad([c.motion.root_rot for c in clips]),
            joint_rot=pad([c.motion.joint_rot for c in clips]),
            contacts=pad([c.motion.contacts for c in clips]),
            frames=torch.tensor([len(c.motion) for c in clips], device=device),
            terrains=TerrainBatch.stack([c.terrain for c in clips]).to(device),
            goal=torch.stack([nowhere if c.path is None else c.path.goal[:2] for c in clips]).to(device),
            fps=clips[0].motion.fps,
            subjects=tuple(subject_of(c) for c in clips),
        )

    def __len__(self) -> int:
        return len(self.frames)

    @cached_property
    def valid(self) -> Tensor:
        """[N, T] bool: real frames."""
        return torch.arange(self.root_pos.shape[1], device=self.frames.device) < self.frames.unsqueeze(1)

    @cached_property
    def pose(self) -> BodyPose:
        """Where all bodies are, by forward kinematics."""
        return forward_kinematics(self.character, self.root_pos, self.root_rot, self.joint_rot)

    @cached_property
    def surface(self) -> Surface:
        """Sample points on the surfaces of the bodies."""
        return surface_points(self.character, self.root_pos.device)

    @cached_property
    def points(self) -> Tensor:
        """[N, T, P, 3] surface points in the world."""
        return world_points(self.surface, self.pose)

    @cached_property
    def depth(self) -> Tensor:
        """[N, T, P] how deep each point is in the terrain, or how far off the map, m."""
        return penetration_depth(self.terrains, self.points, border="wall")

    @cached_property
    def point_clearance(self) -> Tensor:
        """[N, T, P] distance of each point above or beside the terrain, 0 inside, m."""
        return clearance(self.terrains, self.points)

    @cached_property
    def carrying_clearance(self) -> Tensor:
        """[N, T] distance of the body's nearest point to terrain that carries, m."""
        return carrying_distance(self.terrains, self.points).amin(-1)

    @cached_property
    def body_clearance(self) -> Tensor:
        """[N, T, B] least clearance over each body's points, m."""
        return min_per_body(self.surface, self.point_clearance)

    @cached_property
    def self_depth(self) -> Tensor:
        """[N, T, pairs] how deep bodies are in each other, negative where they are apart, m."""
        return self_depth(self.character, self.pose)

    @cached_property
    def centre_of_mass(self) -> Tensor:
        """[N, T, 3]"""
        return centre_of_mass(self.character, self.pose)
