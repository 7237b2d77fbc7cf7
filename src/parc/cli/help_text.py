"""What `parc --help`, `parc GROUP --help` and `parc COMMAND --help [SETTINGS]` print, in plain text."""

import shutil
import textwrap
from collections.abc import Sequence

from parc.cli.command_table import COMMANDS, GROUPS
from parc.cli.option_list import Option, first_paragraphs, of_group, options_of

_COLUMN = 30
"""characters before the sentence about an option"""
_COMMON = ("--seed", "--device", "--json")
"""options of every command, told last"""


def overview() -> str:
    """All commands by group; the kinds of terrain in one row."""
    rows = {name: (row.group, row.help) for name, row in COMMANDS.items() if not name.startswith("terrain make ")}
    kinds = [name.split()[-1] for name in COMMANDS if name.startswith("terrain make ")]
    rows["terrain make KIND"] = ("data", f"a terrain: {', '.join(kinds)}")
    order = {name: i for i, name in enumerate(COMMANDS)} | {"terrain make KIND": list(COMMANDS).index("terrain make flat")}
    width = max(map(len, rows))
    lines = ["usage: parc COMMAND [options]; `parc COMMAND --help` tells more"]
    for group, about in GROUPS.items():
        names = sorted((name for name, row in rows.items() if row[0] == group), key=order.__getitem__)
        lines += ["", f"{group}: {about}" if about else group]
        lines += [f"  parc {name:<{width}}  {rows[name][1]}" for name in names]
    return "\n".join(lines)


def group_overview(group: str) -> str:
    """The commands whose names begin with these words."""
    rows = {name: row.help for name, row in COMMANDS.items() if name.startswith(f"{group} ")}
    width = max(map(len, rows))
    lines = [f"  parc {name:<{width}}  {text}" for name, text in rows.items()]
    return "\n".join([f"usage: parc {group} COMMAND [options]; `parc {group} COMMAND --help` tells more", "", *lines])


def command_help(call: str, module: str, command: str, examples: Sequence[str], group: str = "") -> str:
    """The help of a command: its own options, its settings by name, examples; with `group` the settings of that group in full.

    call: what is typed for it, as "parc track".
    """
    options = options_of(module, command)
    chosen = of_group(options, group.strip("-.*")) if group.strip("-.*") else []
    if chosen:
        return "\n".join([f"settings of `{call}`: --{chosen[0].group}.*", "", *_rows(chosen)])
    own = sorted((option for option in options if not option.group), key=lambda option: option.flag in _COMMON)
    needed = [
        option.flag if option.is_positional else f"{option.short or option.flag} {option.values}"
        for option in own
        if option.required
    ]
    lines = [f"usage: {' '.join([call, *needed])} [options]", ""]
    for paragraph in first_paragraphs(module, command):
        lines += [*textwrap.wrap(paragraph, _width()), ""]
    lines += _rows(own)
    found = [option.group for option in options if option.group]
    roots = list(dict.fromkeys(group.split(".")[0] for group in found))
    groups = sorted(set(found), key=lambda group: (roots.index(group.split(".")[0]), group))
    if groups:
        lines += ["", f"settings and their defaults; `{call} --help {groups[0]}` tells more of that group, and so on:"]
    for heading in groups:
        named = [_short(option) for option in options if option.group == heading]
        lines += [f"  {heading}", *_filled(named)]
    if examples:
        lines += ["", "examples", *(f"  {example}" for example in examples)]
    return "\n".join(lines)


def _rows(options: list[Option]) -> list[str]:
    """A line or more for each option: what is typed, what it means, its default."""
    lines = []
    for option in options:
        typed = ", ".join(([option.short] if option.short else []) + [option.flag])
        if not option.is_positional:
            typed = f"{typed} {option.values}" if option.values else typed
            typed = f"{typed}, {option.flags[-1]}" if option.default == "True" and not option.values else typed
        default = {"True": "on", "False": "off"}.get(option.default, option.default) if not option.values else option.default
        text = option.text + (f" ({default})" if default else "")
        wrapped = textwrap.wrap(text, max(_width() - _COLUMN, 30)) or [""]
        if len(typed) > _COLUMN - 4:
            lines.append(f"  {typed}")
            typed = ""
        lines += [f"  {typed if k == 0 else '':<{_COLUMN - 2}}{part}".rstrip() for k, part in enumerate(wrapped)]
    return lines


def _short(option: Option) -> str:
    """A setting with its default; of what is on or off, what to type for the other."""
    if not option.values:
        return option.flags[-1] if option.default == "True" else option.flag
    return f"{option.flag} {option.default}".rstrip()


def _filled(words: list[str]) -> list[str]:
    """As many as a line takes, each whole."""
    lines, line = [], ""
    for word in words:
        if line and len(line) + len(word) + 7 > _width():
            lines.append(line)
            line = ""
        line = f"{line}   {word}" if line else f"    {word}"
    return [*lines, line]


def _width() -> int:
    return min(shutil.get_terminal_size((110, 24)).columns, 120)
