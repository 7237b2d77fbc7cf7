"""`parc verify`."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.cli.base_command import Command
from parc.errors import FormatError
from parc.loop.verify_files import verify


@dataclass(frozen=True, kw_only=True)
class Verify(Command):
    """Read every byte of a data set, a model or a run and compare it with the hashes written beside it."""

    path: Annotated[Path, tyro.conf.Positional]
    """data set folder, run folder of `parc loop`, model (.safetensors) or .motion file"""

    def run(self) -> dict[str, Any]:
        found = verify(self.path)
        if found.faults:
            more = f", and {len(found.faults) - 3} more" if len(found.faults) > 3 else ""
            raise FormatError(f"{'; '.join(found.faults[:3])}{more}")
        return asdict(found)

    def show(self, result: dict[str, Any]) -> None:
        unknown = result["unknown"]
        verdict = "can be read" if len(unknown) >= result["files"] else "is what was written"
        print(f"the {result['kind']} {verdict}: files read {result['files']}, {result['bytes'] / 1e6:.1f} MB")
        for file in unknown:
            print(f"  {file} was written without a hash: it can be read, no more is known")
