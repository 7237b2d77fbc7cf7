"""The models of all pages: one file each, read once, when it is first needed."""

import threading
from pathlib import Path

from parc.character.character import Character
from parc.generate.generator import Generator
from parc.track.policy import TrainedActor, load_actor


class GeneratorFile:
    def __init__(self, path: Path | str, character: Character, device: str = "cpu") -> None:
        self.path, self._character, self._device = Path(path), character, device
        self._lock = threading.Lock()
        self._generator: Generator | None = None

    def get(self) -> Generator:
        with self._lock:
            if self._generator is None:
                self._generator = Generator.load(self.path, self._character, self._device)
            return self._generator


class TrackerFile:
    """Simulation is on the CPU, and so is the policy."""

    def __init__(self, path: Path | str, character: Character) -> None:
        self.path, self._character = Path(path), character
        self._lock = threading.Lock()
        self._trained: TrainedActor | None = None

    def get(self) -> TrainedActor:
        with self._lock:
            if self._trained is None:
                self._trained = load_actor(self.path, self._character)
            return self._trained
