"""The models in the box: what commands use when no file is named; all weights float16.

generator.safetensors is the motion generator, tracker.safetensors the tracking policy with its physical contract, and
critic.safetensors the tracker's value function, for training on and for the choice among plans in `parc traverse` and `live`.
motions/ is a data set that a tracker has recorded in simulation: where a loop starts if it is given no other.
"""

from pathlib import Path

from parc.errors import ParcError

_FOLDER = Path(__file__).parent


def shipped_generator() -> Path:
    return _shipped("generator")


def shipped_tracker() -> Path:
    return _shipped("tracker")


def shipped_motions() -> Path | None:
    """The data set in the box, if there is one."""
    folder = _FOLDER / "motions"
    return folder if (folder / "index.json").is_file() else None


def _shipped(name: str) -> Path:
    file = _FOLDER / f"{name}.safetensors"
    if not file.is_file():
        raise ParcError(f"this installation has no {name} model ({file.name}); name a file of your own")
    return file
