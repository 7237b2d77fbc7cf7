"""How far apart lies what one motion passes through, from a BVH file to the data set D_1?

    PYTHONPATH=src python tools/data_walk.py TAKES.csv

TAKES.csv is a list of takes as for `parc dataset build`, best with one row. Two commands run in this process: that one, and
`parc loop --preset tiny` on its result. Every file of the package in which a function runs counts once, in the order of the first
calls. Printed: files, their lines, changes of folder from one file to the next, calls from one file into another.
"""

import inspect
import itertools
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import parc

ROOT = Path(parc.__file__).parent


class Walk:
    """The files of the package in the order in which their functions first run."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.hops: set[tuple[str, str]] = set()

    def look(self, frame: FrameType, event: str, argument: Any) -> None:
        """For `sys.setprofile`."""
        if event != "call":
            return
        file = frame.f_code.co_filename
        if not file.startswith(str(ROOT)) or not frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # a module or the body of a class
            return
        self.files.setdefault(file)
        back = frame.f_back
        while back is not None and not back.f_code.co_filename.startswith(str(ROOT)):
            back = back.f_back
        if back is not None and back.f_code.co_filename != file:
            self.hops.add((f"{back.f_code.co_filename}:{back.f_code.co_name}", f"{file}:{frame.f_code.co_name}"))

    def told(self) -> str:
        """The counts in one line, then the files."""
        files = [Path(file) for file in self.files]
        lines = sum(len(f.read_text().splitlines()) for f in files)
        changes = sum(a.parent != b.parent for a, b in itertools.pairwise(files))
        head = f"{len(files)} files, {lines} lines, {changes} changes of folder, {len(self.hops)} calls from file to file"
        return "\n".join([head, *(str(f.relative_to(ROOT)) for f in files)])


def main() -> None:
    from parc.cli.main import main as parc_main

    walk, takes = Walk(), Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        threading.setprofile(walk.look)
        sys.setprofile(walk.look)
        first = parc_main(["dataset", "build", str(takes), "-o", f"{folder}/D0", "--device", "cpu"])
        last = parc_main(
            ["loop", f"{folder}/run", "--preset", "tiny", "--iterations", "1", "--dataset", f"{folder}/D0", "--device", "cpu"]
        )
        sys.setprofile(None)
        threading.setprofile(None)
    print(walk.told())
    sys.exit(first or last or 0)


if __name__ == "__main__":
    main()
