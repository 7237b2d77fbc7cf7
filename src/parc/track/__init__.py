"""The tracking controller: a policy that makes a simulated body follow clips, trained by reinforcement learning.

Training itself is in `parc.track.train`, which is also a program: `python -m parc.track.train --help`.
"""

from parc.track.env import TrackEnv
from parc.track.evaluate import ClipScore, Evaluation, evaluate
from parc.track.follow.runner import Episodes, Runner
from parc.track.follow.trace import Trace
from parc.track.policy import Actor, TrainedActor, load_actor, save_actor
from parc.track.reference import ReferenceLibrary, build_library
from parc.track.settings import TrackerSettings

__all__ = [
    "Actor", "ClipScore", "Episodes", "Evaluation", "ReferenceLibrary", "Runner", "Trace", "TrackEnv", "TrackerSettings",
    "TrainedActor", "build_library", "evaluate", "load_actor", "save_actor",
]  # fmt: skip
