"""What a run starts from, looked at before anything is written: a wrong first call leaves its folder as it was."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from parc.character.character import Character
from parc.character.named_character import HUMANOID, find_character
from parc.errors import FormatError, SettingsError
from parc.generate.model.motion_generator import Generator
from parc.generate.model.noise_schedule import FlowSchedule
from parc.generate.model.prefix_transformer import PAST_FRAMES
from parc.loop.initial_dataset import check_can_walk, check_start
from parc.loop.ledger import RUN, LoopError
from parc.loop.loop_plan import PAPER, LoopSettings, TrackerPlan
from parc.loop.stage_options import flag_of
from parc.models import shipped_generator, shipped_motions, shipped_tracker
from parc.run.file_reading import read_json
from parc.track.learn.policy import load_actor

_OF_THE_TRACKER = ("observation", "policy", "action", "contract")
"""settings of a tracker that one trained on from it has too"""


@dataclass(frozen=True)
class RunSources:
    """What a run starts from, besides its settings; each may be left out."""

    dataset: Path | None = None
    """D_0: a data set, or a folder of motion files; walks made by rule if not given"""
    generator: Path | None = None
    """G_0: a trained generator (.safetensors); its network is the one that is trained on"""
    tracker: Path | None = None
    """pi_0: a trained actor (.safetensors), its critic beside it if there is one; its network is the one that is trained on"""

    def or_shipped(self, body: str) -> "RunSources":
        """What is not given is what is in the box, of the character of this name."""
        return RunSources(
            self.dataset or shipped_motions(body),
            self.generator or shipped_generator(body=body),
            self.tracker or shipped_tracker(body),
        )


def prepare(settings: LoopSettings, sources: RunSources, character: Character) -> tuple[LoopSettings, RunSources]:
    """What a run will do and from what: models in the box filled in, networks those of the models given, all of it readable."""
    if settings.shipped:
        sources = sources.or_shipped(character.name)
    elif settings.shipped_motions:
        sources = replace(sources, dataset=sources.dataset or shipped_motions(character.name))
    settings = _with_models(settings, sources, character)
    if sources.dataset is None:
        check_can_walk(character)
    else:
        check_start(sources.dataset, character, PAST_FRAMES + settings.plan(1).generator.window.future)
    return settings, sources


def check_same_character(run: Path, character: Character) -> None:
    """Refuse to go on with a run of another body; runs of earlier versions are of the humanoid."""
    if not (run / RUN).is_file():
        return
    try:
        begun = read_json(run / RUN)
    except FormatError:
        return  # told by who reads it
    said = begun.get("character") if isinstance(begun, dict) else None
    name, fingerprint = HUMANOID, find_character(HUMANOID).fingerprint
    if isinstance(said, dict):
        name, fingerprint = said.get("character", ""), said.get("fingerprint", "")
    if fingerprint != character.fingerprint:
        raise LoopError(f"the run in {run} is for character '{name}', not for '{character.name}'; name another folder")


def _with_models(settings: LoopSettings, sources: RunSources, character: Character) -> LoopSettings:
    plans, variations = settings.plans, settings.variations
    if sources.generator is not None:
        _check_options(settings, sources.generator, ("generator.generator.",))
        model = Generator.load(sources.generator, character).settings
        if settings.name == PAPER and isinstance(model.schedule, FlowSchedule):
            raise SettingsError(
                f"the preset {PAPER} trains a DDPM, and {sources.generator} is a {model.schedule.describe()}: give a generator "
                f"of `parc train-generator --preset {PAPER}`, or choose another preset"
            )
        plans = tuple(replace(p, generator=replace(p.generator, generator=model)) for p in plans)
    if sources.tracker is not None:
        theirs = load_actor(sources.tracker, character).settings
        kept = {name: getattr(theirs, name) for name in _OF_THE_TRACKER}
        _check_options(settings, sources.tracker, tuple(f"tracker.settings.{name}." for name in _OF_THE_TRACKER))
        if settings.name == PAPER and kept["action"] != plans[0].tracker.settings.action:
            raise SettingsError(
                f"the preset {PAPER} trains a tracker whose actions are the motors' targets, and {sources.tracker} adds its own "
                f"to the reference: give a tracker of `parc train-tracker --preset {PAPER}`, or choose another preset"
            )
        plans = tuple(replace(p, tracker=_with_parts(p.tracker, kept)) for p in plans)
        if variations is not None:
            variations = replace(variations, tracker=_with_parts(variations.tracker, kept))
    return replace(settings, plans=plans, variations=variations)


def _check_options(settings: LoopSettings, model: Path, places: tuple[str, ...]) -> None:
    """That nothing was asked for which a model decides."""
    if asked := [place for place in settings.options if place.startswith(places)]:
        raise SettingsError(
            f"{', '.join(map(flag_of, asked))} is not free: {model} has its own and is trained on (--shipped False: from nothing)"
        )


def _with_parts(plan: TrackerPlan, parts: dict[str, Any]) -> TrackerPlan:
    return replace(plan, settings=replace(plan.settings, **parts))
