"""What the tracker needs to know of a character, as index and weight tensors on one device.

Only joints that move count: a fixed hand has a place in files but not in observations or rewards. The action is scaled to the
joint's range, as in the paper's code: action 1 is 1.2 times a ball's widest limit in each of its coordinates, or 1.4 times half
a hinge's range beside its middle, so that targets can lie beyond the limits and still press against a load.
"""

import torch
from torch import Tensor

from parc.character.character import Character
from parc.errors import CharacterError

_BALL_REACH = 1.2
_HINGE_REACH = 1.4


class BodyTables:
    def __init__(self, character: Character, device: torch.device | str) -> None:
        moving = [i for i, body in enumerate(character.bodies) if body.joint.dof]
        if not moving:
            raise CharacterError(f"character '{character.name}' has no joints to control")
        self.character = character
        self.device = torch.device(device)
        self.moving = tuple(moving)
        self.joint_body = torch.tensor(moving, device=device)
        """[J] bodies with a joint that moves"""
        self.joint_parent = torch.tensor([character.parents[i] for i in moving], device=device)
        """[J] their parents"""
        self.key_body = torch.tensor(character.key_bodies, device=device, dtype=torch.long)
        """[K]"""
        weights = [character.bodies[i].joint.weight for i in moving]
        dofs = [character.bodies[i].joint.dof for i in moving]
        self.joint_weight = torch.tensor(weights, device=device)
        """[J] weights of the pose reward"""
        self.dof_weight = torch.tensor([w for w, n in zip(weights, dofs, strict=True) for _ in range(n)], device=device)
        """[D] the same for each coordinate"""
        centre, reach = _action_range(character)
        self.action_centre = torch.tensor(centre, device=device)
        """[D] rad, target of action 0 when targets are absolute"""
        self.action_reach = torch.tensor(reach, device=device)
        """[D] rad, how far action 1 moves the target"""

    @property
    def num_joints(self) -> int:
        return len(self.moving)

    @property
    def num_keys(self) -> int:
        return self.key_body.numel()

    def root_relative(self, body_pos: Tensor) -> Tensor:
        """Body positions [..., B, 3] less the root's."""
        return body_pos - body_pos[..., :1, :]


def _action_range(character: Character) -> tuple[list[float], list[float]]:
    centre, reach = [], []
    for body in character.bodies:
        joint = body.joint
        if joint.is_ball:
            widest = max(abs(x) for x in (*joint.lower, *joint.upper))
            centre += [0.0] * 3
            reach += [_BALL_REACH * widest] * 3
        else:
            centre += [0.5 * (lo + hi) for lo, hi in zip(joint.lower, joint.upper, strict=True)]
            reach += [_HINGE_REACH * 0.5 * (hi - lo) for lo, hi in zip(joint.lower, joint.upper, strict=True)]
    return centre, reach
