"""Does a data set, a model or a run still hold what was written? Every byte is read and compared with the hashes that are kept.

a data set     each shard's hash in its index, and every value of every clip
a model        the hash in its header, or the published one for the models in the box
a run          each output's hash in the ledger, and the data sets and models among them
"""

from dataclasses import dataclass, field
from pathlib import Path

from parc.dataset.clip_shard import Shard
from parc.dataset.index_file import INDEX, Index
from parc.errors import FormatError, ParcError
from parc.loop.ledger import LEDGER, Ledger
from parc.models import FOLDER, published_hashes
from parc.run.checkpoint import has_hash, load_checkpoint
from parc.run.hashing import hash_file


@dataclass
class Verification:
    """What was read, and what was wrong with it."""

    kind: str
    """data set, model, .motion file or run"""
    files: int = 0
    """read"""
    bytes: int = 0
    faults: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    """files that were written without a hash: they can be read, and that is all that is known"""

    def read(self, file: Path) -> None:
        self.files += 1
        self.bytes += file.stat().st_size


def verify(path: Path | str) -> Verification:
    """Whatever is at `path`; faults are told, not raised."""
    path = Path(path)
    if (path / LEDGER).is_file():
        return _verify_run(path)
    if (path / INDEX).is_file():
        return _verify_dataset(path)
    if path.is_dir():
        raise FormatError(f"{path} is neither a data set nor a run of the loop")
    if not path.exists():
        raise FormatError(f"there is nothing at {path}")
    if path.suffix == ".motion":
        return _verify_clips(path)
    if path.suffix != ".safetensors":
        raise FormatError(f"{path.name}: expected a data set, a run, a model (.safetensors) or a .motion file")
    return _verify_model(path)


def _verify_dataset(folder: Path) -> Verification:
    result = Verification("data set")
    published = _published(folder / INDEX)
    if published and hash_file(folder / INDEX) != published:
        result.faults.append(f"{folder / INDEX} is not the published one: it was changed or is damaged; install parc again")
        return result
    for entry in Index.read(folder).shards:
        file = folder / entry.file
        if not file.is_file():
            result.faults.append(f"{file} is missing")
            continue
        result.read(file)
        written = entry.sha256 or _published(file)
        if not written:
            result.unknown.append(str(file))
        elif hash_file(file) != written:
            result.faults.append(f"{file} is no longer what was written: it was changed or is damaged")
            continue
        result.faults += _faults_of_clips(file)
    return result


def _verify_clips(file: Path) -> Verification:
    result = Verification(".motion file", faults=_faults_of_clips(file), unknown=[str(file)])
    result.read(file)
    return result


def _faults_of_clips(file: Path) -> list[str]:
    try:
        for _ in Shard(file).clips():
            pass
    except ParcError as error:
        return [str(error)]
    return []


def _verify_model(file: Path) -> Verification:
    result = Verification("model")
    result.read(file)
    published = _published(file)
    if published and hash_file(file) != published:
        result.faults.append(f"{file} is not the published one: it was changed or is damaged; install parc again")
        return result
    try:
        load_checkpoint(file)
        if not published and not has_hash(file):
            result.unknown.append(str(file))
    except ParcError as error:
        result.faults.append(str(error))
    return result


def _published(file: Path) -> str:
    """The published hash of a file of the box; empty for files elsewhere."""
    place = file.resolve()
    if not place.is_relative_to(FOLDER.resolve()):
        return ""
    return published_hashes().get(place.relative_to(FOLDER.resolve()).as_posix(), {}).get("sha256", "")


def _verify_run(folder: Path) -> Verification:
    ledger = Ledger(folder)
    result = Verification("run", faults=[f"{folder}: {fault}" for fault in ledger.faults()])
    for entry in ledger.stages.values():
        for name in entry.outputs:
            if (file := folder / name).is_file():
                result.read(file)
                if file.suffix == ".safetensors" and not file.name.startswith("shard-"):
                    result.faults += _verify_model(file).faults
    return result
