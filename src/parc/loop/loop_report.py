"""The numbers of a run, gathered from its files: what the report page shows and `report.json` holds.

{"preset", "seed", "physics_correction", "kinematic_correction", "recorded", "joined", "clips", "minutes",
 "stages": [{"stage": "iteration-01/tracker", "seconds": 131.9, "result": {..}, "inputs": {..}, "outputs": {file: hash}}],
 "iterations": [{"iteration": 1, "clips": 24, "joined": [..], "refused": {clip: [reasons]}, "warning": null,
                 "diversity": {"start", "new", "all"}, "metrics": {"generated": {..}, "corrected": {..}, "recorded": {..}},
                 "evaluation": {"fwd": 1.2, ..} (`parc.loop.iteration_numbers`) or null,
                 "lineage": [{"clip", "parent", "generator", "tracker", "seconds", "losses": {..}}]}]}
"""

import json
from pathlib import Path
from typing import Any

from parc.dataset.dataset_store import Dataset
from parc.loop.admit_clips import DATASET, read_admission
from parc.loop.ledger import Ledger
from parc.loop.run_progress import read_run
from parc.run.atomic_files import write_bytes_atomically

REPORT_JSON, REPORT_HTML = "report.json", "report.html"


def gather_report(folder: Path | str) -> dict[str, Any]:
    """Of the iterations that are finished."""
    folder = Path(folder)
    settings = read_run(folder)["settings"]
    ledger = Ledger(folder)
    iterations = []
    for i in range(1, settings["iterations"] + 1):
        entry = ledger.stages.get(f"iteration-{i:02d}/dataset")
        if entry is None or not entry.is_done:
            break
        admission = read_admission(folder / f"iteration-{i:02d}" / "dataset")
        iterations.append({"iteration": i, **admission})
    newest = None if not iterations else newest_dataset(folder, len(iterations))
    for iteration in iterations:
        measured = ledger.stages.get(f"iteration-{iteration['iteration']:02d}/evaluation")
        iteration["lineage"] = [] if newest is None else _lineage(newest, iteration["joined"])
        iteration["evaluation"] = measured.result if measured is not None and measured.is_done else None
    made = "recording" if settings["physics_correction"] else "synthesis"
    counts = [ledger.stages[f"iteration-{it['iteration']:02d}/{made}"].result for it in iterations]
    last = iterations[-1] if iterations else {"clips": 0, "minutes": 0.0}
    return {
        "preset": settings["name"],
        "seed": settings["seed"],
        "physics_correction": settings["physics_correction"],
        "kinematic_correction": settings.get("kinematic_correction", True),
        "recorded": sum(c.get("recorded", c.get("clips", 0)) for c in counts),
        "joined": sum(len(it["joined"]) for it in iterations),
        "clips": last["clips"],
        "minutes": last["minutes"],
        "stages": [
            {
                "stage": name,
                "seconds": e.seconds,
                "result": e.result,
                "inputs": e.inputs,
                "outputs": {k: v.sha256 for k, v in e.outputs.items()},
            }
            for name, e in ledger.stages.items()
            if e.is_done
        ],
        "iterations": iterations,
    }


def write_report_json(folder: Path | str, report: dict[str, Any]) -> Path:
    """The numbers of a run as report.json in its folder."""
    file = Path(folder) / REPORT_JSON
    write_bytes_atomically(file, json.dumps(report, indent=1).encode())
    return file


def newest_dataset(folder: Path, iterations: int) -> Dataset:
    """D of the last of the finished iterations, which holds the clips of all of them."""
    return Dataset.open(folder / f"iteration-{iterations:02d}" / "dataset" / DATASET)


def _lineage(dataset: Dataset, names: list[str]) -> list[dict[str, Any]]:
    """Where the clips that joined came from: the generated clip, the models that made both."""
    entries = {entry.name: entry for entry in dataset.entries}
    rows = []
    for name in names:
        entry = entries[name]
        rows.append(
            {
                "clip": name,
                "parent": entry.provenance.parent,
                "generator": entry.provenance.models.get("generator", ""),
                "tracker": entry.provenance.models.get("tracker", ""),
                "seconds": entry.seconds,
                "losses": entry.provenance.losses,
            }
        )
    return rows
