"""The option `--pace` of commands that make motion: walk, jog, run, sprint, or m/s."""

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parc.generate.rollout.path_rollout import RolloutSettings


def at_pace(rollout: "RolloutSettings", pace: str | None) -> "RolloutSettings":
    """The settings with a pace asked for, if one is."""
    from parc.generate.model.wanted_pace import read_pace

    return rollout if pace is None else replace(rollout, pace=read_pace(pace))
