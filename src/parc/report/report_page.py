"""A report page in one file: tables, pictures, charts and motions to replay, readable offline.

Nothing is fetched: pictures are embedded, charts are SVG, the replay is plain WebGL (`replay.js`). The page is a template
(`templates/page.html`) with a macro for each kind of block (`templates/blocks.html`); what is filled in is escaped there.

    Report("Iteration 1").add_table({"success": "71 %"}).add_image(picture, "best clip").add_replay(clips, character).write(file)

The page of an evaluation is wider and light or dark as the reader's system is (`evaluation.css`); viewers of a group move
together: `evaluation.js` works them through their own controls, by events, so `replay.js` knows nothing of it.
"""

import base64
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader
from markupsafe import Markup
from PIL import Image

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import FormatError, SettingsError
from parc.render.viewpoint import best_azimuth
from parc.report.replay_data import replay_payload
from parc.run.atomic_files import write_bytes_atomically

_ELEVATION, _USUAL_AZIMUTH = 42.0, -60.0
"""degrees of a viewer's camera at first"""


@dataclass(frozen=True)
class Cell:
    """Of a table."""

    text: str
    error: str = ""
    """standard error, told small"""
    is_number: bool = False
    """stands to the right"""
    is_best: bool = False


@dataclass(frozen=True)
class TableRow:
    """Cells side by side."""

    cells: tuple[Cell, ...]
    kind: str = ""
    """class in the style sheet: parting, theirs"""


@dataclass(frozen=True)
class Table:
    """A table as the template wants it."""

    rows: tuple[TableRow, ...]
    columns: tuple[Cell, ...] = ()
    caption: str = ""
    is_wide: bool = False
    """over the whole page; it scrolls by itself"""


@dataclass(frozen=True, eq=False)
class GalleryEntry:
    """A small picture of a motion, to be replayed by a click."""

    clip: Clip
    picture: Image.Image
    note: str = ""


class Report:
    """A page built up block by block; every `add_` returns the report."""

    def __init__(self, title: str, subtitle: str = "", is_evaluation: bool = False) -> None:
        self.title, self.subtitle, self._is_evaluation = title, subtitle, is_evaluation
        self._blocks: list[tuple[str, dict[str, Any]]] = []
        self._has_replays = False

    def add_section(self, heading: str, text: str = "") -> "Report":
        """A heading, and paragraphs under it."""
        return self._add("section", text=heading).add_text(text)

    def add_heading(self, text: str) -> "Report":
        """A heading inside of a section."""
        return self._add("heading", text=text)

    def add_text(self, text: str) -> "Report":
        """Paragraphs, split at empty lines."""
        for part in text.split("\n\n"):
            if part.strip():
                self._add("paragraph", text=part.strip())
        return self

    def add_table(
        self, rows: Table | Mapping[str, Any] | Sequence[Sequence[Any]], columns: Sequence[str] = (), caption: str = ""
    ) -> "Report":
        """Key numbers as a mapping, or rows of cells under `columns`; numbers stand to the right."""
        return self._add("table", table=rows if isinstance(rows, Table) else plain_table(rows, columns, caption))

    def add_cards(self, cards: Sequence[tuple[str, str, str]]) -> "Report":
        """(value, what it is, the paper's) each."""
        return self._add("cards", cards=cards)

    def add_image(self, image: Image.Image | str | Path, caption: str = "") -> "Report":
        """A picture in memory, or a .png, .jpg, .gif or .webp file as it is."""
        if isinstance(image, Image.Image):
            source = _picture(image, "png")
        else:
            kind = Path(image).suffix.lower().removeprefix(".").replace("jpg", "jpeg")
            if kind not in ("png", "jpeg", "gif", "webp"):
                raise FormatError(f"'{Path(image).name}' is not a .png, .jpg, .gif or .webp picture")
            source = _embedded(Path(image).read_bytes(), kind)
        return self._add("image", source=source, text=caption)

    def add_chart(self, *svg: Markup, caption: str = "") -> "Report":
        """Charts of `parc.report.svg_chart`, side by side where there is room."""
        if len(svg) == 1:
            return self._add("chart", svg=svg[0], text=caption)
        return self._add("figures", kind="charts", figures=[(s, "") for s in svg], text=caption)

    def add_panels(self, panels: Sequence[tuple[Markup, str]], kind: str = "panels") -> "Report":
        """Panels of `parc.report.svg_panel`, each under its caption."""
        return self._add("figures", kind=kind, figures=panels, text="")

    def add_details(self, summary: str, content: str | Mapping[str, Any]) -> "Report":
        """Something folded away: a log, the settings as JSON."""
        text = content if isinstance(content, str) else json.dumps(content, indent=2, default=str)
        return self._add("details", summary=summary, text=text)

    def add_replay(self, clips: Clip | Sequence[Clip], character: Character, caption: str = "") -> "Report":
        """Motions to look at from every side; several can be switched on and off."""
        self._has_replays = True
        return self._add("replay", payload=replay_payload(clips, character), text=caption)

    def add_gallery(self, entries: Sequence[GalleryEntry], character: Character) -> "Report":
        """Small pictures of many motions; a click on one replays it in place. Nothing is unpacked before, and few stay open."""
        self._has_replays |= bool(entries)
        cards = []
        for entry in entries:
            (width, height), source = entry.picture.size, _picture(entry.picture, "webp")
            card = {"name": entry.clip.name, "note": entry.note, "width": width, "height": height, "source": source}
            cards.append(card | {"payload": replay_payload(entry.clip, character)})
        return self._add("gallery", cards=cards)

    def add_together(self, heading: str, clips: Sequence[tuple[list[Clip], str, str]], character: Character) -> "Report":
        """Viewers side by side, each (clips, title, note), with one control for all."""
        self._has_replays = True
        every = [clip for shown, _, _ in clips for clip in shown]
        return self._add(
            "together",
            heading=heading,
            viewers=[(replay_payload(shown, character), title, note) for shown, title, note in clips],
            kind="together" if any(len(shown) > 1 for shown, _, _ in clips) else "together alone",
            columns=len(clips) if len(clips) <= 4 else 3,
            azimuth=f"{_azimuth(every):g}",
            elevation=f"{_ELEVATION:g}",
        )

    def html(self) -> str:
        """The whole page."""
        kinds = ["report", "evaluation"] if self._is_evaluation else ["report"]
        scripts = ["replay.js", "evaluation.js"] if self._is_evaluation else ["replay.js"]
        return (
            _templates()
            .get_template("page.html")
            .render(
                title=self.title,
                subtitle=self.subtitle,
                blocks=self._blocks,
                styles=[_packaged(f"{kind}.css") for kind in kinds],
                scripts=[_packaged(name) for name in scripts] if self._has_replays else [],
            )
        )

    def write(self, file: str | Path) -> Path:
        """The page as a file, whole or not at all."""
        file = Path(file)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_bytes_atomically(file, self.html().encode())
        return file

    def _add(self, block: str, /, **values: Any) -> "Report":
        """A block: a macro of `blocks.html` and what it is filled with."""
        self._blocks.append((block, values))
        return self


def plain_table(rows: Mapping[str, Any] | Sequence[Sequence[Any]], columns: Sequence[str] = (), caption: str = "") -> Table:
    """Of a mapping, or of rows of cells under `columns`; a column of numbers has its name to the right."""
    pairs = isinstance(rows, Mapping)
    cells = [list(item) for item in rows.items()] if isinstance(rows, Mapping) else [list(row) for row in rows]
    ragged = next((row for row in cells if columns and len(row) != len(columns)), None)
    if ragged is not None:
        raise SettingsError(f"the table row {ragged} has {len(ragged)} cells, the table has {len(columns)} columns")
    right = [bool(cells) and all(_is_number(row[k]) for row in cells) for k in range(len(columns))]
    return Table(
        tuple(
            TableRow(tuple(Cell(_told(c), is_number=_is_number(c) or (pairs and k == 1)) for k, c in enumerate(row)))
            for row in cells
        ),
        tuple(Cell(str(name), is_number=is_right) for name, is_right in zip(columns, right, strict=True)),
        caption,
    )


@cache
def _templates() -> Environment:
    found = Environment(loader=PackageLoader("parc.report"), autoescape=True, trim_blocks=False, keep_trailing_newline=True)
    found.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return found


def _azimuth(clips: Sequence[Clip]) -> float:
    """Degrees from which the ways of motions over one terrain are seen best; the usual side where terrains differ."""
    first = clips[0].terrain
    if any(c.terrain.size != first.size or bool((c.terrain.heights != first.heights).any()) for c in clips):
        return _USUAL_AZIMUTH
    ways = np.concatenate([c.motion.root_pos.double().cpu().numpy() for c in clips])
    return best_azimuth(first, ways[:, None], _ELEVATION)


def _picture(image: Image.Image, kind: str) -> str:
    buffer = io.BytesIO()
    image.save(buffer, kind, **({"quality": 72} if kind == "webp" else {"optimize": False}))
    return _embedded(buffer.getvalue(), kind)


def _embedded(data: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _packaged(name: str) -> Markup:
    """A style sheet or script of ours."""
    return Markup(resources.files("parc.report").joinpath(name).read_text(encoding="utf-8"))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _told(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
