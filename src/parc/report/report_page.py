"""A report page in one file: tables, pictures, charts and motions to replay, readable offline.

Nothing is fetched: pictures are embedded, charts are SVG, the replay is plain WebGL (`replay.js`).

    Report("Iteration 1").add_table({"success": "71 %"}).add_image(picture, "best clip").add_replay(clips, character).write(file)
"""

import base64
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from PIL import Image

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import FormatError, SettingsError
from parc.report.replay_data import replay_payload


class Report:
    """A page built up block by block; every `add_` returns the report."""

    def __init__(self, title: str, subtitle: str = "") -> None:
        self.title = title
        self._blocks = [f"<h1>{escape(title)}</h1>"]
        if subtitle:
            self._blocks.append(f'<p class="subtitle">{escape(subtitle)}</p>')
        self._replays = 0

    def add_section(self, heading: str, text: str = "") -> "Report":
        self._blocks.append(f"<h2>{escape(heading)}</h2>")
        return self.add_text(text) if text else self

    def add_text(self, text: str) -> "Report":
        """Paragraphs, split at empty lines."""
        self._blocks.extend(f"<p>{escape(part.strip())}</p>" for part in text.split("\n\n") if part.strip())
        return self

    def add_table(
        self, rows: Mapping[str, Any] | Sequence[Sequence[Any]], columns: Sequence[str] = (), caption: str = ""
    ) -> "Report":
        """Key numbers as a mapping, or rows of cells under `columns`; numbers stand to the right."""
        cells = [list(item) for item in rows.items()] if isinstance(rows, Mapping) else [list(row) for row in rows]
        ragged = next((row for row in cells if columns and len(row) != len(columns)), None)
        if ragged is not None:
            raise SettingsError(f"the table row {ragged} has {len(ragged)} cells, the table has {len(columns)} columns")
        head = ""
        if columns:
            right = [all(_is_number(row[k]) for row in cells) and bool(cells) for k in range(len(columns))]
            head = "".join(f"<th{_RIGHT if r else ''}>{escape(str(c))}</th>" for c, r in zip(columns, right, strict=True))
            head = f"<thead><tr>{head}</tr></thead>"
        pairs = isinstance(rows, Mapping)
        body = ""
        for row in cells:
            right_cells = [_is_number(cell) or (pairs and k == 1) for k, cell in enumerate(row)]
            parts = (f"<td{_RIGHT if r else ''}>{escape(_cell(c))}</td>" for c, r in zip(row, right_cells, strict=True))
            body += f"<tr>{''.join(parts)}</tr>"
        title = f"<caption>{escape(caption)}</caption>" if caption else ""
        self._blocks.append(f"<table>{title}{head}<tbody>{body}</tbody></table>")
        return self

    def add_image(self, image: Image.Image | str | Path, caption: str = "") -> "Report":
        """A picture in memory, or a .png, .jpg, .gif or .webp file as it is."""
        if isinstance(image, Image.Image):
            source = _picture(image, "png")
        else:
            kind = Path(image).suffix.lower().removeprefix(".").replace("jpg", "jpeg")
            if kind not in ("png", "jpeg", "gif", "webp"):
                raise FormatError(f"'{Path(image).name}' is not a .png, .jpg, .gif or .webp picture")
            source = _embedded(Path(image).read_bytes(), kind)
        return self._figure(f'<img src="{source}" alt="{escape(caption, quote=True)}">', caption)

    def add_chart(self, *svg: str, caption: str = "") -> "Report":
        """Charts of `parc.report.svg_chart`, side by side where there is room."""
        if len(svg) == 1:
            return self._figure(svg[0], caption)
        self._blocks.append('<div class="charts">' + "".join(f"<figure>{s}</figure>" for s in svg) + "</div>")
        if caption:
            self._blocks.append(f"<figcaption>{escape(caption)}</figcaption>")
        return self

    def add_details(self, summary: str, content: str | Mapping[str, Any]) -> "Report":
        """Something folded away: a log, the settings as JSON."""
        text = content if isinstance(content, str) else json.dumps(content, indent=2, default=str)
        self._blocks.append(f"<details><summary>{escape(summary)}</summary><pre>{escape(text)}</pre></details>")
        return self

    def add_replay(self, clips: Clip | Sequence[Clip], character: Character, caption: str = "") -> "Report":
        """Motions to look at from every side; several can be switched on and off."""
        payload = json.dumps(replay_payload(clips, character), separators=(",", ":")).replace("<", "\\u003c")
        self._replays += 1
        block = f'<div class="replay"><script type="application/json">{payload}</script></div>'
        return self._figure(block, caption)

    def add_gallery(self, entries: Sequence["GalleryEntry"], character: Character) -> "Report":
        """Small pictures of many motions; a click on one replays it in place. Nothing is unpacked before, and few stay open."""
        cards = []
        for entry in entries:
            width, height = entry.picture.size
            payload = json.dumps(replay_payload(entry.clip, character), separators=(",", ":")).replace("<", "\\u003c")
            self._replays += 1
            cards.append(
                f'<figure class="card"><div class="replay lazy" role="button" tabindex="0" title="replay">'
                f'<img loading="lazy" width="{width}" height="{height}" src="{_picture(entry.picture, "webp")}"'
                f' alt="{escape(entry.clip.name, quote=True)}">'
                f'<script type="application/json">{payload}</script></div>'
                f"<figcaption><b>{escape(entry.clip.name)}</b><br>{escape(entry.note)}</figcaption></figure>"
            )
        self._blocks.append(f'<div class="gallery">{"".join(cards)}</div>')
        return self

    def html(self) -> str:
        script = f"<script>\n{_packaged('replay.js')}</script>" if self._replays else ""
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(self.title)}</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<style>{_packaged('report.css')}</style></head>\n<body><main>\n"
            + "\n".join(self._blocks)
            + f"\n</main>{script}</body></html>\n"
        )

    def write(self, file: str | Path) -> Path:
        file = Path(file)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.html(), encoding="utf-8")
        return file

    def _figure(self, content: str, caption: str) -> "Report":
        note = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
        self._blocks.append(f"<figure>{content}{note}</figure>")
        return self


@dataclass(frozen=True, eq=False)
class GalleryEntry:
    clip: Clip
    picture: Image.Image
    note: str = ""


_RIGHT = ' class="number"'


def _picture(image: Image.Image, kind: str) -> str:
    buffer = io.BytesIO()
    image.save(buffer, kind, **({"quality": 72} if kind == "webp" else {"optimize": False}))
    return _embedded(buffer.getvalue(), kind)


def _embedded(data: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _packaged(name: str) -> str:
    return resources.files("parc.report").joinpath(name).read_text(encoding="utf-8")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)
