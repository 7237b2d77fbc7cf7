"""`parc dataset build|vary|label-check|import|merge|extract|show|card|page`."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.cli.base_command import Command, number, progress


@dataclass(frozen=True, kw_only=True)
class Build(Command):
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
    workers: int = 0
    """processes; 0 is one for each core"""

    def run(self) -> dict[str, Any]:
        from parc.character import humanoid
        from parc.dataset import Dataset, card_markdown, data_card
        from parc.errors import DatasetError
        from parc.mocap import BuildSettings, build_dataset, load_naming
        from parc.run.atomic_files import write_bytes_atomically

        naming = load_naming(self.names) if self.names else None

        with progress(None, "building") as bar:

            def advance(done: int, rows: int, result: Any) -> None:
                bar.total = rows
                bar.update(done - bar.n)

            report = build_dataset(self.shortlist, self.out, humanoid(), BuildSettings(workers=self.workers), advance, naming)
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
        print(f"its data card: {result['card']}; pictures and replays: parc dataset page {result['out']} -o page.html")


@dataclass(frozen=True, kw_only=True)
class Import(Command):
    """Make a data set of a folder of motion files. Bad files are named and skipped; run again to go on after a stop."""

    folder: Annotated[Path, tyro.conf.Positional]
    """searched recursively for .motion, .pkl, .txt, .bvh and .npz files"""
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
class Extract(Command):
    """Write one clip of a data set to a file. (Commands that read one motion file also take it as FOLDER/NAME.)"""

    dataset: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DATASET")]
    """data set folder"""
    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """of the clip, see `parc dataset show`"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """file to write: .motion keeps everything, .pkl (PARC), .bvh, .npz (MuJoCo qpos), .glb, .usd"""

    def run(self) -> dict[str, Any]:
        from parc.character import humanoid
        from parc.dataset import Dataset, save_clip

        clip = Dataset.open(self.dataset, humanoid())[self.name]
        save_clip(clip, self.out, humanoid())
        return {"out": str(self.out), "clip": clip.name, "skill": clip.provenance.skill, "seconds": clip.motion.duration}


@dataclass(frozen=True, kw_only=True)
class ShowDataset(Command):
    """List the clips of a data set."""

    dataset: Annotated[Path, tyro.conf.Positional]
    """data set folder"""
    skill: str = ""
    """only clips of this skill"""

    def run(self) -> dict[str, Any]:
        from parc.dataset import Dataset
        from parc.errors import DatasetError

        dataset = Dataset.open(self.dataset)
        entries = [e for e in dataset.entries if not self.skill or e.skill == self.skill]
        if self.skill and not entries:
            known = ", ".join(sorted({e.skill for e in dataset.entries} - {""})) or "none"
            raise DatasetError(f"{self.dataset} has no clips of skill '{self.skill}'; its skills are {known}")
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
        from parc.run.atomic_files import write_bytes_atomically

        card = data_card(Dataset.open(self.dataset))
        if self.out:
            write_bytes_atomically(self.out, (card_markdown(card)).encode())
        return card

    def show(self, result: dict[str, Any]) -> None:
        from parc.dataset import card_markdown

        print(card_markdown(result))


@dataclass(frozen=True, kw_only=True)
class Vary(Command):
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
    clips: tuple[str, ...] = ()
    """only clips of these names"""
    iterations: int = 0
    """steps of each fit; 0 is the standard"""
    workers: int = 0
    """processes; 0 is one for each core"""

    def run(self) -> dict[str, Any]:
        from dataclasses import replace

        from parc.character import humanoid
        from parc.errors import DatasetError
        from parc.vary import VarySetSettings, vary_dataset

        began = time.monotonic()
        settings = VarySetSettings(workers=self.workers)
        if self.iterations:
            refine = settings.vary.refine
            fit = replace(refine.fit, iterations=self.iterations)
            settings = replace(settings, vary=replace(settings.vary, refine=replace(refine, fit=fit)))
        with progress(None, "varying") as bar:

            def advance(done: int, items: int) -> None:
                bar.total = items
                bar.update(done - bar.n)

            report = vary_dataset(
                self.dataset,
                self.out,
                humanoid(),
                self.count,
                self.seed,
                settings,
                self.torch_device,
                self.skill,
                advance,
                self.clips,
            )
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


@dataclass(frozen=True, kw_only=True)
class LabelCheck(Command):
    """Measure the contact labeller against clips recorded in simulation, whose contacts are exact.

    Contacts are labelled anew from the motions alone, and again on their ground, and compared frame by frame.
    """

    dataset: Annotated[Path, tyro.conf.Positional]
    """data set of recorded clips, see `parc record`"""
    tolerance: int = 1
    """frames by which a label may be early or late"""

    def run(self) -> dict[str, Any]:
        from parc.character import humanoid
        from parc.dataset import Dataset
        from parc.errors import DatasetError, SettingsError
        from parc.mocap import check_labels

        if self.tolerance < 0:
            raise SettingsError(f"the tolerance is {self.tolerance} frames, expected at least 0")
        dataset = Dataset.open(self.dataset, humanoid())
        if not len(dataset):
            raise DatasetError(f"{self.dataset} has no clips to label")
        with progress(len(dataset), "labelling") as bar:

            def clips():
                for clip in dataset:
                    yield clip
                    bar.update()

            scores = check_labels(clips(), humanoid(), self.tolerance)
        return {
            "clips": len(dataset),
            "tolerance": self.tolerance,
            **{
                stage: {name: {"frames": s.truth, "precision": s.precision, "recall": s.recall} for name, s in bodies.items()}
                for stage, bodies in scores.items()
            },
        }

    def show(self, result: dict[str, Any]) -> None:
        print(f"{result['clips']} clips, labels within {result['tolerance']} frames; precision and recall:")
        for stage, bodies in result.items():
            if isinstance(bodies, dict):
                print(stage)
                for name, s in bodies.items():
                    precision, recall = (f"{number(s[key], '.3f'):>5}" for key in ("precision", "recall"))
                    print(f"  {name:<12} {precision} {recall}   {s['frames']} frames of contact")


@dataclass(frozen=True, kw_only=True)
class DatasetPage(Command):
    """A page of a data set in one file: its card, a picture of every clip, and a replay of each when clicked."""

    dataset: Annotated[Path, tyro.conf.Positional]
    """data set folder"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """.html file"""
    megabytes: float = 22.0
    """that motions may take in the page; larger sets are shown at fewer frames a second"""

    def run(self) -> dict[str, Any]:
        from parc.character import humanoid
        from parc.dataset import Dataset
        from parc.errors import DatasetError, SettingsError
        from parc.report.dataset_page import write_dataset_page

        if self.megabytes <= 0:
            raise SettingsError(f"a page of {self.megabytes} megabytes holds nothing, expected a positive number")
        dataset = Dataset.open(self.dataset)
        if not len(dataset):
            raise DatasetError(f"{self.dataset} has no clips to draw")
        with progress(len(dataset), "drawing") as bar:
            file = write_dataset_page(dataset, humanoid(), self.out, self.megabytes, lambda done, _: bar.update(done - bar.n))
        return {"out": str(file), "clips": len(dataset), "megabytes": file.stat().st_size / 1e6}


def _print_medians(medians: dict[str, float]) -> None:
    from parc.quality import MocapLimits

    units = MocapLimits.units()
    for key, value in medians.items():
        print(f"  {key:<12} {value:>8.4g}  {units[key]}")
