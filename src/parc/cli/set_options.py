"""The options of every command that measures on the sets of evaluation terrain."""

import dataclasses
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_type_hints

from parc.cli.base_command import Command
from parc.cli.command_table import COMMANDS
from parc.evaluate.terrain_families import Family
from parc.evaluate.terrain_sets import SetChoice, families_of
from parc.evaluate.testing_ledger import headlines, noted_test_run


@dataclass(frozen=True, kw_only=True)
class SetOptions(Command):
    """Set, families, and where runs on the test set are written down."""

    set: Literal["development", "test", "first"] = "development"
    """development: to tune on; test: to quote, each run on it is written down; first: that of older numbers, settings were tuned
    on it, boxes and walks only"""
    families: tuple[Literal["boxes", "walks", "platforms", "stairs", "course"], ...] | None = None
    """kinds of terrain; if not given walks (the paper's) for its tables, and all of the set for crossings in physics"""
    ledger: Path = Path("results/test_runs.jsonl")
    """file to which a run on the test set adds its line"""

    @property
    def usual_families(self) -> tuple["Family", ...]:
        """Where none are named: all of the set."""

        return families_of(self.set)

    def choice(self) -> "SetChoice":
        return SetChoice(self.set, self.families or self.usual_families)

    @contextmanager
    def noted(self, terrains: int, models: dict[str, str]) -> Iterator[dict[str, Any]]:
        """Around the measuring: put the result into what is yielded; on the test set its headlines go into the ledger.

        models: hashes of their content, by any name.
        """

        if self.set != "test":
            yield {}
            return
        result: dict[str, Any] = {}
        with noted_test_run(self.ledger, command_line(self), self.choice().facts(terrains), models) as numbers:
            yield result
            numbers.update(headlines(result))
        print(f"This run on the test set is written down in {self.ledger}.", file=sys.stderr)


def command_line(command: Command) -> str:
    """What to type for this command: options that are not the usual ones of its preset."""
    name = next(name for name, row in COMMANDS.items() if row.command == type(command).__name__)
    usual = {option.name: option.default for option in dataclasses.fields(command)}
    usual |= command.of_preset(getattr(command, "preset", ""), command.device)
    hints = get_type_hints(type(command), include_extras=True)
    words, places = [], []
    for option in dataclasses.fields(command):
        value = getattr(command, option.name)
        if option.name == "sources":
            places += [str(source) for source in value]
        elif dataclasses.is_dataclass(value):
            unnamed = any(getattr(note, "name", None) == "" for note in getattr(hints[option.name], "__metadata__", ()))
            made: Any = option.default_factory
            default = made() if usual[option.name] is dataclasses.MISSING else usual[option.name]
            words += _typed("" if unnamed else option.name, value, default)
        elif value != usual[option.name]:
            words += _typed(option.name, value, None)
    return shlex.join(["parc", *name.split(), *places, *words])


def _typed(name: str, value: Any, usual: Any) -> list[str]:
    """An option and its value, or what of settings differs."""
    if dataclasses.is_dataclass(value) and type(value) is type(usual):
        parts = ((f"{name}.{part.name}".strip("."), part.name) for part in dataclasses.fields(value))
        return [word for inner, part in parts for word in _typed(inner, getattr(value, part), getattr(usual, part))]
    if value == usual:
        return []
    head, _, last = name.replace("_", "-").rpartition(".")
    flag = "--" + (f"{head}." if head else "") + ("no-" if value is False else "") + last
    return [flag] if isinstance(value, bool) else [flag, *(map(str, value) if isinstance(value, tuple) else [str(value)])]
