"""A shortlist of takes: which frames of which file show which skill, at which rate. A CSV file with a header:

    source         file or folder, relative to the list's
    first_frame    of the part wanted, counted after a rest pose that some files have before their first frame
    last_frame     frame after the part; empty to the end
    true_fps       frames a second, which files often get wrong; empty to believe the file
    skill          class label
    hands_touch    yes or no: arms that only swing must not be taken for contacts
    stretch        factor by which footholds are drawn apart, for treads narrower than a cell; empty is 1

Other columns are notes. Every row becomes a clip named after skill and file.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

from parc.errors import FormatError

_NEEDED = ("source", "skill")


@dataclass(frozen=True)
class ShortlistRow:
    source: str
    first_frame: int
    last_frame: int | None
    fps: float | None
    skill: str
    hands: bool
    stretch: float
    name: str
    """of the clip"""

    def file(self, shortlist: Path) -> Path:
        return shortlist.parent / self.source


def read_shortlist(path: Path | str) -> list[ShortlistRow]:
    path = Path(path)
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            columns = reader.fieldnames or []
            records = list(reader)
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{path.name} is not a readable CSV file ({error})") from None
    missing = [c for c in _NEEDED if c not in columns]
    if missing:
        raise FormatError(f"{path.name}: has no column {', '.join(missing)}; found {', '.join(columns) or 'none'}")
    rows, names = [], set()
    for line, record in enumerate(records, 2):
        row = _row(record, f"{path.name} line {line}")
        if row.name in names:
            raise FormatError(
                f"{path.name} line {line}: a second clip '{row.name}'; two rows have the same skill, file and first frame"
            )
        names.add(row.name)
        rows.append(row)
    return rows


def _row(record: dict[str, str | None], where: str) -> ShortlistRow:
    def text(column: str) -> str:
        return (record.get(column) or "").strip()

    def number(column: str) -> float | None:
        if not text(column):
            return None
        try:
            value = float(text(column))
        except ValueError:
            raise FormatError(f"{where}: {column} is '{text(column)}', expected a number") from None
        if not 0 <= value < 1e9:
            raise FormatError(f"{where}: {column} is {value:g}, expected a positive number")
        return value

    if not text("source") or not text("skill"):
        raise FormatError(f"{where}: source and skill must not be empty")
    if text("hands_touch").lower() not in ("", "yes", "no"):
        raise FormatError(f"{where}: hands_touch is '{text('hands_touch')}', expected yes or no")
    first, last = int(number("first_frame") or 0), number("last_frame")
    stem = Path(text("source")).stem
    return ShortlistRow(
        source=text("source"),
        first_frame=first,
        last_frame=None if last is None else int(last),
        fps=number("true_fps"),
        skill=text("skill"),
        hands=text("hands_touch").lower() == "yes",
        stretch=number("stretch") or 1.0,
        name=f"{text('skill')}_{stem}" + (f"_{first}" if first else ""),
    )
