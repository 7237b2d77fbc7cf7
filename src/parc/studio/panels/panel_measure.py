"""Numbers of the clip that is worked on, and curves over its time."""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from viser import uplot

from parc.metrics.clip_measures import UNITS
from parc.render import palette
from parc.studio.actions.clip_analysis import Analysis
from parc.studio.document import Document
from parc.studio.panels.controls import put
from parc.studio.panels.marked_text import Marked, add_html, joined, marked, show

if TYPE_CHECKING:
    from parc.studio.studio_page import Page

_FIRST = ("penetration, mm", "largest body jerk, m/s3")
_EMPTY = (np.array([0.0, 1.0]), np.array([0.0, 0.0]), np.array([0.0, 0.0]))


_NOW = "#404850"


class MeasurePanel:
    """The tab of numbers and curves."""

    def __init__(self, page: "Page") -> None:
        self._page, gui = page, page.gui
        self._plots = []
        self._choices = []
        for k, name in enumerate(_FIRST):
            choice = gui.add_dropdown(f"Curve {k + 1}", (name,))
            plot = gui.add_uplot(
                _EMPTY,
                _series(name, k),
                scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
                height=180,
                padding=(14, 18, 0, 0),
            )
            choice.on_update(page.act(self._draw))
            self._choices.append(choice)
            self._plots.append(plot)
        self._table = add_html(gui, marked(""))
        self._analysis: Analysis | None = None
        self._shown = list(_FIRST)

    def refresh(self, document: Document) -> None:
        if document.clip is None:
            self.show(None)

    def show(self, analysis: Analysis | None) -> None:
        self._analysis = analysis
        if analysis is None:
            show(self._table, marked("<p style='padding:0 1em'>Open a clip to measure it.</p>"))
        else:
            show(self._table, metrics_table(analysis.clip.name, analysis.metrics))
            names = tuple(analysis.curves.values)
            for choice in self._choices:
                if tuple(choice.options) != names:
                    kept = choice.value
                    choice.options = names
                    put(choice, kept)
        self._draw()

    def show_time(self) -> None:
        """The line at the frame that is shown."""
        if self._analysis is not None:
            self._draw()

    def _draw(self) -> None:
        now = self._page.playback.clock.time
        curves = None if self._analysis is None else self._analysis.curves
        for k, (choice, plot) in enumerate(zip(self._choices, self._plots, strict=True)):
            name = choice.value
            known = curves is not None and name in curves.values and len(curves.time) > 1
            values = (curves.time, np.nan_to_num(curves.values[name])) if known and curves is not None else None
            plot.data = _EMPTY if values is None else with_cursor(*values, now)
            if self._shown[k] != name:
                self._shown[k] = name
                plot.series = _series(name, k)


def with_cursor(time: NDArray, values: NDArray, now: float) -> tuple[NDArray, NDArray, NDArray]:
    """Times, the curve, and a second one that runs along the curve's lowest value with a spike to its highest at `now`."""
    now = float(np.clip(now, time[0], time[-1]))
    at = int(np.searchsorted(time, now))
    here = np.interp(now, time, values)
    low, high = float(values.min()), float(values.max())
    spike = np.full(len(time) + 3, low)
    spike[at + 1] = high if high > low else low + 1.0
    return np.insert(time, at, [now] * 3), np.insert(values, at, [here] * 3), spike


def _series(name: str, k: int) -> tuple[uplot.Series, uplot.Series, uplot.Series]:
    return (
        uplot.Series(label="time, s"),
        uplot.Series(label=name, stroke=_colour(k), width=1.5),
        uplot.Series(label="now", stroke=_NOW, width=1.0, points=uplot.Series_Points(show=False)),
    )


def metrics_table(name: str, metrics: dict[str, float]) -> Marked:
    """A table of a clip's metrics with their units."""
    rows = joined(
        marked(
            "<tr><td style='padding-right:.8em'>{}</td>"
            "<td style='text-align:right;padding-right:.8em;font-variant-numeric:tabular-nums'><b>{}</b></td>"
            "<td style='opacity:.65;font-size:.85em'>{}</td></tr>",
            key,
            _number(value),
            UNITS.get(key, ""),
        )
        for key, value in metrics.items()
    )
    return marked("<div style='padding:.2em 1em;font-size:.85em'><b>{}</b><table>{}</table></div>", name, rows)


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.4g}"


def _colour(k: int) -> str:
    return (palette.JUMP, palette.FIGURES[0])[k]
