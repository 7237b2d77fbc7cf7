"""`parc picture`: a clip or a terrain as a picture, film strip or animation."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from parc.cli.command import Command
from parc.cli.picture_file import ANIMATIONS, check_picture, save_picture


@dataclass(frozen=True, kw_only=True)
class Picture(Command):
    """Draw a motion file: ghosts of its poses in one picture, a film strip, or an animation (.gif, .webp)."""

    clip: Annotated[Path, tyro.conf.Positional]
    """.motion, .pkl, .txt, .bvh or .npz file, or a clip of a data set as FOLDER/NAME"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """picture (.png, .jpg) or animation (.gif, .webp)"""
    kind: Literal["ghosts", "strip"] = "ghosts"
    """for .png: all poses in one picture, or a film strip"""

    def run(self) -> dict[str, Any]:
        from parc.character import humanoid
        from parc.dataset import load_clip
        from parc.view import animate, draw_clip, filmstrip

        check_picture(self.out, animated=True)
        character = humanoid()
        clip = load_clip(self.clip, character)
        if self.out.suffix.lower() in ANIMATIONS:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            animate(clip, character, self.out)
        else:
            draw = draw_clip if self.kind == "ghosts" else filmstrip
            save_picture(draw(clip, character), self.out)
        return {"out": str(self.out), "frames": len(clip.motion)}
