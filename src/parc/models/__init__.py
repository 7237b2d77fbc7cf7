"""The models in the box: what commands use when no file is named.

    generator.safetensors   motion generator, float16
    tracker.safetensors     tracking policy, float16, with its physical contract
    critic.safetensors      the tracker's value function, float16; only for training on
"""

from pathlib import Path

from parc.errors import ParcError

_FOLDER = Path(__file__).parent


def shipped_generator() -> Path:
    return _shipped("generator")


def shipped_tracker() -> Path:
    return _shipped("tracker")


def _shipped(name: str) -> Path:
    file = _FOLDER / f"{name}.safetensors"
    if not file.is_file():
        raise ParcError(f"this installation has no {name} model ({file.name}); name a file of your own")
    return file
