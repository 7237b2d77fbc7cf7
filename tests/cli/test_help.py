"""Help says what is true: its options are those that are read, its examples and those of the documentation can be read."""

import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
import tyro
from tyro import _arguments, _parsers, _singleton, _strings

from parc.cli.command_examples import EXAMPLES
from parc.cli.command_table import COMMANDS, GROUPS, OLD_COMMANDS, OLD_OPTIONS
from parc.cli.completion_command import possible_words
from parc.cli.main import called, main
from parc.cli.option_list import flags_of, options_of
from parc.cli.read_options import read_options
from parc.correct.synthesise_clips import SynthesisSettings
from parc.loop.loop_plan import PRESETS, preset
from parc.plan import TraverseSettings
from parc.record.record_clips import RecordSettings
from parc.track.tracker_settings import TrackerSettings

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "MODEL_CARD.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def read(name: str, words: list[str]) -> Any:
    command = called(name)
    return read_options(command.load(), words, command.call, command.options)


def flags_by_tyro(kind: type) -> set[str]:
    """All that tyro would read for a class, and the names of words without a flag."""
    flags: set[str] = set()
    with _strings.delimiter_context("-"):
        parser = _parsers.ParserSpecification.from_callable_or_type(
            Annotated[kind, tyro.conf.AvoidSubcommands], markers=set(), description=None, parent_classes=set(),
            default_instance=_singleton.MISSING_NONPROP, intern_prefix="", extern_prefix="", subcommand_prefix="",
            support_single_arg_types=False, prog_suffix="",
        )  # fmt: skip
        for argument in (context.arg for context in parser.get_args_including_children()):
            if argument.is_suppressed():
                continue
            if argument.is_positional():
                flags.add(argument.field.intern_name.upper())
                continue
            flags |= set(argument.lowered.name_or_flags)
            if argument.lowered.action == "boolean_optional_action":
                flags |= {str(_arguments.flag_to_inverse(flag)) for flag in argument.lowered.name_or_flags}
    return flags


@pytest.mark.parametrize("name", COMMANDS)
def test_the_options_of_the_help_are_those_that_are_read(name: str) -> None:
    options = called(name).options
    ours = {option.flag for option in options if option.is_positional} | set(flags_of(options))
    assert ours == flags_by_tyro(called(name).load())
    assert len(flags_of(options)) == len(set(flags_of(options)))
    assert not [flag for flag in ours if re.search(r"no-no-", flag)]
    assert all(option.text for option in options if not option.group), [o.flag for o in options if not o.group and not o.text]


def test_one_knob_has_one_name() -> None:
    named = {flag: name for name in COMMANDS for flag in flags_of(called(name).options)}
    for old in ("--policy", "--sampler", "--batch", "--limit", "--skills", "--quick"):
        assert old not in named, f"{named.get(old)} has {old}"


def test_help_needs_no_torch(tmp_path: Path) -> None:
    """It is read from the source, and takes a moment."""
    code = "import sys; from parc.cli.main import main; main(['train-tracker', '--help']); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    head, settings = done.stdout.split("settings and their defaults")
    assert "--ppo.gamma" not in head and "--ppo.gamma 0.99" in settings and "-o, --out PATH" in head


def test_help_of_a_group_tells_each_of_its_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train-tracker", "--help", "ppo"]) == 0
    told = capsys.readouterr().out
    assert "--ppo.gamma FLOAT" in told and "discount (0.99)" in told and "--reward" not in told


def test_defaults_that_a_settings_class_gives_to_another_are_told() -> None:
    options = {option.flag: option.default for option in options_of("parc.track.tracker_settings", "TrackerSettings")}
    assert options["--reference.near"] == "0.03" and options["--ppo.rate-range"] == "1e-05 0.0002"


def test_every_command_stands_in_a_group_and_has_examples_that_can_be_read() -> None:
    assert set(EXAMPLES) == set(COMMANDS) and {row.group for row in COMMANDS.values()} == set(GROUPS)
    for name, examples in EXAMPLES.items():
        for example in examples:
            assert example.startswith(f"parc {name}")
            read(name, shlex.split(example)[1 + len(name.split()) :])


def lines_of(page: Path) -> Iterator[tuple[str, bool]]:
    """Calls of parc in a page, and whether they stand on a line of their own and are whole."""
    text = page.read_text()
    fenced = "".join(re.findall(r"^ *```(?:sh|bash|shell|console)\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL))
    for line in re.findall(r"^ {4}(?:\.venv/bin/)?(parc [a-z].*)$", text, re.MULTILINE) + re.findall(
        r"^ *(?:\$ )?(?:\.venv/bin/)?(parc [a-z].*)$", fenced, re.MULTILINE
    ):
        yield line.split(" # ")[0].rstrip("\\"), "\\" not in line and "$" not in line
    for span in re.findall(r"`(parc [a-z][^`\n]*)`", text):
        yield span, False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_calls_in_the_documentation_are_of_commands_and_options_there_are(page: Path) -> None:
    wrong = []
    for line, whole in lines_of(page):
        words = shlex.split(line.replace("...", ""))[1:]
        plain = [word for word in words if re.fullmatch(r"[a-z-]+", word)]
        name = next((" ".join(plain[:n]) for n in (3, 2, 1) if " ".join(plain[:n]) in COMMANDS), None)
        if name is None or words[: len(name.split())] != name.split():
            wrong += [] if any(other.startswith(" ".join(plain)) for other in COMMANDS) else [line]
            continue
        known = {"--help", *flags_of(called(name).options)}
        wrong += [f"{line}: {w}" for w in words if re.match(r"--?[a-z]", w) and w.split("=")[0].strip(",") not in known]
        if whole and not wrong and "--help" not in words:
            try:
                read(name, words[len(name.split()) :])
            except Exception as error:
                wrong.append(f"{line}: {error}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("traverze boxes", "did you mean `parc traverse`?"),
        ("dataset shw x", "did you mean `parc dataset show`?"),
        ("make boxes", "did you mean `parc terrain make flat`?"),
        ("course -o x", "`parc course` is `parc traverse course --preset course` now"),
        ("dataset card x", "`parc dataset card` is `parc dataset show DATASET --card FILE` now"),
        ("bench sdf", "is `python benchmarks/run.py` in a checkout of parc now"),
        ("track a.motion -o b.motion --policy x", "there is no option --policy any more, it is --tracker now"),
        ("generate t -o m --batch 4", "there is no option --batch any more, it is --candidates now"),
        ("evaluate --quick", "it is --preset quick now"),
        ("evaluate --trials 1", "did you mean --tracker.trials?"),
        ("train-tracker c -o o --gamma 1", "did you mean --ppo.gamma?"),
        ("train-tracker c -o o --ppo.gama 1", "did you mean --ppo.gamma?"),
        ("train-tracker c -o o --ppo.gamma x", "--ppo.gamma is 'x', expected a number"),
        ("train-tracker c -o o --ppo.rate-range 1", "--ppo.rate-range takes 2 values"),
        ("train-tracker c -o o --ppo.optimiser lbfgs", "--ppo.optimiser is 'lbfgs', expected adam or sgd"),
        ("train-tracker c d -o o", "'d' is one word too many"),
        ("train-tracker", "needs CLIPS (data set, folder of motion files, or one motion file) and -o PATH ("),
        ("dataset", "'dataset' is not complete: choose one of the commands above"),
    ],
)
def test_mistakes_and_old_names_get_a_sentence_with_the_right_name(
    words: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 2
    assert told in capsys.readouterr().err.splitlines()[-1]


def test_names_of_old_are_none_of_today_and_the_new_ones_are() -> None:
    assert not set(OLD_COMMANDS) & set(COMMANDS)
    flags = {flag for name in COMMANDS for flag in flags_of(called(name).options)}
    assert {new.split()[0] for new in OLD_OPTIONS.values()} <= flags | {"--method.optimise.iterations"}


def test_a_preset_gives_the_defaults_and_options_override_it() -> None:
    one = ["clips", "-o", "out", "--device", "cpu"]
    paper = read("train-tracker", [*one, "--preset", "paper", "--ppo.gamma", "0.9"])
    assert (paper.settings.ppo.optimiser, paper.settings.ppo.gamma, paper.settings.ppo.steps) == ("sgd", 0.9, 32)
    assert read("train-tracker", one).plan.worlds == 64
    assert read("train-tracker", [*one, "--worlds", "3"]).plan.worlds == 3


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["terr"], ["terrain"]),
        (["terrain", "make", "f"], ["flat", "from"]),
        (["train-tracker", "--ppo.ga"], ["--ppo.gamma"]),
        (["train-tracker", "x", "--preset", "s"], ["small", "scratch"]),
        (["track", "--tracker", ""], []),
    ],
)
def test_completion(words: list[str], found: list[str]) -> None:
    assert possible_words(words) == found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_ask_for_words(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "parc completion words" in capsys.readouterr().out
    began = time.monotonic()
    assert main(["completion", "words", "dem"]) == 0 and time.monotonic() - began < 60
    assert capsys.readouterr().out == "demo\n"


@pytest.mark.parametrize("name", PRESETS)
def test_a_stage_does_what_the_loop_does_under_the_same_name(name: str) -> None:
    plan, words = preset(name).plan(1), ["-o", "out", "--preset", name, "--device", "cpu"]
    assert read("synthesise", words).settings == plan.synthesis.settings
    assert read("record", ["clips", *words]).settings == plan.record
    assert read("train-generator", ["clips", *words]).train == plan.generator
    tracker = read("train-tracker", ["clips", *words])
    assert (tracker.settings, tracker.plan) == (plan.tracker.settings, plan.tracker.training)


def test_without_a_preset_a_stage_has_the_defaults_of_its_settings() -> None:
    words = ["-o", "out", "--device", "cpu"]
    assert read("synthesise", words).settings == SynthesisSettings()
    assert read("record", ["clips", *words]).settings == RecordSettings()
    assert read("traverse", ["boxes", *words]).settings == TraverseSettings()
    assert read("train-tracker", ["clips", *words]).settings == TrackerSettings()
