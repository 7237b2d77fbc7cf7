"""`parc track`: a simulated character follows a motion."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.api import track
from parc.cli.base_command import progress, shown
from parc.cli.character_option import OfCharacter
from parc.dataset import save_clip
from parc.dataset.convert import check_writable
from parc.render import compare
from parc.render.picture_file import check_picture, save_picture


@dataclass(frozen=True, kw_only=True)
class Track(OfCharacter):
    """Simulate a character that follows a motion with a trained policy, and write what it did.

    A motion that is lost before its end is written up to there.
    """

    clip: Annotated[Path, tyro.conf.Positional]
    """reference: .motion .pkl .txt .bvh or .npz file, or a clip of a data set as FOLDER/NAME"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """simulated motion to write: .motion, .pkl, .bvh, .npz, .glb or .usd"""
    tracker: Path | None = None
    """trained actor (.safetensors), see `parc train-tracker`; the one in the box if not given"""
    start_time: float = 0.0
    """s into the reference at which to begin"""
    picture: Path | None = None
    """write a film strip of reference over simulation (.png)"""
    threads: int = 1
    """of the CPU engine"""

    def run(self) -> dict[str, Any]:
        check_picture(self.picture)
        check_writable(self.out)
        character = self.body(self.clip, self.tracker)
        with progress(None, "simulating") as bar:
            tracked = track(
                self.clip,
                tracker=self.tracker,
                character=character,
                start_time=self.start_time,
                threads=self.threads,
                device=self.device,
                on_progress=shown(bar),
            )
        save_clip(tracked.clip, self.out, character)
        if self.picture:
            pair = [tracked.reference, tracked.clip]
            save_picture(compare(pair, character, labels=("reference", "simulated")), self.picture)
        measured = {name: value for name, value in tracked._asdict().items() if name not in ("clip", "reference")}
        return {"out": str(self.out), **measured}

    def show(self, result: dict[str, Any]) -> None:
        lost = "the simulation broke" if result["diverged"] else "the pose was lost"
        whole = f"{result['reference_seconds']:.2f} s"
        fate = f"tracked to its end ({whole})" if result["success"] else f"{lost} after {result['seconds']:.2f} of {whole}"
        print(f"{fate}, joint error {result['joint_error']:.4f} m")
        print(f"{result['seconds_per_second']:.1f} s simulated a second; written to {result['out']}")
