"""Which clips are worth training on: a reference deep inside a box, or one that teleports, is never tracked and only wastes
samples (references 6-9 cm inside a box never trained). Each refusal has a reason that names the frame and the number.
"""

from dataclasses import dataclass

import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.metrics.body_fit import deepest_pair
from parc.metrics.clip_batch import ClipBatch
from parc.motion.mujoco_qpos import frames_to_qpos, qpos_to_qvel
from parc.terrain.terrain_distance import penetration_depth
from parc.track.env.terrain_nearness import grouped


@dataclass(frozen=True)
class ScreenSettings:
    enabled: bool = True
    shortest: int = 10
    """frames"""
    deepest: float = 0.06
    """m a surface point of the body may be in the ground"""
    self_depth: float = 0.1
    """m two bodies may be in each other. A body that collides can follow what is shallower a few centimetres beside it; where the
    axes of two shins meet, at 0.1 m, and deeper, one limb goes through another or lies in the trunk."""
    root_step: float = 0.35
    """m the root may move between two frames"""
    body_step: float = 0.8
    """m any body may move between two frames"""
    joint_speed: float = 40.0
    """rad/s of any joint coordinate"""


@dataclass(frozen=True)
class Refusal:
    clip: str
    reason: str


def screen_clip(character: Character, clip: Clip, settings: ScreenSettings) -> Refusal | None:
    """None for a clip that is fine."""
    return _screen_group(character, [clip], settings, "cpu")[0]


def screen_clips(
    character: Character, clips: list[Clip], settings: ScreenSettings, device: torch.device | str = "cpu"
) -> tuple[list[Clip], list[Refusal]]:
    """Clips that are fine, and why the others are not. All at one frame rate; measured on `device`, many at a time."""
    if not settings.enabled:
        return list(clips), []
    verdicts: list[Refusal | None] = []
    for group in grouped(clips):
        verdicts += _screen_group(character, group, settings, device)
    kept = [clip for clip, verdict in zip(clips, verdicts, strict=True) if verdict is None]
    return kept, [verdict for verdict in verdicts if verdict is not None]


def _screen_group(
    character: Character, clips: list[Clip], settings: ScreenSettings, device: torch.device | str
) -> list[Refusal | None]:
    batch = ClipBatch.stack(clips, character, device)
    depth = penetration_depth(batch.terrains, batch.points, border="open").amax(-1)
    step = torch.zeros_like(batch.pose.pos[..., 0])
    step[:, 1:] = batch.pose.pos.diff(dim=1).norm(dim=-1)
    rows = batch.valid
    frames = (batch.root_pos[rows], batch.root_rot[rows], batch.joint_rot[rows])
    qvel = qpos_to_qvel(character, frames_to_qpos(character, *frames), batch.frames, batch.fps)
    speed = torch.zeros_like(depth)
    speed[rows] = qvel[:, 6:].abs().amax(-1)
    checks = (
        ("is {:.3f} m inside the ground", depth, settings.deepest, 0),
        ("has bodies {:.3f} m inside each other", deepest_pair(batch), settings.self_depth, 0),
        ("has a root that moves {:.3f} m in one frame", step[..., 0], settings.root_step, 1),
        ("has a body that moves {:.3f} m in one frame", step.amax(-1), settings.body_step, 1),
        ("has a joint that turns at {:.1f} rad/s", speed, settings.joint_speed, 0),
    )
    worst = [[column.tolist() for column in torch.max(values * rows, 1)] for _, values, _, _ in checks]
    verdicts: list[Refusal | None] = []
    for i, clip in enumerate(clips):
        reasons = [
            f"{text.format(value[i])} at frame {int(frame[i]) - earlier}, {limit:g} is the limit"
            for (text, _, limit, earlier), (value, frame) in zip(checks, worst, strict=True)
            if not value[i] <= limit
        ]
        if len(clip.motion) < settings.shortest:
            reasons.insert(0, f"has {len(clip.motion)} frames, {settings.shortest} are the least")
        verdicts.append(Refusal(clip.name, reasons[0]) if reasons else None)
    return verdicts
