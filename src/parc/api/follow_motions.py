"""`parc.track` and `parc.record`: a simulated character follows a motion, or a whole data set."""

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from parc.api.arguments import AnyClip, File, changed, clip_of, tracker_of
from parc.api.cross_terrain import Device
from parc.api.whose_files import AnyCharacter, character_of
from parc.character import Character
from parc.dataset import Clip, Dataset
from parc.dataset.clip_reading import read_clips
from parc.dataset.dataset_store import INDEX, LOCK
from parc.errors import DatasetError, MotionError, SettingsError, TerrainError
from parc.models import shipped_tracker
from parc.motion.motion_edits import resample
from parc.record.record_clips import RecordSettings, record_dataset
from parc.record.record_report import ClipOutcome, RecordReport
from parc.run.atomic_files import target_of
from parc.run.choose_device import choose_device, within_threads
from parc.run.on_progress import OnProgress
from parc.run.work_items import LOCAL, Workers
from parc.track.follow.runner import Runner
from parc.track.learn.policy import TrainedActor


class TrackedClip(NamedTuple):
    """What the simulated character did."""

    clip: Clip
    """up to where it lost the reference"""
    reference: Clip
    """what it was asked to do, over the same frames"""
    success: bool
    """followed to the end"""
    seconds: float
    """s that were followed"""
    reference_seconds: float
    """s from the start to the reference's end"""
    joint_error: float
    """m, mean over frames and bodies, relative to the root"""
    diverged: bool
    """the simulation broke"""
    seconds_per_second: float
    """s simulated in a second of work"""


def track(
    clip: AnyClip,
    *,
    tracker: TrainedActor | File | None = None,
    character: AnyCharacter | None = None,
    start_time: float = 0.0,
    threads: int = 1,
    device: Device = "auto",
    on_progress: OnProgress | None = None,
) -> TrackedClip:
    """Simulate a character that follows a motion with a trained policy; a motion that is lost is cut there.

        tracked = parc.track("walk.motion")
        tracked.success, tracked.joint_error, tracked.clip

    character: a `Character`, a name or an MJCF file; that of the files if not given. start_time: s into the reference at which
    to begin. threads: of the CPU engine.
    """
    body = character_of(character, clip, tracker)
    with within_threads(1):  # two gain a tenth for one character, and lose nearly all where another program has a core
        reference = _checked(clip_of(clip, body), body)
        where = choose_device(device)
        runner = Runner(tracker_of(tracker, body, where), where, worlds=1, threads=threads)
        if reference.motion.fps != runner.fps:
            reference = replace(reference, motion=resample(reference.motion, runner.fps))
        first = _first_frame(reference, start_time, runner.fps)
        steps, ticks = len(reference.motion) - 1 - first, [time.perf_counter()]

        def tick() -> None:
            ticks.append(time.perf_counter())
            if on_progress is not None:
                done = len(ticks) - 1
                on_progress(done, steps, f"{done / runner.fps:.1f} of {steps / runner.fps:.1f} s")

        trace = runner.follow([reference], [first], tick)
    motion = trace.motions[0]
    simulated = reference.derived(f"{reference.name}_sim", f"track from frame {first}", motion=motion)
    stop = min(first + len(motion), len(reference.motion))
    running = ticks[1:] if len(ticks) > 2 else ticks  # the first step also makes the world
    return TrackedClip(
        simulated,
        replace(reference, motion=reference.motion.slice(first, stop)),
        bool(trace.reached_end[0]),
        (len(motion) - 1) / runner.fps,
        steps / runner.fps,
        float(trace.mean_error[0]),
        bool(trace.broken[0]),
        (len(running) - 1) / runner.fps / (running[-1] - running[0]),
    )


def record(
    clips: Dataset | Sequence[Clip] | File,
    out: File,
    *,
    tracker: File | None = None,
    character: AnyCharacter | None = None,
    iteration: int = 1,
    worlds: int = 0,
    threads: int = 0,
    settings: RecordSettings | None = None,
    device: Device = "auto",
    on_progress: OnProgress | None = None,
    workers: Workers = LOCAL,
    **changes: Any,
) -> RecordReport:
    """Simulate every clip of a data set and keep what was tracked, with the simulator's contacts, as the data set `out`.

        report = parc.record("D0", "recorded", threads=2)
        report.to_dict()
        parc.load("recorded")

    clips: a data set, a folder of motion files, one file, or clips. A stopped recording goes on. For worlds and threads 0 is
    4096 on a GPU or 256 on a CPU, and all cores. Other arguments are fields of `RecordSettings`. `on_progress` counts clips.
    """
    if min(iteration, worlds, threads) < 0:
        asked = f"iteration {iteration}, {worlds} worlds and {threads} threads"
        raise SettingsError(f"{asked} were asked for, expected no number below 0")
    settings, body = changed(settings or RecordSettings(), changes), character_of(character, clips, tracker)
    if isinstance(clips, str | Path):
        source: Dataset | Sequence[Clip] = references(Path(clips), Path(out), body)
    else:
        source = clips
    done = 0

    def tell(outcome: ClipOutcome) -> None:
        nonlocal done
        done += 1
        if on_progress is not None:
            on_progress(done, len(source), outcome.clip)

    with within_threads(threads):
        file = tracker or shipped_tracker(body.name)
        where = choose_device(device)
        return record_dataset(file, source, out, body, where, settings, iteration, tell, worlds, threads, workers)


def references(clips: Path, out: Path, character: Character) -> Dataset | list[Clip]:
    """What is to be recorded. Recordings go into a folder of their own: not among the clips, nor among anything else."""
    if out.exists() and (out.resolve() == clips.resolve() or clips.resolve().is_relative_to(out.resolve())):
        raise DatasetError(f"{out} holds the clips that are to be recorded; choose another folder with -o")
    if out.is_dir() and not (out / INDEX).is_file():
        others = [file for file in out.iterdir() if file.name != LOCK and target_of(file) is None]
        if others:
            raise DatasetError(f"{out} is neither empty nor a data set; choose another folder with -o")
    return Dataset.open(clips, character) if (clips / INDEX).is_file() else read_clips(clips, character)


def _first_frame(clip: Clip, start_time: float, fps: float) -> int:
    first = round(start_time * fps) if math.isfinite(start_time) else -1
    if not 0 <= first < len(clip.motion) - 1:
        raise MotionError(
            f"cannot start at {start_time:g} s: '{clip.name}' lasts {clip.motion.duration:.2f} s, and some must be left"
        )
    return first


def _checked(clip: Clip, character: Character) -> Clip:
    clip.check_made_for(character)
    if not bool(clip.terrain.contains(clip.motion.root_pos[:1, :2])):
        x, y = clip.motion.root_pos[0, :2].tolist()
        low, high = (corner.tolist() for corner in clip.terrain.extent)
        raise TerrainError(
            f"'{clip.name}' begins at ({x:.1f}, {y:.1f}) m, off its terrain, which reaches from "
            f"({low[0]:.1f}, {low[1]:.1f}) to ({high[0]:.1f}, {high[1]:.1f})"
        )
    return clip
