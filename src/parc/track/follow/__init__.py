"""A policy follows references in simulation.

`Runner` runs whole episodes of clips: tracking, evaluation and recording. `Follower` holds bodies whose references are written
while they run: planning by simulation, and the live character.
"""

from parc.track.follow.follower import Follower, Snapshot, Stretch
from parc.track.follow.plan_reference import PlanReference
from parc.track.follow.runner import END_SLACK, Episodes, Runner, Trace, run_episodes

__all__ = ["END_SLACK", "Episodes", "Follower", "PlanReference", "Runner", "Snapshot", "Stretch", "Trace", "run_episodes"]
