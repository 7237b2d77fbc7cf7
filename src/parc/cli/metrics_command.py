"""`parc metrics`: measure clips."""

import math
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.cli.base_command import number, progress
from parc.cli.character_option import OfCharacter
from parc.dataset import Clip
from parc.dataset.clip_reading import read_clips
from parc.errors import DatasetError, ParcError
from parc.metrics import UNITS, mean_of, measure_clips
from parc.metrics.pooled_gait import Pool


@dataclass(frozen=True, kw_only=True)
class Metrics(OfCharacter):
    """Measure clips or data sets: the paper's four metrics, those that do not grow with length, gait, and how human it looks.

    R compares windows of a second with those of real people who do the same: 1 is a person, N the share nearer than 95 % of them.
    """

    clips: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """motion files (.motion .pkl .txt .bvh .npz), folders of them, data sets, or clips of data sets as FOLDER/NAME"""

    def run(self) -> dict[str, Any]:
        if not self.clips:
            raise ParcError("no clip given: name at least one motion file or data set folder")
        character = self.body(*self.clips)
        names: list[str] = []
        files: list[str] = []
        results: list[dict[str, float]] = []
        notes: list[str] = []
        pool = Pool(character, self.torch_device)
        with progress(len(self.clips), "measuring") as bar:
            for path in self.clips:
                loaded = read_clips(path, character)
                if not loaded:
                    raise DatasetError(f"{path} has no clips to measure")
                names += [clip.name for clip in loaded]
                files += [str(path)] * len(loaded)
                notes += _notes(path, loaded)
                results += measure_clips(loaded, character, self.torch_device)
                pool.add(loaded)
                bar.update()
        pooled = {"gait": pool.gait(), "human": pool.human()}
        if len(results) == 1:
            return {"clip": names[0], "file": files[0], **results[0], **pooled, "notes": notes}
        each = [{"clip": n, "file": f, **result} for n, f, result in zip(names, files, results, strict=True)]
        return {"clips": len(results), "mean": mean_of(results), **pooled, "each": each, "notes": notes}

    def show(self, result: dict[str, Any]) -> None:
        rows = result.get("each", [])
        several = len({row["clip"] for row in rows}) < len(rows)
        for row in rows:
            numbers = "  ".join(f"{key} {number(row[key], '.4g')}" for key in ("fwd", "tpl", "tcl", "hjf_paper", "foot_skate"))
            print(f"{row['clip']}{' in ' + row['file'] if several else ''}: {numbers}")
        print(result.get("clip", f"mean of {result.get('clips')} clips"))
        measured = {key: value for key, value in result.get("mean", result).items() if key in UNITS}
        for key, value in measured.items():
            if not math.isnan(value):
                print(f"  {key:<18} {number(value):>10}  {UNITS[key]}".rstrip())
        if absent := [key for key, value in measured.items() if math.isnan(value)]:
            print(textwrap.fill(f"nothing to measure in {'it' if 'clip' in result else 'them'}: {', '.join(absent)}", 100))
        _show_gait(result["gait"])
        _show_human(result["human"])
        for note in result["notes"]:
            print(f"note: {note}")


def _show_gait(gait: dict[str, dict[str, float]]) -> None:
    """Medians over strides, a class of speed in each column."""
    if gait:
        print("level strides, medians" + "".join(f"{name:>10}" for name in gait))
        for key in next(iter(gait.values())):
            if not all(math.isnan(row[key]) for row in gait.values()):
                print(f"  {key:<20}" + "".join(f"{number(row[key]):>10}" for row in gait.values()))


def _show_human(human: dict[str, dict[str, Any]]) -> None:
    """R and N of each activity, and what is least like people (in their standard deviations)."""
    if human:
        print("beside people   seconds      R   N, %  farthest from people, in their deviations")
        for name, row in human.items():
            off = ", ".join(f"{feature} {value:+.1f}" for feature, value in row["off"].items())
            print(f"  {name:<12} {row['seconds']:>8.1f} {row['r']:>6.2f} {row['n']:>6.0f}  {off}")


_NO_TERRAIN = (".bvh", ".npz", ".txt")
"""files that have no place for a terrain"""


def _notes(path: Path, clips: "list[Clip]") -> list[str]:
    """What numbers that look good, or bad, do not say."""
    notes = []
    bare = [clip.name for clip in clips if not bool((clip.motion.contacts > 0.5).any())]
    if bare:
        who = bare[0] if len(bare) == 1 else f"{len(bare)} clips of {path} ({bare[0]}, ...)"
        notes.append(f"{who} without contact labels: a TCL of 0 says nothing there")
    if path.suffix.lower() in _NO_TERRAIN:
        level = f"{float(clips[0].terrain.heights.min()):g} m"
        notes.append(f"{path.name} came without its terrain: TPL, depth and floating are against level ground at {level}")
    return notes
