"""Settings of stages that a run was asked for beside its preset: one value for every iteration, by the place of its field.

    {"tracker.settings.ppo.gamma": 0.97, "synthesis.clips": 40, "start.clips": 8}

They stand in run.json, so a run that is resumed has them again. What a stage is made with is an input of the ledger: another
value is refused as any other setting is.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from parc.errors import SettingsError
from parc.loop.loop_plan import LoopSettings, VariationPlan
from parc.run.dataclass_json import from_json, to_json

T = TypeVar("T")
_VARIATION = {field.name for field in fields(VariationPlan)}
_SEEDS = ("generator.seed", "tracker.training.seed")
_PPO, _CONTINUED = "tracker.settings.ppo.", "tracker.continued."
_GIVEN = object()


def asked_for(wanted: Any, usual: Any, named: Iterable[str] = ()) -> dict[str, Any]:
    """Where settings differ from others of their class, and the places that were named, with the value wanted there."""
    leaves, others = dict(_leaves(to_json(wanted))), dict(_leaves(to_json(usual)))
    return {place: value for place, value in leaves.items() if place in named or value != others.get(place, _GIVEN)}


def with_options(settings: LoopSettings, options: Mapping[str, Any]) -> LoopSettings:
    """The settings with these values in every iteration; tracker, recording and guard also where variations are recorded."""
    if seed := next((place for place in _SEEDS if place in options), None):
        raise SettingsError(f"{flag_of(seed)} is not free: every training of a run has a seed of its own, drawn from --seed")
    start = {place: value for place, value in options.items() if place.startswith("start.")}
    vary = {place: value for place, value in options.items() if place.startswith("vary.")}
    rest = {place: value for place, value in options.items() if place not in start and place not in vary}
    if vary and settings.variations is None:
        raise SettingsError(f"{flag_of(next(iter(vary)))} varies clips, and none are varied; expected --variations 1 or more")
    shared = {place: value for place, value in rest.items() if place.split(".")[0] in _VARIATION}
    begun = {place.removeprefix("start."): value for place, value in start.items()}
    return replace(
        settings,
        plans=tuple(_changed(plan, rest, settings.name) for plan in settings.plans),
        variations=settings.variations and _changed(settings.variations, vary | shared, settings.name),
        start=_changed(settings.start, begun, settings.name),
        options=dict(options),
    )


def flag_of(place: str) -> str:
    """The option of a place: settings and training plan of a stage stand in its own group."""
    return "--" + re.sub(r"^(synthesis|tracker)\.(settings|training)\.", r"\1.", place).replace("_", "-")


def _changed(settings: T, options: Mapping[str, Any], name: str) -> T:
    """With other values at these places."""
    if not options:
        return settings
    values = to_json(settings)
    if (values.get("tracker") or {}).get("continued") is not None:  # the PPO of a training that goes on
        same = {place.replace(_PPO, _CONTINUED): value for place, value in options.items() if place.startswith(_PPO)}
        options = same | dict(options)
    for place, value in options.items():
        *groups, last = place.split(".")
        at: Any = values
        for group in groups:
            at = at.get(group) if isinstance(at, dict) else None
        if not isinstance(at, dict) or last not in at:
            raise SettingsError(f"there is no {flag_of(place)} with the preset '{name}', which has no such setting")
        at[last] = value
    return from_json(type(settings), values)


def _leaves(values: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value
