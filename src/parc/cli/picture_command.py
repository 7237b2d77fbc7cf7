"""`parc picture`: a clip as a picture, film strip, contact sheet or animation."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from parc.cli.base_command import Command
from parc.cli.picture_file import ANIMATIONS, check_picture, save_picture


@dataclass(frozen=True, kw_only=True)
class Picture(Command):
    """Draw a motion file: ghosts of its poses in one picture, a film strip, a contact sheet, or an animation (.gif, .webp)."""

    clip: Annotated[Path, tyro.conf.Positional]
    """.motion, .pkl, .txt, .bvh or .npz file, or a clip of a data set as FOLDER/NAME"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """picture (.png, .jpg) or animation (.gif, .webp)"""
    kind: Literal["ghosts", "strip", "sheet"] = "ghosts"
    """for .png: all poses in one picture, a film strip, or a contact sheet: side views every .1 s, which show each step"""
    start: float = 0.0
    """s, of a strip or sheet"""
    stop: float | None = None
    """s, of a strip or sheet; the end if not given"""
    every: float = 0.1
    """s between the pictures of a sheet"""
    columns: int | None = None
    """pictures in a row of a strip (6) or sheet (14)"""

    def run(self) -> dict[str, Any]:
        from parc.character import humanoid
        from parc.dataset import load_clip
        from parc.errors import SettingsError
        from parc.render import animate, contact_sheet, draw_clip, filmstrip

        check_picture(self.out, animated=True)
        moves = self.out.suffix.lower() in ANIMATIONS
        part = (self.start, self.stop, self.columns) != (0.0, None, None)
        if (moves or self.kind == "ghosts") and part:
            raise SettingsError("--start, --stop and --columns are for a film strip or a contact sheet: --kind strip or sheet")
        if (moves or self.kind != "sheet") and self.every != 0.1:
            raise SettingsError("--every is for a contact sheet: --kind sheet, as a .png")
        character = humanoid()
        clip = load_clip(self.clip, character)
        if moves:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            animate(clip, character, self.out)
        elif self.kind == "ghosts":
            save_picture(draw_clip(clip, character), self.out)
        elif self.kind == "strip":
            save_picture(filmstrip(clip, character, self.columns or 6, start=self.start, stop=self.stop), self.out)
        else:
            sheet = contact_sheet(clip, character, self.every, self.columns or 14, self.start, self.stop)
            save_picture(sheet, self.out)
        return {"out": str(self.out), "frames": len(clip.motion)}
