"""The physical contract: the numbers a policy was trained against and does not work without.

Stored with the weights and compared at load: a policy trained at 120 Hz with doubled torque limits fails silently at 60 Hz
or with single limits (measured: 71 % success falls to 25 % and 21 %).
"""

from dataclasses import asdict, dataclass

from parc.errors import ParcError


class ContractError(ParcError):
    """A policy asked to run in a world it was not trained for."""


@dataclass(frozen=True)
class Contract:
    control_hz: int = 30
    """policy steps a second"""
    substeps: int = 4
    """physics steps a policy step: 120 Hz"""
    torque_scale: float = 2.0
    """times the character's torque limits"""
    gain_scale: float = 1.0
    """times the character's PD gains"""
    friction: float = 1.0
    """sliding friction of body on terrain"""
    character: str = ""
    """fingerprint of the character"""

    @property
    def timestep(self) -> float:
        return 1.0 / (self.control_hz * self.substeps)

    def check_matches(self, other: "Contract") -> None:
        mine, theirs = asdict(self), asdict(other)
        wrong = [f"{k} is {mine[k]}, the policy needs {theirs[k]}" for k in mine if mine[k] != theirs[k]]
        if wrong:
            raise ContractError("the world does not fit the policy: " + "; ".join(wrong))
