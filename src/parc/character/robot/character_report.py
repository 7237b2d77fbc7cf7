"""What is known of a character, and how: told by its file or description, or guessed by rule. For people who bring a body."""

import math
from collections.abc import Sequence
from fnmatch import fnmatchcase

from parc.character.character import Character
from parc.character.limb_chains import limbs_of
from parc.character.robot.body_description import BodyDescription
from parc.character.self_distance import self_pairs, separate_pairs


def guesses_of(character: Character, told: BodyDescription, silent: Sequence[str], feet: bool, keys: bool) -> tuple[str, ...]:
    """One sentence for each thing that neither file nor description tells.

    Of the motors of `silent` bodies the file says nothing; `feet`, `keys`: whether these were found by rule.
    """
    names, found = character.names, []
    if feet:
        found.append(f"feet are the lowest ends of the tree: {_listed(names[i] for i in character.feet)}")
    if keys:
        found.append(f"key bodies are the ends of the tree: {_listed(names[i] for i in character.key_bodies)}")
    if not told.mirror:
        pairs = sorted({tuple(sorted((i, j))) for i, j in enumerate(character.mirror_of or ()) if i != j})
        found.append(
            f"mirror images are found by geometry: {len(pairs)} pairs of bodies"
            if character.mirror_of
            else "no mirror images: the two sides differ, so motions are not mirrored in training"
        )
    patterns = [p for note in told.motors for p in note.bodies]
    guessed = [name for name in silent if not any(fnmatchcase(name, p) for p in patterns)]
    if guessed:
        found.append(f"gains and torque limits follow from mass and height for {_listed(guessed)}")
    if told.motors and told.frequency is not None:
        found.append(
            f"gains of the motors told follow from their armature, at {told.frequency:g} Hz with a damping ratio of "
            f"{told.damping_ratio:g}, where no stiffness is told"
        )
    free = [b.name for b in character.bodies if b.joint.dof and not b.joint.speed_limit]
    if free:
        found.append(f"no speed limit for {_listed(free)}")
    if not character.landmarks:
        limbs = limbs_of(character)
        found.append(
            "landmarks of a person are found by the bodies' names, or else by geometry: hips "
            f"{_listed(names[i] for i in limbs.hip)}, hands {_listed(names[i] for i in limbs.hand)}"
            if limbs
            else "no landmarks of a person: it has not two legs and two arms that bend, so motion capture cannot be fitted to it"
        )
    return tuple(found)


def character_report(character: Character, notes: Sequence[str] = (), guesses: Sequence[str] = ()) -> str:
    """Some lines of text: the body, its joints, what was approximated, what was guessed."""
    bodies, names = character.bodies, character.names
    origins = [0.0]
    for body in bodies[1:]:
        origins.append(origins[body.parent] + body.offset[2])
    low = min((z + s.bounds[0][2] for z, b in zip(origins, bodies, strict=True) for s in b.shapes), default=0.0)
    allowed, apart = len(self_pairs(character)), len(separate_pairs(character))
    lines = [
        f"{character.name}: {len(character)} bodies, {character.num_dof} degrees of freedom, {character.mass:.2f} kg, root "
        f"{-low:.3f} m above the ground at rest, fingerprint {character.fingerprint}",
        f"feet {_listed(names[i] for i in character.feet)}; key bodies {_listed(names[i] for i in character.key_bodies)}",
        f"{sum(len(b.shapes) for b in bodies)} shapes; {allowed} of {apart} pairs of bodies collide, the others overlap at rest",
        f"{'joint of':28}{'range deg':>16}{'kp':>8}{'kd':>7}{'N m':>7}{'rad/s':>7}{'armature':>10}",
    ]
    for body in bodies[1:]:
        joint = body.joint
        if not joint.dof:
            continue
        ranges = " ".join(f"{math.degrees(a):.0f}..{math.degrees(b):.0f}" for a, b in zip(joint.lower, joint.upper, strict=True))
        speed = "-" if not joint.speed_limit else f"{joint.speed_limit:.0f}"
        lines.append(
            f"{body.name:28}{ranges:>16}{joint.stiffness:8.1f}{joint.damping:7.2f}{joint.torque_limit:7.0f}{speed:>7}"
            f"{joint.armature:10.4f}"
        )
    if character.landmarks:
        lines.append(f"landmarks: {', '.join(f'{mark.place} on {names[mark.body]}' for mark in character.landmarks)}")
    for head, sentences in (("approximated", notes), ("guessed", guesses)):
        lines += [f"{head}:", *(f"  {sentence}" for sentence in sentences)] if sentences else [f"{head}: nothing"]
    return "\n".join(lines)


def _listed(names: object, most: int = 6) -> str:
    every = list(names)  # type: ignore[call-overload]
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "") if every else "none"
