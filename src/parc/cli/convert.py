"""`parc convert`: one motion file into another."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from parc.cli.command import Command


@dataclass(frozen=True, kw_only=True)
class Convert(Command):
    """Read a motion file and write it in another format; both are told by their extensions."""

    source: Annotated[Path, tyro.conf.Positional]
    """.motion (ours), .pkl (PARC, PARC legacy, MimicKit), .txt (DeepMimic)"""
    target: Annotated[Path, tyro.conf.Positional]
    """file to write"""
    layout: Literal["parc", "legacy", "mimickit"] = "parc"
    """which of the .pkl layouts to write"""

    def run(self) -> dict[str, Any]:
        from parc.character import humanoid
        from parc.dataset import load_clip, save_clip

        clip = load_clip(self.source, humanoid())
        save_clip(clip, self.target, humanoid(), layout=self.layout)
        return {"source": str(self.source), "target": str(self.target), "frames": len(clip.motion), "fps": clip.motion.fps}
