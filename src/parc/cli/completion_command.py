"""`parc completion`: a script that completes commands, options and their choices in a shell.

The script asks parc itself (`parc completion words WORD ...`), so it is right for whatever version is installed. tyro can write
scripts too, but has no commands of several words, and its script for these commands is 300 kB long.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import tyro

from parc.cli.base_command import Command
from parc.cli.command_table import COMMANDS
from parc.cli.option_list import options_of

_SCRIPTS = {
    "bash": """_parc() {
  local IFS=$'\\n'
  COMPREPLY=($(parc completion words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _parc parc""",
    "zsh": """#compdef parc
_parc() {
  local -a found
  found=("${(@f)$(parc completion words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -a found; else _files; fi
}
compdef _parc parc""",
    "fish": """complete -c parc -a '(parc completion words (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'""",
}


@dataclass(frozen=True, kw_only=True)
class Completion(Command):
    """Print a script that completes commands, options and their choices.

    bash: `source <(parc completion bash)` in ~/.bashrc. zsh: the same in ~/.zshrc, after compinit. fish: `parc completion fish |
    source` in config.fish.
    """

    shell: Annotated[Literal["bash", "zsh", "fish"], tyro.conf.Positional]
    """whose words it is written in"""

    def run(self) -> dict[str, Any]:
        """Nothing to be done."""
        return {"script": _SCRIPTS[self.shell]}

    def show(self, result: dict[str, Any]) -> None:
        """The script and nothing else."""
        print(_SCRIPTS[self.shell])


def possible_words(words: Sequence[str]) -> list[str]:
    """What the last of the words after `parc` may become."""
    *before, begun = words or [""]
    name = next((" ".join(before[:n]) for n in (3, 2, 1) if " ".join(before[:n]) in COMMANDS), None)
    typed = " ".join([*before, ""]) if before else ""
    found = [other[len(typed) :].split()[0] for other in COMMANDS if other.startswith(typed)]
    if name is not None:
        options = options_of(f"parc.cli.{COMMANDS[name].module}", COMMANDS[name].command)
        asked = next((option for option in options if before[-1] in option.flags), None)
        if asked is not None and asked.values:
            found = asked.values.strip("{}").split(",") if asked.values.startswith("{") else []
        elif begun.startswith("-"):
            found = ["--help", *(flag for option in options for flag in option.flags)]
    return [word for word in dict.fromkeys(found) if word.startswith(begun)]
