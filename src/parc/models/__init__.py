"""The models in the box: what commands use when no file is named; all weights float16.

generator.safetensors is the motion generator, tracker.safetensors the tracking policy with its physical contract, and
critic.safetensors the tracker's value function, for training on and for the choice among plans in `parc traverse` and `live`.
generator_paced.safetensors is a generator that can be asked for a pace; `--pace` takes it where no generator is named, and
`--generator paced` names it. Those of another character have the same names in a folder that is called as it is: g1/.
motions/ is a data set that a tracker has recorded in simulation: where a loop starts if it is given no other.

hashes.json publishes size and SHA-256 of all of them. A model is compared with it before it is used for the first time in a
process; `parc verify` compares the files of others in the same way with the hashes they hold themselves.
"""

import json
from functools import cache
from pathlib import Path

from parc.errors import ParcError
from parc.run.hashing import hash_file

FOLDER = Path(__file__).parent
HASHES = "hashes.json"


HUMANOID = "humanoid"
"""the character whose models lie in the folder itself"""
PACED = "paced"
"""how commands call the generator in the box that can be asked for a pace"""


def shipped_generator(paced: bool = False, body: str = HUMANOID) -> Path:
    """The generator in the box, or the one that can be asked for a pace; `body`: the name of its character."""
    return _shipped("generator_paced" if paced else "generator", body)


def has_shipped_generator(body: str) -> bool:
    """Whether there is one of the character of this name in the box."""
    return _place("generator", body) in published_hashes()


def generator_file(named: Path | str | None, pace: object = None, body: str = HUMANOID) -> Path:
    """The file of the generator that was named: `paced` is one in the box, and so is none, by whether a pace is asked for."""
    if named is None:
        return shipped_generator(pace is not None, body)
    is_paced = str(named) == PACED and not Path(named).exists()
    return shipped_generator(paced=True, body=body) if is_paced else Path(named)


def shipped_tracker(body: str = HUMANOID) -> Path:
    """With its critic beside it."""
    if _place("critic", body) in published_hashes():
        _shipped("critic", body)
    return _shipped("tracker", body)


def shipped_motions(body: str = HUMANOID) -> Path | None:
    """The data set of a character in the box, if there is one."""
    if f"{_folder_of(body)}motions/index.json" not in published_hashes():
        return None
    folder = FOLDER / f"{_folder_of(body)}motions"
    if not (folder / "index.json").is_file():
        return None
    for file in (folder / "index.json", *sorted(folder.glob("shard-*.safetensors"))):
        check_published(file, file.stat().st_mtime_ns)
    return folder


@cache
def published_hashes() -> dict[str, dict]:
    """{file below this folder: {"bytes": 9445730, "sha256": ".."}}"""
    return json.loads((FOLDER / HASHES).read_bytes())


def _folder_of(body: str) -> str:
    return "" if body == HUMANOID else f"{body}/"


def _place(name: str, body: str) -> str:
    return f"{_folder_of(body)}{name}.safetensors"


def _shipped(name: str, body: str) -> Path:
    """Refused where nothing of that name is published: a character may be called anything."""
    place = _place(name, body)
    if body != HUMANOID and place not in published_hashes():
        raise ParcError(f"there is no {name.partition('_')[0]} of character '{body}' in the box; name a file of your own")
    file = FOLDER / place
    if not file.is_file():
        raise ParcError(f"this installation has no {name} model ({file.name}); name a file of your own")
    check_published(file, file.stat().st_mtime_ns)
    return file


def described(file: Path) -> dict:
    """What hashes.json says of a file."""
    return {"bytes": file.stat().st_size, "sha256": hash_file(file)}


def hashes_of(folder: Path) -> dict[str, dict]:
    """What hashes.json says of a folder like this one: every model and the motions, also those of other characters below it."""
    files = [*folder.rglob("*.safetensors"), *folder.rglob("motions/index.json")]
    return {file.relative_to(folder).as_posix(): described(file) for file in sorted(files)}


@cache
def check_published(file: Path, changed: int) -> None:
    """Refuse a file in the box that is not the published one; `changed`: when it was last, so that it is looked at again."""
    if described(file) != published_hashes().get(file.relative_to(FOLDER).as_posix()):
        raise ParcError(f"{file} is not the published one: the installation is damaged; install parc again")
