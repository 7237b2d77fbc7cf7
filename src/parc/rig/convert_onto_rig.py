"""A clip of ours to a file of somebody's rig."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import FormatError
from parc.rig.retarget_onto_rig import retarget_onto
from parc.rig.rig_bvh import rig_bvh
from parc.rig.rig_files import load_rig
from parc.rig.rig_glb import rig_glb
from parc.run.atomic_files import write_bytes_atomically
from parc.run.file_reading import reading

WRITABLE = (".glb", ".bvh")


def check_rig_target(path: Path | str) -> None:
    """Refuse a name that no motion of a rig can be written to."""
    if Path(path).suffix.lower() not in WRITABLE:
        raise FormatError(f"{Path(path).name}: a motion of a rig is written to {' or '.join(WRITABLE)}")


def convert_onto_rig(
    clip: Clip, rig: str, path: Path | str, character: Character, naming: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Write a clip's motion on a rig, named or of a file, whole or not at all; `naming` is {place: joint} of
    a file's rig. Returns what is worth telling."""
    path = Path(path)
    check_rig_target(path)
    loaded = load_rig(rig, naming)
    with reading(loaded.rig.name, "rig"):  # what a file holds beside its skeleton is first looked at when it is written again
        motion = retarget_onto(loaded.rig, clip.motion, character)
        is_glb = path.suffix.lower() == ".glb"
        data = rig_glb(loaded, motion, clip, character) if is_glb else rig_bvh(loaded, motion).encode()
    try:
        write_bytes_atomically(path, data)
    except OSError as error:
        raise FormatError(f"{path} cannot be written ({error.strerror})") from None
    return {
        "rig": loaded.rig.name,
        "leg_ratio": round(motion.leg_ratio, 3),
        "world_scale": round(motion.size * loaded.rig.unit, 3),
    }
