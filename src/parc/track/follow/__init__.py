"""A policy follows references in simulation: one loop for tracking, evaluation and recording."""

from parc.track.follow.runner import END_SLACK, Episodes, Runner, Trace, run_episodes

__all__ = ["END_SLACK", "Episodes", "Runner", "Trace", "run_episodes"]
