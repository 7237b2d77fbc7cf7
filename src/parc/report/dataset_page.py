"""The page of a data set: its card, and a small picture of every clip that replays it when clicked.

One file that opens offline. Motions are unpacked only when they are looked at, so hundreds of clips stay usable; where a whole
set would make the page too large, motions are shown at every second, third, ... frame.
"""

from dataclasses import replace
from math import ceil
from pathlib import Path

import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.dataset_card import data_card
from parc.dataset.dataset_store import Dataset
from parc.motion.motion_edits import select
from parc.render.camera import Size
from parc.render.clip_picture import draw_clip
from parc.report.report_page import GalleryEntry, Report
from parc.report.svg_chart import bar_chart
from parc.run.atomic_files import write_bytes_atomically
from parc.run.on_progress import OnProgress

PICTURE: Size = (300, 200)
BYTES_PER_BODY = 20
"""of a frame in the page: 15 bytes of position, rotation and contact in base64"""
_SHOWN = {"mocap_feet": "feet {:.1f} cm", "mocap_penetration": "depth {:.1f} mm", "mocap_slide": "slide {:.1f} cm/s"}
"""measured qualities told under a picture"""


def write_dataset_page(
    dataset: Dataset,
    character: Character,
    file: Path | str,
    megabytes: float = 22.0,
    on_progress: OnProgress | None = None,
) -> Path:
    """`megabytes` is what the motions may take; pictures come on top, about 10 kB a clip."""
    dataset.check_fits(character)
    card = data_card(dataset)
    page = Report(f"Data set {card['name']}", f"{card['clips']} clips, {card['minutes']:.1f} minutes, for {card['character']}")
    height = card["terrain_heights"]["relief"]
    page.add_table(
        {
            "clips": card["clips"],
            "minutes": card["minutes"],
            "length of a clip, s (least, median, most)": _three(card["seconds_per_clip"]),
            "relief of a terrain, m (least, median, most)": _three(height),
            "climb of the root, m (least, median, most)": _three(card["root_climb"]),
            "bodies in contact, %": 100 * card["contact_share"],
        }
    )
    minutes = {skill: group["minutes"] for skill, group in card["skills"].items()}
    if len(minutes) > 1:
        page.add_chart(bar_chart(minutes, "minutes of each skill", "minutes"))
    every = max(1, ceil(BYTES_PER_BODY * len(character) * dataset.frames / (1e6 * megabytes)))
    if every > 1:
        page.add_text(f"To keep the page small, replays show every {every}. frame.")
    order = sorted(range(len(dataset)), key=lambda i: (dataset.entries[i].skill, dataset.entries[i].name))
    groups: dict[str, list[int]] = {}
    for i in order:
        groups.setdefault(dataset.entries[i].skill or "unlabelled", []).append(i)
    done = 0
    for skill, rows in groups.items():
        page.add_section(f"{skill} ({len(rows)})")
        entries = []
        for i in rows:
            clip = dataset[i]
            picture = draw_clip(clip, character, frames=5, size=PICTURE)
            entries.append(GalleryEntry(_thinned(clip, every), picture, _note(clip)))
            done += 1
            if on_progress:
                on_progress(done, len(dataset))
        page.add_gallery(entries, character)
    file = Path(file)
    write_bytes_atomically(file, page.html().encode())
    return file


def _thinned(clip: Clip, every: int) -> Clip:
    if every == 1:
        return clip
    motion = select(clip.motion, torch.arange(0, len(clip.motion), every))
    return replace(clip, motion=replace(motion, fps=clip.motion.fps / every))


def _note(clip: Clip) -> str:
    losses = clip.provenance.losses
    parts = [f"{len(clip.motion) / clip.motion.fps:.1f} s"]
    parts += [text.format(losses[key]) for key, text in _SHOWN.items() if key in losses]
    if clip.provenance.parent:
        parts.append(f"from {clip.provenance.parent}: {clip.provenance.edits[-1]}" if clip.provenance.edits else "")
    elif clip.provenance.source:
        parts.append(clip.provenance.source)
    return ", ".join(p for p in parts if p)


def _three(spread: dict[str, float]) -> str:
    return ", ".join(f"{spread[key]:.2f}" for key in ("least", "median", "most"))
