"""The generator of all pages: one file, read once, when it is first needed."""

import threading
from pathlib import Path

from parc.character.character import Character
from parc.generate.generator import Generator


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
