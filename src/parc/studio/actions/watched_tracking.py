"""A simulated character follows a clip, step by step, so that it can be watched and stopped."""

from collections.abc import Callable
from dataclasses import replace

import torch

from parc.dataset.clip import Clip
from parc.errors import MotionError
from parc.motion.motion_edits import resample
from parc.track.follow.runner import Runner
from parc.track.learn.policy import TrainedActor

Watch = Callable[[int, int], object]
"""control steps done, and how many there are; may raise to end it"""


def track_watched(clip: Clip, trained: TrainedActor, watch: Watch) -> Clip:
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
        watch(done, total)

    trace = runner.follow([clip], on_step=on_step)
    simulated = clip.derived(f"{clip.name}_sim", "track", motion=trace.motions[0])
    error, tracked = float(trace.error.nan_to_num(0.0)), int(trace.steps) / total
    losses = {"joint_error": error, "tracked": tracked, "success": float(trace.reached_end)}
    provenance = replace(simulated.provenance, losses={**clip.provenance.losses, **losses})
    return replace(simulated, provenance=provenance)
