"""How much more a body crouches than its plan: the optional naturalness term of the closed loop's reward.

Only what is lower and more bent than planned counts: a plan that ducks, climbs or lands is followed for nothing.
"""

import torch
from torch import Tensor

from parc.character.character import Character
from parc.character.limb_chains import limbs_of
from parc.character.posture import size_of
from parc.motion.mujoco_qpos import state_layout
from parc.plan.path_progress import STANDING

_KNEE = 0.5
"""m that a radian of knee is priced as"""


class Stoop:
    """Of one character on one device."""

    def __init__(self, character: Character, device: torch.device | str) -> None:
        layout, self._size = state_layout(character), size_of(character)
        limbs = limbs_of(character)
        knees = [k for k in sorted(limbs.knee if limbs else ()) if character.bodies[k].joint.dof == 1]
        self._knees = torch.tensor([layout.qpos_start[k] for k in knees], dtype=torch.long, device=device)

    def __call__(self, height: Tensor, planned_height: Tensor, qpos: Tensor, planned_qpos: Tensor) -> Tensor:
        """[N] m, from heights [N] of pelvises over the ground under them and states [N, nq]; at least 0."""
        lower = (planned_height.clamp_max(STANDING * self._size) - height).clamp_min(0.0)
        if not len(self._knees):
            return lower
        bend = qpos.index_select(1, self._knees).abs() - planned_qpos.index_select(1, self._knees).abs()
        return lower + _KNEE * bend.amax(-1).clamp_min(0.0)
