"""Many scripts to many clips: drawn at random by skill, fitted side by side, measured, the bad ones named and left out.

Clip i of a seed is drawn from SeedSequence([seed, 0, i]) alone, so a larger count begins with the clips of a smaller one.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from parc.author.script_to_draft import draft
from parc.author.skill_script import Script
from parc.author.skills.climb import FARTHEST, NEAREST, RUN_UP, STANDING_REACH, Climb, climb
from parc.author.skills.descend import LANDING, LONGEST_HANG, Descend, descend
from parc.author.skills.forward_jump import ForwardJump, JumpStyle, forward_jump
from parc.author.skills.run_jump import RunJump, run_jump
from parc.author.skills.stand_up import GetUp, get_up
from parc.author.skills.vault import Style, Vault, vault
from parc.author.solve_motions import Solve, SolveSettings
from parc.character.character import Character
from parc.character.named_character import HUMANOID, find_character
from parc.dataset.clip import Clip, Provenance
from parc.errors import CharacterError, SettingsError
from parc.fit.held_parts import Side
from parc.mocap.contact.label_touching_bodies import label_touching
from parc.motion.motion import Motion
from parc.quality.limit_check import ClipQuality
from parc.quality.limit_profiles import AuthoredLimits
from parc.quality.measure_clip import measure_authored

SKILLS = (
    "climb", "climb_down", "hang_drop", "step_down", "jump_down", "jump_up", "gap_jump", "vault", "run_jump_climb",
)  # fmt: skip
"""made by default"""
HARD = ("leap_climb", "run_up_climb", "get_up")
"""made when asked for: climbs higher than `HIGHEST`, from both feet and from one; standing up from the ground"""
HIGHEST = 1.85
"""m, of climbs by default"""


@dataclass(frozen=True)
class MakeSettings:
    """Of the fit, and of what is kept."""

    solve: SolveSettings = field(default_factory=SolveSettings)
    limits: AuthoredLimits = field(default_factory=AuthoredLimits)
    together: int = 8
    """clips that are fitted side by side"""


@dataclass(frozen=True, eq=False)
class Authored:
    """A clip, and how good it is."""

    clip: Clip
    quality: ClipQuality
    faults: tuple[str, ...]
    """empty: worth keeping"""


def random_scripts(count: int, seed: int, skills: Sequence[str] = SKILLS) -> list[Script]:
    """`count` scripts of the skills in turn."""
    _check(skills)
    scripts = []
    for i in range(count):
        draw = np.random.default_rng(np.random.SeedSequence([seed, 0, i]))
        scripts.append(_RANDOM[skills[i % len(skills)]](f"authored_{seed}_{i:04d}", draw))
    return scripts


def fixed_scripts(skills: Sequence[str] = SKILLS) -> list[Script]:
    """Plain ones over the range of heights, the same at all times: what a change of the rules is judged by."""
    scripts = [climb(f"climb_{h:g}", Climb(h)) for h in (1.0, 1.2, 1.5, 1.8, 2.0)]
    scripts += [climb("run_up_climb_1.9", Climb(1.9, run_up=True))]
    scripts += [descend(f"climb_down_{h:g}", Descend(h)) for h in (1.4, 1.45)]
    scripts += [descend(f"hang_drop_{h:g}", Descend(h, drops=True)) for h in (1.4, 1.7, 2.0)]
    scripts += [forward_jump(f"step_down_{h:g}", ForwardJump(h, "step", v, v)) for h, v in ((0.35, 1.1), (0.55, 2.0))]
    downs: tuple[tuple[float, JumpStyle, float, int], ...] = ((0.7, "leap", 1.2, 0), (1.0, "leap", 2.2, 2), (1.3, "leap", 1.6, 0),
                                                             (0.8, "jump", 1.1, 0), (1.3, "jump", 1.3, 1))  # fmt: skip
    scripts += [forward_jump(f"jump_down_{style}_{h:g}", ForwardJump(h, style, v, gap=gap)) for h, style, v, gap in downs]
    across: Sequence[tuple[float, JumpStyle, float, int]] = ((-0.6, "jump", 1.0, 0), (-0.4, "leap", 2, 0), (0.0, "jump", 1.2, 3),
                                                             (0.0, "step", 2.8, 4), (0.0, "leap", 3.2, 5))  # fmt: skip
    scripts += [forward_jump(f"jump_{style}_{h:g}_{gap}", ForwardJump(h, style, v, gap=gap)) for h, style, v, gap in across]
    scripts += [vault(f"vault_step_{h:g}", Vault(h, "step")) for h in (0.8, 0.95, 1.1)]
    scripts += [vault(f"vault_kong_{h:g}", Vault(h, "kong", 2.8)) for h in (0.8, 0.95, 1.1)]
    scripts += [run_jump(f"run_jump_climb_{h:g}", RunJump(h, gap)) for h, gap in ((1.0, 2), (1.4, 0), (1.8, 1))]
    ups: tuple[tuple[Side, float], ...] = (("right", 1.0), ("left", 1.4))
    scripts += [get_up(f"get_up_{side}_{tempo:g}", GetUp("front", side, tempo)) for side, tempo in ups]
    scripts += [get_up(f"get_up_seat_{tempo:g}", GetUp("seat", tempo=tempo)) for tempo in (1.0, 1.3)]
    _check(skills)
    return [s for s in scripts if s.skill in skills]


def _check(skills: Sequence[str]) -> None:
    unknown = sorted(set(skills) - {*SKILLS, *HARD})
    if unknown or not skills:
        raise SettingsError(f"no skill '{', '.join(unknown)}'; choose of {', '.join((*SKILLS, *HARD))}")


Draw = np.random.Generator
Range = tuple[float, float] | Callable[[Draw], Any]


def _drawn(draw: Draw, **ranges: Range) -> dict[str, Any]:
    """A value for each name, in their order: uniform between two numbers, or what a function of the generator gives."""
    return {name: kind(draw) if callable(kind) else draw.uniform(*kind) for name, kind in ranges.items()}


def _angle(most: float) -> Callable[[Draw], float]:
    """rad, up to so many degrees to both sides"""
    return lambda draw: math.radians(draw.uniform(-most, most))


def _chance(share: float) -> Callable[[Draw], bool]:
    return lambda draw: bool(draw.random() < share)


def _one_of(*values: Any) -> Callable[[Draw], Any]:
    return lambda draw: draw.choice(np.array(values)).item()


def _side(draw: Draw) -> Side:
    return "left" if draw.random() < 0.5 else "right"


def _random_climb(name: str, draw: Draw, low: float = 0.6, high: float = HIGHEST, run_up: bool = False) -> Script:
    if low < STANDING_REACH:
        low, high = (low, STANDING_REACH) if draw.random() < 0.35 else (STANDING_REACH, high)
    speed, approach, heading = ((RUN_UP, 2.7), (1.0, 1.4), 15) if run_up else ((1.0, 1.7), (1.0, 1.8), 25)
    drawn = _drawn(draw, height=(low, high), speed=speed, leave=(0.9, 1.5), approach=approach, heading=_angle(heading))
    make = Climb(run_up=run_up, **drawn, **_drawn(draw, turn=_angle(85), side=_side, tempo=(0.9, 1.3), pit=_chance(0.25)))
    if not run_up and draw.random() < 0.4:
        stand = _drawn(draw, stand=(NEAREST, FARTHEST), approach=(0.3, 0.8), heading=_angle(60))
        make = replace(make, **stand, **_drawn(draw, pit=_chance(0.5), aside=_one_of(0.4, 0.8, 1.2)))
    return climb(f"{name}_climb", make)


def _random_descent(name: str, draw: Draw, drops: bool) -> Script:
    height = (1.4, 2.0) if drops else (1.35, LONGEST_HANG + LANDING)
    drawn = _drawn(draw, height=height, speed=(0.9, 1.4), leave=(0.9, 1.4), approach=(1.0, 1.5), heading=_angle(20))
    make = Descend(drops=drops, **drawn, **_drawn(draw, tempo=(0.95, 1.3), left=_chance(0.5)))
    return descend(f"{name}_{'hang_drop' if drops else 'climb_down'}", make)


def _random_step_down(name: str, draw: Draw) -> Script:
    speed = draw.uniform(0.9, 2.6)

    def leave(draw: Draw) -> float:
        return float(np.clip(speed * draw.uniform(0.8, 1.1), 0.9, 2.2))

    def gap(draw: Draw) -> int:
        return int(speed > 1.5 and draw.random() < 0.3)

    drawn = _drawn(draw, height=(0.35, 0.6), leave=leave, approach=(1.0, 1.5), heading=_angle(25), turn=_angle(25))
    drawn |= _drawn(draw, gap=gap, depth=(0.4, 1.5), side=_side)
    return forward_jump(f"{name}_step_down", ForwardJump(style="step", speed=speed, **drawn))


def _random_jump_down(name: str, draw: Draw) -> Script:
    style: JumpStyle = "leap" if draw.random() < 0.6 else "jump"
    drawn = _drawn(draw, height=(0.5, 1.3), speed=(0.9, 2.6 if style == "leap" else 1.6), leave=(0.9, 1.5), approach=(1.0, 1.5))
    drawn |= _drawn(draw, heading=_angle(25), turn=_angle(25), gap=_one_of(0, 0, 0, 1, 2), depth=(0.4, 1.5), side=_side)
    return forward_jump(f"{name}_jump_down", ForwardJump(style=style, **drawn))


def _random_jump_up(name: str, draw: Draw) -> Script:
    style: JumpStyle = "leap" if draw.random() < 0.5 else "jump"
    up, speed = (0.5, (1.4, 2.6)) if style == "leap" else (0.6, (0.9, 1.4))
    height = -draw.uniform(0.3, up)
    drawn = _drawn(draw, speed=speed, leave=(0.9, 1.5), approach=(1.0, 1.5), heading=_angle(25), turn=_angle(25), side=_side)
    return forward_jump(f"{name}_jump_up", ForwardJump(height, style, **drawn))


def _random_gap_jump(name: str, draw: Draw) -> Script:
    style: JumpStyle = _one_of("step", "step", "leap", "jump")(draw)
    gap = int(draw.integers(1, 4 if style == "jump" else 6))
    least = 1.0 if style == "jump" else float(np.interp(gap, [1, 5], [1.6, 3.2]))
    height, speed = draw.uniform(-0.15, 0.25), least + draw.uniform(0.0, 0.4)
    leave = min(least, 2.4) if style == "step" else draw.uniform(0.9, 1.5)
    drawn = _drawn(draw, approach=(1.0, 1.4), heading=_angle(12), turn=_angle(15), depth=(0.4, 1.5), side=_side)
    return forward_jump(f"{name}_gap_jump", ForwardJump(height, style, speed, leave, gap=gap, **drawn))


def _random_vault(name: str, draw: Draw) -> Script:
    style: Style = "step" if draw.random() < 0.5 else "kong"
    speed = draw.uniform(1.9, 2.5) if style == "step" else draw.uniform(2.5, 3.1)
    drawn = _drawn(draw, height=(0.75, 1.1), leave=(1.4, min(speed, 2.2)), approach=(1.0, 1.4), heading=_angle(12), side=_side)
    return vault(f"{name}_vault_{style}", Vault(style=style, speed=speed, **drawn))


def _random_run_jump(name: str, draw: Draw) -> Script:
    height, gap = draw.uniform(0.9, 1.9), int(draw.integers(0, 4))
    drawn = _drawn(draw, depth=(0.6, 2.0), speed=(2.3, 3.0), leave=(1.0, 1.5), approach=(1.0, 1.4), heading=_angle(10))
    drawn |= _drawn(draw, turn=_angle(25), side=_side, tempo=(0.95, 1.25))
    return run_jump(f"{name}_run_jump_climb", RunJump(height, gap, **drawn))


def _random_get_up(name: str, draw: Draw) -> Script:
    drawn = _drawn(
        draw,
        style=_one_of("front", "seat"),
        side=_side,
        tempo=(0.9, 1.5),
        hands=(0.25, 0.34),
        foot=(0.14, 0.24),
        lies=(0.15, 0.6),
    )
    return get_up(f"{name}_get_up", GetUp(**drawn))


_RANDOM: dict[str, Callable[[str, Draw], Script]] = {
    "climb": _random_climb,
    "leap_climb": partial(_random_climb, low=1.7, high=2.1),
    "run_up_climb": partial(_random_climb, low=1.7, high=2.1, run_up=True),
    "climb_down": partial(_random_descent, drops=False),
    "hang_drop": partial(_random_descent, drops=True),
    "step_down": _random_step_down,
    "jump_down": _random_jump_down,
    "jump_up": _random_jump_up,
    "gap_jump": _random_gap_jump,
    "vault": _random_vault,
    "run_jump_climb": _random_run_jump,
    "get_up": _random_get_up,
}


def check_can_author(character: Character) -> None:
    """Refuse a body that the skills are not written for: their footholds and handholds are in metres of the humanoid."""
    if character.fingerprint != find_character(HUMANOID).fingerprint:
        raise CharacterError(
            f"skills are made by rule for the humanoid's lengths, not for '{character.name}': make them for the humanoid, "
            "then fit them (`parc convert --retarget --character ..`)"
        )


def author(
    scripts: Sequence[Script],
    character: Character,
    settings: MakeSettings = MakeSettings(),
    device: torch.device | str = "cpu",
    seed: int = 0,
) -> Iterator[Authored]:
    """Clips of scripts, those of a group when it is done; scripts of a length go together, as the longest of a group sets its
    cost."""
    ordered = sorted(scripts, key=lambda script: script.duration)
    for first in range(0, len(ordered), settings.together):
        group = ordered[first : first + settings.together]
        problem = Solve([draft(s, character) for s in group], character, settings.solve, device)
        problem.run()
        clips = [_clip(s, m, character, seed) for s, m in zip(group, problem.motions(), strict=True)]
        for clip, quality in zip(clips, measure_authored(clips, problem.efforts, character), strict=True):
            losses = {**clip.provenance.losses, **quality.as_losses()}
            kept = replace(clip, provenance=replace(clip.provenance, losses=losses))
            yield Authored(kept, quality, quality.faults(settings.limits))


def _clip(script: Script, motion: Motion, character: Character, seed: int) -> Clip:
    told = ", ".join(f"{key} {value:.3g}" for key, value in script.parameters.items())
    provenance = Provenance(source="parc dataset author", skill=script.skill, seed=seed, edits=(f"authored: {told}",))
    return label_touching(Clip(script.name, motion, script.terrain, None, character.name, provenance), character)
