"""Run one command of the command line, or of a program beside it (`benchmarks/run.py`, `tools/label_check.py`)."""

import errno
import importlib
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from parc.cli.help_text import command_help
from parc.cli.option_list import Option, options_of
from parc.errors import ParcError, printable

if TYPE_CHECKING:
    from parc.cli.base_command import Command


class Called(NamedTuple):
    """A command and how it was called."""

    call: str
    """what was typed for it, such as `parc track`"""
    module: str
    command: str
    """name of its class"""
    examples: tuple[str, ...] = ()

    @property
    def options(self) -> list[Option]:
        """All it has, settings included."""
        return options_of(self.module, self.command)

    def load(self) -> "type[Command]":
        """Its class, imported with all it needs."""
        return getattr(importlib.import_module(self.module), self.command)


def run_command(called: Called, words: Sequence[str]) -> int:
    """Help, or the command with these options; what is wrong with the input is one sentence and exit code 2."""
    for flag in ("--help", "-h"):
        if flag in words:
            after = list(words[words.index(flag) + 1 :])
            print(command_help(called.call, called.module, called.command, called.examples, after[0] if after else ""))
            return 0
    try:
        return _run(called, words)
    except ParcError as error:
        return fail(str(error))
    except OSError as error:
        if error.errno == errno.EPIPE:
            return 0
        if isinstance(error, FileExistsError | NotADirectoryError) and error.filename:
            return fail(f"'{error.filename}' is a file, a folder was expected")
        where = f" '{error.filename}'" if error.filename else ""
        return fail(f"cannot use{where}: {error.strerror or error}")
    except MemoryError as error:
        return fail(f"this needs more memory than there is: {error}" if str(error) else "this needs more memory than there is")
    except KeyboardInterrupt:
        print("parc: stopped", file=sys.stderr)
        return 130


def _run(called: Called, words: Sequence[str]) -> int:
    from parc.cli.base_command import print_json
    from parc.cli.read_options import read_options

    command: Command = read_options(called.load(), words, called.call, called.options)
    command.check()
    result = command.run()
    if command.json:
        print_json(result)
    else:
        command.show(_printable(result))
    return 0


def _printable(value: Any) -> Any:
    """A result whose texts are lines that a terminal only shows: names come out of anybody's files."""
    if isinstance(value, dict):
        return {_printable(key): _printable(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_printable(part) for part in value]
    if isinstance(value, Path):
        return Path(printable(str(value)))
    return printable(value) if isinstance(value, str) else value


def fail(sentence: str) -> int:
    """One line on stderr; the exit code."""
    line = re.sub(r"\s*\n\s*", " ", sentence.strip())  # torch tells what is wrong with weights in several
    print(f"parc: {printable(line)}", file=sys.stderr)
    return 2
