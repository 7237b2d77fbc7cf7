"""`parc dataset build|import|merge|show|card`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.cli.command import Command, progress


@dataclass(frozen=True, kw_only=True)
class Build(Command):
    """Make clips on terrain of raw motion capture: retarget, label contacts, rebuild the ground, refine, judge.

    Rows of the shortlist: source, first_frame, last_frame, true_fps, skill, hands_touch. Run again to go on after a stop.
    """

    shortlist: Annotated[Path, tyro.conf.Positional]
    """.csv file; sources are named relative to its folder (.bvh, .npz, .txt, .pkl)"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """data set folder"""
    workers: int = 0
    """processes; 0 is one for each core"""

    def run(self) -> dict[str, Any]:
        from parc.character import humanoid
        from parc.mocap import BuildSettings, build_dataset

        with progress(None, "building") as bar:

            def advance(done: int, rows: int, result: Any) -> None:
                bar.total = rows
                bar.update(done - bar.n)

            report = build_dataset(self.shortlist, self.out, humanoid(), BuildSettings(workers=self.workers), advance)
        refused = {r.name: f"{r.status}: {'; '.join(r.reasons)}" for r in report.results if r.status != "kept"}
        return {
            "out": str(self.out),
            "kept": len(report.named("kept")),
            "minutes": report.seconds_kept / 60,
            "refused": refused,
            "medians": report.medians(),
        }

    def show(self, result: dict[str, Any]) -> None:
        for name, reason in result["refused"].items():
            print(f"  {name} {reason}")
        print(f"{result['kept']} clips kept, {result['minutes']:.1f} minutes, in {result['out']}; medians:")
        for key, value in result["medians"].items():
            print(f"  {key:<16} {value:.4g}")


@dataclass(frozen=True, kw_only=True)
class Import(Command):
    """Make a data set of a folder of motion files. Bad files are named and skipped; run again to go on after a stop."""

    folder: Annotated[Path, tyro.conf.Positional]
    """searched recursively for .motion, .pkl and .txt files"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """data set folder, new or to be added to"""
    workers: int = 0
    """processes that read files beside this one"""

    def run(self) -> dict[str, Any]:
        from parc.character import humanoid
        from parc.dataset import Dataset, import_folder

        with progress(None, "importing") as bar:

            def advance(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            report = import_folder(self.folder, self.out, humanoid(), workers=self.workers, progress=advance)
        dataset = Dataset.open(self.out)
        return {
            "out": str(self.out),
            "imported": len(report.imported),
            "already_there": len(report.skipped),
            "failed": report.failed,
            "clips": len(dataset),
            "minutes": dataset.seconds / 60,
        }

    def show(self, result: dict[str, Any]) -> None:
        for file, sentence in result["failed"].items():
            print(f"  skipped {file}: {sentence}")
        failed = len(result["failed"])
        print(f"{result['imported']} clips imported, {result['already_there']} already there, {failed} files not readable")
        print(f"{result['out']} holds {result['clips']} clips, {result['minutes']:.1f} minutes")


@dataclass(frozen=True, kw_only=True)
class Merge(Command):
    """Append the clips of several data sets to one."""

    sources: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """data set folders"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """data set folder, new or to be added to"""
    rename: bool = False
    """give clips whose name is taken a new one instead of stopping"""

    def run(self) -> dict[str, Any]:
        from parc.character import humanoid
        from parc.dataset import merge

        dataset = merge(self.sources, self.out, humanoid(), rename=self.rename)
        return {"out": str(self.out), "clips": len(dataset), "minutes": dataset.seconds / 60}


@dataclass(frozen=True, kw_only=True)
class Show(Command):
    """List the clips of a data set."""

    dataset: Annotated[Path, tyro.conf.Positional]
    """data set folder"""
    skill: str = ""
    """only clips of this skill"""

    def run(self) -> dict[str, Any]:
        from parc.dataset import Dataset

        dataset = Dataset.open(self.dataset)
        entries = [e for e in dataset.entries if not self.skill or e.provenance.skill == self.skill]
        rows = [
            {"name": e.name, "seconds": e.seconds, "skill": e.provenance.skill, "iteration": e.provenance.iteration}
            for e in entries
        ]
        return {"clips": len(rows), "minutes": sum(e.seconds for e in entries) / 60, "each": rows}

    def show(self, result: dict[str, Any]) -> None:
        width = max((len(row["name"]) for row in result["each"]), default=0)
        for row in result["each"]:
            print(f"{row['name']:<{width}}  {row['seconds']:6.1f} s  {row['skill']}")
        print(f"{result['clips']} clips, {result['minutes']:.1f} minutes")


@dataclass(frozen=True, kw_only=True)
class Card(Command):
    """The data card: what is in a data set, where it came from, how it is spread."""

    dataset: Annotated[Path, tyro.conf.Positional]
    """data set folder"""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """write it as Markdown"""

    def run(self) -> dict[str, Any]:
        from parc.dataset import Dataset, card_markdown, data_card
        from parc.run.atomic import write_bytes_atomically

        card = data_card(Dataset.open(self.dataset))
        if self.out:
            write_bytes_atomically(self.out, (card_markdown(card)).encode())
        return card

    def show(self, result: dict[str, Any]) -> None:
        from parc.dataset import card_markdown

        print(card_markdown(result))
