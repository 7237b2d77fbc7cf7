"""What a crossing leaves on disk: motions, a page to replay it, a film strip, and the facts as JSON."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parc.character import Character
from parc.cli.picture_file import save_picture
from parc.dataset import save_clip
from parc.path import TerrainPath
from parc.plan import Traverse
from parc.render import filmstrip
from parc.report import Report
from parc.run.atomic_files import write_bytes_atomically

_PANEL_SECONDS = 0.75
"""s between the pictures of a film strip, about"""

_FACTS = frozenset({"reached", "progress", "tries", "rounds", "survival", "files"})
"""what a note of a crossing says, and hardly another JSON file of that name"""


def write_outcome(
    result: "Traverse", route: "TerrainPath", character: "Character", out: Path, motions: Sequence[Path], seed: int, strip: bool
) -> dict[str, Any]:
    """Files beside `out`, whose extension does not count; returns the facts."""

    facts = facts_of(result, route, seed)
    files: list[Path] = []
    if result.simulated is not None and result.plan is not None:
        for file in motions:
            save_clip(result.simulated, file, character)
            files.append(file)
        fate = "The goal was reached." if result.reached else "The goal was not reached; this is the body that came farthest."
        page = Report(result.simulated.name, fate)
        page.add_replay([result.simulated, result.plan], character, "the simulated body, and what it was asked to do")
        if strip:
            rows = max(1, min(8, round(result.seconds / _PANEL_SECONDS / 6)))
            picture = filmstrip(result.simulated, character, 6, rows)
            page.add_image(picture, "simulated")
            files.append(out.with_suffix(".png"))
            save_picture(picture, files[-1])
        page.add_table(facts)
        files.append(out.with_suffix(".html"))
        write_bytes_atomically(files[-1], page.html().encode())
    note = out.with_suffix(".json")
    _remove_older(note, files)
    facts["files"] = [str(file) for file in (*files, note)]
    write_bytes_atomically(note, json.dumps(facts, indent=1).encode())
    return facts


def _remove_older(note: Path, files: Sequence[Path]) -> None:
    """What an earlier crossing wrote beside its note would otherwise pass for this one's."""
    try:
        facts = json.loads(note.read_bytes())
        if not facts.keys() >= _FACTS:
            return
        older = [note.parent / Path(file).name for file in facts["files"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return
    for file in older:
        if file.stem == note.stem and file not in (*files, note):
            file.unlink(missing_ok=True)


def facts_of(result: "Traverse", route: "TerrainPath", seed: int) -> dict[str, Any]:
    """How a crossing went, in numbers."""
    return {
        "reached": result.reached,
        "progress": result.progress,
        "length": route.length,
        "seconds": result.seconds,
        "tries": result.tries,
        "rounds": result.rounds,
        "survival": result.survival,
        "simulated_seconds": result.simulated_steps / 30.0,
        "wall": result.wall,
        "cpu": result.cpu,
        "seed": seed,
    }
