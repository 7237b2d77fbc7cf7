"""The tracking controller: a policy that makes a simulated body follow clips, trained by reinforcement learning.

Training itself is a program too: `python -m parc.track.learn.tracker_training --help`.
"""

from parc.track.env.reference_library import ReferenceLibrary, build_library
from parc.track.env.track_env import TrackEnv
from parc.track.follow import Episodes, Runner, Trace
from parc.track.follow.evaluate_tracking import ClipScore, Evaluation, evaluate
from parc.track.learn.policy import Actor, TrainedActor, load_actor, save_actor
from parc.track.tracker_settings import TrackerSettings

__all__ = [
    "Actor", "ClipScore", "Episodes", "Evaluation", "ReferenceLibrary", "Runner", "Trace", "TrackEnv", "TrackerSettings",
    "TrainedActor", "build_library", "evaluate", "load_actor", "save_actor",
]  # fmt: skip
