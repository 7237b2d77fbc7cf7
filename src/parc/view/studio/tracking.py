"""A simulated character follows a clip, step by step, so that it can be watched and stopped."""

from collections.abc import Callable
from dataclasses import replace

import torch

from parc.dataset.clip import Clip
from parc.errors import MotionError
from parc.motion.edit import resample
from parc.record.attempt import Simulator, run_attempts
from parc.track.policy import TrainedActor
from parc.track.reference import ReferenceSettings, build_library
from parc.track.screen import ScreenSettings

Watch = Callable[[int, int], object]
"""control steps done, and how many there are; may raise to end it"""


def track_watched(clip: Clip, trained: TrainedActor, watch: Watch) -> Clip:
    """What the simulated character did, up to where it lost the clip; the name ends in `_sim`."""
    torch.set_num_threads(1)
    simulator = Simulator(trained, "cpu", worlds=1, threads=1)
    if clip.motion.fps != simulator.fps:
        clip = replace(clip, motion=resample(clip.motion, simulator.fps))
    total = len(clip.motion) - 1
    if total < 2:
        raise MotionError(f"'{clip.name}' has {total + 1} frames at {simulator.fps:g} Hz, expected at least 3 to simulate")
    unscreened = ReferenceSettings(ScreenSettings(enabled=False))
    library = build_library(trained.character, [clip], unscreened, "cpu", simulator.fps)
    done = 0

    def on_step() -> None:
        nonlocal done
        done += 1
        watch(done, total)

    attempt = run_attempts(simulator, library, [(0, 0)], on_step=on_step)[0]
    error = float(attempt.errors[1:].mean()) if len(attempt.errors) > 1 else float(attempt.errors.mean())
    simulated = clip.derived(f"{clip.name}_sim", "track", motion=attempt.motion)
    losses = {"joint_error": error, "tracked": (len(attempt.motion) - 1) / total, "success": float(attempt.reached_end)}
    provenance = replace(simulated.provenance, losses={**clip.provenance.losses, **losses})
    return replace(simulated, provenance=provenance)
