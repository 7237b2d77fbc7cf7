"""`parc dataset import|merge|extract|show`: what is done with data sets on disk."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.cli.base_command import progress, shown
from parc.cli.character_option import OfCharacter
from parc.dataset import Dataset, card_markdown, data_card, import_folder, merge, save_clip
from parc.errors import DatasetError, SettingsError
from parc.report.dataset_page import write_dataset_page
from parc.run.atomic_files import write_bytes_atomically


@dataclass(frozen=True, kw_only=True)
class Import(OfCharacter):
    """Make a data set of a folder of motion files. Bad files are named and skipped; run again to go on after a stop."""

    folder: Annotated[Path, tyro.conf.Positional]
    """searched recursively for .motion, .pkl, .txt, .bvh and .npz files"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """data set folder, new or to be added to"""
    workers: int = 0
    """processes that read files beside this one"""

    def run(self) -> dict[str, Any]:
        with progress(None, "importing") as bar:
            report = import_folder(
                self.folder, self.out, self.body(self.out, self.folder), workers=self.workers, on_progress=shown(bar)
            )
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
class Merge(OfCharacter):
    """Append the clips of several data sets to one."""

    sources: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """data set folders"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """data set folder, new or to be added to"""
    rename: bool = False
    """give clips whose name is taken a new one instead of stopping"""

    def run(self) -> dict[str, Any]:
        dataset = merge(self.sources, self.out, self.body(self.out, *self.sources), rename=self.rename)
        return {"out": str(self.out), "clips": len(dataset), "minutes": dataset.seconds / 60}


@dataclass(frozen=True, kw_only=True)
class Extract(OfCharacter):
    """Write one clip of a data set to a file. (Commands that read one motion file also take it as FOLDER/NAME.)"""

    dataset: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DATASET")]
    """data set folder"""
    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """of the clip, see `parc dataset show`"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """file to write: .motion keeps everything, .pkl (PARC), .bvh, .npz (MuJoCo qpos), .glb, .usd"""

    def run(self) -> dict[str, Any]:
        character = self.body(self.dataset)
        clip = Dataset.open(self.dataset, character)[self.name]
        save_clip(clip, self.out, character)
        return {"out": str(self.out), "clip": clip.name, "skill": clip.provenance.skill, "seconds": clip.motion.duration}


@dataclass(frozen=True, kw_only=True)
class ShowDataset(OfCharacter):
    """The clips of a data set, or of one of its skills; as a card, or as a page with pictures and replays, if asked for."""

    dataset: Annotated[Path, tyro.conf.Positional]
    """data set folder"""
    skill: str | None = None
    """only clips of this skill"""
    card: Path | None = None
    """write the data card, what is in the set and where it came from, as Markdown (.md)"""
    page: Path | None = None
    """write a page in one file (.html): the card, a picture of every clip, and a replay of each when clicked"""
    megabytes: float = 22.0
    """that motions may take in the page; larger sets are shown at fewer frames a second"""

    def run(self) -> dict[str, Any]:
        """List, and write what was asked for."""
        if self.megabytes <= 0:
            raise SettingsError(f"a page of {self.megabytes} megabytes holds nothing, expected a positive number")
        dataset = Dataset.open(self.dataset)
        entries = [e for e in dataset.entries if not self.skill or e.skill == self.skill]
        if self.skill and not entries:
            known = ", ".join(sorted({e.skill for e in dataset.entries} - {""})) or "none"
            raise DatasetError(f"{self.dataset} has no clips of skill '{self.skill}'; its skills are {known}")
        rows = [
            {"name": e.name, "seconds": e.seconds, "skill": e.provenance.skill, "iteration": e.provenance.iteration}
            for e in entries
        ]
        written: dict[str, Any] = {}
        if self.card is not None:
            card = data_card(dataset)
            write_bytes_atomically(self.card, card_markdown(card).encode())
            written["card"] = card
        if self.page is not None:
            self._draw(dataset, self.page)
            written |= {"page": str(self.page), "megabytes": self.page.stat().st_size / 1e6}
        return {"clips": len(rows), "minutes": sum(e.seconds for e in entries) / 60, "each": rows, **written}

    def _draw(self, dataset: Dataset, page: Path) -> None:
        if not len(dataset):
            raise DatasetError(f"{self.dataset} has no clips to draw")
        with progress(len(dataset), "drawing") as bar:
            write_dataset_page(dataset, self.body(self.dataset), page, self.megabytes, shown(bar))

    def show(self, result: dict[str, Any]) -> None:
        """The list, or the card, and where files are."""
        if "card" in result:
            print(card_markdown(result["card"]))
        elif "page" not in result:
            width = max((len(row["name"]) for row in result["each"]), default=0)
            for row in result["each"]:
                print(f"{row['name']:<{width}}  {row['seconds']:6.1f} s  {row['skill']}")
        print(f"{result['clips']} clips, {result['minutes']:.1f} minutes")
        for file in (self.card, self.page):
            if file is not None:
                print(f"written: {file}")
