"""`parc COMMAND ...`: find the command, read its options, run it, print the result.

Commands are imported only when they are called, so `parc --help` answers at once.
"""

import itertools
import os
import sys
from difflib import get_close_matches

from parc import __version__
from parc.cli.command_examples import EXAMPLES
from parc.cli.command_table import COMMANDS, OLD_COMMANDS
from parc.cli.help_text import group_overview, overview
from parc.cli.run_command import Called, fail, run_command


def main(argv: list[str] | None = None) -> int:
    """Run a command line; the exit code is 0, 2 where the input is wrong, 130 where it was stopped."""
    # Before torch is imported: its threads sleep while they wait for each other. Threads that spin take the core that the one
    # waited for needs, which on a busy machine doubles the work.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
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
        print(overview())
        return 0
    if words[:2] == ["completion", "words"]:
        from parc.cli.completion_command import possible_words

        print("\n".join(possible_words(words[2:])))
        return 0
    name = next((" ".join(words[:n]) for n in (3, 2, 1) if " ".join(words[:n]) in COMMANDS), None)
    if name is None:
        return _not_a_command(words)
    return run_command(called(name), words[len(name.split()) :])


def called(name: str) -> Called:
    """A command of the table."""
    row = COMMANDS[name]
    return Called(f"parc {name}", f"parc.cli.{row.module}", row.command, EXAMPLES.get(name, ()))


def _not_a_command(words: list[str]) -> int:
    """A group such as `parc terrain` lists its commands; anything else is one sentence with what may have been meant."""
    plain = list(itertools.takewhile(lambda word: not word.startswith("-"), words))
    for count in range(len(plain), 0, -1):
        typed, old = " ".join(plain[:count]), OLD_COMMANDS.get(" ".join(plain[:count]))
        if old is not None:
            return fail(f"`parc {typed}` is {old} now")
        if any(name.startswith(f"{typed} ") for name in COMMANDS):
            if len(plain) > count:
                return fail(_no_command(" ".join(plain[: count + 1]), f"parc {typed} --help"))
            wants_help = len(words) > count
            print(group_overview(typed), file=sys.stdout if wants_help else sys.stderr)
            return 0 if wants_help else fail(f"'{typed}' is not complete: choose one of the commands above")
    return fail(_no_command(words[0], "parc --help"))


def _no_command(typed: str, help_call: str) -> str:
    near = get_close_matches(typed, COMMANDS, n=1, cutoff=0.7)
    near = near or [name for name in COMMANDS if typed in name.split()][:1]
    meant = f" (did you mean `parc {near[0]}`?)" if near else ""
    return f"no command '{typed}'{meant}; `{help_call}` lists them"


if __name__ == "__main__":
    sys.exit(main())
