"""The generator as one function of plain arrays: MuJoCo states in the world in, the next frames in the world out.

All of a window is inside: canonical frame, local heights, features, every step of the sampler with its blending, decoding, and
the repair at the window's end. It is the library's own window (`parc.generate.rollout.window_step`), so an exported file does
what the library does.
"""

import torch
from torch import Tensor, nn

from parc.character import rotation
from parc.character.posture import size_of
from parc.errors import SettingsError
from parc.generate.model.motion_generator import Generator
from parc.generate.model.noise_schedule import FlowSchedule
from parc.generate.model.prefix_transformer import PAST_FRAMES
from parc.generate.repair.repair_settings import RepairSettings
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.generate.rollout.window_step import WindowStart, WindowStep
from parc.motion.frame_state import FrameState
from parc.motion.mujoco_qpos import frames_to_qpos, qpos_to_frames, standing_qpos
from parc.terrain.terrain import CELL, TerrainBatch

MOST_STEPS = 50
"""network evaluations that are written one after the other into a file; each is 170 nodes"""


class GeneratorGraph(nn.Module):
    """Two past frames to the next T, world coordinates, MuJoCo's qpos."""

    inputs = ("qpos", "contacts", "has_past", "target", "terrain", "terrain_min", "noise")
    outputs = ("next_qpos", "next_contacts")

    def __init__(self, generator: Generator, settings: RolloutSettings, cell: float = CELL) -> None:
        """`settings` says how windows are sampled and repaired, and the pace of all of them; all frames of a window are kept."""
        super().__init__()
        if settings.steps is not None and not isinstance(generator.schedule, FlowSchedule):
            raise SettingsError(f"{settings.steps} sampler steps were asked for, but this generator's number is fixed")
        plan = generator.sampler_plan(settings.steps)
        if len(plan) > MOST_STEPS:
            raise SettingsError(f"this generator takes {len(plan)} sampler steps, a file holds at most {MOST_STEPS}")
        pace = generator.asked_for(settings.pace)
        self.generator, self.settings, self.cell, self.steps = generator, settings, cell, len(plan)
        self.pace = pace if generator.settings.pace else None
        self._embeddings = generator.level_embeddings(plan)
        blend = generator.blend_of(settings.blend)
        self._blend = blend.coefficients(len(plan), generator.device)
        repairs = RepairSettings(settings.fall, settings.walls_carry) if settings.lock_feet else None
        self._window = WindowStep(generator, plan, blend, self.frames, goal=lambda target: target, repairs=repairs)

    @property
    def frames(self) -> int:
        """T"""
        return self.generator.settings.future

    def forward(
        self,
        qpos: Tensor,
        contacts: Tensor,
        has_past: Tensor,
        target: Tensor,
        terrain: Tensor,
        terrain_min: Tensor,
        noise: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """qpos [B, 2, nq], contacts [B, 2, bodies], target [B, 2], terrain [B, X, Y], noise [B, T, D] to [B, T, ...].

        `has_past` [1]: 1, or 0 if the past frames only tell where a motion starts; then nothing is blended.
        """
        character = self.generator.character
        root_pos, root_rot, joint_rot = qpos_to_frames(character, qpos)
        past = FrameState(root_pos, rotation.to_matrix(root_rot), rotation.to_matrix(joint_rot), contacts)
        known = has_past.reshape(())
        coefficients = 1 - known * (1 - self._blend)
        ground = as_batch(terrain, terrain_min, self.cell)
        pace = None if self.pace is None else torch.full_like(target[:, 0], self.pace)
        start = WindowStart(past, past.body_pose(character), known, ground, target, pace)
        state, _ = self._window(start, None, noise, coefficients, self._embeddings)
        rotations = rotation.from_matrix(state.root_rot), rotation.from_matrix(state.joint_rot)
        return frames_to_qpos(character, state.root_pos, *rotations), state.contacts

    def example(self, batch: int = 5) -> dict[str, Tensor]:
        """Inputs by name: standing on flat ground."""
        qpos = standing_qpos(
            self.generator.character,
            torch.tensor([0.1, 0.1, 0.9 * size_of(self.generator.character)]).expand(batch, PAST_FRAMES, 3),
        )
        values = (
            qpos, torch.zeros(batch, PAST_FRAMES, self.generator.character.num_bodies), torch.ones(1),
            torch.ones(batch, 2), torch.zeros(batch, 7, 11), torch.full((batch, 2), -1.0),
            torch.zeros(self.generator.noise_shape(batch)),
        )  # fmt: skip
        return dict(zip(self.inputs, values, strict=True))


def as_batch(terrain: Tensor, terrain_min: Tensor, cell: float) -> TerrainBatch:
    """Heights [B, X, Y] and the centres of their first cells [B, 2] as a batch without padding."""
    count, columns, rows = terrain.shape
    size = torch.stack([torch.full((count,), n, device=terrain.device) for n in (columns, rows)], -1)
    return TerrainBatch(terrain, terrain_min, size, cell)
