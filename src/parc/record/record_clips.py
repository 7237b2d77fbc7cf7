"""A data set in, its physics-corrected data set out.

Clips are recorded in *units* of a few dozen, so that a batch of worlds has enough to do. A unit depends on its clips, the
policy and the settings alone. OUT is a data set; beside it

    OUT/recording.json         what is recorded: hash of the policy, settings, names of the clips
    OUT/units/000012.json      unit 12 is done: the outcome of each of its clips

say what is done (`parc.run.resumable_items`). A unit that was interrupted is done again and gives the same clips, which are then
found to be there. A folder that holds another recording is refused.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import torch
from torch import Tensor

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.dataset_store import Dataset, DatasetWriter
from parc.errors import DatasetError, ParcError, SettingsError
from parc.metrics.clip_measures import measure_clips
from parc.motion import motion_edits as motion_edit
from parc.quality.limit_profiles import RecordingLimits
from parc.record.accept_recording import judge, trusted
from parc.record.choose_segments import RecordedStretch, StretchSettings, choose_stretches
from parc.record.record_report import ClipOutcome, Fate, RecordReport
from parc.record.recorded_clip import mirrored_clip, path_progress, recorded_clip
from parc.record.tracking_attempts import Attempt, AttemptSettings, attempt_clips
from parc.run.dataclass_json import from_json
from parc.run.hashing import hash_file, hash_text
from parc.run.resumable_items import ResumableItems
from parc.run.settings_guard import agree
from parc.run.work_items import LOCAL, Workers
from parc.track.env.terrain_nearness import near_ground
from parc.track.follow.runner import Runner
from parc.track.learn.policy import TrainedActor, load_actor

RECORDING = "recording.json"


@dataclass(frozen=True)
class RecordSettings:
    """How clips are recorded and which recordings are kept."""

    attempt: AttemptSettings = field(default_factory=AttemptSettings)
    stretch: StretchSettings = field(default_factory=StretchSettings)
    accept: RecordingLimits = field(default_factory=RecordingLimits)
    mirrored: bool = False
    """add a mirrored copy of each recording; trainings make their own"""
    margin: float = 2.0
    """m of terrain kept around a recording"""
    clips_per_unit: int = 0
    """clips tracked together; 0: 1024 on a GPU, 64 on the CPU"""

    @classmethod
    def paper(cls) -> "RecordSettings":
        """The earliest start that reaches the end, whatever it looks like, and nothing else, on its whole terrain (paper).

        Starts at 0, 10, .. 50 % with 2 s left are the released code's. Mirrored copies are made in training, not stored.
        """
        return cls(
            attempt=AttemptSettings(every=0.0, settle=1),
            stretch=StretchSettings(salvage=False),
            accept=RecordingLimits.anything(),
            margin=1000.0,
        )

    def __post_init__(self) -> None:
        if self.clips_per_unit < 0 or self.margin < 0:
            raise SettingsError(f"clips_per_unit is {self.clips_per_unit} and margin {self.margin} m, expected 0 or more")


def record_dataset(
    actor_file: Path | str,
    source: Dataset | Sequence[Clip],
    out: Path | str,
    character: Character,
    device: torch.device | str = "cpu",
    settings: RecordSettings = RecordSettings(),
    iteration: int = 1,
    on_clip: Callable[[ClipOutcome], None] | None = None,
    worlds: int = 0,
    threads: int = 0,
    workers: Workers = LOCAL,
) -> RecordReport:
    """Record clips into the data set `out`, going on where an earlier call stopped.

    on_clip is called after each clip recorded by this call; worlds and threads as for `Runner`, workers as in `parc.run`.
    """
    if not len(source):
        raise DatasetError("there are no clips to record")
    trained = load_actor(actor_file, character, device)
    tracker = hash_file(actor_file)[:16]
    size = settings.clips_per_unit or (64 if torch.device(device).type == "cpu" else 1024)
    out = Path(out)
    keys = [f"{unit:06d}" for unit in range(-(-len(source) // size))]

    def references(unit: int) -> list[Clip]:
        return [source[i] for i in range(unit * size, min((unit + 1) * size, len(source)))]

    with DatasetWriter(out, character) as writer:

        def finish(unit: int, made: tuple[list[ClipOutcome], list[Clip]]) -> list[ClipOutcome]:
            done, recordings = made
            writer.append([clip for clip in recordings if clip.name not in writer])
            return done

        _claim(out, len(writer), tracker, settings, iteration, size, _names(source))
        outcomes: list[ClipOutcome] = []
        job = RecordJob(trained, device, worlds, threads, tracker, iteration, settings)
        with contextlib.closing(_unit_notes(out).each(keys, job, references, finish, workers)) as units:
            for done, is_new in units:
                outcomes += done
                for outcome in done if on_clip and is_new else ():
                    on_clip(outcome)  # type: ignore[misc]
    return RecordReport(tuple(outcomes))


@dataclass(frozen=True, eq=False)
class RecordJob:
    """Units as items of work: references to (outcome of each, clips recorded)."""

    trained: TrainedActor
    device: torch.device | str
    worlds: int
    threads: int
    tracker: str
    iteration: int
    settings: RecordSettings

    def open(self) -> Callable[[Sequence[Clip]], tuple[list[ClipOutcome], list[Clip]]]:
        """Make the worlds."""
        simulator = Runner(self.trained, self.device, self.worlds, self.threads)
        return lambda references: record_unit(simulator, references, self.tracker, self.iteration, self.settings)


def record_unit(
    simulator: Runner, references: Sequence[Clip], tracker: str, iteration: int, settings: RecordSettings
) -> tuple[list[ClipOutcome], list[Clip]]:
    """Outcome of each clip, and the clips recorded."""
    character = simulator.trained.character
    outcomes: dict[int, ClipOutcome] = {}
    fit: list[tuple[int, Clip]] = []
    for i, clip in enumerate(references):
        try:
            fit.append((i, _at_rate(_checked(clip, references[0], character), simulator.fps)))
        except ParcError as error:
            outcomes[i] = ClipOutcome(clip.name, "unfit", len(clip.motion) / clip.motion.fps, reasons=(str(error),))
    recordings: list[Clip] = []
    if fit:
        clips = [clip for _, clip in fit]
        near = near_ground(character, clips, settings.accept.near, simulator.device)
        of_clip = {id(clip): rows for clip, rows in zip(clips, near, strict=True)}

        def is_enough(clip: Clip, attempt: Attempt) -> bool:
            """One attempt that alone gives an accepted recording to the clip's end."""
            stretches, _ = _choose(character, clip, of_clip[id(clip)], [attempt], settings)
            return bool(stretches) and stretches[-1][0].complete

        attempts = attempt_clips(simulator, clips, settings.attempt, is_enough)
        tried = zip(clips, near, attempts, strict=True)
        chosen = [_choose(character, clip, rows, tries, settings) for clip, rows, tries in tried]
        progress = path_progress(clips)
        made = [
            [recorded_clip(clip, s, losses, iteration, tracker, settings.margin, walked) for s, losses in stretches]
            for clip, walked, (stretches, _) in zip(clips, progress, chosen, strict=True)
        ]
        metrics = _compared(clips, chosen, made, simulator)
        for k, (i, clip) in enumerate(fit):
            outcomes[i] = _outcome(clip, chosen[k], made[k], metrics[k])
        recordings = [clip for group in made for clip in group]
    if settings.mirrored:
        recordings += [mirrored_clip(clip, character) for clip in recordings]
    return [outcomes[i] for i in range(len(references))], recordings


_Metrics = dict[str, float]
_Chosen = tuple[list[tuple[RecordedStretch, dict[str, float]]], list[str]]
"""accepted stretches with their losses, and reasons of those refused"""


def _choose(character: Character, clip: Clip, near: Tensor, attempts: Sequence[Attempt], settings: RecordSettings) -> _Chosen:
    """Choose, judge, and choose again without the attempts whose stretches were refused, until all are accepted."""
    left = [trusted(clip, attempt, settings.accept) for attempt in attempts]
    reasons: list[str] = []
    if not attempts:
        reasons.append(f"has {len(clip.motion)} frames, {settings.attempt.shortest:g} s are the least")
    reasons += [f"from frame {a.start}: the simulation broke at frame {a.stop}" for a in attempts if a.diverged]
    while True:
        stretches = choose_stretches(left, settings.attempt.settle, clip.motion.fps, settings.stretch)
        judged = [(s, judge(character, clip, s, settings.accept, near)) for s in stretches]
        refused = [(s, j) for s, j in judged if not j.accepted]
        if not refused:
            break
        reasons += [f"frames {s.begin}..{s.stop}: {', '.join(j.reasons)}" for s, j in refused]
        left = [a for a in left if all(a is not s.attempt for s, _ in refused)]
    if not judged and not reasons:
        longest = max(left, key=lambda a: len(a.motion))
        held = f"{len(longest.motion) / clip.motion.fps:.2f} s from frame {longest.start}"
        wanted = (
            f"no stretch of {settings.stretch.shortest:g} s was held after {settings.attempt.settle} frames to settle"
            if settings.stretch.salvage
            else "its end was not reached"
        )
        reasons.append(f"{wanted}; the longest run was {held}")
    return [(s, j.losses) for s, j in judged], reasons


def _compared(
    clips: list[Clip], chosen: list[_Chosen], made: list[list[Clip]], simulator: Runner
) -> list[list[tuple[_Metrics, _Metrics]]]:
    """Metrics before and after of each stretch of each clip; before: the reference over the same frames."""
    character, device = simulator.trained.character, simulator.device
    pairs = [(clip, s) for clip, (group, _) in zip(clips, chosen, strict=True) for s, _ in group]
    before = measure_clips([replace(c, motion=c.motion.slice(s.begin, s.stop)) for c, s in pairs], character, device)
    after = measure_clips([clip for group in made for clip in group], character, device)
    rows = iter(zip(before, after, strict=True))
    return [[next(rows) for _ in group] for group in made]


def _outcome(clip: Clip, chosen: _Chosen, made: list[Clip], metrics: list[tuple[_Metrics, _Metrics]]) -> ClipOutcome:
    stretches, reasons = chosen
    fate: Fate = "salvaged" if stretches else "lost"
    if stretches and stretches[-1][0].complete:
        fate = "whole" if stretches[-1][0].attempt.start == 0 else "late"

    def total(name: str) -> tuple[float, float]:
        return sum(before[name] for before, _ in metrics), sum(after[name] for _, after in metrics)

    def share(name: str) -> tuple[float, float]:
        """Of all frames."""
        weights = [after["frames"] / max(total("frames")[1], 1) for _, after in metrics]
        before, after = (sum(w * row[k][name] for w, row in zip(weights, metrics, strict=True)) for k in (0, 1))
        return before, after

    return ClipOutcome(
        clip=clip.name,
        fate=fate,
        seconds=len(clip.motion) / clip.motion.fps,
        recorded=tuple(c.name for c in made),
        recorded_seconds=sum(len(c.motion) for c in made) / clip.motion.fps,
        reasons=tuple(reasons),
        tpl=total("tpl"),
        tcl=total("tcl"),
        self_pen_frames=share("self_pen_frames"),
    )


def _checked(clip: Clip, first: Clip, character: Character) -> Clip:
    clip.check_made_for(character)
    if abs(clip.terrain.cell - first.terrain.cell) > 1e-6:
        raise DatasetError(f"has cells of {clip.terrain.cell} m, the first clip of its unit has {first.terrain.cell} m")
    return clip


def _at_rate(clip: Clip, fps: float) -> Clip:
    if abs(clip.motion.fps - fps) < 1e-6:
        return clip
    return replace(clip, motion=motion_edit.resample(clip.motion, fps))


def _names(source: Dataset | Sequence[Clip]) -> list[str]:
    names = source.names if isinstance(source, Dataset) else [clip.name for clip in source]
    if len(set(names)) != len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise DatasetError(f"two clips are named '{twice}'; names must differ")
    return names


def _claim(
    out: Path, clips_there: int, tracker: str, settings: RecordSettings, iteration: int, size: int, names: list[str]
) -> None:
    """Write down what is recorded here, or check that it is what was begun."""
    file = out / RECORDING
    if clips_there and not file.exists():
        raise DatasetError(f"{out} is a data set of {clips_there} clips that was not made by recording; choose another folder")
    made_with = {
        "tracker": tracker,
        "iteration": iteration,
        "clips_per_unit": size,
        "settings": asdict(settings),
        "clips": hash_text("\n".join(names))[:16],
    }
    agree(file, made_with)


def _unit_notes(out: Path) -> ResumableItems[list[ClipOutcome]]:
    return ResumableItems(
        out / "units",
        lambda outcomes: [asdict(outcome) for outcome in outcomes],
        lambda rows: [from_json(ClipOutcome, row) for row in rows],
    )
