"""The page of a run of the loop: whether it went well, a replay, what changed; then stages, numbers, lineage, more replays."""

from pathlib import Path
from typing import Any

from markupsafe import Markup

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.dataset_store import Dataset
from parc.generate.training.generator_training import METRICS_FILE
from parc.loop.loop_report import REPORT_HTML, gather_report, newest_dataset, write_report_json
from parc.quality.measure_table import MEASURES
from parc.render.film_strips import filmstrip
from parc.report.iterations_figure import iteration_charts, minutes_by_stage
from parc.report.loop_verdict import courses, verdict
from parc.report.report_page import Report
from parc.report.svg_chart import line_chart
from parc.run.atomic_files import write_bytes_atomically
from parc.run.metrics_log import read_metrics
from parc.track.learn.tracker_training import METRICS

_SHOWN = (
    "seconds", "tpl", "tcl", "pen_mm", "pen_frames", "self_pen_frames", "joint_limit_frames", "foot_skate", "floating",
    "hjf_paper", "max_jerk", "foot_f1",
)  # fmt: skip
_ROWS = 40
"""of a table, at most"""


def write_loop_report(folder: Path | str, character: Character, clips_shown: int = 3) -> Path:
    """Write report.html and report.json into the folder of a run."""
    folder = Path(folder)
    numbers = gather_report(folder)
    write_report_json(folder, numbers)
    page = Report(f"PARC loop: {numbers['preset']}", _subtitle(numbers))
    page.add_text(verdict(numbers))
    shown = _add_newest(page, folder, numbers, character)
    _add_courses(page, numbers)
    page.add_table(
        {
            "clips recorded": numbers["recorded"],
            "clips added": numbers["joined"],
            "clips in the data set": numbers["clips"],
            "minutes in the data set": numbers["minutes"],
            "seconds of work": sum(s["seconds"] for s in numbers["stages"]),
        }
    )
    _add_measured(page, numbers)
    _add_stages(page, numbers)
    for iteration in numbers["iterations"]:
        _add_iteration(page, folder, iteration)
        names = [name for name in iteration["joined"] if name != shown]
        _add_clips(page, newest_dataset(folder, len(numbers["iterations"])), names, character, clips_shown)
        _add_lineage(page, iteration)
    page.add_details("hashes: what each stage and each clip was made from", _hashes(numbers))
    page.add_details("everything as JSON (report.json)", numbers)
    file = folder / REPORT_HTML
    write_bytes_atomically(file, page.html().encode())
    return file


def _subtitle(numbers: dict[str, Any]) -> str:
    ablation = "" if numbers["physics_correction"] else ", without physics correction"
    ablation = ablation if numbers["kinematic_correction"] else ", without any correction"
    count = len(numbers["iterations"])
    return f"{count} iteration{'' if count == 1 else 's'} finished, seed {numbers['seed']}{ablation}"


def _add_measured(page: Report, numbers: dict[str, Any]) -> None:
    charts = iteration_charts(numbers)
    if charts:
        page.add_section("On the development set", "The paper's numbers are of other terrains, after about a month of an A6000.")
        page.add_chart(*charts)


def _add_stages(page: Report, numbers: dict[str, Any]) -> None:
    page.add_section("Stages")
    if numbers["stages"]:
        page.add_table(*minutes_by_stage(numbers), "minutes of work; stages beside others count in full")
    rows = []
    for stage in numbers["stages"]:
        result = ", ".join(f"{k} {_short(v)}" for k, v in stage["result"].items() if isinstance(v, int | float))
        rows.append([stage["stage"], round(stage["seconds"], 1), result])
    page.add_table(rows, ["stage", "seconds", "result"])


def _add_newest(page: Report, folder: Path, numbers: dict[str, Any], character: Character) -> str:
    """A replay of the longest clip that joined last; its name."""
    for iteration in reversed(numbers["iterations"]):
        if iteration["joined"]:
            (clip,) = _longest(newest_dataset(folder, len(numbers["iterations"])), iteration["joined"], 1)
            text = f"recorded in iteration {iteration['iteration']}: {clip.name}; drag to turn, wheel to zoom"
            page.add_replay(clip, character, text)
            return clip.name
    return ""


def _add_courses(page: Report, numbers: dict[str, Any]) -> None:
    """The numbers of every iteration side by side, those that changed first."""
    turns = {1: "better", -1: "worse", 0: ""}
    found = sorted(courses(numbers), key=lambda course: course.turn == 0)
    rows = [[c.what.says, *(_cell(v) for v in c.values), c.what.unit, turns[c.turn]] for c in found]
    names = [f"iteration {iteration['iteration']}" for iteration in numbers["iterations"]]
    if rows:
        page.add_table(rows, ["", *names, "unit", "first to last"])


def _hashes(numbers: dict[str, Any]) -> dict[str, Any]:
    stages = {stage["stage"]: {"made from": stage["inputs"], "files": stage["outputs"]} for stage in numbers["stages"]}
    rows = [row for iteration in numbers["iterations"] for row in iteration["lineage"]]
    return {"stages": stages, "clips": {row["clip"]: {"generator": row["generator"], "tracker": row["tracker"]} for row in rows}}


def _add_iteration(page: Report, folder: Path, numbers: dict[str, Any]) -> None:
    i = numbers["iteration"]
    place = folder / f"iteration-{i:02d}"
    page.add_section(f"Iteration {i}", _summary(numbers))
    if numbers["warning"]:
        page.add_text(f"Warning: {numbers['warning']}.")
    sets = list(numbers["metrics"])
    rows = [[key, *(_cell(numbers["metrics"][s].get(key)) for s in sets), MEASURES[key].unit] for key in _SHOWN]
    page.add_table(
        rows, ["metric (mean)", *sets, "unit"], "as generated, after kinematic correction, as recorded, and what joined"
    )
    charts = [chart for chart in (_generator_chart(place), _tracker_chart(place)) if chart]
    if charts:
        page.add_chart(*charts)


def _add_lineage(page: Report, numbers: dict[str, Any]) -> None:
    """Where clips came from, and why others did not join."""
    lineage = [
        [row["clip"], row["parent"], round(row["seconds"], 2), _cell(row["losses"].get("tracking_error"))]
        for row in numbers["lineage"][:_ROWS]
    ]  # fmt: skip
    if lineage:
        columns = ["clip", "made from", "seconds", f"tracking error, {MEASURES['tracking_error'].unit}"]
        page.add_table(lineage, columns, _caption("lineage of the clips that joined", len(numbers["lineage"])))
    refused = [[name, "; ".join(reasons)] for name, reasons in list(numbers["refused"].items())[:_ROWS]]
    if refused:
        page.add_table(refused, ["clip", "why it did not join"], _caption("refused", len(numbers["refused"])))


def _add_clips(page: Report, dataset: Dataset, names: list[str], character: Character, count: int) -> None:
    for clip in _longest(dataset, names, count):
        page.add_image(filmstrip(clip, character, columns=6, rows=1), clip.name)
        page.add_replay(clip, character, f"{clip.name}: drag to turn, wheel to zoom")


def _longest(dataset: Dataset, names: list[str], count: int) -> list[Clip]:
    """Of the clips of an iteration that joined."""
    return sorted((dataset[name] for name in names), key=lambda clip: -len(clip.motion))[:count]


def _summary(numbers: dict[str, Any]) -> str:
    diversity = numbers["diversity"]
    text = f"{len(numbers['joined'])} clips joined, {len(numbers['refused'])} were refused; the data set has {numbers['clips']}."
    if diversity["new"] is not None and diversity["start"]:
        text += f" Sound new clips are {100 * diversity['new'] / diversity['start']:.0f} % as diverse as the starting set."
    return text


def _generator_chart(place: Path) -> Markup | None:
    rows = _rows(place / "generator" / METRICS_FILE)
    if len(rows) < 2:
        return None
    points = ([r["step"] for r in rows], [r["total"] for r in rows])
    return line_chart({"loss": points}, "generator", "step", "training loss")


def _tracker_chart(place: Path) -> Markup | None:
    rows = [r for r in _rows(place / "tracker" / METRICS) if r.get("event") == "evaluation"]
    if len(rows) < 2:
        return None
    samples = [r["samples"] for r in rows]
    lines = {"tracked": (samples, [r["tracked"] for r in rows]), "success": (samples, [r["success"] for r in rows])}
    return line_chart(lines, "tracker", "samples", "share")


def _rows(file: Path) -> list[dict[str, Any]]:
    return read_metrics(file) if file.is_file() else []


def _caption(text: str, total: int) -> str:
    return text if total <= _ROWS else f"{text} (first {_ROWS} of {total})"


def _short(value: float) -> str:
    return f"{value:.4g}"


def _cell(value: float | None) -> float | str:
    return "" if value is None else value
