"""The physical contract: the numbers a policy was trained against and does not work without.

Stored with the weights and compared at load: a policy trained at 120 Hz with doubled torque limits fails silently at 60 Hz
or with single limits (measured: 71 % success falls to 25 % and 21 %).

The body of the defaults is an honest one: its motors' limits hold for the whole PD torque, its bodies collide with each other,
and all of its joints have stops. Contracts stored before say nothing of these and mean the opposite (`Contract.completed`).
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

from parc.errors import ParcError, SettingsError

_UNSAID = {
    "contact_time": 0.015,
    "contact_impedance": (0.9, 0.95),
    "contact_depth": 0.001,
    "contact_margin": 0.0,
    "damping_as_inertia": False,
    "damping_in_limit": False,
    "self_collision": False,
    "ball_stops": False,
}
"""what contracts stored before these were part of them mean"""


class ContractError(ParcError):
    """A policy asked to run in a world it was not trained for."""


@dataclass(frozen=True)
class Contract:
    """Everything physical that a policy is trained under; stored with its weights."""

    control_hz: int = 30
    """policy steps a second"""
    substeps: int = 4
    """physics steps a policy step: 120 Hz"""
    torque_scale: float = 1.0
    """times the character's torque limits"""
    gain_scale: float = 1.0
    """times the character's PD gains"""
    friction: float = 1.0
    """sliding friction of body on terrain"""
    contact_time: float = 1 / 60
    """s, time constant of a contact's critically damped spring; MuJoCo takes no less than two physics steps"""
    contact_impedance: tuple[float, float] = (0.95, 0.99)
    """share of the other forces that a contact withstands at first touch and at `contact_depth`; the rest sinks in"""
    contact_depth: float = 0.002
    """m over which the impedance rises"""
    contact_margin: float = 0.0007
    """m above the ground at which contact begins: a body at rest stays half of it over the ground, a landing one ends about on
    it; 3 mm leave no depth at all, but recordings then hover by 2 mm"""
    damping_as_inertia: bool = True
    """the step's implicit joint damping is part of the inertia that contact forces are computed with
    (`parc.physics.mujoco_model`); without it feet rattle and slide in half of their contacts"""
    damping_in_limit: bool = True
    """the torque limit bounds the whole of kp e - kd v, as in the paper's simulator; else kp e alone, and the damping acts beside
    it: a knee of 150 N m then has nothing left at 3 rad/s (people reach 15 when they jump)"""
    self_collision: bool = True
    """bodies that are no neighbours collide with each other"""
    ball_stops: bool = True
    """ball joints have stops at the ends of their ranges; hinges always have"""
    character: str = ""
    """fingerprint of the character"""
    excluded_contacts: tuple[str, ...] = ()
    """pairs of bodies that do not collide although they are no neighbours, because they overlap in the zero pose: "a/b";
    found from the character's geometry (`parc.physics.mujoco_model.sealed_contract`)"""

    def __post_init__(self) -> None:
        rates, scales = (self.control_hz, self.substeps), (self.torque_scale, self.gain_scale, self.friction)
        if not (all(rate >= 1 for rate in rates) and all(0 < scale < math.inf for scale in scales)):
            raise SettingsError(
                f"control_hz is {self.control_hz}, substeps {self.substeps}, torque_scale {self.torque_scale}, gain_scale "
                f"{self.gain_scale}, friction {self.friction}; expected rates of at least 1 and positive scales"
            )
        first, last = self.contact_impedance
        if not (0 < first <= last < 1 and self.contact_time > 0 and self.contact_depth > 0 and 0 <= self.contact_margin < 0.02):
            raise SettingsError(
                f"contact_impedance is {self.contact_impedance}, contact_time {self.contact_time} s, contact_depth "
                f"{self.contact_depth} m, contact_margin {self.contact_margin} m; expected two rising numbers between 0 and 1, "
                "times and depths above 0, a margin from 0 to 2 cm"
            )

        if self.damping_in_limit and not self.damping_as_inertia:
            raise SettingsError(
                "damping_in_limit is on and damping_as_inertia off; a motor that loses its damping blows up, so use both"
            )

    @staticmethod
    def completed(stored: dict[str, Any]) -> dict[str, Any]:
        """A contract from a file, with what older files leave unsaid."""
        return _UNSAID | stored

    @property
    def timestep(self) -> float:
        """Of the simulation, s."""
        return 1.0 / (self.control_hz * self.substeps)

    def differences(self, policy: "Contract") -> list[str]:
        """What this world has otherwise than the policy's, a sentence part each."""
        mine, theirs = asdict(self), asdict(policy)
        return [f"{k} is {mine[k]}, the policy needs {theirs[k]}" for k in mine if mine[k] != theirs[k]]

    def check_matches(self, other: "Contract") -> None:
        """An error in one sentence if another contract differs."""
        if wrong := self.differences(other):
            raise ContractError("the world does not fit the policy: " + "; ".join(wrong))
