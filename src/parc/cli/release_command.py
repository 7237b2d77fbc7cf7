"""`parc release`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from parc.cli.character_option import OfCharacter
from parc.report.release_run import ReleaseSettings, release_run


@dataclass(frozen=True, kw_only=True)
class Release(OfCharacter):
    """The models of a finished run as a folder like the box: float16 weights with hashes, recorded motions, numbers, a figure."""

    folder: Annotated[Path, tyro.conf.Positional]
    """of the run"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """folder to write into; models and motions of the same names there are replaced, others stay"""
    card: Path | None = None
    """text file, such as MODEL_CARD.md, whose part between the marks `<!-- release: begin .. -->` and `<!-- release: end -->` is
    written anew"""
    tracker: Literal["tracker", "reflex"] = "tracker"
    """whose weights: the last iteration's tracker, or that tracker trained on with the generator in the loop"""
    minutes: float = ReleaseSettings.minutes
    """of recorded motions, at most; 0: none"""

    def run(self) -> dict[str, Any]:
        settings = ReleaseSettings(self.tracker, self.minutes)
        told = release_run(self.folder, self.out, self.body(self.folder), settings, self.card)
        return {"out": str(self.out), "motions": told["motions"]["clips"], "files": sorted(told["files"])}
