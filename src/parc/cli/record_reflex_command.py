"""`parc record-reflex`: futures that hold, from states that a reflex visits, as clips to train generators on."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.cli.base_command import progress
from parc.cli.character_option import OfCharacter
from parc.reflex.distil_futures import DistilSettings
from parc.reflex.reflex_settings import ReflexTrainingSettings
from parc.run.choose_device import use_threads


@dataclass(frozen=True, kw_only=True)
class RecordReflex(OfCharacter):
    """Cross new terrain by reflex, try many futures of the states on the way, and keep those that hold, get on and look human.

    The clips are added to OUT. Another seed is other ground; a seed that OUT already has clips of is refused. Of the settings of
    `parc train-reflex` those of the loop, its ground, its starts and its disturbances count.
    """

    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """data set folder for the clips"""
    tracker: Path | None = None
    """trained actor (.safetensors); the one in the box if not given"""
    generator: Path | None = None
    """trained generator (.safetensors), or `paced`: the one in the box that can be asked for a pace; the usual one in the box if
    not given"""
    visits: int = 40
    """times that states are tried out"""
    states: int = 0
    """states tried out each time; 0: 256 on a GPU, 4 on the CPU"""
    worlds: int = 0
    """bodies that cross terrain; 0: 1160 on a GPU, 29 on the CPU"""
    threads: int = 0
    """of the CPU engine and of the networks on a CPU; 0: all cores"""
    trials: Annotated[DistilSettings, tyro.conf.arg(name="")] = field(default_factory=DistilSettings)
    settings: Annotated[ReflexTrainingSettings, tyro.conf.arg(name="")] = field(default_factory=ReflexTrainingSettings)

    def run(self) -> dict[str, Any]:
        import torch

        from parc.dataset import Dataset, DatasetWriter
        from parc.dataset.clip import Provenance
        from parc.dataset.dataset_store import INDEX
        from parc.errors import DatasetError, SettingsError
        from parc.generate.model.motion_generator import Generator
        from parc.models import generator_file, shipped_tracker
        from parc.physics.choose_engine import make_world
        from parc.reflex.distil_futures import FutureTrials, distil
        from parc.reflex.reflex_env import ReflexEnv
        from parc.reflex.terrain_bank import CrossingBank, CrossingSource
        from parc.track.learn.policy import load_actor

        if min(self.visits, 1 + self.states, 1 + self.worlds) < 1:
            raise SettingsError(f"{self.visits} visits of {self.states} states were asked for, expected at least 1")
        use_threads(self.threads)
        character, device = self.body(self.tracker, self.generator, self.out), self.torch_device
        on_cpu, name = device == "cpu", f"reflex{self.seed}"
        file = generator_file(self.generator, self.settings.loop.rollout.pace, character.name)
        generator = Generator.load(file, character, device)
        if not on_cpu:
            generator = generator.in_precision(torch.bfloat16)
        tracker = load_actor(self.tracker or shipped_tracker(character.name), character, device)
        closed = replace(self.settings, clip_share=0.0)
        count, _ = closed.worlds(self.worlds or (29 if on_cpu else 1160))
        kept = tried = 0
        there = Dataset.open(self.out, character).names if (self.out / INDEX).is_file() else []
        if any(known.startswith(f"{name}_") for known in there):
            raise DatasetError(f"{self.out} has clips of seed {self.seed} already; give another --seed")
        with DatasetWriter(self.out, character) as data:
            with CrossingSource.opened(closed.bank, closed.starts.each, self.seed) as source:
                bank = CrossingBank.of(source.take(closed.bank.terrains), closed.bank, device)
            world = make_world(character, tracker.contract, count, device, self.threads, bank.terrains.cell)
            with world.on_stream(), progress(self.visits, "visits") as bar:
                random = torch.Generator(device).manual_seed(self.seed)
                env = ReflexEnv(world, generator, bank, tracker.settings, closed, random)
                states = self.states or (4 if on_cpu else 256)
                trials = FutureTrials(generator, tracker, bank, states, self.trials, closed.loop, random, self.threads)
                env.restart_all()

                def note(these: int, good: int) -> None:
                    nonlocal kept, tried
                    kept, tried = kept + good, tried + these
                    bar.update()

                for clips in distil(env, trials, self.visits, name, Provenance("reflex", seed=self.seed, skill="reflex"), note):
                    if clips:
                        data.append(clips)
        return {"out": str(self.out), "futures": tried, "clips": kept, "share": kept / max(tried, 1)}
