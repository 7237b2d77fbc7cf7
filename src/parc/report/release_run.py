"""The models of a finished run as a folder like the box: weights in float16 with hashes, motions, numbers, a figure, a card.

    OUT/
      generator.safetensors  tracker.safetensors  critic.safetensors      of the last iteration, float16
      motions/           what trackers of the run have recorded, the newest first, so many minutes
      release.json       settings, numbers of every iteration, minutes by stage, hashes of the run's data and models
      iterations.svg     what the iterations reach (`parc.report.iterations_figure`)
      card.md            the same for a person; also put between two marks of a card that is named
      hashes.json        of every model and motion in OUT, whoever put it there

Nothing is copied by hand: whoever has the run makes the same files again.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.dataset_store import Dataset
from parc.errors import SettingsError
from parc.generate.model.motion_generator import Generator
from parc.generate.training.generator_training import GENERATOR_FILE
from parc.loop.admit_clips import write_all
from parc.loop.iteration_numbers import NUMBERS
from parc.loop.ledger import Ledger, LoopError
from parc.loop.loop_report import gather_report, newest_dataset
from parc.loop.run_progress import read_progress, read_run
from parc.models import HASHES, hashes_of
from parc.report.iterations_figure import iterations_figure, minutes_by_stage
from parc.run.atomic_files import write_bytes_atomically
from parc.run.checkpoint import checkpoint_bytes, load_checkpoint
from parc.run.dataclass_json import tidy
from parc.run.hashing import hash_file
from parc.track.learn.policy import load_actor
from parc.track.learn.tracker_training import ACTOR, CRITIC

BEGIN, END = "<!-- release: begin (written by parc release) -->", "<!-- release: end -->"
FIGURE, NUMBERS_FILE, CARD = "iterations.svg", "release.json", "card.md"


@dataclass(frozen=True)
class ReleaseSettings:
    """What goes into a release."""

    tracker: str = "tracker"
    """whose actor: tracker, or reflex, the one that was trained on with the generator in the loop"""
    minutes: float = 60.0
    """min of recorded motions, at most; 0: none"""

    def __post_init__(self) -> None:
        if self.tracker not in ("tracker", "reflex"):
            raise SettingsError(f"the tracker is to be that of the stage '{self.tracker}', expected tracker or reflex")
        if not self.minutes >= 0:
            raise SettingsError(f"{self.minutes:g} minutes of motions were asked for, expected 0 or more")


def release_run(
    run: Path, out: Path, character: Character, settings: ReleaseSettings = ReleaseSettings(), card: Path | None = None
) -> dict[str, Any]:
    """Write a finished run's models and numbers into `out`; returns what release.json holds. `card`: a text with both marks."""
    told = None if card is None else card.read_text(encoding="utf-8")
    if told is not None and (told.count(BEGIN), told.count(END)) != (1, 1):
        raise SettingsError(f"{card} has no place for a release: expected the lines '{BEGIN}' and '{END}' once each")
    files = _models(run, settings)
    numbers = gather_report(run)

    # everything is made before anything is written
    made = {"generator.safetensors": _half_generator(files["generator"], character)}
    load_actor(files["tracker"], character)
    made["tracker.safetensors"] = files["tracker"].read_bytes()
    tensors, meta = load_checkpoint(files["critic"])
    halves = {name: value.half() if name == "critic" else value for name, value in tensors.items()}
    made["critic.safetensors"] = checkpoint_bytes(halves, meta)
    motions = _recorded(newest_dataset(run, len(numbers["iterations"])), settings.minutes)
    made[FIGURE] = iterations_figure(numbers, _told(numbers)).encode() if _measured(numbers) else b""

    # models, motions, numbers; the hashes last
    for name, data in made.items():
        if data:
            write_bytes_atomically(out / name, data)
    if motions:
        for old in (out / "motions").glob("*"):
            old.unlink()
        write_all(out / "motions", motions, character)
        (out / "motions" / "lock").unlink(missing_ok=True)
    write_bytes_atomically(out / HASHES, (json.dumps(hashes_of(out), indent=1) + "\n").encode())
    described = _described(run, numbers, files, motions, out)
    write_bytes_atomically(out / NUMBERS_FILE, (json.dumps(tidy(described, 7), indent=1) + "\n").encode())
    text = card_text(described)
    write_bytes_atomically(out / CARD, text.encode())
    if card is not None and told is not None:
        before, after = told.split(BEGIN)[0], told.split(END)[1]
        write_bytes_atomically(card, f"{before}{BEGIN}\n{text}{END}{after}".encode())
    return described


def _models(run: Path, settings: ReleaseSettings) -> dict[str, Path]:
    """Files of the last iteration; refuses a run that is not finished, or no longer what it was."""
    progress = read_progress(run)
    if progress.state != "finished":
        raise LoopError(
            f"{run} is not finished: {progress.stage} of iteration {progress.iteration} is next; `parc loop {run}` goes on"
        )
    if faults := Ledger(run).faults():
        raise LoopError(f"{run} is not what was made: {faults[0]}")
    place = run / f"iteration-{progress.iterations:02d}"
    files = {
        "generator": place / "generator" / GENERATOR_FILE,
        "tracker": place / settings.tracker / ACTOR,
        "critic": place / "tracker" / CRITIC,
    }
    for kind, file in files.items():
        if not file.is_file():
            raise LoopError(f"{run} has no {kind} to release: there is no {file.relative_to(run)}")
    return files


def _half_generator(file: Path, character: Character) -> bytes:
    Generator.load(file, character)
    tensors, meta = load_checkpoint(file)
    return checkpoint_bytes({name: v.half() if name.startswith("network.") else v for name, v in tensors.items()}, meta)


def _recorded(dataset: Dataset, minutes: float) -> list[Clip]:
    """The newest recordings first, so many minutes; motions of others, from which the run began, stay out."""
    clips, left = [], 60.0 * minutes
    for clip in reversed(list(dataset)):
        seconds = len(clip.motion) / clip.motion.fps
        if clip.provenance.source == "simulation" and seconds <= left:
            clips.append(clip)
            left -= seconds
    return clips


def _described(run: Path, numbers: dict[str, Any], files: dict[str, Path], motions: list[Clip], out: Path) -> dict[str, Any]:
    settings = read_run(run)["settings"]
    rows, columns = minutes_by_stage(numbers)
    hours = sum(len(clip.motion) / clip.motion.fps for clip in motions) / 3600
    return {
        "run": {key: settings.get(key) for key in ("name", "iterations", "minutes", "seed", "scale", "options")},
        "made_from": {kind: hash_file(file) for kind, file in files.items()},
        "start": {stage["stage"]: stage["inputs"] for stage in numbers["stages"][:1]},
        "iterations": [
            {"iteration": it["iteration"], "clips": it["clips"], "minutes": it["minutes"], "numbers": it["evaluation"]}
            for it in numbers["iterations"]
        ],
        "minutes": {"columns": columns, "rows": rows},
        "motions": {"clips": len(motions), "minutes": 60 * hours},
        "files": hashes_of(out),
    }


def card_text(told: dict[str, Any]) -> str:
    """The machine-written part of a card, of what release.json holds."""
    run = told["run"]
    budget = f", {run['minutes']:g} minutes" if run["minutes"] else ""
    lines = [
        f"`parc loop RUN --preset {run['name']} --iterations {run['iterations']}`{budget}, seed {run['seed']}; "
        "numbers on the development set, after each iteration:",
        "",
    ]
    iterations = told["iterations"]
    lines += _table(
        ["", *(f"iteration {it['iteration']}" for it in iterations), "unit"],
        [[n.says, *(_number((it["numbers"] or {}).get(key)) for it in iterations), n.unit] for key, n in NUMBERS.items()]
        + [
            ["clips in the data set", *(str(it["clips"]) for it in iterations), ""],
            ["of them", *(_number(it["minutes"]) for it in iterations), "min"],
        ],
    )
    lines += ["", *_table(told["minutes"]["columns"], told["minutes"]["rows"]), ""]
    files = [[f"`{name}`", f"{file['bytes'] / 1e6:.1f}", f"`{file['sha256']}`"] for name, file in told["files"].items()]
    lines += _table(["file", "MB", "SHA-256"], files)
    return "\n".join(lines) + "\n"


def _table(columns: list[str], rows: list[list[Any]]) -> list[str]:
    return [f"| {' | '.join(map(str, row))} |" for row in (columns, ["---"] * len(columns), *rows)]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _measured(numbers: dict[str, Any]) -> bool:
    return any(iteration["evaluation"] for iteration in numbers["iterations"])


def _told(numbers: dict[str, Any]) -> str:
    return f"preset {numbers['preset']}, seed {numbers['seed']}, {numbers['clips']} clips in the end"
