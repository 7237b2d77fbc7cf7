"""`parc loop pack`, `parc loop unpack`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.cli.base_command import Command
from parc.errors import SettingsError
from parc.loop.pack.pack_run import pack_run, unpack_run


@dataclass(frozen=True, kw_only=True)
class PackRun(Command):
    """A run of `parc loop` as one small file, to go on with elsewhere: what is still read, and the numbers of all the rest."""

    folder: Annotated[Path, tyro.conf.Positional]
    """of the run"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """file to write"""
    half: bool = False
    """several times smaller, and not the same run any more: generators in float16, without optimiser states and without trainings
    that are not finished, which begin again"""
    caches: bool = False
    """with the code that was generated for the GPU"""
    part: float = 0.0
    """MB, cut the file into parts of at most this size, FILE.001, FILE.002, ..; 0: do not"""

    def run(self) -> dict[str, Any]:
        if not 0 <= self.part < 1e6:
            raise SettingsError(f"parts of {self.part:g} MB were asked for, expected 0 (one file) or more")
        made = pack_run(self.folder, self.out, self.half, self.caches, round(1e6 * self.part))
        return {
            "files": [str(file) for file in made.files],
            "MB": round(made.bytes / 1e6, 2),
            "packed": made.packed,
            "left behind": made.away,
            "largest, MB before compression": [f"{name} {size / 1e6:.1f}" for name, size in made.largest.items()],
        }


@dataclass(frozen=True, kw_only=True)
class UnpackRun(Command):
    """Make a run of what `parc loop pack` wrote; `parc loop FOLDER` goes on with it. A folder with something in it is refused."""

    file: Annotated[Path, tyro.conf.Positional]
    """pack, or the first of its parts, the others beside it"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """folder for the run"""
    caches: bool = False
    """with the code that was generated for a GPU, if the pack has some. It will be run: only from people you trust"""

    def run(self) -> dict[str, Any]:
        return {"run": str(self.out), "files": unpack_run(self.file, self.out, self.caches)}
