"""Several data sets into one."""

from collections.abc import Callable, Iterable
from pathlib import Path

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.clip_entry import ClipEntry
from parc.dataset.dataset_store import INDEX, Dataset, DatasetWriter
from parc.errors import DatasetError

CLIPS_PER_SHARD = 512


def merge(
    sources: Iterable[Path | str],
    out: Path | str,
    character: Character,
    keep: Callable[[ClipEntry], bool] = lambda entry: True,
    rename: bool = False,
) -> Dataset:
    """Append the clips of every source to `out`, in order; `keep` chooses by entry.

    Of a name that is there twice the second is an error, or gets a suffix with `rename`.
    All sources are opened and checked before anything is written.
    """
    datasets = [Dataset.open(source, character) for source in sources]
    if not rename:
        _check_names(datasets, out, keep)
    with DatasetWriter(out, character) as writer:
        batch: list[Clip] = []
        for dataset in datasets:
            for i, entry in enumerate(dataset.entries):
                if not keep(entry):
                    continue
                batch.append(dataset[i])
                if len(batch) == CLIPS_PER_SHARD:
                    writer.append(batch, rename)
                    batch = []
        writer.append(batch, rename)
    return Dataset.open(out, character)


def _check_names(datasets: list[Dataset], out: Path | str, keep: Callable[[ClipEntry], bool]) -> None:
    """Every name is there once, or nothing is written."""
    owner: dict[str, Path] = {}
    if (Path(out) / INDEX).is_file():
        owner = dict.fromkeys(Dataset.open(out).names, Path(out))
    for dataset in datasets:
        for name in (entry.name for entry in dataset.entries if keep(entry)):
            if name in owner:
                raise DatasetError(f"clip '{name}' is in {owner[name]} and in {dataset.folder}; rename the second, or drop it")
            owner[name] = dataset.folder
