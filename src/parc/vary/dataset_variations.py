"""Variations of a whole data set: so many of each clip, judged, resumed where it was stopped.

    OUT/                     the data set (see `parc.dataset.dataset_store`)
      vary/settings.json     what it is made with; another run into the same folder must agree
      vary/report.jsonl      a line for each variation: kept, rejected (why) or failed (why), and its quality
      vary/rows/KEY.json     the same of those finished since the last run that came to its end (`parc.run.resumable_items`)

Variation k of clip c is drawn from SeedSequence([seed, c, k]) and called NAME_v00k, whatever else is made beside it, so a stopped
run goes on, and one with a larger count adds to what is there. A key holds a hash of the clip that was varied:
variations of a clip that has changed since are made again. Processes carry clips to their new ground
(`parc.vary.transfer_to_terrain`). With a GPU they hand them over, and this process fits hundreds side by side; without one they
fit them too. With one worker all is done in this process.
"""

import os
import pickle
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.clip_shard import pack
from parc.dataset.dataset_store import Dataset, DatasetWriter
from parc.errors import DatasetError, ParcError, SettingsError
from parc.mocap.contact.clip_supports import footing_of_clip
from parc.mocap.make.build_report import BuildReport, RowResult, row_notes
from parc.quality.limit_check import ClipQuality, fault
from parc.quality.limit_profiles import VariationLimits
from parc.run.hashing import hash_bytes, hash_text
from parc.run.on_progress import OnProgress
from parc.run.process_pool import worker_pool
from parc.run.settings_guard import agree
from parc.vary.transfer_to_terrain import Carried
from parc.vary.variation_ranges import random_variation
from parc.vary.vary_clips import VarySettings, carry_well, fit_carried


@dataclass(frozen=True)
class VarySetSettings:
    """Of the variations of a whole data set."""

    vary: VarySettings = field(default_factory=VarySettings)
    limits: VariationLimits = field(default_factory=VariationLimits)
    workers: int = 0
    """processes; 0 is one for each core"""
    at_once: int = 0
    """frames collected before they are fitted and written; 0 is 4000 on a CPU and 120000 on a GPU"""


@dataclass(frozen=True)
class _Item:
    clip: int
    """number in the source data set"""
    name: str
    """of its variation"""
    number: int
    key: str
    """hash of the clip"""

    @property
    def key_of_note(self) -> str:
        """A name may be anything; its hash may name a file."""
        return hash_text(f"{self.name} {self.key}")[:32]


@dataclass(frozen=True)
class _Job:
    source: Path
    clip: int
    items: tuple[_Item, ...]
    seed: int
    character: Character
    settings: VarySetSettings
    fit: bool
    """in the worker"""


Row = tuple[RowResult, Clip | None]


def vary_dataset(
    source: Path | str,
    out: Path | str,
    character: Character,
    count: int,
    seed: int = 0,
    settings: VarySetSettings = VarySetSettings(),
    device: torch.device | str = "cpu",
    skills: Sequence[str] = (),
    on_progress: OnProgress | None = None,
    names: Sequence[str] = (),
) -> BuildReport:
    """`count` variations of every clip of a data set (of some skills, of some names) into the data set `out`; what became of
    each."""
    if count < 1:
        raise SettingsError(f"{count} variations of each clip were asked for, expected at least 1")
    source, out = Path(source), Path(out)
    dataset = Dataset.open(source, character)
    if not len(dataset):
        raise DatasetError(f"{source} has no clips to vary")
    named = {dataset.number(name) for name in names} or set(range(len(dataset)))
    chosen = [i for i in sorted(named) if not skills or dataset.entries[i].skill in skills]
    if not chosen:
        known = ", ".join(sorted({dataset.entries[i].skill for i in named} - {""})) or "none"
        raise DatasetError(f"{source} has no such clips of skill {' or '.join(skills)}; their skills are {known}")
    work = out / "vary"
    work.mkdir(parents=True, exist_ok=True)
    made_with = {"vary": asdict(settings.vary), "limits": asdict(settings.limits), "character": character.fingerprint}
    agree(work / "settings.json", made_with | {"seed": seed}, folder=out)
    keys = {i: hash_bytes(pack([dataset[i]]))[:32] for i in chosen}
    items = [_Item(i, f"{dataset.entries[i].name}_v{k:03d}", k, keys[i]) for i in chosen for k in range(count)]
    with DatasetWriter(out, character) as writer:
        notes = row_notes(work)
        before, wanted = notes.notes(), {item.name: item for item in items}
        stale = {key: r.name for key, r in before.items() if r.name in wanted and key != wanted[r.name].key_of_note}
        writer.remove(stale.values())
        notes.forget(stale)
        done = {r.name: r for key, r in before.items() if key not in stale}
        workers = settings.workers or os.cpu_count() or 1
        fit_here = workers == 1 or torch.device(device).type != "cpu"
        jobs = _jobs(items, done, source, seed, character, settings, fit=not fit_here)
        with worker_pool(min(workers, len(jobs))) if workers > 1 and jobs else nullcontext() as pool:
            answers = (pickle.loads(answer) for answer in (pool.map if pool else map)(_work, jobs))
            rows = _fitted_here(answers, dataset, character, settings, device) if fit_here else answers
            for batch in rows:
                writer.append([clip for _, clip in batch if clip is not None and clip.name not in writer])
                for result, _ in batch:
                    done[result.name] = replace(result, key=wanted[result.name].key)
                    notes.add(wanted[result.name].key_of_note, done[result.name])
                if on_progress:
                    on_progress(sum(item.name in done for item in items), len(items))
        writer.compact()
        notes.merge()
    return BuildReport(tuple(done[item.name] for item in items if item.name in done))


def _jobs(
    items: list[_Item],
    done: dict[str, RowResult],
    source: Path,
    seed: int,
    character: Character,
    settings: VarySetSettings,
    fit: bool,
) -> list[_Job]:
    """Missing items, those of a clip together."""
    todo: dict[int, list[_Item]] = {}
    for item in items:
        if item.name not in done:
            todo.setdefault(item.clip, []).append(item)
    return [_Job(source, clip, tuple(mine), seed, character, settings, fit) for clip, mine in todo.items()]


def _work(job: _Job) -> bytes:
    """In a worker: variations of one clip carried, and fitted if told to. Pickled here: tensors must not go as shared memory."""
    clip = Dataset.open(job.source)[job.clip]
    ready: list[tuple[_Item, Carried]] = []
    rows: list[Row] = []
    try:
        footing = footing_of_clip(clip, job.character)
        for item in job.items:
            generator = np.random.default_rng(np.random.SeedSequence([job.seed, item.clip, item.number]))
            variation = random_variation(generator, job.settings.vary.ranges, footing.highest_rise())
            ready.append((item, carry_well(clip, footing, variation, job.character, job.settings.vary)))
        if job.fit:
            rows = _fit([clip] * len(ready), ready, job.character, job.settings, "cpu")
    except (ParcError, ValueError, IndexError, ArithmeticError, RuntimeError) as error:
        reason = str(error) if isinstance(error, ParcError) else f"{type(error).__name__}: {error}"
        rows = [(RowResult(item.name, "failed", (reason,)), None) for item in job.items]
        return pickle.dumps(rows if job.fit else (rows, []))
    return pickle.dumps(rows if job.fit else (rows, ready))


def _fitted_here(
    answers: Iterator[tuple[list[Row], list[tuple[_Item, Carried]]]],
    dataset: Dataset,
    character: Character,
    settings: VarySetSettings,
    device: torch.device | str,
) -> Iterator[list[Row]]:
    """Carried variations collected and fitted, many at once."""
    most = settings.at_once or (4000 if torch.device(device).type == "cpu" else 120_000)
    waiting: list[tuple[_Item, Carried]] = []
    for failed, ready in answers:
        if failed:
            yield failed
        waiting += ready
        if sum(len(c.motion) for _, c in waiting) >= most:
            yield _fit([dataset[item.clip] for item, _ in waiting], waiting, character, settings, device)
            waiting = []
    if waiting:
        yield _fit([dataset[item.clip] for item, _ in waiting], waiting, character, settings, device)


def _fit(
    clips: list[Clip],
    ready: list[tuple[_Item, Carried]],
    character: Character,
    settings: VarySetSettings,
    device: torch.device | str,
) -> list[Row]:
    carried = [c for _, c in ready]
    made = fit_carried(clips, carried, character, [item.name for item, _ in ready], settings.vary, device)
    return [_row(clip, quality, c, settings) for (clip, quality), c in zip(made, carried, strict=True)]


def _row(clip: Clip, quality: ClipQuality, carried: Carried, settings: VarySetSettings) -> Row:
    reasons = quality.faults(settings.limits)
    if unplaced := fault("unplaced_contacts", carried.conflict, settings.vary.conflict):
        reasons += (unplaced,)
    values = {key: value for key, value in quality.named.items() if np.isfinite(value)}
    result = RowResult(clip.name, "rejected" if reasons else "kept", reasons, (), carried.supports.levels, values)
    return result, None if reasons else clip
