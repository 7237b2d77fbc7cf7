"""What a crossing leaves on disk: motions, a page to replay it, a film strip, and the facts as JSON."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parc.character import Character
from parc.dataset import save_clip
from parc.dataset.convert.clip_files import WRITABLE
from parc.errors import FormatError, MotionError
from parc.plan import Traverse
from parc.render import filmstrip
from parc.render.picture_file import save_picture
from parc.report import Report
from parc.run.atomic_files import write_bytes_atomically

_WHOLE = ("motion", "bvh", "glb")
"""written where no extension is named"""
_PANEL_SECONDS = 0.75
"""s between the pictures of a film strip, about"""

_FACTS = frozenset({"reached", "progress", "tries", "rounds", "survival", "files"})
"""what a note of a crossing says, and hardly another JSON file of that name"""


def motion_files(out: Path, formats: Sequence[str] = ()) -> list[Path]:
    """The files to write, all of known kinds; without an extension .motion, .bvh and .glb."""
    endings = [f".{word.removeprefix('.').lower()}" for word in (*((out.suffix,) if out.suffix else _WHOLE), *formats)]
    for ending in endings:
        if ending not in WRITABLE:
            raise FormatError(f"motions cannot be written as '{ending}'; known are {', '.join(WRITABLE)}")
    return [out.with_suffix(ending) for ending in dict.fromkeys(endings)]


def write_crossing(
    result: Traverse, character: Character, out: Path, formats: Sequence[str] = (), strip: bool = False
) -> dict[str, Any]:
    """Files beside `out`: motions of its extension and of `formats`, a page, with `strip` a film strip, a note; the facts."""
    targets, facts = motion_files(out, formats), facts_of(result)
    files: list[Path] = []
    if result.simulated is not None and result.plan is not None:
        for file in targets:
            save_clip(result.simulated, file, character)
            files.append(file)
        page = crossing_page(result, character)
        if strip:
            rows = max(1, min(8, round(result.seconds / _PANEL_SECONDS / 6)))
            picture = filmstrip(result.simulated, character, 6, rows)
            page.add_image(picture, "simulated")
            files.append(out.with_suffix(".png"))
            save_picture(picture, files[-1])
        page.add_table(facts)
        files.append(out.with_suffix(".html"))
        page.write(files[-1])
    note = out.with_suffix(".json")
    _remove_older(note, files)
    facts["files"] = [str(file) for file in (*files, note)]
    write_bytes_atomically(note, json.dumps(facts, indent=1).encode())
    return facts


def crossing_page(result: Traverse, character: Character) -> Report:
    """A page that says whether the goal was reached and replays body and plan."""
    if result.simulated is None or result.plan is None:
        raise MotionError("no body survived its first steps: there is nothing to replay")
    fate = "The goal was reached." if result.reached else "The goal was not reached; this is the body that came farthest."
    page = Report(result.simulated.name, fate)
    return page.add_replay([result.simulated, result.plan], character, "the simulated body, and what it was asked to do")


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


def facts_of(result: Traverse) -> dict[str, Any]:
    """How a crossing went, in numbers."""
    return {
        "reached": result.reached,
        "progress": result.progress,
        "length": result.path.length,
        "seconds": result.seconds,
        "tries": result.tries,
        "rounds": result.rounds,
        "survival": result.survival,
        "simulated_seconds": result.simulated_steps / 30.0,
        "wall": result.wall,
        "cpu": result.cpu,
        "seed": result.seed,
    }
