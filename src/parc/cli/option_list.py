"""The options of a command, read from its source and from that of its settings classes, without importing either.

A command's settings are the dataclasses of its stage, which import torch: seconds before a help text could be shown. The source
says all that help needs: names, types, defaults and the sentence below each field. `tests/cli/test_help.py` holds that these are
the options tyro makes of the same classes.
"""

import ast
import functools
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import parc

_WORDS = {"Path": "PATH", "int": "INT", "float": "FLOAT", "str": "STR", "JerkUnit": "STR"}


@dataclass(frozen=True)
class Option:
    """One option, or one word without a name."""

    flag: str
    """--ppo.gamma, or CLIPS"""
    short: str
    """-o, or nothing"""
    values: str
    """PATH, {a,b}, INT INT; nothing: it is switched on and off"""
    default: str
    """as in the source"""
    text: str
    group: str
    """of the settings it belongs to, as ppo; nothing: the command's own"""
    required: bool
    place: str = ""
    """fields that lead to it, as settings.ppo.gamma, where its group leaves out a name"""

    @property
    def is_positional(self) -> bool:
        """A word without a name."""
        return not self.flag.startswith("-")

    @property
    def flags(self) -> tuple[str, ...]:
        """All that may be typed for it."""
        if self.is_positional:
            return ()
        on = [self.flag, *([self.short] if self.short else [])]
        return (*on, *([] if self.values else [_off(flag) for flag in on if flag.startswith("--")]))


def _off(flag: str) -> str:
    """What switches it off: --no-open, --policy.no-learn-std."""
    head, _, name = flag.rpartition(".")
    return f"{head}.no-{name}" if head else f"--no-{name[2:]}"


@dataclass(frozen=True)
class _Class:
    """A class as its file has it."""

    module: str
    node: ast.ClassDef


def options_of(module: str, name: str) -> list[Option]:
    """Of the command class `name`: what is typed without a name, its own options, those of all commands, settings by group."""
    options = list(_options(_find(module, name), "", "", "", {}))
    return sorted(options, key=lambda option: (not option.is_positional, option.group != ""))


def first_paragraphs(module: str, name: str) -> list[str]:
    """The docstring of a class, a string for each paragraph."""
    return [" ".join(part.split()) for part in (ast.get_docstring(_find(module, name).node) or "").split("\n\n")]


def _options(found: _Class, prefix: str, group: str, above: str, given: dict[str, ast.expr]) -> Iterator[Option]:
    for module, field, text in _fields(found):
        name, default = field.target.id, given.get(field.target.id, field.value)  # type: ignore[union-attr]
        notes, hint = _unwrapped(module, field.annotation)
        if "Suppress" in notes or "ClassVar" in notes:
            continue
        settings = _settings(module, hint, default)
        if settings is not None:
            inner = "" if "arg(name='')" in notes else f"{name.replace('_', '-')}."
            inside = (prefix + inner).removesuffix(".")
            yield from _options(settings, prefix + inner, inside, f"{above}{name}.", _changed(default))
            continue
        short = next((note.split("'")[1] for note in notes if "aliases=" in note), "")
        metavar = next((note.split("'")[1] for note in notes if "metavar=" in note), "")
        is_switch = isinstance(hint, ast.Name) and hint.id == "bool"
        positional = "Positional" in notes
        yield Option(
            metavar or name.upper() if positional else f"--{prefix}{name.replace('_', '-')}",
            short,
            "" if is_switch else _values(module, hint),
            _default(module, default),
            " ".join(text.split()),
            group,
            default is None,
            above + name,
        )


def _fields(found: _Class) -> Iterator[tuple[str, ast.AnnAssign, str]]:
    """Of a class and those it is made of, its own first: (module it stands in, the field, the sentence below it)."""
    seen: set[str] = set()
    for part in _with_bases(found):
        body = part.node.body
        for statement, after in zip(body, [*body[1:], None], strict=True):
            if (
                isinstance(statement, ast.AnnAssign)
                and isinstance(statement.target, ast.Name)
                and statement.target.id not in seen
            ):
                seen.add(statement.target.id)
                said = (
                    isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str)
                )
                yield part.module, statement, after.value.value if said else ""  # type: ignore[union-attr]


def _with_bases(found: _Class) -> Iterator[_Class]:
    yield found
    for base in found.node.bases:
        inner = _resolved(found.module, base)
        if inner is not None:
            yield from _with_bases(inner)


def _unwrapped(module: str, hint: ast.expr) -> tuple[list[str], ast.expr]:
    """What stands around a type (`Annotated[..]`, `tyro.conf.Suppress[..]`) as text, and the type."""
    notes: list[str] = []
    while True:
        if isinstance(hint, ast.Constant) and isinstance(hint.value, str):
            hint = ast.parse(hint.value, mode="eval").body
        if not isinstance(hint, ast.Subscript):
            return notes, hint
        outer = ast.unparse(hint.value).removeprefix("tyro.conf.")
        if outer == "Annotated" and isinstance(hint.slice, ast.Tuple):
            notes += [ast.unparse(note).removeprefix("tyro.conf.") for note in hint.slice.elts[1:]]
            hint = hint.slice.elts[0]
        elif outer in ("Positional", "Suppress", "ClassVar"):
            notes.append(outer)
            hint = hint.slice
        else:
            return notes, hint


def _settings(module: str, hint: ast.expr, default: ast.expr | None) -> _Class | None:
    """The class of a field that is a group of settings; of several the one that its default is of."""
    arms = _arms(hint)
    made = _made(default)
    if made is not None and len(arms) > 1:
        arms = [arm for arm in arms if isinstance(arm, ast.Name) and arm.id == made]
    for arm in arms if len(arms) == 1 else ():
        found = _resolved(module, arm)
        if found is not None and any("dataclass" in ast.unparse(line) for line in found.node.decorator_list):
            return found
    return None


def _arms(hint: ast.expr) -> list[ast.expr]:
    if isinstance(hint, ast.BinOp):
        return _arms(hint.left) + _arms(hint.right)
    return [hint]


def _call(default: ast.expr | None) -> ast.Call | None:
    """The call that makes a default: `X(a=1)` of `X(a=1)` and of `field(default_factory=lambda: X(a=1))`."""
    if not isinstance(default, ast.Call):
        return None
    if ast.unparse(default.func) != "field":
        return default
    factory = next((word.value for word in default.keywords if word.arg == "default_factory"), None)
    if isinstance(factory, ast.Lambda):
        return factory.body if isinstance(factory.body, ast.Call) else None
    return ast.Call(factory, [], []) if factory is not None else None


def _made(default: ast.expr | None) -> str | None:
    call = _call(default)
    return ast.unparse(call.func).split(".")[0] if call is not None else None


def _changed(default: ast.expr | None) -> dict[str, ast.expr]:
    """Fields of a group whose default is another than their class has."""
    call = _call(default)
    return {word.arg: word.value for word in call.keywords if word.arg} if call is not None else {}


def _values(module: str, hint: ast.expr) -> str:
    """What is typed after an option."""
    _, hint = _unwrapped(module, hint)
    arms = [arm for arm in _arms(hint) if ast.unparse(arm) != "None"]
    if len(arms) > 1:
        return "|".join(_values(module, arm) for arm in arms)
    (hint,) = arms
    if isinstance(hint, ast.Subscript):
        outer, inner = ast.unparse(hint.value), hint.slice
        parts = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
        if outer == "Literal":
            return "{" + ",".join(str(ast.literal_eval(part)) for part in parts) + "}"
        if ast.unparse(parts[-1]) == "...":
            return f"[{_values(module, parts[0])} ...]"
        return " ".join(_values(module, part) for part in parts)
    name = ast.unparse(hint)
    alias = _assigned(module, name)
    if alias is not None and name not in _WORDS:
        return _values(*alias)
    return _WORDS.get(name, "{True,False}" if name == "bool" else name.upper())


def _default(module: str, default: ast.expr | None) -> str:
    call = _call(default)
    if default is None or call is not None:
        return ""
    if isinstance(default, ast.Name):
        constant = _assigned(module, default.id)
        return _default(*constant) if constant is not None else ""
    try:
        value = ast.literal_eval(default)
    except ValueError:
        return ast.unparse(default)
    return " ".join(map(str, value)) if isinstance(value, tuple) else "" if value is None else str(value)


# ---- finding classes -----------------------------------------------------------------------------------------------


@functools.cache
def _tree(module: str) -> ast.Module:
    if not module.startswith("parc."):  # `benchmarks.commands`, of a program beside the package
        return ast.parse(Path(str(importlib.util.find_spec(module).origin)).read_text(encoding="utf-8"))  # type: ignore[union-attr]
    place = Path(parc.__file__).parents[1] / module.replace(".", "/")
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


@functools.cache
def _names(module: str) -> dict[str, ast.ClassDef | ast.expr | str]:
    """What a file defines and imports from this package: classes, constants, and for others the module they come from."""
    names: dict[str, ast.ClassDef | ast.expr | str] = {}
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in ("parc", module.split(".")[0]):
            names |= {alias.asname or alias.name: node.module for alias in node.names}
    for statement in _tree(module).body:
        if isinstance(statement, ast.ClassDef):
            names[statement.name] = statement
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            names[statement.targets[0].id] = statement.value
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value is not None:
            names[statement.target.id] = statement.value
    return names


def _find(module: str, name: str) -> _Class:
    found = _resolved(module, ast.Name(name))
    assert found is not None, f"{module} has no class {name}"
    return found


def _resolved(module: str, hint: ast.expr) -> _Class | None:
    """The class that a name means in a module."""
    if not isinstance(hint, ast.Name):
        return None
    found = _names(module).get(hint.id)
    if isinstance(found, str):
        return _resolved(found, hint)
    return _Class(module, found) if isinstance(found, ast.ClassDef) else None


def _assigned(module: str, name: str) -> tuple[str, ast.expr] | None:
    """A constant or an alias of a type, and the module it stands in."""
    found = _names(module).get(name)
    if isinstance(found, str):
        return _assigned(found, name)
    return (module, found) if isinstance(found, ast.expr) else None


def flags_of(options: list[Option]) -> list[str]:
    """All flags of options."""
    return [flag for option in options for flag in option.flags]


def of_group(options: list[Option], group: str) -> list[Option]:
    """Those of a group and of the groups within it."""
    return [option for option in options if option.group and f"{option.group}.".startswith(f"{group}.")]
