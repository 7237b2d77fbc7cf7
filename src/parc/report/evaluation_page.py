"""The page of an evaluation: our tables beside the paper's, charts over iterations, where motions go, and motions to look at.

One file, nothing to fetch, light or dark as the reader's system is. The same test terrain crossed by every generator stands
side by side in viewers that move together (`evaluation.js`).
"""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.evaluate.evaluation_job import Evaluator
from parc.evaluate.evaluation_result import EvaluationResult
from parc.evaluate.models_under_test import Contender, ModelsUnderTest
from parc.evaluate.paper_results import NO_CORRECTION
from parc.evaluate.terrain_sets import set_title
from parc.quality.measure_table import MEASURES
from parc.report.evaluation_table import (
    Column,
    Row,
    comparison,
    dataset_table,
    tracker_columns,
    tracker_errors,
    tracker_values,
)
from parc.report.report_page import Report
from parc.report.svg_axis import short
from parc.report.svg_chart import Line, steps_chart
from parc.report.svg_panel import density_panel, terrain_strip
from parc.run.atomic_files import write_bytes_atomically

JSON_FILE, PAGE_FILE = "evaluation.json", "report.html"
_MOST_VIEWERS = 8
"""side by side; browsers keep about 16 WebGL views alive"""
_HJF = "hjf_code"
"""the released code's count, which made the paper's numbers"""
_TABLE_1 = (
    *(Column(key, f"{key.upper()}, {MEASURES[key].unit}", True) for key in ("fwd", "tpl", "tcl")),
    Column(_HJF, f"HJF, {MEASURES[_HJF].unit}", True, theirs="hjf"),
)
_MORE = (
    Column("goal", "goal reached, %", False),
    Column("hjf_paper", "frames with high jerk, %", True),
    Column("foot_skate", "foot skate, %", True),
    Column("foot_f1", "foot contact F1", False),
    Column("hand_f1", "hand contact F1", False),
    Column("floating", "floating, %", True),
    Column("pen_mm", "penetration, mm", True),
    Column("seam_jerk", "seam jerk ratio", True),
    Column("walk_r", "walking beside people's, R", True),
    Column("human_n", "seconds like people's, N %", False),
)
_F1_UNIT = "labels against geometry"
_CHARTS = tuple(
    (key, told, told.upper(), MEASURES[key].unit) for key, told in (("fwd", "fwd"), ("tpl", "tpl"), ("tcl", "tcl"), (_HJF, "hjf"))
)
_MORE_CHARTS = (
    ("goal", "Goal reached", "%"),
    ("foot_skate", "Foot skate", "% of contact frames"),
    ("foot_f1", "Foot contact F1", _F1_UNIT),
    ("floating", "Floating", "% of frames"),
)


def write_evaluation(
    out: Path, result: EvaluationResult, models: ModelsUnderTest, evaluator: Evaluator, character: Character
) -> Path:
    """Write evaluation.json and report.html; `result` as `parc evaluate` gathers it."""
    write_bytes_atomically(out / JSON_FILE, (json.dumps(result.to_json(), indent=1) + "\n").encode())
    page = Report("PARC evaluation", _subtitle(result), is_evaluation=True)
    page.add_cards(_cards(result))
    _add_generators(page, result)
    _add_trackers(page, result)
    _add_blending(page, result)
    _add_displacement(page, result)
    _add_side_by_side(page, result, models, evaluator, character)
    _add_tracked(page, result, models, evaluator, character)
    _add_method(page, result)
    write_bytes_atomically(out / PAGE_FILE, page.html().encode())
    return out / PAGE_FILE


def _subtitle(result: EvaluationResult) -> str:
    test, settings = result.test_set, result.settings["generator"]
    limits = " and ".join(f"{x:g}" for x in settings["limits"])
    size = f"{set_title(test)} x {settings['candidates']} motions"
    return f"{size}, {limits} s at most; seed {settings['seed']}, {result.device}"


def _main_limit(result: EvaluationResult) -> str:
    return f"{result.settings['generator']['limits'][0]:g}"


def _cards(result: EvaluationResult) -> list[tuple[str, str, str]]:
    """Of the last model that learned from corrected motions."""
    limit, theirs = _main_limit(result), result.paper
    final = _final(result)
    mean, place = final["limits"][limit]["mean"], final["label"] if final["label"] in theirs["generators"] else "iteration 4"
    paper = theirs["generators"][place]
    beside = place.replace("iteration", "it.")
    cards = [
        (f"{short(mean['goal'])} %", f"reach the goal within {limit} s", ""),
        (f"{short(mean['fwd'])} m", "from the goal at the end (FWD)", f"{beside}: {paper['fwd']:g} m"),
        (short(mean["tpl"]), f"penetration (TPL), {MEASURES['tpl'].unit}", f"{beside}: {paper['tpl']:g}"),
        (short(mean["tcl"]), f"missed contact (TCL), {MEASURES['tcl'].unit}", f"{beside}: {paper['tcl']:g}"),
        (f"{short(mean[_HJF])} %", "high jerk frames (HJF)", f"{beside}: {paper['hjf']:g} %"),
    ]
    if result.trackers:
        row = result.trackers[-1]
        place = row["label"] if row["label"] in theirs["trackers"] else "iteration 4"
        paper_success = f"{place.replace('iteration', 'it.')}: {theirs['trackers'][place]['success']:g} %"
        cards.append((f"{short(row['success'])} %", "of its motions tracked to the end", paper_success))
    return cards


def _final(result: EvaluationResult) -> dict[str, Any]:
    corrected = {m["label"] for m in result.models if m["physics_correction"]}
    rows = [row for row in result.generators if row["label"] in corrected]
    return (rows or result.generators)[-1]


def _add_generators(page: Report, result: EvaluationResult) -> None:
    theirs = result.paper["generators"]
    page.add_section(
        "Table 1: motion generators",
        "Means over all motions, nothing selected or corrected, unfinished motions included; ± is the standard error over "
        "terrains, bold the best of ours.",
    )
    for n, limit in enumerate(result.generators[0]["limits"]):
        beside = theirs if n == 0 else {}
        page.add_table(
            comparison(_rows(result, limit), beside, _TABLE_1, f"time limit {limit} s", "the paper's, on walks, limit not stated")
        )
    _add_families(page, result)
    limit = _main_limit(result)
    places, joined = _places([row["label"] for row in result.generators], list(theirs))
    by_label = {row["label"]: row["limits"][limit] for row in result.generators}
    charts = []
    for ours, paper, title, unit in _CHARTS:
        mine = [by_label[p]["mean"][ours] if p in by_label else None for p in places]
        errors = [by_label[p]["error"][ours] if p in by_label else None for p in places]
        paper_values = [theirs[p][paper] if p in theirs else None for p in places]
        lines = [Line(f"ours, {limit} s", "ours", mine, errors), Line("paper", "paper", paper_values)]
        charts.append(steps_chart(title, unit, [_brief(p) for p in places], lines, joined, most=_most(unit)))
    page.add_chart(*charts)
    page.add_heading("Beyond the paper")
    for limit in result.generators[0]["limits"]:
        page.add_table(comparison(_rows(result, limit), {}, _MORE, f"time limit {limit} s"))
    if len(result.generators) > 1:
        page.add_chart(*_more_charts(result))
    _add_likeness(page, result)
    page.add_heading("Which terrains are crossed")
    limit = list(result.generators[0]["limits"])[-1]
    page.add_text(f"One cell a terrain, family by family, the fuller the more of its motions reach the goal within {limit} s.")
    strips = []
    for row in result.generators:
        shares = row["goal_by_terrain"][limit]
        told = (
            f"{short(row['limits'][limit]['mean']['goal'])} % of motions, {sum(x > 0 for x in shares)} of {len(shares)} terrains"
        )
        strips.append((terrain_strip(shares, row["label"]), f"{row['label']}: {told}"))
    page.add_panels(strips, "strips")


def _add_families(page: Report, result: EvaluationResult) -> None:
    """A row for each model and family, where there are several families."""
    families = result.test_set["families"]
    if len(families) < 2:
        return
    page.add_heading("By family of terrain")
    for limit in result.generators[0]["limits"]:
        parts = [(f"{row['label']}, {f}", row["by_family"][f]["limits"][limit]) for row in result.generators for f in families]
        rows = [(label, part["mean"], part["error"]) for label, part in parts]
        page.add_table(comparison(rows, {}, (*_TABLE_1, _MORE[0]), f"time limit {limit} s"))


def _more_charts(result: EvaluationResult) -> list[Markup]:
    """What the paper does not tell, over the models, a line for each time limit."""
    rows = result.generators
    places, joined = _places([row["label"] for row in rows], [])
    by_label = {row["label"]: row["limits"] for row in rows}
    charts = []
    for key, title, unit in _MORE_CHARTS:
        lines = []
        for limit, style in zip(rows[0]["limits"], ("ours", "other", "paper"), strict=False):
            values = [by_label[p][limit]["mean"][key] for p in places]
            lines.append(Line(f"{limit} s", style, values, [by_label[p][limit]["error"][key] for p in places]))
        charts.append(steps_chart(title, unit, [_brief(p) for p in places], lines, joined, may_be_log=False, most=_most(unit)))
    return charts


def _most(unit: str) -> float:
    """No share is larger than all."""
    return 100.0 if unit.startswith("%") else 1.0 if unit == _F1_UNIT else math.inf


def _rows(result: EvaluationResult, limit: str) -> list[Row]:
    return [(row["label"], row["limits"][limit]["mean"], row["limits"][limit]["error"]) for row in result.generators]


def _add_likeness(page: Report, result: EvaluationResult) -> None:
    if result.likeness is None:
        return
    told = result.likeness
    rows = [[r["label"], _cell(r["frechet"]), _cell(r["frechet_floor"]), _cell(r["diversity"])] for r in told["rows"]]
    columns = [
        "best motion of each terrain",
        "Frechet distance to the data",
        "floor (data to data)",
        "diversity, % of the data's",
    ]
    page.add_table(
        rows, columns, f"against the {told['clips']} clips of '{told['data']}': half-second windows, hand-made features"
    )


def _cell(value: float | None) -> float | str:
    return "–" if value is None or math.isnan(value) else value


def _add_trackers(page: Report, result: EvaluationResult) -> None:
    theirs = result.paper["trackers"]
    if result.trackers:
        test = result.settings["tracker"]
        page.add_section(
            "Table 2: motion trackers",
            "Each tracker on the best motion its generator made for each terrain. Success: from the first frame to the end, "
            f"mean action, no noise (beside it, trials with start noise: {test['trials'] - 1}). Joint error: root-relative, "
            f"mean over {test['episodes']} episodes from random frames of each motion (the paper: 2048).",
        )
        rows = [(row["label"], tracker_values(row), tracker_errors(row)) for row in result.trackers]
        page.add_table(comparison(rows, theirs, tracker_columns(), "", "the paper's, on walks"))
        families = result.test_set["families"]
        if len(families) > 1:
            parts = [(f"{row['label']}, {f}", row["by_family"][f]) for row in result.trackers for f in families]
            rows = [(label, tracker_values(part), tracker_errors(part)) for label, part in parts]
            page.add_table(comparison(rows, {}, tracker_columns(), "by family of terrain"))
        places, joined = _places([row["label"] for row in result.trackers], list(theirs))
        by_label = {row["label"]: row for row in result.trackers}
        charts = []
        for key, error, title, unit in (
            ("success", "success_error", "Success", "%"),
            ("joint_error", "joint_error_error", "Joint tracking error", "m"),
        ):
            mine = [by_label[p][key] if p in by_label else None for p in places]
            errors = [by_label[p][error] if p in by_label else None for p in places]
            lines = [Line("ours", "ours", mine, errors)]
            lines.append(Line("paper", "paper", [theirs[p][key] if p in theirs else None for p in places]))
            charts.append(steps_chart(title, unit, [_brief(p) for p in places], lines, joined, most=_most(unit)))
        page.add_chart(*charts)
    if result.on_dataset is not None:
        page.add_section("Trackers on a data set", f"{result.on_dataset['clips']} clips, from the first frame, by skill.")
        for row in result.on_dataset["rows"]:
            page.add_table(dataset_table(row))


def _add_blending(page: Report, result: EvaluationResult) -> None:
    if result.blending is None:
        return
    theirs, limit = result.paper["blending"], _main_limit(result)
    label = result.blending["label"]
    page.add_section(
        "Table 3: blended denoising",
        f"The generator '{label}' with each blending coefficient s, {limit} s. s = 1 ignores the past frames, s = 0 trusts them "
        "alone. The annealed schedules start at 1 while the sample is noise and end at 0.",
    )
    rows = [(r["label"], r["limits"][limit]["mean"], r["limits"][limit]["error"]) for r in result.blending["rows"]]
    columns = (*_TABLE_1, Column("goal", "goal reached, %", False), Column("seam_jerk", "seam jerk ratio", True))
    page.add_table(comparison(rows, theirs, columns, "", "the paper's, iteration 4"))
    constants = [r for r in result.blending["rows"] if r["label"] in theirs]
    charts = []
    for ours, paper, title, unit in _CHARTS:
        mine = [r["limits"][limit]["mean"][ours] for r in constants]
        errors = [r["limits"][limit]["error"][ours] for r in constants]
        lines = [Line("ours", "ours", mine, errors), Line("paper", "paper", [theirs[r["label"]][paper] for r in constants])]
        places = [r["label"].removeprefix("s ") for r in constants]
        charts.append(steps_chart(f"{title} by s", unit, places, lines, most=_most(unit)))
    page.add_chart(*charts)


def _add_displacement(page: Report, result: EvaluationResult) -> None:
    page.add_section(
        "Where motions go",
        "Net horizontal displacement from the first frame, which stands in the middle and looks up. Evenness: 0 % if all "
        "motions go one way, 100 % if all eight directions are taken alike.",
    )
    for heading, rows in (("Data sets", result.datasets), ("Generated on these terrains", result.generators)):
        if rows:
            every = [max(abs(x), abs(y)) for row in rows for x, y in row["displacement"]] or [1.0]
            reach = max(1.0, sorted(every)[math.ceil(0.99 * (len(every) - 1))] * 1.35)
            page.add_heading(heading)
            page.add_panels([(density_panel(row["displacement"], row["label"], _spread_note(row), reach), "") for row in rows])


def _spread_note(row: dict[str, Any]) -> str:
    count = f"{row['clips']} clips" if "clips" in row else f"{row['motions']} motions"
    return f"{count}, {short(row['spread']['distance'])} m on average, evenness {row['spread']['evenness']:.0f} %"


def _add_side_by_side(
    page: Report, result: EvaluationResult, models: ModelsUnderTest, evaluator: Evaluator, character: Character
) -> None:
    shown = _shown(models.generators)
    clips = {c.label: evaluator.best_motions(c) for c in shown}
    page.add_section(
        "The same terrain, crossed by each generator",
        "The best of each generator's motions by the selection score. Drag to turn, wheel to zoom, right button to shift: all "
        "views of a terrain move together. Orange: labelled in contact.",
    )
    for terrain in _interesting(result, [c.label for c in shown], max(1, min(3, _MOST_VIEWERS // len(shown)))):
        viewers = [([replace(clips[c.label][terrain], name=c.label)], c.label, _fate(clips[c.label][terrain])) for c in shown]
        page.add_together(f"Terrain {result.cases[terrain]['name']}", viewers, character)


def _shown(contenders: Sequence[Contender]) -> list[Contender]:
    """At most as many as there may be viewers: the first and the last ones."""
    every = list(contenders)
    return every if len(every) <= _MOST_VIEWERS else [every[0], *every[-(_MOST_VIEWERS - 1) :]]


def _interesting(result: EvaluationResult, labels: list[str], count: int) -> list[int]:
    """Terrains on which the last generator gains most over the first, then those on which it arrives most often."""
    limit = _main_limit(result)
    shares = {row["label"]: row["goal_by_terrain"][limit] for row in result.generators}
    first, last = shares[labels[0]], shares[labels[-1]]
    order = sorted(range(len(last)), key=lambda k: (-(last[k] - first[k]), -last[k], k))
    return order[:count]


def _fate(clip: Clip) -> str:
    losses, seconds = clip.provenance.losses, clip.motion.duration
    end = f"arrives after {seconds:.1f} s" if losses.get("reached") else f"not there after {seconds:.1f} s"
    return f"{end}, TPL {short(losses['selection_penetration'])}, TCL {short(losses['selection_contact'])}"


def _add_tracked(
    page: Report, result: EvaluationResult, models: ModelsUnderTest, evaluator: Evaluator, character: Character
) -> None:
    """Reference and simulation of the last tracker: a motion it follows to the end, and one it loses."""
    if not result.trackers:
        return
    contender = models.trackers[-1]
    told = result.trackers[-1]["by_motion"]
    order = sorted(range(len(told)), key=lambda k: (-told[k]["tracked"], k))
    won = [k for k in order if told[k]["success"]][:1]
    lost = [k for k in order if not told[k]["success"]][:1]
    clips = evaluator.best_motions(contender)
    chosen = [clips[k] for k in (*won, *lost)]
    page.add_section(
        "Reference and simulation",
        f"Generated motion and what the tracker of '{contender.label}' makes of it in physics, each in its colour.",
    )
    viewers = []
    for k, clip, simulated in zip((*won, *lost), chosen, evaluator.simulated(contender, chosen), strict=True):
        end = "followed to the end" if told[k]["success"] else f"lost after {simulated.motion.duration:.1f} s"
        pair = [replace(clip, name="generated"), replace(simulated, name="simulated")]
        viewers.append((pair, f"Terrain {result.cases[k]['name']}", end))
    page.add_together("Tracking", viewers, character)


def _add_method(page: Report, result: EvaluationResult) -> None:
    page.add_section(
        "How it was measured",
        "FWD: horizontal distance of the last frame's root from the end of the path. TPL: depth in the terrain summed over 304 "
        "surface points and all frames. TCL: distance of labelled contacts from the terrain, summed likewise. HJF: (frame, body) "
        "pairs over a jerk of 11666 m/s3 per frame, as the paper's released code counts. TPL and TCL grow with a motion's "
        "length.\n\nThe paper's test terrains, seeds and time limit are not public: its numbers stand here for the same protocol "
        "on terrains of the same kind, not for the same test.",
    )
    rows = [
        [m["label"], *(f"{m[k]['file']} {m[k]['sha256'][:12]}" if m[k] else "" for k in ("generator", "tracker")), m["sampler"]]
        for m in result.models
    ]
    page.add_table(rows, ["model", "generator", "tracker", "sampler"])
    page.add_details("settings", result.settings)


def _places(ours: list[str], theirs: list[str]) -> tuple[list[str], int]:
    """Places on the axis, and how many of them are iterations in order, which a line may join."""
    every = list(dict.fromkeys([*ours, *theirs]))
    iterations = sorted((p for p in every if p.startswith("iteration ")), key=lambda p: int(p.split()[1]))
    models = [p for p in every if p not in iterations and not p.endswith(NO_CORRECTION)]
    rest = [p for p in every if p not in iterations and p not in models]
    return [*iterations, *models, *rest], len(iterations)


def _brief(place: str) -> str:
    return place.replace(NO_CORRECTION, "no corr.").replace("iteration ", "it. ")
