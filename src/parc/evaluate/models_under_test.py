"""The models to be compared, from wherever they are: runs of the loop, files, folders of a training, or those in the box.

A run gives one contender for each iteration whose generator is finished, with that iteration's tracker and data set. A run
without physics correction gives its iterations from the second on: only they have trained on uncorrected motions. Files are
told apart by what they hold; generators and trackers given as files are paired in order, and a single tracker follows all
generators. Trackers given without a generator are lent their character's in the box, if there is one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from parc.errors import FormatError, ParcError, SettingsError
from parc.evaluate.paper_results import KINEMATIC_ONLY, NO_CORRECTION
from parc.generate.model.motion_generator import KIND as GENERATOR_KIND
from parc.generate.training.generator_training import GENERATOR_FILE
from parc.loop.admit_clips import DATASET
from parc.loop.ledger import RUN, Ledger, StageEntry
from parc.loop.run_progress import read_run
from parc.models import HUMANOID, has_shipped_generator, shipped_generator, shipped_tracker
from parc.run.checkpoint import read_description
from parc.track.learn.tracker_training import ACTOR


@dataclass(frozen=True)
class Contender:
    """Models of one name that are measured together."""

    label: str
    generator: Path | None = None
    tracker: Path | None = None
    iteration: int | None = None
    """of a run"""
    corrected: bool = True
    """False: trained on generated motions without physics correction"""
    dataset: Path | None = None
    """the data set its iteration ended with"""
    lent: bool = False
    """True: the generator is the one in the box, only there to give the tracker motions"""


@dataclass(frozen=True)
class ModelsUnderTest:
    """Everything to be compared."""

    contenders: tuple[Contender, ...]
    start: Path | None = None
    """D_0 of the first run, if there is one"""
    run: Path | None = None
    """folder of the first run"""

    @property
    def generators(self) -> tuple[Contender, ...]:
        return tuple(c for c in self.contenders if c.generator is not None)

    @property
    def trackers(self) -> tuple[Contender, ...]:
        return tuple(c for c in self.contenders if c.tracker is not None)

    @property
    def final(self) -> Contender:
        """The last generator that learned from corrected motions: whose blending is swept."""
        corrected = [c for c in self.generators if c.corrected]
        return (corrected or list(self.generators))[-1]


def find_contenders(sources: Sequence[Path], body: str = HUMANOID) -> ModelsUnderTest:
    """The models of the sources in the order given; those in the box, of the character of this name, if there are none."""
    if not sources:
        return ModelsUnderTest((Contender("in the box", shipped_generator(body=body), shipped_tracker(body)),))
    runs = [source for source in sources if (source / RUN).is_file()]
    found: list[Contender] = []
    for run in runs:
        found += _of_run(run, f"{run.resolve().name}, " if _needs_name(run, runs) else "")
    generators: list[Path] = []
    trackers: list[Path] = []
    for file in _model_files([source for source in sources if source not in runs]):
        (generators if _kind(file) == GENERATOR_KIND else trackers).append(file)
    found += _paired(generators, trackers, body)
    return ModelsUnderTest(tuple(_own_labels(found)), _start_of(runs[0]) if runs else None, runs[0] if runs else None)


def _of_run(run: Path, prefix: str) -> list[Contender]:
    settings, stages = read_run(run)["settings"], Ledger(run).stages
    corrected = bool(settings["physics_correction"])
    uncorrected = KINEMATIC_ONLY if settings.get("kinematic_correction", True) else NO_CORRECTION
    found = []
    for i in range(1, settings["iterations"] + 1):
        place = run / f"iteration-{i:02d}"
        done = {name for name in ("generator", "tracker", "dataset") if _is_done(stages.get(f"iteration-{i:02d}/{name}"))}
        if "generator" not in done:
            break
        if (not corrected and i == 1) or not (place / "generator" / GENERATOR_FILE).is_file():  # left behind by a pack
            continue
        label = f"{prefix}iteration {i}" if corrected else f"{prefix}{uncorrected}" + ("" if i == 2 else f", iteration {i}")
        found.append(
            Contender(
                label,
                place / "generator" / GENERATOR_FILE,
                place / "tracker" / ACTOR if "tracker" in done else None,
                i,
                corrected,
                place / "dataset" / DATASET if "dataset" in done else None,
            )
        )
    if not found:
        wanted = "a generator" if corrected else "a second iteration, the first to train on uncorrected motions"
        raise ParcError(f"the run in {run} has not finished {wanted} yet; `parc loop {run}` goes on with it")
    return found


def _is_done(entry: StageEntry | None) -> bool:
    return entry is not None and entry.is_done


def _needs_name(run: Path, runs: list[Path]) -> bool:
    """Two runs of the same kind would have the same labels."""
    return sum(_corrections(other) == _corrections(run) for other in runs) > 1


def _corrections(run: Path) -> tuple[bool, bool]:
    settings = read_run(run)["settings"]
    return bool(settings["physics_correction"]), bool(settings.get("kinematic_correction", True))


def _start_of(run: Path) -> Path | None:
    given = read_run(run)["sources"].get("dataset")
    own = run / "start"
    return own if own.is_dir() else Path(given) if given and Path(given).is_dir() else None


def _model_files(sources: list[Path]) -> list[Path]:
    files: list[Path] = []
    for source in sources:
        if source.is_file():
            files.append(source)
            continue
        if not source.is_dir():
            raise ParcError(f"there is no '{source}': expected a folder of `parc loop`, or model files (.safetensors)")
        inside = [source / name for name in (GENERATOR_FILE, ACTOR) if (source / name).is_file()]
        if not inside:
            raise ParcError(f"'{source}' holds neither a run of `parc loop` nor a {GENERATOR_FILE} or {ACTOR}")
        files += inside
    return files


def _kind(file: Path) -> str:
    kind = read_description(file).get("kind")
    if kind not in (GENERATOR_KIND, "tracker actor"):
        raise FormatError(f"'{file}' holds '{kind or 'nothing known'}', expected a generator or a tracker")
    return str(kind)


def _paired(generators: list[Path], trackers: list[Path], body: str) -> list[Contender]:
    if not generators:
        lent = shipped_generator(body=body) if has_shipped_generator(body) else None
        return [Contender(t.stem if len(trackers) > 1 else "tracker", lent, t, lent=True) for t in trackers]
    if len(trackers) not in (0, 1, len(generators)):
        raise SettingsError(
            f"{len(generators)} generators and {len(trackers)} trackers make no pairs: give one tracker, or one a generator"
        )
    partners: list[Path | None] = [*trackers] or [None]
    if len(partners) == 1:
        partners *= len(generators)
    return [Contender(g.stem, g, t) for g, t in zip(generators, partners, strict=True)]


def _own_labels(contenders: list[Contender]) -> list[Contender]:
    """Equal labels get as many of their files' folders in front as tell them apart, at most three, then numbers."""
    labels = [c.label for c in contenders]
    for depth in range(1, 4):
        equal = [labels.count(label) > 1 for label in labels]
        folders = [_folders(c)[-depth:] for c in contenders]
        labels = [
            "/".join([*names, c.label]) if is_equal else label
            for c, names, label, is_equal in zip(contenders, folders, labels, equal, strict=True)
        ]
    seen: dict[str, int] = {}
    result = []
    for c, label in zip(contenders, labels, strict=True):
        seen[label] = seen.get(label, 0) + 1
        result.append(replace(c, label=label if seen[label] == 1 else f"{label} ({seen[label]})"))
    return result


def _folders(contender: Contender) -> list[str]:
    file = contender.generator or contender.tracker
    return [] if file is None else list(file.resolve().parent.parts[1:])
