"""A command with its options, by tyro; what is wrong with them becomes one sentence that names the option.

A command's defaults are those of its classes, changed by `--preset` (and by `--device`, where a GPU takes larger batches): both
words are looked up first, `Command.of_preset` gives the fields they change, and all other options override that.
"""

import dataclasses
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn, TypeVar

import tyro

from parc.cli.base_command import Command
from parc.cli.command_table import OLD_OPTIONS
from parc.cli.option_list import Option, flags_of
from parc.errors import ParcError

C = TypeVar("C", bound=Command)


class OptionsError(ParcError):
    """Options that cannot be read."""


def read_options(command: type[C], words: Sequence[str], call: str, options: list[Option]) -> C:
    """The command with its options; OptionsError where they are wrong. `options` are those it has."""

    def refuse(event: Any) -> NoReturn:
        raise OptionsError(_sentence(event, call, words, options) + f"; see `{call} --help`")

    typed = {word.split("=")[0].replace("_", "-") for word in words if word.startswith("--")}
    named = frozenset(option.place for option in options if not typed.isdisjoint(option.flags))
    try:
        from tyro._errors import on_parse_error  # of tyro 1.0.16; without it tyro tells in its own words
    except ImportError:
        return _parsed(command, words, call).with_named(named)
    with on_parse_error(refuse):
        return _parsed(command, words, call).with_named(named)


def _parsed(command: type[C], words: Sequence[str], call: str) -> C:
    changed = command.of_preset(_given(command, words, "preset"), _given(command, words, "device"))
    default: Any = None
    if changed:
        fields = dataclasses.fields(command)
        unset: dict[str, Any] = {field.name: tyro.MISSING for field in fields if _is_required(field)}
        default = command(**(unset | changed))
    more = {} if default is None else {"default": default}
    return tyro.cli(command, args=list(words), prog=call, config=(tyro.conf.AvoidSubcommands,), add_help=False, **more)


def _is_required(field: "dataclasses.Field[Any]") -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _given(command: type[Command], words: Sequence[str], name: str) -> str:
    """The value of an option if it was given and is one of its choices, else its default; "" where there is no such option."""
    field = next((field for field in dataclasses.fields(command) if field.name == name), None)
    if field is None:
        return ""
    values = [after for word, after in zip(words, [*words[1:], ""], strict=False) if word == f"--{name}"]
    values += [word.split("=", 1)[1] for word in words if word.startswith(f"--{name}=")]
    return values[-1] if values and f"'{values[-1]}'" in str(field.type) else str(field.default)


def _sentence(event: Any, call: str, words: Sequence[str], options: list[Option]) -> str:
    """What is wrong, of one of tyro's events."""
    kind, known = type(event).__name__, {"--", *flags_of(options)}
    known |= set(getattr(getattr(getattr(event, "argument", None), "lowered", None), "name_or_flags", ()))
    typed = [word.split("=")[0].replace("_", "-") for word in words if re.match(r"--[a-zA-Z]", word)]
    unknown = next((word for word in typed if word not in known), None)
    if unknown is not None:
        return _unknown(unknown, call, options)
    if kind == "MissingArgs":
        missing = [_option(missed.arg, options) for missed in event.missing_arguments]
        return f"`{call}` needs {' and '.join(_needed(option) for option in missing)}"
    if kind == "UnrecognizedArgs" and (left_out := next((o for o in options if event.tokens[0].split("=")[0] in o.flags), None)):
        return f"{left_out.flag} is no option here: the preset leaves --{left_out.group} out"
    if kind == "UnrecognizedArgs":
        return f"'{event.tokens[0]}' is one word too many"
    option = _option(event.argument, options) if getattr(event, "argument", None) is not None else None
    if kind == "BadValue" and option is not None:
        count = len(option.values.split())
        return f"{option.flag} takes {count} values" if count > 1 else f"{option.flag} takes a value, {option.values}"
    if kind == "InvalidChoice" and option is not None:
        *others, last = sorted(set(event.choices) - {"None"})
        return f"{option.flag} is '{event.value}', expected {', '.join(others)}{' or ' if others else ''}{last}"
    number = re.search(r"(\[?)\b(INT|FLOAT)\b", option.values) if option is not None else None
    if option is not None and number is not None:
        what = "whole number" if number[2] == "INT" else "number"
        return f"{option.flag} is '{_typed(option, words)}', expected {f'{what}s' if number[1] else f'a {what}'}"
    return str(getattr(event, "message", "the options cannot be read")).rstrip(".")


def _option(argument: Any, options: list[Option]) -> Option:
    """Ours for one of tyro's."""
    flags = argument.lowered.name_or_flags
    metavar = str(argument.lowered.metavar)
    found = next((option for option in options if option.flag in flags), None)
    return found or next((option for option in options if option.is_positional and option.flag in (metavar, *_upper(argument))),
                         Option(metavar, "", metavar, "", "", "", True))  # fmt: skip


def _upper(argument: Any) -> tuple[str, ...]:
    return (str(argument.field.intern_name).upper(),)


def _needed(option: Option) -> str:
    typed = option.flag if option.is_positional else f"{option.short or option.flag} {option.values}"
    return f"{typed} ({re.split('[:;(]', option.text)[0].strip()})"


def _typed(option: Option, words: Sequence[str]) -> str:
    """What was given for an option."""
    given = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
    starts = [i for i, word in enumerate(given) if word.replace("_", "-") in option.flags]
    values = given[starts[-1] + 1 :] if starts else []
    stop = next((i for i, word in enumerate(values) if word.startswith("--")), len(values))
    return " ".join(values[:stop])


def _unknown(flag: str, call: str, options: list[Option]) -> str:
    """With what may have been meant: the name it has now, the group it stands in, or one that looks like it."""
    flag, known = flag.replace("_", "-"), flags_of(options)
    renamed = next((OLD_OPTIONS[key] for key in ((call.split()[1], flag), ("", flag)) if key in OLD_OPTIONS), "")
    if renamed:
        return f"there is no option {flag} any more, it is {renamed} now"
    inside = [other for other in known if other.endswith(f".{flag[2:]}")]
    near = inside[:3] or get_close_matches(flag, known, n=1, cutoff=0.7)
    near = near or [other for other in known if get_close_matches(flag[2:], [other.split(".")[-1]], cutoff=0.8)][:3]
    return f"there is no option {flag}" + (f" (did you mean {' or '.join(near)}?)" if near else "")
