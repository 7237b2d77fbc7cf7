"""What training disturbs, for both engines: bodies that are not quite the model's, late motors, pushes, heights that are wrong.

Each episode draws its own body (`parc.physics.varied_model`) and what it believes of the ground; pushes come at random times. All
of it is written into tensors in place, so recorded graphs see it; random numbers are drawn outside of them. Ranges that change
nothing are not drawn at all: training is then equal to the bit to training without. Nothing of it reaches the observation but
through what the body does, and nothing of it is there in evaluation, recording and planning.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from parc.errors import SettingsError
from parc.physics.simulated_world import World
from parc.physics.varied_model import BodyVariation

_SAME = (1.0, 1.0)


@dataclass(frozen=True)
class DisturbanceSettings:
    """Domain randomisation and pushes; off by default, for what they do to an undisturbed body must be measured first."""

    friction: tuple[float, float] = _SAME
    """times the contract's friction, from which to which, drawn for each episode"""
    mass: tuple[float, float] = _SAME
    """times mass and inertia of each body, from which to which, drawn for each body and episode"""
    strength: tuple[float, float] = _SAME
    """times the torque limit of each motor, from which to which, drawn for each motor and episode"""
    latency: tuple[float, float] = (0.0, 0.0)
    """s after which motor targets arrive, from which to which, at most a control step; drawn for each episode in physics steps"""
    pushes: float = 0.0
    """a second and body"""
    push_speed: tuple[float, float] = (0.5, 1.5)
    """m/s that a push adds to all of a body in a random direction of the plane, from which to which"""
    height_noise: float = 0.0
    """m, standard deviation of the height of each cell as generator and tracker see it, drawn for each episode"""

    def __post_init__(self) -> None:
        if not (
            0 <= self.pushes < math.inf and 0 <= self.push_speed[0] <= self.push_speed[1] and 0 <= self.height_noise < math.inf
        ):
            raise SettingsError("pushes a second, their speeds and the noise of heights are expected to be at least 0")
        for name in ("friction", "mass", "strength"):
            least, most = getattr(self, name)
            if not 0 < least <= most < math.inf:
                raise SettingsError(f"{name} is from {least:g} to {most:g} times the model's, expected two rising numbers over 0")
        if not 0 <= self.latency[0] <= self.latency[1] < math.inf:
            raise SettingsError(
                f"the latency is from {self.latency[0]:g} to {self.latency[1]:g} s, expected two rising numbers of at least 0"
            )

    @property
    def varies_body(self) -> bool:
        """Bodies differ from the model's."""
        return any(getattr(self, name) != _SAME for name in ("friction", "mass", "strength")) or self.latency != (0.0, 0.0)


class DrawnBodies:
    """Gives the worlds bodies of their own, drawn anew for each episode."""

    def __init__(self, world: World, settings: DisturbanceSettings) -> None:
        step = 1 / world.contract.control_hz
        if settings.latency[1] > step * (1 + 1e-6):
            raise SettingsError(f"a latency of up to {settings.latency[1]:g} s is longer than a control step, {step:.4g} s")
        self._world, self._settings = world, settings
        character = world.character
        self._widths = (1, character.num_bodies, character.num_dof, 1)
        self._uniform = torch.zeros(world.num_worlds, sum(self._widths), device=world.device)
        world.prepare_variation()

    def draw(self, generator: torch.Generator | None) -> None:
        """Random numbers of the next `give`, outside of recorded graphs."""
        self._uniform.uniform_(generator=generator)

    def give(self, mask: Tensor, share: Tensor | float = 1.0) -> None:
        """To worlds where mask [N] is true; `share` 0: the model's own body, which evaluation has."""
        settings = self._settings
        friction, mass, strength, latency = self._uniform.split(self._widths, 1)

        def factor(uniform: Tensor, bounds: tuple[float, float]) -> Tensor:
            return 1.0 + share * (bounds[0] + (bounds[1] - bounds[0]) * uniform - 1.0)

        late = settings.latency[0] + (settings.latency[1] - settings.latency[0]) * latency[:, 0]
        self._world.vary(
            mask,
            BodyVariation(
                factor(friction[:, 0], settings.friction),
                factor(mass, settings.mass),
                factor(strength, settings.strength),
                share * late,
            ),
        )


def push(world: World, runs: Tensor, uniform: Tensor, settings: DisturbanceSettings) -> None:
    """Some of the bodies that run [N] are pushed, all bodies of each at once; `uniform` [N, 3] are random numbers."""
    if settings.pushes <= 0:
        return
    least, most = settings.push_speed
    chance, size, direction = uniform.unbind(-1)
    speed, angle = least + (most - least) * size, 2 * math.pi * direction
    flat = torch.stack([speed * angle.cos(), speed * angle.sin(), torch.zeros_like(speed)], -1)
    qvel = torch.cat([world.qvel[:, :3] + flat, world.qvel[:, 3:]], -1)
    world.reset(runs & (chance < settings.pushes / float(world.contract.control_hz)), world.qpos, qvel)
