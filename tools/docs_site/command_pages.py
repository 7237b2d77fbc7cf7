"""The reference of the commands: a page for each group of `parc --help`, from the tables that commands are read by."""

from itertools import groupby

from parc.cli.command_table import COMMANDS, GROUPS
from parc.cli.help_text import command_help
from parc.cli.main import called
from parc.cli.option_list import Option, first_paragraphs

COMMON = ("--seed", "--device", "--json")
"""options of every command, told last"""


def command_pages() -> dict[str, str]:
    """Page: text."""
    return {f"commands/{group}.md": group_page(group, about) for group, about in GROUPS.items()}


def group_page(group: str, about: str) -> str:
    """All commands of a group."""
    names = [name for name, row in COMMANDS.items() if row.group == group]
    rows = [f"| [`parc {name}`](#{anchor(name)}) | {escaped(COMMANDS[name].help)} |" for name in names]
    parts = [f"# Commands: {group}\n", f"{about[:1].upper()}{about[1:]}.\n" if about else "", "| | |\n|---|---|", *rows, ""]
    return "\n".join([*parts, *(command_text(name) for name in names)])


def anchor(name: str) -> str:
    """Of a command's heading."""
    return "parc-" + name.replace(" ", "-")


def command_text(name: str) -> str:
    """Usage, what it does, examples, its own options, then its settings by group."""
    command = called(name)
    usage = command_help(command.call, command.module, command.command, ()).splitlines()[0].removeprefix("usage: ")
    parts = [f"## parc {name} {{#{anchor(name)}}}\n", f"    {usage}\n"]
    parts += [f"{escaped(paragraph)}\n" for paragraph in first_paragraphs(command.module, command.command)]
    if command.examples:
        parts += ["**Examples**\n", "\n".join(f"    {example}" for example in command.examples), ""]
    own = sorted((option for option in command.options if not option.group), key=lambda option: option.flag in COMMON)
    parts += [options_table(own), ""]
    settings = sorted((option for option in command.options if option.group), key=lambda option: option.group)
    for heading, members in groupby(settings, key=lambda option: option.group):
        table = options_table(list(members))
        parts += [f'??? note "Settings `--{heading}.*`"\n', "\n".join(f"    {line}" for line in table.splitlines()), ""]
    return "\n".join(parts)


def options_table(options: list[Option]) -> str:
    """A row for each option: what is typed, what it means, its default."""
    return "\n".join(["| option | | default |", "|---|---|---|", *map(option_row, options)])


def option_row(option: Option) -> str:
    """What is typed, what it means, its default."""
    typed = ", ".join(([option.short] if option.short else []) + [option.flag])
    if not option.is_positional:
        typed = f"{typed} {option.values}" if option.values else typed
        typed = f"{typed}, {option.flags[-1]}" if option.default == "True" and not option.values else typed
    default = {"True": "on", "False": "off"}.get(option.default, option.default) if not option.values else option.default
    default = "needed" if option.required else f"`{default}`" if default else ""
    typed = typed.replace("|", r"\|")
    return f"| `{typed}` | {escaped(option.text)} | {default} |"


def escaped(text: str) -> str:
    """A sentence of the source, so that Markdown leaves its signs alone."""
    for sign in ("<", "*", "|", "[", "]", "_"):
        text = text.replace(sign, f"\\{sign}" if sign != "<" else "&lt;")
    return text
