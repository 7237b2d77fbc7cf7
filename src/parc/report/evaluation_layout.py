"""The blocks an evaluation page has beyond those of a report: cards, rows of charts, and viewers that move together.

The style sheet (`evaluation.css`) goes behind the report's and adds the dark colours; `evaluation.js` joins the viewers of
a group: it works them through their own controls, by events, so `replay.js` knows nothing of it.
"""

import json
from collections.abc import Sequence
from html import escape
from importlib import resources

import numpy as np

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.render.viewpoint import best_azimuth
from parc.report.replay_data import replay_payload
from parc.report.report_page import Report

_ELEVATION, _USUAL_AZIMUTH = 42.0, -60.0
"""degrees of a viewer's camera at first"""


class EvaluationPage(Report):
    """A report with cards, comparing tables, rows of charts, and replays that move together."""

    def add_html(self, html: str) -> "EvaluationPage":
        self._blocks.append(html)
        return self

    def add_cards(self, cards: Sequence[tuple[str, str, str]]) -> "EvaluationPage":
        """(value, what it is, the paper's) each."""
        parts = []
        for value, what, theirs in cards:
            beside = f"<br><i>paper {escape(theirs)}</i>" if theirs else ""
            parts.append(f"<div><b>{escape(value)}</b><span>{escape(what)}{beside}</span></div>")
        return self.add_html(f'<div class="cards">{"".join(parts)}</div>')

    def add_panels(self, panels: Sequence[str], kind: str = "panels") -> "EvaluationPage":
        return self.add_html(f'<div class="{kind}">{"".join(f"<figure>{p}</figure>" for p in panels)}</div>')

    def add_together(self, heading: str, clips: Sequence[tuple[list[Clip], str, str]], character: Character) -> "EvaluationPage":
        """Viewers side by side, each (clips, title, note), with one control for all."""
        figures = []
        for shown, title, note in clips:
            payload = json.dumps(replay_payload(shown, character), separators=(",", ":")).replace("<", "\\u003c")
            self._replays += 1
            caption = f"<figcaption><b>{escape(title)}</b> <small>{escape(note)}</small></figcaption>"
            viewer = f'<div class="replay"><script type="application/json">{payload}</script></div>'
            figures.append(f"<figure>{caption}{viewer}</figure>")
        control = (
            f'<div class="master"><strong>{escape(heading)}</strong><button type="button">Play all</button>'
            '<input type="range" min="0" max="1" step="any" value="0"><span class="time"></span></div>'
        )
        columns = len(figures) if len(figures) <= 4 else 3
        kind = "together" if any(len(shown) > 1 for shown, _, _ in clips) else "together alone"
        grid = f'<div class="{kind}" style="--columns: {columns}">{"".join(figures)}</div>'
        look = f'data-azimuth="{_azimuth([clip for shown, _, _ in clips for clip in shown]):g}" data-elevation="{_ELEVATION:g}"'
        return self.add_html(f'<div class="group" {look}>{control}{grid}</div>')

    def html(self) -> str:
        page = super().html().replace("</style>", _packaged("evaluation.css") + "</style>", 1)
        script = f"<script>\n{_packaged('evaluation.js')}</script>" if self._replays else ""
        return page.replace("</body>", f"{script}</body>", 1)


def _azimuth(clips: Sequence[Clip]) -> float:
    """Degrees from which the ways of motions over one terrain are seen best; the usual side where terrains differ."""
    first = clips[0].terrain
    if any(c.terrain.size != first.size or bool((c.terrain.heights != first.heights).any()) for c in clips):
        return _USUAL_AZIMUTH
    ways = np.concatenate([c.motion.root_pos.double().cpu().numpy() for c in clips])
    return best_azimuth(first, ways[:, None], _ELEVATION)


def _packaged(name: str) -> str:
    return resources.files("parc.report").joinpath(name).read_text(encoding="utf-8")
