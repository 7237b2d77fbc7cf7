"""The option `--pace` of commands that make motion: walk, jog, run, sprint, or m/s."""

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

if TYPE_CHECKING:
    from parc.generate.rollout.path_rollout import RolloutSettings


class _RollsOut(Protocol):
    @property
    def rollout(self) -> "RolloutSettings": ...


Rolling = TypeVar("Rolling", bound=_RollsOut)
"""settings of anything that rolls out motions"""


def at_pace(settings: Rolling, pace: str | None) -> Rolling:
    """The settings with a pace asked for, if one is."""
    from parc.generate.model.wanted_pace import read_pace

    if pace is None:
        return settings
    rollout = replace(settings.rollout, pace=read_pace(pace))
    return cast(Rolling, replace(settings, rollout=rollout))  # type: ignore[type-var]
