"""`parc track`: a simulated character follows a motion."""

import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro

from parc.character import Character, humanoid
from parc.cli.base_command import Command, progress
from parc.cli.picture_file import check_picture, save_picture
from parc.dataset import Clip, load_clip, save_clip
from parc.dataset.convert import check_writable
from parc.errors import MotionError, TerrainError
from parc.models import shipped_tracker
from parc.motion.motion_edits import resample
from parc.render import compare
from parc.track.follow.runner import Runner
from parc.track.learn.policy import load_actor


@dataclass(frozen=True, kw_only=True)
class Track(Command):
    """Simulate a character that follows a motion with a trained policy, and write what it did.

    A motion that is lost before its end is written up to there.
    """

    clip: Annotated[Path, tyro.conf.Positional]
    """reference: .motion .pkl .txt .bvh or .npz file, or a clip of a data set as FOLDER/NAME"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """simulated motion to write: .motion, .pkl, .bvh, .npz, .glb or .usd"""
    tracker: Path | None = None
    """trained actor (.safetensors), see `parc train-tracker`; the one in the box if not given"""
    start_time: float = 0.0
    """s into the reference at which to begin"""
    picture: Path | None = None
    """write a film strip of reference over simulation (.png)"""
    threads: int = 1
    """of the CPU engine"""

    def run(self) -> dict[str, Any]:
        check_picture(self.picture)
        check_writable(self.out)
        torch.set_num_threads(1)  # two gain a tenth for one character, and lose nearly all where another program has a core
        character = humanoid()
        clip = _checked(load_clip(self.clip, character), character)
        trained = load_actor(self.tracker or shipped_tracker(), character, self.torch_device)
        runner = Runner(trained, self.torch_device, worlds=1, threads=self.threads)
        clip = replace(clip, motion=resample(clip.motion, runner.fps)) if clip.motion.fps != runner.fps else clip
        first = self._first_frame(clip, runner.fps)
        ticks = [time.perf_counter()]
        with progress(len(clip.motion) - 1 - first, "simulating") as bar:

            def tick() -> None:
                ticks.append(time.perf_counter())
                bar.update()

            trace = runner.follow([clip], [first], tick)
        motion = trace.motions[0]
        simulated = clip.derived(f"{clip.name}_sim", f"track from frame {first}", motion=motion)
        save_clip(simulated, self.out, character)
        if self.picture:
            stop = min(first + len(motion), len(clip.motion))
            reference = replace(clip, motion=clip.motion.slice(first, stop))
            save_picture(compare([reference, simulated], character, labels=("reference", "simulated")), self.picture)
        seconds = (len(motion) - 1) / runner.fps
        running = ticks[1:] if len(ticks) > 2 else ticks  # the first step also makes the world
        return {
            "out": str(self.out),
            "success": bool(trace.reached_end[0]),
            "seconds": seconds,
            "reference_seconds": (len(clip.motion) - 1 - first) / runner.fps,
            "joint_error": float(trace.mean_error[0]),
            "diverged": bool(trace.broken[0]),
            "seconds_per_second": (len(running) - 1) / runner.fps / (running[-1] - running[0]),
        }

    def show(self, result: dict[str, Any]) -> None:
        lost = "the simulation broke" if result["diverged"] else "the pose was lost"
        whole = f"{result['reference_seconds']:.2f} s"
        fate = f"tracked to its end ({whole})" if result["success"] else f"{lost} after {result['seconds']:.2f} of {whole}"
        print(f"{fate}, joint error {result['joint_error']:.4f} m")
        print(f"{result['seconds_per_second']:.1f} s simulated a second; written to {result['out']}")

    def _first_frame(self, clip: "Clip", fps: float) -> int:
        first = round(self.start_time * fps) if math.isfinite(self.start_time) else -1
        if not 0 <= first < len(clip.motion) - 1:
            raise MotionError(
                f"cannot start at {self.start_time:g} s: '{clip.name}' lasts {clip.motion.duration:.2f} s, and some must be left"
            )
        return first


def _checked(clip: "Clip", character: "Character") -> "Clip":
    clip.check_made_for(character)
    if not bool(clip.terrain.contains(clip.motion.root_pos[:1, :2])):
        x, y = clip.motion.root_pos[0, :2].tolist()
        low, high = (corner.tolist() for corner in clip.terrain.extent)
        raise TerrainError(
            f"'{clip.name}' begins at ({x:.1f}, {y:.1f}) m, off its terrain, which reaches from "
            f"({low[0]:.1f}, {low[1]:.1f}) to ({high[0]:.1f}, {high[1]:.1f})"
        )
    return clip
