"""A data card: what is in a data set, as a dict for machines and as markdown for people."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from parc.dataset.clip_entry import ClipEntry
from parc.dataset.dataset_store import Dataset

_MARKS = {ord(c): f"&#{ord(c)};" for c in "&<>|[]*`"} | dict.fromkeys(range(32), " ")
"""of Markdown and HTML, in texts that come from files"""


def data_card(dataset: Dataset) -> dict[str, Any]:
    """Counts and distributions; reads every terrain and root track once."""
    entries = dataset.entries
    card: dict[str, Any] = {
        "name": dataset.folder.name,
        "character": dataset.index.character,
        "fingerprint": dataset.index.fingerprint,
        "clips": len(entries),
        "frames": dataset.frames,
        "minutes": dataset.seconds / 60,
        "seconds_per_clip": _spread([e.seconds for e in entries]),
        "fps": _counts(f"{e.fps:g}" for e in entries),
        "skills": _groups(entries, lambda e: e.skill or "unlabelled"),
        "sources": _groups(entries, lambda e: e.provenance.source or "unknown"),
        "terrain_sizes": _counts(f"{e.size[0]}x{e.size[1]} of {round(e.cell, 4):g} m" for e in entries),
        "with_path": sum(e.path_nodes > 0 for e in entries),
        "lineage": _lineage(entries),
    }
    return card | _heights(dataset)


def card_markdown(card: dict[str, Any], most: int = 10) -> str:
    """Tables longer than `most` rows end with a count of the rest."""
    height = card["terrain_heights"]
    lines = [
        f"# Data set {_plain(card['name'])}",
        "",
        f"{card['clips']} clips, {card['frames']} frames, {card['minutes']:.1f} minutes, for character "
        f"{_plain(card['character'])} ({_plain(card['fingerprint'])}); {card['with_path']} with a path.",
        f"Clip length {_range(card['seconds_per_clip'], 's')}. Frames per second: {_listing(card['fps'])}.",
        f"Terrain relief (highest minus lowest cell) {_range(height['relief'], 'm')}; "
        f"root climbs {_range(card['root_climb'], 'm')} between its lowest and highest point.",
        f"Labelled contact: {100 * card['contact_share']:.1f} % of body frames.",
    ]
    lines += _table("Skill", card["skills"], most)
    lines += _table("Source", card["sources"], most)
    lines += ["", "| Terrain | Clips |", "|---|---|"]
    lines += [f"| {size} | {n} |" for size, n in list(card["terrain_sizes"].items())[:most]]
    lines += ["", "| Iteration | Clips | Minutes | Derived from | Edits (how often) |", "|---|---|---|---|---|"]
    for iteration, group in card["lineage"].items():
        edits = _listing(group["edits"]) or "-"
        lines.append(f"| {iteration} | {group['clips']} | {group['minutes']:.1f} | {group['parents']} clips | {edits} |")
    return "\n".join(lines) + "\n"


def _heights(dataset: Dataset) -> dict[str, Any]:
    relief, climb, lowest, highest, contact = [], [], math.inf, -math.inf, []
    for clip in dataset:
        low, high = (float(x) for x in torch.aminmax(clip.terrain.heights))
        lowest, highest = min(lowest, low), max(highest, high)
        relief.append(high - low)
        z = clip.motion.root_pos[:, 2]
        climb.append(float(z.amax() - z.amin()))
        contact.append(float(clip.motion.contacts.mean()) * len(clip.motion))
    heights = {"lowest": lowest if relief else None, "highest": highest if relief else None, "relief": _spread(relief)}
    return {"terrain_heights": heights, "root_climb": _spread(climb), "contact_share": sum(contact) / max(dataset.frames, 1)}


def _spread(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {"least": 0.0, "median": 0.0, "most": 0.0, "mean": 0.0}
    ordered = torch.tensor(values, dtype=torch.float64)
    return {
        "least": float(ordered.min()),
        "median": float(ordered.median()),
        "most": float(ordered.max()),
        "mean": float(ordered.mean()),
    }


def _groups(entries: Sequence[ClipEntry], key: Callable[[ClipEntry], str]) -> dict[str, dict[str, float]]:
    groups: dict[str, list[ClipEntry]] = defaultdict(list)
    for entry in entries:
        groups[key(entry)].append(entry)
    found = {name: {"clips": len(group), "minutes": sum(e.seconds for e in group) / 60} for name, group in groups.items()}
    return dict(sorted(found.items(), key=lambda item: -item[1]["minutes"]))


def _lineage(entries: Sequence[ClipEntry]) -> dict[str, dict[str, Any]]:
    found = {}
    for iteration in sorted({e.provenance.iteration for e in entries}):
        group = [e for e in entries if e.provenance.iteration == iteration]
        found[str(iteration)] = {
            "clips": len(group),
            "minutes": sum(e.seconds for e in group) / 60,
            "parents": len({e.provenance.parent for e in group} - {""}),
            "edits": _counts(_kind(edit) for e in group for edit in e.provenance.edits),
            "models": sorted({f"{kind} {model}" for e in group for kind, model in e.provenance.models.items()}),
        }
    return found


def _kind(edit: str) -> str:
    """What was done, without its numbers: "hasten to 1.2 m/s" -> hasten; of a piece that was cut out only numbers are told."""
    word = re.match(r"[^\W\d]\w*", edit)
    return word[0] if word else "cut"


def _plain(text: str) -> str:
    """Shown as it is."""
    return text.translate(_MARKS)


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(Counter(values).most_common())


def _range(spread: dict[str, float], unit: str) -> str:
    return f"{spread['least']:.2f} to {spread['most']:.2f} {unit}, median {spread['median']:.2f} {unit}"


def _listing(counts: dict[str, int]) -> str:
    return ", ".join(f"{_plain(name)} ({n})" for name, n in counts.items())


def _table(title: str, groups: dict[str, dict[str, float]], most: int) -> list[str]:
    rows = [f"| {_plain(name)} | {group['clips']} | {group['minutes']:.2f} |" for name, group in groups.items()]
    if len(rows) > most:
        rest = list(groups.values())[most:]
        rows = [*rows[:most], f"| {len(rest)} more | {sum(g['clips'] for g in rest)} | {sum(g['minutes'] for g in rest):.2f} |"]
    return ["", f"| {title} | Clips | Minutes |", "|---|---|---|", *rows]
