"""What a run starts from, looked at before anything is written: a wrong first call leaves its folder as it was."""

from dataclasses import dataclass, replace
from pathlib import Path

from parc.character.character import Character
from parc.generate.generator import Generator
from parc.generate.network import PAST_FRAMES
from parc.loop.plan import LoopSettings
from parc.loop.start import check_start
from parc.models import shipped_generator, shipped_motions, shipped_tracker
from parc.track.policy import load_actor


@dataclass(frozen=True)
class RunSources:
    """What a run starts from, besides its settings; each may be left out."""

    dataset: Path | None = None
    """D_0: a data set, or a folder of motion files; walks made by rule if not given"""
    generator: Path | None = None
    """G_0: a trained generator (.safetensors); its network is the one that is trained on"""
    tracker: Path | None = None
    """pi_0: a trained actor (.safetensors), its critic beside it if there is one; its network is the one that is trained on"""

    def or_shipped(self) -> "RunSources":
        """What is not given is what is in the box."""
        return RunSources(
            self.dataset or shipped_motions(), self.generator or shipped_generator(), self.tracker or shipped_tracker()
        )


def prepare(settings: LoopSettings, sources: RunSources, character: Character) -> tuple[LoopSettings, RunSources]:
    """What a run will do and from what: models in the box filled in, networks those of the models given, all of it readable."""
    if settings.shipped:
        sources = sources.or_shipped()
    settings = _with_models(settings, sources, character)
    if sources.dataset is not None:
        check_start(sources.dataset, character, PAST_FRAMES + settings.plan(1).generator.window.future)
    return settings, sources


def _with_models(settings: LoopSettings, sources: RunSources, character: Character) -> LoopSettings:
    plans = settings.plans
    if sources.generator is not None:
        model = Generator.load(sources.generator, character).settings
        plans = tuple(replace(p, generator=replace(p.generator, generator=model)) for p in plans)
    if sources.tracker is not None:
        theirs = load_actor(sources.tracker, character).settings
        kept = {name: getattr(theirs, name) for name in ("observation", "policy", "action", "contract")}
        plans = tuple(replace(p, tracker=replace(p.tracker, settings=replace(p.tracker.settings, **kept))) for p in plans)
    return replace(settings, plans=plans)
