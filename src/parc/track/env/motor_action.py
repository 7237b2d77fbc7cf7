"""From a policy's action to motor targets.

    wanted = reach * clamp(action, +-4)
    offset = hold * last offset + (1 - hold) * wanted            last offset is 0 when an episode begins
    targets = reference's pose, `lead` steps ahead, + offset     (or: the joints' middle + offset)

Without `hold` nothing ties one control step's offset to the next: policies learned to rattle, feet hammered the ground and slid
in half of their contacts. The offset that is held is part of the state, so the policy sees it (`ObservationSettings.held`).
Everything that runs a policy goes through `motor_targets`.
"""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from parc.track.env.body_tables import BodyTables

ACTION_BOUND = 4.0
"""where actions are clamped; 1 moves a motor's target by about its joint's range"""


@dataclass(frozen=True)
class ActionSettings:
    residual: bool = True
    """targets are the reference's pose plus the scaled action; else the scaled action alone, about the joints' middle"""
    lead: int = 3
    """control steps the reference's pose is taken ahead; the motors lag by kd / kp = 0.1 s"""
    hold: float = 0.5
    """share of the last control step's offset that stays in the next; 0: none"""

    @staticmethod
    def completed(stored: dict[str, Any]) -> dict[str, Any]:
        """Settings from a file, with what older files leave unsaid."""
        return {"hold": 0.0} | stored


def motor_targets(
    action: Tensor, held: Tensor, pose: Tensor, anatomy: BodyTables, settings: ActionSettings
) -> tuple[Tensor, Tensor]:
    """Targets [N, D] in rad and the offset to hold [N, D], from actions, the held offset and the reference's pose [N, D]."""
    wanted = action.clamp(-ACTION_BOUND, ACTION_BOUND) * anatomy.action_reach
    offset = wanted + settings.hold * (held - wanted)
    return offset + (pose if settings.residual else anatomy.action_centre), offset
