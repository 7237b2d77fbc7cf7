"""`parc dataset build`, `parc dataset vary`: clips of raw motion capture, and variations of clips."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.cli.base_command import progress, shown
from parc.cli.character_option import OfCharacter
from parc.dataset import Dataset, card_markdown, data_card
from parc.errors import DatasetError
from parc.mocap import BuildSettings, build_dataset, load_naming
from parc.quality import MocapLimits
from parc.run.atomic_files import write_bytes_atomically
from parc.vary import VarySetSettings, vary_dataset


@dataclass(frozen=True, kw_only=True)
class Build(OfCharacter):
    """Make clips on terrain of raw motion capture: retarget, label contacts, rebuild the ground, refine, judge.

    Rows of the shortlist: source, skill, and where needed first_frame, last_frame, true_fps, hands_touch (yes, no), stretch,
    names, up, unit. Run again to go on after a stop, or after sources or rows were changed: what changed is redone, nothing else.
    """

    shortlist: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="SHORTLIST")]
    """.csv file; sources are named relative to its folder (.bvh, .npz, .npy, .txt, .pkl, .motion)"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """data set folder"""
    names: Path | None = None
    """.json or .csv table of the sources' own joint names, {"left_knee": "bone_7"}; a row may name its own in a column `names`"""
    settings: Annotated[BuildSettings, tyro.conf.arg(name="")] = field(default_factory=BuildSettings)

    def run(self) -> dict[str, Any]:
        """Build."""
        naming = load_naming(self.names) if self.names else None
        with progress(None, "building") as bar:
            report = build_dataset(self.shortlist, self.out, self.body(self.out), self.settings, shown(bar), naming)
        card = self.out / "card.md"
        write_bytes_atomically(card, card_markdown(data_card(Dataset.open(self.out))).encode())
        if not report.named("kept"):
            raise DatasetError(
                f"none of the {len(report.results)} rows of {self.shortlist} became a clip: {report.refusals()}; all are told in "
                f"{self.out / 'mocap' / 'report.jsonl'}"
            )
        refused = {r.name: f"{r.status}: {'; '.join(r.reasons)}" for r in report.results if r.status != "kept"}
        return {
            "out": str(self.out),
            "card": str(card),
            "kept": len(report.named("kept")),
            "minutes": report.seconds_kept / 60,
            "refused": refused,
            "removed": list(report.removed),
            "warnings": {r.name: list(r.warnings) for r in report.results if r.warnings},
            "medians": report.medians(),
        }

    def show(self, result: dict[str, Any]) -> None:
        for name, reason in result["refused"].items():
            print(f"  {name} {reason}")
        warned: dict[str, list[str]] = {}
        for name, warnings in result["warnings"].items():
            for warning in warnings:
                warned.setdefault(warning, []).append(name)
        for warning, names in warned.items():
            print(f"  {names[0] if len(names) == 1 else f'{len(names)} rows'} warning: {warning}")
        if result["removed"]:
            print(f"taken out, as they are no longer on the list: {', '.join(result['removed'])}")
        print(f"{result['kept']} clips kept, {result['minutes']:.1f} minutes, in {result['out']}; medians:")
        _print_medians(result["medians"])
        print(f"its data card: {result['card']}; pictures and replays: parc dataset show {result['out']} --page page.html")


@dataclass(frozen=True, kw_only=True)
class Vary(OfCharacter):
    """Make spatial variations of every clip: other heights, gaps and headings, boxes around, flights that still fall.

    Each is judged as a built clip is, and kept or refused for a reason that is told. Run again to go on after a stop, or with a
    larger count to add more.
    """

    dataset: Annotated[Path, tyro.conf.Positional]
    """data set folder; clips need contact labels"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """data set folder of the variations"""
    count: int = 10
    """variations of each clip"""
    skill: tuple[str, ...] = ()
    """only clips of these skills"""
    only: tuple[str, ...] = ()
    """only clips of these names"""
    settings: Annotated[VarySetSettings, tyro.conf.arg(name="")] = field(default_factory=VarySetSettings)

    def run(self) -> dict[str, Any]:
        """Vary."""
        began = time.monotonic()
        with progress(None, "varying") as bar:
            report = vary_dataset(
                self.dataset, self.out, self.body(self.dataset), self.count, self.seed, self.settings, self.torch_device,
                self.skill,
                shown(bar), self.only,
            )  # fmt: skip
        refused = {r.name: f"{r.status}: {'; '.join(r.reasons)}" for r in report.results if r.status != "kept"}
        kept = len(report.named("kept"))
        if not kept:
            raise DatasetError(
                f"none of the {len(report.results)} variations of {self.dataset} was good enough to keep: {report.refusals()}; "
                f"all are told in {self.out / 'vary' / 'report.jsonl'}"
            )
        return {
            "out": str(self.out),
            "kept": kept,
            "accepted": kept / max(len(report.results), 1),
            "minutes": report.seconds_kept / 60,
            "refused": refused,
            "seconds": time.monotonic() - began,
            "medians": report.medians(),
        }

    def show(self, result: dict[str, Any]) -> None:
        for name, reason in result["refused"].items():
            print(f"  {name} {reason}")
        print(
            f"{result['kept']} variations kept ({100 * result['accepted']:.0f} %), {result['minutes']:.1f} minutes, "
            f"in {result['out']}, made in {result['seconds']:.0f} s" + ("; medians:" if result["medians"] else "")
        )
        _print_medians(result["medians"])


def _print_medians(medians: dict[str, float]) -> None:
    units = MocapLimits.units()
    for key, value in medians.items():
        print(f"  {key:<12} {value:>8.4g}  {units[key]}")
