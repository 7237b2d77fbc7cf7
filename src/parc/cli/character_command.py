"""`parc character show`: what is known of a body before anything is done with it."""

from dataclasses import dataclass
from typing import Annotated, Any

import tyro

from parc.cli.base_command import Command


@dataclass(frozen=True, kw_only=True)
class ShowCharacter(Command):
    """What a body is made of: bodies, joints with their motors, feet, key bodies, mirror pairs; what was approximated in reading
    it, and which parts of parc it is fit for.

    Of a file of parc (a motion, a data set, a model) the body that it holds is shown.
    """

    name: Annotated[str, tyro.conf.Positional] = "humanoid"
    """humanoid, g1, an MJCF file (.xml), or a file of parc"""

    def run(self) -> dict[str, Any]:
        """Read it."""
        import math
        from pathlib import Path

        from parc.api.whose_files import character_of
        from parc.character.limb_chains import limbs_of
        from parc.character.named_character import NAMED, told_of
        from parc.character.posture import size_of, stature
        from parc.character.robot.character_report import character_report

        path = Path(self.name)
        notes: tuple[str, ...] = ()
        guesses: tuple[str, ...] = ()
        if self.name in NAMED or path.suffix.lower() in (".xml", ".mjcf"):
            character, notes, guesses = told_of(self.name)
        else:
            character = character_of(None if path.exists() else self.name, path)
        names, mirror = character.names, character.mirror_of
        pairs = [] if mirror is None else [f"{names[i]}/{names[j]}" for i, j in enumerate(mirror) if i < j]
        has_limbs = limbs_of(character) is not None
        joints = [
            {
                "body": body.name,
                "dof": body.joint.dof,
                "range": [[round(math.degrees(x), 1) for x in part] for part in (body.joint.lower, body.joint.upper)],
                "kp": body.joint.stiffness,
                "kd": body.joint.damping,
                "torque": body.joint.torque_limit,
                "speed": body.joint.speed_limit or None,
            }
            for body in character.bodies
            if body.joint.dof
        ]
        return {
            "name": character.name,
            "fingerprint": character.fingerprint,
            "bodies": len(character),
            "dof": character.num_dof,
            "mass": character.mass,
            "stature": stature(character),
            "size": size_of(character),
            "feet": [names[i] for i in character.feet],
            "keys": [names[i] for i in character.key_bodies],
            "mirror": pairs if mirror is not None else None,
            "limbs": has_limbs,
            "notes": list(notes),
            "guesses": list(guesses),
            "report": character_report(character, notes, guesses).splitlines(),
            "joints": joints,
        }

    def show(self, result: dict[str, Any]) -> None:
        """In words, with a line for each joint."""
        for line in result["report"]:
            print(line)
        print(f"root {result['stature']:.3f} m over the ground at rest, {result['size']:.2f} humanoids")
        if result["mirror"] is None:
            print("mirror images: none, the two sides differ; motions are not mirrored in training")
        if not result["limbs"]:
            print("it has not two legs and two arms that bend: motion capture of people, variations and gait measures need these")
