"""`parc demo`: a first look: the models in the box cross a new terrain in physics, and a page replays it."""

import sys
import time
import webbrowser
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.api.arguments import terrain_of
from parc.api.cross_terrain import traverse
from parc.api.crossing_files import write_crossing
from parc.cli.base_command import progress, shown
from parc.cli.character_option import OfCharacter
from parc.models import shipped_generator
from parc.path import difficulty_of
from parc.plan import SearchSettings
from parc.studio.browser_link import has_display

_SEARCH = "it is a search: in each round {} short futures are simulated, the best {} go on, those that go wrong are forgotten"


@dataclass(frozen=True, kw_only=True)
class Demo(OfCharacter):
    """Draw random boxes, cross them in physics with the models in the box, and write a page that replays it.

    The generator plans, the tracker follows in MuJoCo; a search through simulated futures chooses (docs/traverse.md). The seed
    that is used without --seed is crossed at the first try; others may be harder.
    """

    seed: int = 8
    """of the terrain, the way and the motion"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("out/demo")
    """folder to write"""
    seconds: float = 300.0
    """of wall time after which the crossing is given up"""
    open: bool = field(default_factory=has_display)
    """open the page in a browser; the default where there is a display"""

    def run(self) -> dict[str, Any]:
        """Draw, cross, write."""
        began = time.monotonic()
        search = SearchSettings(candidates=8, beam=3, seconds=self.seconds)  # two thirds of the usual search
        terrain, character = terrain_of("boxes", self.seed), self.body()
        across = terrain.cell * terrain.size[0], terrain.cell * terrain.size[1]
        _tell(f"terrain: random boxes, seed {self.seed}, {across[0]:.1f} x {across[1]:.1f} m")
        _tell("crossing it in physics with the models in the box")
        _tell(_SEARCH.format(search.candidates, search.beam))
        with progress(None, "crossing", "m") as bar:
            result = traverse(
                "boxes",
                seed=self.seed,
                generator=shipped_generator(paced=True, body=character.name),
                character=character,
                device=self.device,
                method=search,
                threads=1,  # two that wait for each other on a busy machine are ten times slower
                on_progress=shown(bar),
                name="crossed",
            )
        facts = write_crossing(result, character, self.out / "crossed.motion")
        page = self.out / "crossed.html"
        if self.open and page.exists():
            webbrowser.open(page.resolve().as_uri())
        hard = difficulty_of(terrain, result.path)
        return {"page": str(page), "climb": hard.climb, "drop": hard.drop, **facts, "whole_wall": time.monotonic() - began}

    def show(self, result: dict[str, Any]) -> None:
        """How it went, and the file to look at."""
        way = f"{result['length']:.1f} m with climbs up to {result['climb']:.2f} m and drops down to {result['drop']:.2f} m"
        if result["reached"]:
            print(f"reached the goal: {way}, {result['seconds']:.1f} s of motion, try {result['tries']}")
        else:
            print(f"did not reach the goal: {result['progress']:.1f} m of {way}; another --seed, or more --seconds, may")
        print(f"{result['whole_wall']:.1f} s of work")
        print(f"to look at: {result['page']}")


def _tell(what: str) -> None:
    print(what, file=sys.stderr, flush=True)
