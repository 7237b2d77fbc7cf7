"""`parc character`: what is known of a body, and what was guessed."""

from dataclasses import dataclass
from typing import Annotated, Any

import tyro

from parc.character.named_character import told_of
from parc.character.robot.character_report import character_report
from parc.cli.base_command import Command


@dataclass(frozen=True, kw_only=True)
class ShowCharacter(Command):
    """Tell what a body is: joints, motors, limits, feet, landmarks; what of an MJCF file was approximated, and what was guessed.

    What is guessed wrongly is told in a description beside the file: robot.xml has robot.parc.toml.
    """

    body: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="BODY")]
    """humanoid, g1, or an MJCF file (.xml)"""

    def run(self) -> dict[str, Any]:
        """Read and tell."""
        character, notes, guesses = told_of(self.body)
        return {
            "name": character.name,
            "fingerprint": character.fingerprint,
            "bodies": len(character),
            "degrees_of_freedom": character.num_dof,
            "mass": character.mass,
            "approximated": list(notes),
            "guessed": list(guesses),
            "report": character_report(character, notes, guesses),
        }

    def show(self, result: dict[str, Any]) -> None:
        for line in result["report"].splitlines():
            print(line)
