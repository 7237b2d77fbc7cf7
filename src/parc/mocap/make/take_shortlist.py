"""A shortlist of takes: which frames of which file show which skill, at which rate. A CSV file with a header:

    source         file or folder, relative to the list's
    first_frame    of the part wanted, counted after a rest pose that some files have before their first frame
    last_frame     frame after the part; empty to the end
    true_fps       frames a second, which files often get wrong; empty to believe the file
    skill          class label
    hands_touch    yes or no: arms that only swing must not be taken for contacts
    stretch        factor by which footholds are drawn apart, for treads narrower than a cell; empty is 1
    names          naming table of the source's joints (`parc.mocap.read.joint_naming`), relative to the list's folder;
                   empty if not needed
    up             x, y or z, which most files show by themselves; empty to find out
    unit           of the source's lengths: m, dm, cm, mm, inch, CMU, or how many metres it is long; empty to find out

Only source and skill are needed. Other columns are notes. Every row becomes a clip named after skill and file.
"""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from parc.errors import FormatError
from parc.mocap.read.detect_units_and_rate import Axis, unit_in_metres
from parc.mocap.read.joint_naming import load_naming
from parc.mocap.read.read_take import ReadSettings
from parc.run.file_names import check_label
from parc.run.file_reading import MOST_TEXT, read_bytes

_NEEDED = ("source", "skill")


@dataclass(frozen=True)
class ShortlistRow:
    """A take that is wanted."""

    source: str
    first_frame: int
    last_frame: int | None
    read: ReadSettings
    skill: str
    hands: bool
    stretch: float
    name: str
    """of the clip"""

    def file(self, shortlist: Path) -> Path:
        """Where the source is."""
        return shortlist.parent / self.source


def read_shortlist(path: Path | str, naming: Mapping[str, str] | None = None) -> list[ShortlistRow]:
    """`naming` is for rows that name no table of their own."""
    path = Path(path)
    try:
        text = read_bytes(path, MOST_TEXT).decode("utf-8-sig")  # spreadsheets begin their files with a byte order mark
        header = text.splitlines()[0] if text else ""
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=";" if header.count(";") > header.count(",") else ",")
        columns = [column.strip() for column in reader.fieldnames or []]
        reader.fieldnames = columns
        records = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{path.name} is not a readable CSV file ({error})") from None
    missing = [c for c in _NEEDED if c not in columns]
    if missing:
        raise FormatError(f"{path.name}: has no column {', '.join(missing)}; found {', '.join(columns) or 'none'}")
    if not records:
        raise FormatError(f"{path.name}: has a header and no rows; every take wanted is a row")
    rows, names = [], set()
    for line, record in enumerate(records, 2):
        row = _row(record, path, line, naming)
        if row.name in names:
            raise FormatError(
                f"{path.name} line {line}: a second clip '{row.name}'; two rows have the same skill, file and first frame"
            )
        names.add(row.name)
        rows.append(row)
    return rows


def _row(record: dict[str, str | None], path: Path, line: int, naming: Mapping[str, str] | None) -> ShortlistRow:
    where = f"{path.name} line {line}"

    def text(column: str) -> str:
        return (record.get(column) or "").strip()

    def number(column: str, least: float, what: str) -> float | None:
        if not text(column):
            return None
        try:
            value = float(text(column))
        except ValueError:
            value = float("nan")
        if not least <= value < 1e9:
            raise FormatError(f"{where}: {column} is '{text(column)}', expected {what}")
        return value

    def frame(column: str, least: int) -> int | None:
        what = f"a whole number of at least {least}, counted from 0"
        value = number(column, least, what)
        if value is not None and value != int(value):
            raise FormatError(f"{where}: {column} is '{text(column)}', expected {what}")
        return None if value is None else int(value)

    def choice(column: str, known: tuple[str, ...]) -> str:
        if text(column).lower() not in ("", *known):
            raise FormatError(f"{where}: {column} is '{text(column)}', expected {', '.join(known[:-1])} or {known[-1]}")
        return text(column).lower()

    if not text("source") or not text("skill"):
        raise FormatError(f"{where}: source and skill must not be empty")
    check_label(text("skill"), f"{where}: skill")
    first = frame("first_frame", 0) or 0
    if text("names"):
        try:
            naming = load_naming(path.parent / text("names"))
        except FormatError as error:
            raise FormatError(f"{where}: {error}") from None
    up = choice("up", get_args(Axis))
    return ShortlistRow(
        source=text("source"),
        first_frame=first,
        last_frame=frame("last_frame", first + 2),
        read=ReadSettings(
            fps=number("true_fps", 1e-3, "a positive number of frames a second, or nothing to believe the file"),
            unit=unit_in_metres(text("unit"), f"{where}: unit") if text("unit") else None,
            up=up or None,  # type: ignore[arg-type]
            naming=naming,
        ),
        skill=text("skill"),
        hands=choice("hands_touch", ("yes", "no")) == "yes",
        stretch=number("stretch", 1e-3, "a positive factor") or 1.0,
        name=f"{text('skill')}_{Path(text('source')).stem}" + (f"_{first}" if first else ""),
    )
