"""One clip from a file and to a file, whatever the format.

    .motion   ours
    .pkl      the paper's (three blocks, or the older single dict) or MimicKit's, told apart by their fields
    .txt      DeepMimic, reading only
    .bvh      the character's own skeleton; `parc.mocap` retargets others
    .npz      MuJoCo's qpos
    .glb      skinned, animated, with the terrain; writing only
    .usd      the same in USD, also .usda and .usdc; writing only, needs the extra [usd]

The clip is named after the file. Files that carry no terrain get flat ground at height 0. Where a file is read, a clip of a data
set may be named instead, as the folder and then the clip: D0/walk_12.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.convert import checked_field
from parc.dataset.convert.bvh_format import LengthUnit, read_bvh, write_bvh
from parc.dataset.convert.deepmimic_format import read_deepmimic
from parc.dataset.convert.glb_format import Skin, write_glb
from parc.dataset.convert.gltf_document import SUFFIXES as GLTF_SUFFIXES
from parc.dataset.convert.mimickit_format import FIELDS as MIMICKIT_FIELDS
from parc.dataset.convert.mimickit_format import read_mimickit, write_mimickit
from parc.dataset.convert.native_format import read_native, write_native
from parc.dataset.convert.parc_pickle import BLOCKS, read_legacy, read_parc, write_legacy, write_parc
from parc.dataset.convert.qpos_format import read_qpos, write_qpos
from parc.dataset.convert.safe_unpickle import PickledObject, safe_loads
from parc.dataset.convert.usd_format import SUFFIXES as USD_SUFFIXES
from parc.dataset.convert.usd_format import write_usd
from parc.dataset.dataset_store import INDEX, Dataset
from parc.errors import FormatError, ParcError
from parc.run.atomic_files import write_bytes_atomically
from parc.run.file_reading import read_bytes, reading

RETARGET_GLTF = "skeletons of glTF files are fitted to the character: `parc convert --retarget`"
PickleLayout = Literal["parc", "legacy", "mimickit"]


def load_clip(path: Path | str, character: Character) -> Clip:
    """The clip in a file, or SET/NAME in a data set; its provenance names the file unless the file says where it came from."""
    path = Path(path)
    suffix = path.suffix.lower()
    if path.is_dir():
        inside = "; name a clip of this data set as FOLDER/NAME" if (path / INDEX).is_file() else ""
        raise FormatError(f"{path} is a folder, a motion file was expected{inside}")
    if not path.exists() and (folder := data_set_above(path)):
        return Dataset.open(folder, character)[path.relative_to(folder).as_posix()]
    if suffix in GLTF_SUFFIXES:
        raise FormatError(f"{path.name}: {RETARGET_GLTF}")
    if suffix in WRITABLE and suffix not in READABLE:
        raise FormatError(f"{path.name}: {path.suffix} is written and not read; files that are read end in {', '.join(READABLE)}")
    if suffix not in READABLE:
        raise FormatError(f"{path.name}: unknown extension '{path.suffix}'; known are {', '.join(READABLE)}")
    try:
        with reading(path.name, f"{suffix} file"):
            clip = (
                read_native(path, character) if suffix == ".motion" else _READERS[suffix](read_bytes(path), character, path.name)
            )
    except OSError as error:
        raise FormatError(f"{path} cannot be read ({error.strerror})") from None
    except FormatError:
        raise
    except ParcError as error:
        raise type(error)(f"{path.name}: {error}") from None
    if not clip.provenance.source:
        clip = replace(clip, provenance=replace(clip.provenance, source=path.name))
    return clip if suffix == ".motion" else replace(clip, name=path.stem)


def check_writable(path: Path | str) -> None:
    """Refuse a name that no clip can be written to."""
    path = Path(path)
    if path.suffix.lower() in (".mp4", ".gif", ".webp"):
        raise FormatError(f"{path.name}: films are drawn by `parc picture CLIP -o {path.name}`")
    if path.suffix.lower() not in WRITABLE:
        raise FormatError(f"{path.name}: cannot write '{path.suffix}'; known are {', '.join(WRITABLE)}")
    if path.is_dir():
        raise FormatError(f"'{path}' is a folder, expected the name of a motion file")


def save_clip(
    clip: Clip,
    path: Path | str,
    character: Character | None = None,
    layout: PickleLayout = "parc",
    unit: LengthUnit = "m",
    skin: Skin = "mannequin",
) -> None:
    """Write the clip, whole or not at all; `layout` chooses among the `.pkl` formats, `unit` is of `.bvh`, `skin` of `.glb`.

    All but `.motion` and the paper's `.pkl` need the character.
    """
    path = Path(path)
    check_writable(path)
    suffix = path.suffix.lower()
    if suffix == ".motion":
        data = write_native(clip, character)
    elif suffix in _WRITERS:
        if character is None:
            raise FormatError(f"writing {suffix} needs the character, for its bones")
        data = _WRITERS[suffix](clip, character, unit, skin)
    elif layout == "parc":
        data = write_parc(clip)
    elif layout not in ("legacy", "mimickit"):
        raise FormatError(f"unknown layout '{layout}' of .pkl files; known are parc, legacy, mimickit")
    elif character is None:
        raise FormatError(f"writing the '{layout}' layout needs the character, to turn rotations into joint coordinates")
    else:
        data = (write_legacy if layout == "legacy" else write_mimickit)(clip, character)
    try:
        write_bytes_atomically(path, data)
    except OSError as error:
        raise FormatError(f"{path} cannot be written ({error.strerror})") from None


def data_set_above(path: Path) -> Path | None:
    """The nearest folder above that exists, if it is a data set; names of clips may have slashes."""
    folder = next((folder for folder in path.parents if folder.is_dir()), None)
    return folder if folder and (folder / INDEX).is_file() else None


def _read_pickle(content: Any, character: Character, name: str) -> Clip:
    if isinstance(content, PickledObject) and "frames" in {str(key).lstrip("_") for key in content.state}:
        content = {
            str(key).lstrip("_"): value for key, value in content.state.items()
        }  # MimicKit's first files pickled the object itself
    if not isinstance(content, dict):
        raise FormatError(f"{name} holds a {type(content).__name__}, expected a dict with '{BLOCKS[0]}' or 'frames'")
    if "motion_data" in content:
        return read_parc(content, character, name)
    if "frames" in content:
        if "contacts" in content or "terrain" in content:
            return read_legacy(content, character, name)
        return read_mimickit(content, character, name)
    found = ", ".join(checked_field.short(key) for key in list(content)[:6]) or "nothing"
    raise FormatError(f"{name} holds {found}; expected the paper's '{BLOCKS[0]}', or {', '.join(MIMICKIT_FIELDS)}")


def _text(read: Callable[[str, Character, str], Clip]) -> Callable[[bytes, Character, str], Clip]:
    def of_bytes(data: bytes, character: Character, name: str) -> Clip:
        try:
            return read(data.decode(), character, name)
        except UnicodeDecodeError:
            raise FormatError(f"{name} is not text") from None

    return of_bytes


def _usd(suffix: str) -> Callable[[Clip, Character, LengthUnit, Skin], bytes]:
    return lambda clip, character, unit, skin: write_usd(clip, character, suffix)


_READERS: dict[str, Callable[[bytes, Character, str], Clip]] = {
    ".pkl": lambda data, character, name: _read_pickle(safe_loads(data, name), character, name),
    ".txt": _text(read_deepmimic),
    ".bvh": _text(read_bvh),
    ".npz": read_qpos,
}
"""of a file's content, the character and the file's name; `.motion` is read by its own"""
_WRITERS: dict[str, Callable[[Clip, Character, LengthUnit, Skin], bytes]] = {
    ".bvh": lambda clip, character, unit, skin: write_bvh(clip, character, unit).encode(),
    ".npz": lambda clip, character, unit, skin: write_qpos(clip, character),
    ".glb": lambda clip, character, unit, skin: write_glb(clip, character, skin),
    **{suffix: _usd(suffix) for suffix in USD_SUFFIXES},
}
"""of formats that need the character"""
READABLE = (".motion", *_READERS)
WRITABLE = (".motion", ".pkl", *_WRITERS)
