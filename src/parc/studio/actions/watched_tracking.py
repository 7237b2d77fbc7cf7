"""A simulated character follows a clip, step by step, so that it can be watched and stopped."""

from dataclasses import replace

import torch

from parc.dataset.clip import Clip
from parc.errors import MotionError
from parc.motion.motion_edits import resample
from parc.run.on_progress import OnProgress
from parc.track.follow.runner import Runner
from parc.track.learn.policy import TrainedActor

_TOLD_EVERY = 5
"""control steps"""


def track_watched(clip: Clip, trained: TrainedActor, on_progress: OnProgress) -> Clip:
    """What the simulated character did, up to where it lost the clip; the name ends in `_sim`."""
    torch.set_num_threads(1)
    runner = Runner(trained, "cpu", worlds=1, threads=1)
    if clip.motion.fps != runner.fps:
        clip = replace(clip, motion=resample(clip.motion, runner.fps))
    total = len(clip.motion) - 1
    if total < 2:
        raise MotionError(f"'{clip.name}' has {total + 1} frames at {runner.fps:g} Hz, expected at least 3 to simulate")
    done = 0

    def on_step() -> None:
        nonlocal done
        done += 1
        if done % _TOLD_EVERY == 0:
            on_progress(done, total, f"{done / runner.fps:.1f} of {total / runner.fps:.1f} s")

    trace = runner.follow([clip], on_step=on_step)
    simulated = clip.derived(f"{clip.name}_sim", "track", motion=trace.motions[0])
    error, tracked = float(trace.mean_error.nan_to_num(0.0)), int(trace.survived) / total
    losses = {"joint_error": error, "tracked": tracked, "success": float(trace.reached_end)}
    provenance = replace(simulated.provenance, losses={**clip.provenance.losses, **losses})
    return replace(simulated, provenance=provenance)
