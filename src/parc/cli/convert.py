"""`parc convert`: one motion file into another."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from parc.cli.command import Command

_DROPPED = {
    ".bvh": ("contacts", "terrain", "path"),
    ".glb": ("contacts", "path"),
    ".usd": ("contacts", "path"),
    ".usda": ("contacts", "path"),
    ".usdc": ("contacts", "path"),
    ".npz": ("terrain", "path"),
    "mimickit": ("contacts", "terrain", "path"),
}
"""what a format has no place for"""


@dataclass(frozen=True, kw_only=True)
class Convert(Command):
    """Read a motion file and write it in another format; both are told by their extensions.

    What a format has no place for is dropped: only .motion and PARC's .pkl keep contacts, terrain and path, .glb and .usd draw
    the terrain, .npz keeps contacts.
    """

    source: Annotated[Path, tyro.conf.Positional]
    """.motion (ours), .pkl (PARC, PARC legacy, MimicKit), .txt (DeepMimic), .bvh (the humanoid's bones), .npz (MuJoCo qpos)"""
    target: Annotated[Path, tyro.conf.Positional]
    """file to write: .motion, .pkl, .bvh, .npz (MuJoCo qpos), .glb, .usd .usda .usdc (these need the extra [usd])"""
    layout: Literal["parc", "legacy", "mimickit"] = "parc"
    """which of the .pkl layouts to write"""
    unit: Literal["m", "cm"] = "m"
    """length unit of a .bvh to write"""

    def run(self) -> dict[str, Any]:
        from parc.character import humanoid
        from parc.dataset import load_clip, save_clip

        if ".npz" in (self.source.suffix.lower(), self.target.suffix.lower()):
            from parc.physics.qpos_file import load_qpos, save_qpos  # loads MuJoCo

        clip = (load_qpos if self.source.suffix.lower() == ".npz" else load_clip)(self.source, humanoid())
        if self.target.suffix.lower() == ".npz":
            save_qpos(clip, humanoid(), self.target)
        else:
            save_clip(clip, self.target, humanoid(), layout=self.layout, unit=self.unit)
        return {
            "source": str(self.source),
            "target": str(self.target),
            "frames": len(clip.motion),
            "fps": clip.motion.fps,
            "dropped": list(_DROPPED.get("mimickit" if self.layout == "mimickit" else self.target.suffix.lower(), ())),
        }
