"""`parc picture`: a clip or a terrain as a picture, film strip or animation."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from parc.cli.command import Command


@dataclass(frozen=True, kw_only=True)
class Picture(Command):
    """Draw a motion file: ghosts of its poses in one picture, a film strip, or an animation (.gif, .webp)."""

    clip: Annotated[Path, tyro.conf.Positional]
    """.motion, .pkl or .txt file"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """.png, .gif or .webp"""
    kind: Literal["ghosts", "strip"] = "ghosts"
    """for .png: all poses in one picture, or a film strip"""

    def run(self) -> dict[str, Any]:
        from parc.character import humanoid
        from parc.dataset import load_clip
        from parc.view import animate, draw_clip, filmstrip

        character = humanoid()
        clip = load_clip(self.clip, character)
        if self.out.suffix.lower() in (".gif", ".webp", ".apng"):
            animate(clip, character, self.out)
        else:
            draw = draw_clip if self.kind == "ghosts" else filmstrip
            draw(clip, character).save(self.out)
        return {"out": str(self.out), "frames": len(clip.motion)}
