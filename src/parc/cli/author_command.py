"""`parc dataset author`: clips of skills that motion capture lacks, made by rule."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.author import SKILLS, MakeSettings, author, check_can_author, fixed_scripts, random_scripts
from parc.cli.base_command import new_names, progress
from parc.cli.character_option import OfCharacter
from parc.dataset import DatasetWriter
from parc.errors import DatasetError, SettingsError


@dataclass(frozen=True, kw_only=True)
class Author(OfCharacter):
    """Make clips by rule where motion capture is missing: climbs, ways down with and without hands, jumps up and over gaps,
    vaults, running jumps at a ledge.

    Heights, speeds, headings and timing are drawn at random; clips that break a rule of quality are named and left out.
    """

    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """data set folder, new or to be added to"""
    skill: tuple[str, ...] = ()
    """of climb, climb_down, hang_drop, step_down, jump_down, jump_up, gap_jump, vault, run_jump_climb; by default all of these in
    turn. And of leap_climb and run_up_climb: ledges of 1.7 to 2.1 m, from both feet and from one. And of get_up: from the front
    and from the seat to standing, on level ground"""
    count: int = 20
    """clips to make"""
    fixed: bool = False
    """make the fixed set of plain heights instead, by which the rules are judged"""
    all: bool = False
    """keep also clips that break a rule of quality"""
    resume: bool = False
    """make only clips that the folder has not: after a stop, or with a larger count"""
    settings: Annotated[MakeSettings, tyro.conf.arg(name="")] = field(default_factory=MakeSettings)

    def run(self) -> dict[str, Any]:
        if self.count < 1:
            raise SettingsError(f"{self.count} clips were asked for, expected at least 1")
        skills = self.skill or SKILLS
        scripts = fixed_scripts(skills) if self.fixed else random_scripts(self.count, self.seed, skills)
        character = self.body(self.out)
        check_can_author(character)
        rows: list[dict[str, Any]] = []
        otherwise = "choose another folder with -o" + ("" if self.fixed else " or other clips with --seed")
        with DatasetWriter(self.out, character) as writer:
            names = new_names([script.name for script in scripts], writer, self.resume, otherwise)
            missing = [script for script in scripts if script.name in names]
            with progress(len(missing), "authoring") as bar:
                for made in author(missing, character, self.settings, self.torch_device, self.seed):
                    kept = self.all or not made.faults
                    if kept:
                        writer.append([made.clip])
                    rows.append(
                        {
                            "name": made.clip.name,
                            "skill": made.clip.provenance.skill,
                            "seconds": made.clip.motion.duration,
                            "kept": kept,
                            "faults": list(made.faults),
                            **made.quality.named,
                        }
                    )
                    bar.update()
        if rows and not any(row["kept"] for row in rows):
            told = "; ".join(f"{row['name']}: {', '.join(row['faults'])}" for row in rows[:2])
            more = f" and {len(rows) - 2} more" if len(rows) > 2 else ""
            raise DatasetError(
                f"none of the {len(rows)} clips was good enough to keep ({told}{more}); --all keeps them all the same"
            )
        return {
            "out": str(self.out),
            "kept": sum(row["kept"] for row in rows),
            "made": len(rows),
            "minutes": sum(row["seconds"] for row in rows if row["kept"]) / 60,
            "each": rows,
        }

    def show(self, result: dict[str, Any]) -> None:
        for row in result["each"]:
            for fault in row["faults"]:
                print(f"  {row['name']}: {fault}")
        if not result["made"]:
            print(f"{result['out']} has all of these clips already")
            return
        print(f"{result['kept']} of {result['made']} clips kept, {result['minutes']:.1f} minutes, in {result['out']}")
