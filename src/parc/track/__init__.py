"""The tracking controller: a policy that makes a simulated body follow clips, trained by reinforcement learning."""

from parc.track.env.reference_library import ReferenceLibrary, build_library
from parc.track.env.track_env import TrackEnv
from parc.track.follow.evaluate_tracking import ClipScore, Evaluation, evaluate
from parc.track.follow.runner import Episodes, Runner
from parc.track.follow.trace import Trace
from parc.track.learn.policy import Actor, TrainedActor, load_actor, save_actor
from parc.track.tracker_settings import TrackerSettings

__all__ = [
    "Actor", "ClipScore", "Episodes", "Evaluation", "ReferenceLibrary", "Runner", "Trace", "TrackEnv", "TrackerSettings",
    "TrainedActor", "build_library", "evaluate", "load_actor", "save_actor",
]  # fmt: skip
