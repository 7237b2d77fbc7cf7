"""`parc COMMAND ...`: find the command, read its options, run it, print the result.

Commands are imported only when they are called, so `parc --help` answers at once.
"""

import errno
import importlib
import itertools
import os
import re
import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING

from parc import __version__
from parc.cli.command_table import COMMANDS, OLD_COMMANDS
from parc.errors import ParcError

if TYPE_CHECKING:
    from parc.cli.base_command import Command


def main(argv: list[str] | None = None) -> int:
    """Run a command line; the exit code is 0, 2 where the input is wrong, 130 where it was stopped."""
    try:
        code = _main(argv)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has gone, as in `parc --help | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _main(argv: list[str] | None) -> int:
    words = sys.argv[1:] if argv is None else argv
    if words and words[0] in ("--version", "-V"):
        print(f"parc {__version__}")
        return 0
    if not words or words[0] in ("-h", "--help", "help"):
        from parc.cli.help_text import overview

        print(overview())
        return 0
    name = next((" ".join(words[:n]) for n in (3, 2, 1) if " ".join(words[:n]) in COMMANDS), None)
    if name is None:
        return _not_a_command(words)
    return _run(name, words[len(name.split()) :])


def _run(name: str, words: list[str]) -> int:
    from parc.cli.base_command import print_json
    from parc.cli.help_text import command_help, command_options

    for flag in ("--help", "-h"):
        if flag in words:
            after = words[words.index(flag) + 1 :]
            group = after[0].strip("-").removesuffix(".*") if after else ""
            known = {option.group for option in command_options(name)}
            print(command_help(name, group if any(f"{g}.".startswith(f"{group}.") for g in known) else ""))
            return 0
    try:
        command = _command(name, words)
        command.check()
        result = command.run()
        if command.json:
            print_json(result)
        else:
            command.show(result)
    except ParcError as error:
        return _fail(str(error))
    except OSError as error:
        if error.errno == errno.EPIPE:
            return 0
        if isinstance(error, FileExistsError | NotADirectoryError) and error.filename:
            return _fail(f"'{error.filename}' is a file, a folder was expected")
        where = f" '{error.filename}'" if error.filename else ""
        return _fail(f"cannot use{where}: {error.strerror or error}")
    except MemoryError as error:
        return _fail(f"this needs more memory than there is: {error}" if str(error) else "this needs more memory than there is")
    except KeyboardInterrupt:
        print("parc: stopped", file=sys.stderr)
        return 130
    return 0


def _command(name: str, words: list[str]) -> "Command":
    from parc.cli.help_text import command_options
    from parc.cli.read_options import read_options

    return read_options(command_class(name), words, name, command_options(name))


def command_class(name: str) -> "type[Command]":
    """The class of a command, imported with all it needs."""
    row = COMMANDS[name]
    return getattr(importlib.import_module(f"parc.cli.{row.module}"), row.command)


def _fail(sentence: str) -> int:
    line = re.sub(r"\s*\n\s*", " ", sentence.strip())  # torch tells what is wrong with weights in several
    print(f"parc: {line}", file=sys.stderr)
    return 2


def _not_a_command(words: list[str]) -> int:
    """A group such as `parc terrain` lists its commands; anything else is one sentence with what may have been meant."""
    from parc.cli.help_text import group_overview

    plain = list(itertools.takewhile(lambda word: not word.startswith("-"), words))
    for count in range(len(plain), 0, -1):
        typed, old = " ".join(plain[:count]), OLD_COMMANDS.get(" ".join(plain[:count]))
        if old is not None:
            return _fail(f"`parc {typed}` is {old} now")
        if any(name.startswith(f"{typed} ") for name in COMMANDS):
            if len(plain) > count:
                return _fail(_no_command(" ".join(plain[: count + 1]), f"parc {typed} --help"))
            wants_help = len(words) > count
            print(group_overview(typed), file=sys.stdout if wants_help else sys.stderr)
            return 0 if wants_help else _fail(f"'{typed}' is not complete: choose one of the commands above")
    return _fail(_no_command(words[0], "parc --help"))


def _no_command(typed: str, help_call: str) -> str:
    near = get_close_matches(typed, COMMANDS, n=1, cutoff=0.7)
    near = near or [name for name in COMMANDS if typed in name.split()][:1]
    meant = f" (did you mean `parc {near[0]}`?)" if near else ""
    return f"no command '{typed}'{meant}; `{help_call}` lists them"


if __name__ == "__main__":
    sys.exit(main())
