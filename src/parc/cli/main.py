"""`parc COMMAND ...`: find the command, read its options, run it, print the result.

Commands are imported only when they are called, so `parc --help` answers at once.
"""

import contextlib
import dataclasses
import errno
import importlib
import io
import itertools
import os
import re
import sys
import typing
from collections.abc import Iterator
from difflib import get_close_matches
from typing import NamedTuple

from parc import __version__
from parc.errors import ParcError


class _Entry(NamedTuple):
    module: str
    command: str
    help: str


COMMANDS = {
    "demo": _Entry("demo_command", "Demo", "terrain, path, walk and a report with pictures, in a minute"),
    "loop": _Entry("loop_commands", "Loop", "the whole of PARC: train, synthesise, track, record, and again; resumes by itself"),
    "status": _Entry("loop_commands", "Status", "where a run of the loop is, and when it will end"),
    "logs": _Entry("logs_command", "Logs", "a run's numbers in TensorBoard or Weights & Biases"),
    "metrics": _Entry("metrics_command", "Metrics", "measure clips: TPL, TCL, HJF, FWD, skate, floating, ..."),
    "convert": _Entry("convert_command", "Convert", "one motion file into another, by extension"),
    "picture": _Entry("picture_command", "Picture", "a clip as a picture, film strip, contact sheet or animation"),
    "verify": _Entry("verify_command", "Verify", "read every byte of a data set, model or run and compare it with its hashes"),
    "studio": _Entry("studio_command", "OpenStudio", "see, edit and make motions in the browser"),
    "live": _Entry("live_command", "Live", "drive a simulated character that plans as it goes, and measure it"),
    "terrain make flat": _Entry("terrain_commands", "MakeFlat", "a flat grid"),
    "terrain make boxes": _Entry("terrain_commands", "MakeBoxes", "random boxes (the paper's training terrains)"),
    "terrain make walks": _Entry("terrain_commands", "MakeWalks", "random walks (the paper's test terrains)"),
    "terrain make platforms": _Entry(
        "terrain_commands", "MakePlatforms", "towers with gaps between them that only leaps can cross"
    ),
    "terrain make stairs": _Entry("terrain_commands", "MakeStairs", "a staircase"),
    "terrain make course": _Entry("terrain_commands", "MakeCourse", "the 100 x 100 parkour park"),
    "terrain make slice": _Entry("terrain_commands", "MakeSlice", "a random piece of a large terrain"),
    "terrain make from": _Entry("terrain_commands", "MakeFrom", "from a grey image or a mesh"),
    "terrain show": _Entry("terrain_commands", "ShowTerrain", "size, heights and a picture of a terrain"),
    "path": _Entry("path_command", "PlanPath", "plan a route over a terrain"),
    "dataset build": _Entry("dataset_commands", "Build", "clips on terrain from raw motion capture"),
    "dataset vary": _Entry("dataset_commands", "Vary", "spatial variations of clips: heights, gaps, headings, flight times"),
    "dataset hasten": _Entry("hasten_command", "Hasten", "slow passages of clips played faster, flights untouched"),
    "dataset author": _Entry("author_command", "Author", "clips made by rule: climbs to 2 m, ways down, vaults, running jumps"),
    "dataset label-check": _Entry("dataset_commands", "LabelCheck", "the contact labeller against contacts of the simulator"),
    "dataset import": _Entry("dataset_commands", "Import", "a folder of motion files into a data set"),
    "dataset merge": _Entry("dataset_commands", "Merge", "several data sets into one"),
    "dataset extract": _Entry("dataset_commands", "Extract", "one clip of a data set as a file"),
    "dataset show": _Entry("dataset_commands", "ShowDataset", "the clips of a data set"),
    "dataset card": _Entry("dataset_commands", "Card", "the data card: what is in a data set and where it came from"),
    "traverse": _Entry("traverse_commands", "CrossTerrain", "cross a terrain in physics: plan, generate, simulate, retry"),
    "course": _Entry("traverse_commands", "Course", "one long simulated run across the parkour park"),
    "strips": _Entry("traverse_commands", "Strips", "film strips of random motions on one page"),
    "dataset page": _Entry("dataset_commands", "DatasetPage", "pictures and replays of a data set in one page"),
    "train-generator": _Entry("generate_commands", "TrainGenerator", "train the motion generator"),
    "practise": _Entry("generate_commands", "Practise", "train a generator on clips and on its own best motions on hard ground"),
    "generate": _Entry("generate_commands", "Generate", "motion along a path over a terrain"),
    "correct": _Entry("generate_commands", "Correct", "repair a motion: penetration, contact, jerk, sliding"),
    "synthesise": _Entry("generate_commands", "Synthesise", "new clips for a data set: terrain, path, generate, select, correct"),
    "evaluate": _Entry(
        "evaluate_commands", "Evaluate", "the paper's tables for a run or for models, on a set of terrains, as a page"
    ),
    "evaluate generator": _Entry("evaluate_commands", "EvaluateGenerator", "generators on a set of terrains (Table 1)"),
    "evaluate tracker": _Entry(
        "evaluate_commands", "EvaluateTracker", "trackers on generated motions (Table 2) or on a data set"
    ),
    "evaluate blending": _Entry("evaluate_commands", "EvaluateBlending", "the blending sweep (Table 3)"),
    "evaluate reflex": _Entry("evaluate_reflex_command", "EvaluateReflex", "share of a set's terrains crossed without rehearsal"),
    "evaluate traverse": _Entry("evaluate_traverse_command", "EvaluateTraverse", "share of a set's terrains crossed in physics"),
    "train-tracker": _Entry("train_tracker_command", "TrainTracker", "train the tracking controller"),
    "train-reflex": _Entry("train_reflex_command", "TrainReflex", "train a tracker to cross terrain without rehearsal"),
    "average-trackers": _Entry(
        "average_trackers_command", "AverageTrackers", "weights of trackers averaged: what training on forgot"
    ),
    "track": _Entry("track_command", "Track", "a simulated character follows a motion"),
    "record": _Entry("record_command", "Record", "physics-corrected clips of a data set"),
    "record-reflex": _Entry(
        "record_reflex_command", "RecordReflex", "futures that hold, of states that a reflex visits, as clips"
    ),
    "export mjcf": _Entry("export_commands", "ExportMjcf", "a character on a terrain for MuJoCo"),
    "export onnx": _Entry("export_commands", "ExportOnnx", "a trained actor for any ONNX runtime"),
    "bench sdf": _Entry("bench_commands", "BenchSdf", "speed of distances to the terrain"),
    "bench plan": _Entry("bench_commands", "BenchPlan", "speed of path planning"),
    "bench physics": _Entry("bench_commands", "BenchPhysics", "speed of the simulated world"),
    "bench generator": _Entry("bench_commands", "BenchGenerator", "speed of the generator and of its training"),
    "bench optimise": _Entry("bench_commands", "BenchOptimise", "speed of the kinematic correction"),
    "bench scaling": _Entry("bench_commands", "BenchScaling", "hours of an iteration on 1, 8 and 64 GPUs, from measured rates"),
    "bench reflex": _Entry("train_reflex_command", "BenchReflex", "speed of closed-loop training"),
    "bench studio": _Entry("bench_commands", "BenchStudio", "how quickly the studio answers clicks, in a headless browser"),
    "bench tracker": _Entry("bench_commands", "BenchTracker", "speed of training a tracker"),
}


def main(argv: list[str] | None = None) -> int:
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
        print(_overview(""))
        return 0
    name = next((" ".join(words[:n]) for n in (3, 2, 1) if " ".join(words[:n]) in COMMANDS), None)
    if name is None:
        return _not_a_command(words)
    return _run(name, words[len(name.split()) :])


def _run(name: str, options: list[str]) -> int:
    import tyro

    from parc.cli.base_command import print_json

    entry = COMMANDS[name]
    command_class = getattr(importlib.import_module(f"parc.cli.{entry.module}"), entry.command)
    try:
        command = _read_options(tyro.cli, command_class, options, name)
        if command is None:
            return 2
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


def _read_options(read, command_class: type, options: list[str], name: str):
    """The command with its options, or None after one sentence about what is wrong with them."""
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return read(command_class, args=options, prog=f"parc {name}")
    except SystemExit as stop:
        if stop.code != 2:
            raise
    lines = [line.strip("│╭╮╰╯|+").rstrip() for line in complaint.getvalue().splitlines()]
    lines = [line for line in lines if line.strip() and "───" not in line and "---" not in line]
    lines = [line for line in lines if f"parc {name} --help" not in line and "For full helptext" not in line]
    words = " ".join(line.strip() for line in lines).rstrip(".") or "the options cannot be read"
    told = (
        _unknown(command_class, options)
        or _few_values(words)
        or _missing(lines, name)
        or _mistyped(words, options)
        or _not_a_choice(words)
        or words
    )
    _fail(f"{told}; see `parc {name} --help`")
    return None


def _unknown(command_class: type, options: list[str]) -> str:
    """The first option that the command does not have."""
    known = [f"--{name.replace('_', '-')}" for name in _option_names(command_class)]
    given = [word.split("=")[0].replace("_", "-") for word in options if word.startswith("--") and "." not in word]
    wrong = next((word for word in given if word not in ("--", "--help", *known) and f"--{word[5:]}" not in known), None)
    near = get_close_matches(wrong or "", known, n=1, cutoff=0.7)
    return f"there is no option {wrong}" + (f" (did you mean {near[0]}?)" if near else "") if wrong else ""


def _option_names(kind: type) -> Iterator[str]:
    """Of a command's fields, and of those of settings classes among them."""
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        yield field.name
        if isinstance(hints[field.name], type) and dataclasses.is_dataclass(hints[field.name]):
            yield from _option_names(hints[field.name])


def _few_values(words: str) -> str:
    """As in "--gaps takes 2 values"."""
    found = re.search(r"Missing value for argument '(--[\w-]+)'. Expected (\d+) values", words)
    return f"{found[1]} takes {found[2]} values" if found else ""


def _mistyped(words: str, options: list[str]) -> str:
    """The option whose value is no number, as in "--iterations is 'two', expected a whole number"."""
    found = re.search(r"Error parsing (--[\w-]+):.* Argument helptext: \1 (.*)", words)
    kind = re.search(r"(\[?)\b(INT|FLOAT)\b", found[2]) if found else None
    if found is None or kind is None:
        return ""
    given = [part for word in options for part in (word.split("=", 1) if word.startswith("--") else [word])]
    after = itertools.dropwhile(lambda word: word.replace("_", "-") != found[1], given)
    value = " ".join(itertools.takewhile(lambda word: not word.startswith("--"), itertools.islice(after, 1, None)))
    number = "whole number" if kind[2] == "INT" else "number"
    return f"{found[1]} is '{value}', expected {f'{number}s' if kind[1] else f'a {number}'}"


def _not_a_choice(words: str) -> str:
    """As in "--preset is 'huge', expected gpu, paper or quick"."""
    found = re.search(r"invalid choice '(.*)' for argument '(.*)'. Expected one of \((.*?)\)", words)
    if found is None:
        return ""
    *others, last = sorted(set(re.findall(r"'(.*?)'", found[3])) - {"None"})
    expected = f"{', '.join(others)} or {last}" if others else last
    return f"{found[2]} is '{found[1]}', expected {expected}"


def _missing(lines: list[str], command: str) -> str:
    """What is missing, as in "needs TARGET (file to write)": names stand a little in, below and farther in what they are."""
    start = next((i for i, line in enumerate(lines) if "Missing from" in line), None)
    if start is None:
        return ""
    depths = [len(line) - len(line.lstrip()) for line in lines]
    found: list[tuple[str, list[str]]] = []
    for line, depth in zip(lines[start + 1 :], depths[start + 1 :], strict=True):
        if depth <= depths[start]:  # tyro's next complaint
            break
        if depth <= depths[start] + 4:
            found.append((line.split(",")[0].strip(), []))
        elif found:
            found[-1][1].append(line.strip())
    needs = [f"{option} ({re.split('[:;(]', ' '.join(told))[0].strip()})" for option, told in found]
    return f"`parc {command}` needs {' and '.join(needs)}"


def _fail(sentence: str) -> int:
    line = re.sub(r"\s*\n\s*", " ", sentence.strip())  # torch tells what is wrong with weights in several
    print(f"parc: {line}", file=sys.stderr)
    return 2


def _not_a_command(words: list[str]) -> int:
    """A group such as `parc terrain` lists its commands; anything else is one sentence."""
    plain = [w for w in words if not w.startswith("-")]
    for count in range(len(plain), 0, -1):
        group = " ".join(plain[:count]) + " "
        if any(name.startswith(group) for name in COMMANDS):
            if len(plain) > count:
                return _fail(f"no command '{' '.join(plain[: count + 1])}'; `parc {' '.join(plain[:count])} --help` lists them")
            wants_help = len(words) > count
            print(_overview(group), file=sys.stdout if wants_help else sys.stderr)
            return 0 if wants_help else _fail(f"'{' '.join(words)}' is not complete: choose one of the commands above")
    return _fail(f"no command '{words[0]}'; `parc --help` lists them")


def _overview(group: str) -> str:
    rows = {name: entry.help for name, entry in COMMANDS.items() if name.startswith(group)}
    width = max(map(len, rows))
    lines = [f"  parc {name:<{width}}  {text}" for name, text in rows.items()]
    return "\n".join(["usage: parc COMMAND [options]; `parc COMMAND --help` tells more", "", *lines])


if __name__ == "__main__":
    sys.exit(main())
