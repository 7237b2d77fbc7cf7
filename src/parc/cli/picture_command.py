"""`parc picture`: a clip as a picture, film strip, contact sheet or film; many clips as a page of film strips."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from parc.cli.base_command import progress, shown
from parc.cli.character_option import OfCharacter
from parc.dataset import load_clip
from parc.dataset.clip_reading import read_clips
from parc.errors import SettingsError
from parc.render import animate, contact_sheet, draw_clip, filmstrip
from parc.render.film_file import check_film
from parc.render.picture_file import ANIMATIONS, check_picture, save_picture
from parc.report import Report
from parc.run.atomic_files import write_bytes_atomically


@dataclass(frozen=True, kw_only=True)
class Picture(OfCharacter):
    """Draw a motion file: ghosts of its poses in one picture, a film strip, a contact sheet, or a film (.mp4, .webp, .gif).

    Several motions, of a data set or a folder, become a page (.html) with a film strip of each, drawn at random.
    """

    clip: Annotated[Path, tyro.conf.Positional]
    """.motion, .pkl, .txt, .bvh or .npz file, or a clip of a data set as FOLDER/NAME; for a page a data set or folder"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """picture (.png, .jpg), film (.mp4, .webp, .gif), or page (.html)"""
    kind: Literal["ghosts", "strip", "sheet"] = "ghosts"
    """for .png: all poses in one picture, a film strip, or a contact sheet: side views every .1 s, which show each step"""
    start_time: float = 0.0
    """s, of a strip or sheet"""
    stop_time: float | None = None
    """s, of a strip or sheet; the end if not given"""
    every: float = 0.1
    """s between the pictures of a sheet"""
    columns: int | None = None
    """pictures in a row of a strip (6), sheet (14) or page (8)"""
    count: int = 20
    """motions of a page"""
    fps: float | None = None
    """pictures a second of a film; 30 for .mp4, 15 for others"""
    width: int = 480
    """px of a film; it is three quarters as high"""

    def run(self) -> dict[str, Any]:
        """Draw."""
        if self.out.suffix.lower() == ".html":
            return self._page()
        check_picture(self.out, animated=True)
        moves = self.out.suffix.lower() in ANIMATIONS
        part = (self.start_time, self.stop_time, self.columns) != (0.0, None, None)
        if (moves or self.kind == "ghosts") and part:
            raise SettingsError(
                "--start-time, --stop-time and --columns are for a film strip or a contact sheet: --kind strip or sheet"
            )
        if (moves or self.kind != "sheet") and self.every != 0.1:
            raise SettingsError("--every is for a contact sheet: --kind sheet, as a .png")
        if not moves and (self.fps is not None or self.width != 480):
            raise SettingsError("--fps and --width are for a film: .mp4, .webp or .gif")
        if not 64 <= self.width <= 4096:
            raise SettingsError(f"a film {self.width} pixels wide was asked for, expected 64 to 4096")
        if moves:
            check_film(self.out.suffix)
        character = self.body(self.clip)
        clip = load_clip(self.clip, character)
        if moves:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            fps = self.fps or (30.0 if self.out.suffix.lower() == ".mp4" else 15.0)
            size = self.width, self.width * 3 // 4
            with progress(None, "drawing") as bar:
                animate(clip, character, self.out, size, fps, on_progress=shown(bar))
        elif self.kind == "ghosts":
            save_picture(draw_clip(clip, character), self.out)
        elif self.kind == "strip":
            save_picture(filmstrip(clip, character, self.columns or 6, start=self.start_time, stop=self.stop_time), self.out)
        else:
            sheet = contact_sheet(clip, character, self.every, self.columns or 14, self.start_time, self.stop_time)
            save_picture(sheet, self.out)
        return {"out": str(self.out), "frames": len(clip.motion)}

    def _page(self) -> dict[str, Any]:
        """Film strips of random motions, to look at."""
        columns = 8 if self.columns is None else self.columns
        if self.count < 1 or columns < 1:
            raise SettingsError(f"{self.count} strips of {columns} pictures were asked for, expected at least 1 of 1")
        character = self.body(self.clip)
        found = read_clips(self.clip, character)
        order = np.random.default_rng(self.seed).permutation(len(found))[: self.count]
        page = Report("Film strips", f"{len(order)} of {len(found)} motions of {self.clip.name}, drawn with seed {self.seed}")
        with progress(len(order), "strips") as bar:
            for k in sorted(order.tolist()):
                strip = filmstrip(found[k], character, columns, 1, panel=(240, 200))
                page.add_image(strip, f"{found[k].name}, {found[k].motion.duration:.1f} s")
                bar.update()
        write_bytes_atomically(self.out, page.html().encode())
        return {"out": str(self.out), "strips": len(order), "motions": len(found)}
