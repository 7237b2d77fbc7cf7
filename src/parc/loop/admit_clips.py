"""The last stage of an iteration: D_i = D_{i-1} and what of the new clips passes the guard.

FOLDER/dataset/         D_i, a data set
FOLDER/admission.json   which clips joined, why the others did not, metrics and diversity
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.dataset_store import Dataset, DatasetWriter
from parc.errors import FormatError
from parc.loop.admission_rules import GuardSettings, Verdict, judge_clips, refuse_surplus
from parc.metrics.clip_measures import mean_of, measure_clips
from parc.run.atomic_files import write_bytes_atomically
from parc.run.dataclass_json import tidy
from parc.run.file_reading import read_json

DATASET, ADMISSION = "dataset", "admission.json"
_CLIPS_PER_SHARD = 512


def admit(
    folder: Path,
    start: Path,
    before: Path,
    generated: Path,
    recorded: Path | None,
    character: Character,
    settings: GuardSettings,
    device: torch.device | str,
) -> dict[str, Any]:
    """Judge the recorded clips (without recording: the generated ones) and write D_i; returns what admission.json holds."""
    old = list(Dataset.open(before, character))
    made = list(Dataset.open(generated, character))
    new = made if recorded is None else list(Dataset.open(recorded, character))
    verdicts = judge_clips(new, old, character, settings, device)
    first = list(Dataset.open(start, character))
    verdicts, diversity, warning = refuse_surplus(verdicts, new, first, old, character, settings, device)
    joining = _free_names([clip for clip, verdict in zip(new, verdicts, strict=True) if verdict.joins], old)
    everything = old + joining
    admission = {
        "joined": [clip.name for clip in joining],
        "refused": {v.clip: list(v.reasons) for v in verdicts if not v.joins},
        "surplus": sum(v.is_surplus for v in verdicts),
        "clips": len(everything),
        "minutes": sum(len(c.motion) / c.motion.fps for c in everything) / 60,
        "minutes_joined": sum(len(c.motion) / c.motion.fps for c in joining) / 60,
        "diversity": tidy(asdict(diversity)),
        "warning": warning,
        "metrics": _metrics(made, verdicts if recorded is not None else None, character, device),
    }
    write_bytes_atomically(folder / ADMISSION, json.dumps(admission, indent=1).encode())
    write_all(folder / DATASET, everything, character)
    return admission


def read_admission(folder: Path) -> dict[str, Any]:
    """What `admit` wrote in a folder."""
    file = folder / ADMISSION
    found = read_json(file)
    is_whole = isinstance(found, dict) and isinstance(found.get("joined"), list) and isinstance(found.get("clips"), int)
    if not is_whole or not isinstance(found.get("refused"), dict) or not isinstance(found.get("minutes"), int | float):
        raise FormatError(f"{file} does not say which clips joined; move it away, and the stage is done again")
    return found


def write_all(out: Path, clips: Sequence[Clip], character: Character) -> None:
    """A data set of these clips; shards that an interrupted call has written stay, and the result is the same to the byte."""
    with DatasetWriter(out, character) as writer:
        for first in range(0, len(clips), _CLIPS_PER_SHARD):
            part = clips[first : first + _CLIPS_PER_SHARD]
            if part[0].name not in writer:
                writer.append(part)


def _free_names(clips: list[Clip], old: list[Clip]) -> list[Clip]:
    """A name that is taken (a starting set that came out of another run) gets the first free suffix _2, _3, ..."""
    taken = {clip.name for clip in old}
    renamed = []
    for clip in clips:
        name, suffix = clip.name, 2
        while name in taken:
            name, suffix = f"{clip.name}_{suffix}", suffix + 1
        taken.add(name)
        renamed.append(clip if name == clip.name else replace(clip, name=name))
    return renamed


def _metrics(
    made: list[Clip], verdicts: list[Verdict] | None, character: Character, device: torch.device | str
) -> dict[str, dict[str, float | None]]:
    """Means over clips as generated (the losses they were selected by), after kinematic correction, and as recorded."""
    selection = [c.provenance.losses for c in made if "selection_penetration" in c.provenance.losses]
    table: dict[str, dict[str, float]] = {
        "generated": mean_of([{"tpl": s["selection_penetration"], "tcl": s["selection_contact"]} for s in selection]),
        "corrected": mean_of(measure_clips(made, character, device)),
    }
    if verdicts is not None:
        table["recorded"] = mean_of([v.metrics for v in verdicts])
        table["joined"] = mean_of([v.metrics for v in verdicts if v.joins])
    return {name: tidy(row) for name, row in table.items()}
