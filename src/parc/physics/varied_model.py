"""Other bodies in each world: friction, masses, strength of the motors, and how late their targets come.

A world is made for one model. Where bodies are to differ (`World.prepare_variation`), the fields of the model that say so get
values for each world, which `VariedModel` writes in place: a recorded step goes on. Mass and inertia of a body have one factor,
and the masses of subtrees follow; the constants that MuJoCo derives from masses to soften constraints stay those of the model.
Friction is that of all shapes of a world, the ground's too, since a contact takes the larger of two.
"""

from typing import NamedTuple

import mujoco
import numpy as np
import torch
from torch import Tensor

from parc.character.character import Character
from parc.motion.mujoco_qpos import state_layout

VARIED = ("geom_friction", "body_mass", "body_inertia", "body_subtreemass", "actuator_forcerange")
"""fields of MuJoCo's model that get values for each world"""


class BodyVariation(NamedTuple):
    """Of N worlds; factors of 1 and a delay of 0 are the contract's own body."""

    friction: Tensor
    """[N] factor"""
    mass: Tensor
    """[N, B] factor of each body's mass and inertia"""
    strength: Tensor
    """[N, D] factor of each motor's torque limit"""
    delay: Tensor
    """[N] s after which motor targets arrive, up to a control step"""


class VariedModel:
    """Writes variations into fields [N, ...] that an engine reads."""

    def __init__(self, model: mujoco.MjModel, character: Character, fields: dict[str, Tensor]) -> None:
        self._fields = fields
        some = fields["body_mass"]
        self._base = {name: torch.as_tensor(getattr(model, name)).to(some).unsqueeze(0) for name in VARIED}
        order = state_layout(character).order
        self._column = torch.zeros(model.nbody, dtype=torch.long, device=some.device)
        """of each of MuJoCo's bodies in the character's; the world has that of the root, and no mass"""
        self._column[1:] = torch.tensor([*order], device=some.device)
        above = np.zeros((model.nbody, model.nbody))
        for body in range(model.nbody):
            at = body
            while True:
                above[at, body] = 1.0
                if at == 0:
                    break
                at = int(model.body_parentid[at])
        self._above = torch.as_tensor(above).to(some)
        """[M, M] 1 where a body is in the subtree of another"""
        self._motors = character.num_dof

    def write(self, mask: Tensor, variation: BodyVariation) -> None:
        """Worlds where mask [N] is true; no host sync."""
        base = self._base
        friction = base["geom_friction"].expand_as(self._fields["geom_friction"]).clone()
        friction[..., 0].mul_(variation.friction.to(friction).unsqueeze(-1))
        factor = variation.mass.to(friction).index_select(1, self._column)
        mass = base["body_mass"] * factor
        force = base["actuator_forcerange"].expand_as(self._fields["actuator_forcerange"]).clone()
        force[:, : self._motors].mul_(variation.strength.to(friction).unsqueeze(-1))
        # The model's own sums are kept where nothing changes: one in another order has other last digits.
        subtree = base["body_subtreemass"] + (mass - base["body_mass"]) @ self._above.T
        given = {
            "geom_friction": friction,
            "body_mass": mass,
            "body_inertia": base["body_inertia"] * factor.unsqueeze(-1),
            "body_subtreemass": subtree,
            "actuator_forcerange": force,
        }
        for name, values in given.items():
            field = self._fields[name]
            field.copy_(torch.where(mask.view(-1, *[1] * (field.dim() - 1)), values, field))
