"""The models of all pages: one file each, read once, when it is first needed."""

import threading
from pathlib import Path

import torch

from parc.character.character import Character
from parc.generate.model.motion_generator import Generator
from parc.plan.tracker_critic import Critic
from parc.track.learn.policy import TrainedActor, load_actor


class GeneratorFile:
    """A generator that is loaded when it is first needed."""

    def __init__(self, path: Path | str, character: Character, device: str = "cpu") -> None:
        self.path, self._character, self._device = Path(path), character, device
        self._lock = threading.Lock()
        self._generator: Generator | None = None
        self._quick: Generator | None = None

    def get(self) -> Generator:
        with self._lock:
            if self._generator is None:
                self._generator = Generator.load(self.path, self._character, self._device)
            return self._generator

    def get_quick(self) -> Generator:
        """In bfloat16 where the CPU computes with it."""
        generator = self.get()
        if generator.device.type != "cpu" or not torch.cpu.get_capabilities().get("avx512_bf16"):
            return generator
        with self._lock:
            if self._quick is None:
                self._quick = generator.in_precision(torch.bfloat16)
            return self._quick


class TrackerFile:
    """Simulation is on the CPU, and so is the policy."""

    def __init__(self, path: Path | str, character: Character) -> None:
        self.path, self._character = Path(path), character
        self._lock = threading.Lock()
        self._trained: TrainedActor | None = None
        self._critic: Critic | None = None

    def get(self) -> TrainedActor:
        with self._lock:
            if self._trained is None:
                self._trained = load_actor(self.path, self._character)
            return self._trained

    def critic(self) -> Critic | None:
        """The tracker's value function, if its file is beside the tracker's."""
        trained, beside = self.get(), self.path.with_name("critic.safetensors")
        with self._lock:
            if self._critic is None and beside.is_file():
                self._critic = Critic.load(beside, trained)
            return self._critic
