"""Which clips are worth training on: a reference deep inside a box, or one that teleports, is never tracked and only wastes
samples (references 6-9 cm inside a box never trained). Each refusal has a reason that names the frame and the number.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from parc.character.character import Character
from parc.character.surface import surface_points, world_points
from parc.dataset.clip import Clip
from parc.physics.state import motion_to_qvel
from parc.terrain.distance import penetration_depth


@dataclass(frozen=True)
class ScreenSettings:
    enabled: bool = True
    shortest: int = 10
    """frames"""
    deepest: float = 0.06
    """m a surface point of the body may be in the ground"""
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
    clip.check_fits(character)
    motion = clip.motion
    if len(motion) < settings.shortest:
        return Refusal(clip.name, f"has {len(motion)} frames, {settings.shortest} are the least")
    pose = motion.body_poses(character)
    points = world_points(surface_points(character), pose)
    depth = penetration_depth(clip.terrain, points, border="open").amax(-1)
    step = pose.pos.diff(dim=0).norm(dim=-1)
    checks = (
        ("is {:.3f} m inside the ground", depth, settings.deepest),
        ("has a root that moves {:.3f} m in one frame", step[:, 0], settings.root_step),
        ("has a body that moves {:.3f} m in one frame", step.amax(-1), settings.body_step),
        ("has a joint that turns at {:.1f} rad/s", motion_to_qvel(character, motion)[:, 6:].abs().amax(-1), settings.joint_speed),
    )
    for text, values, limit in checks:
        if reason := _worst(text, values, limit):
            return Refusal(clip.name, reason)
    return None


def screen_clips(character: Character, clips: list[Clip], settings: ScreenSettings) -> tuple[list[Clip], list[Refusal]]:
    """Clips that are fine, and why the others are not."""
    if not settings.enabled:
        return list(clips), []
    kept, refused = [], []
    for clip in clips:
        refusal = screen_clip(character, clip, settings)
        if refusal is None:
            kept.append(clip)
        else:
            refused.append(refusal)
    return kept, refused


def _worst(text: str, values: Tensor, limit: float) -> str | None:
    value, frame = torch.max(values, 0)
    if float(value) <= limit:
        return None
    return f"{text.format(float(value))} at frame {int(frame)}, {limit:g} is the limit"
