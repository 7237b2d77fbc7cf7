"""`parc evaluate traverse`: the share of a set's terrains that is crossed in physics."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.character import Character
from parc.cli.base_command import progress
from parc.cli.set_options import SetOptions
from parc.cli.traverse_command import CrossingOptions
from parc.dataset import save_clip
from parc.errors import SettingsError
from parc.evaluate.terrain_sets import set_title
from parc.evaluate.traverse_measurement import evaluate_traverse, traverse_case
from parc.loop.ledger import hash_file
from parc.models import generator_file, shipped_tracker
from parc.plan import Traverse as Outcome

_COLUMNS = ("terrains", "reached", "share_reached", "first_try", "share_of_path", "wall", "wall_95", "cpu")


@dataclass(frozen=True, kw_only=True)
class EvaluateTraverse(CrossingOptions, SetOptions):
    """How many terrains of a set are crossed in physics, and how long that takes. Run again to go on after a stop."""

    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """lines of JSON, one a terrain"""
    terrains: int = 50
    """terrains of each family"""
    shard: int = 0
    """cross only terrains shard, shard + shards, ... of each family"""
    shards: int = 1
    """number of calls that share the terrains"""
    keep: Path | None = None
    """folder for the simulated motions"""

    def run(self) -> dict[str, Any]:
        if not 0 <= self.shard < self.shards or self.terrains < 1:
            raise SettingsError(f"shard {self.shard} of {self.shards} of {self.terrains} terrains does not exist")
        choice = self.choice()
        models, settings = self.models(), self.traverse_settings()
        body = models.tracker.character.name
        files = {"generator": generator_file(self.generator, body=body), "tracker": self.tracker or shipped_tracker(body)}
        hashes = {kind: hash_file(file) for kind, file in files.items()}
        tag = " ".join(value[:16] for value in hashes.values())
        mine = range(self.shard, self.terrains, self.shards)
        table: dict[str, Any] = {}
        with self.noted(len(mine), hashes) as noted:
            for family in choice.families:
                cases = [traverse_case(self.set, family, i, settings.route) for i in mine]
                with progress(len(cases), family) as bar:
                    table[family] = evaluate_traverse(
                        models,
                        cases,
                        settings,
                        self.out,
                        self.seed,
                        lambda case, result, bar=bar: self._done(case.name, result, models.tracker.character, bar),  # type: ignore[misc]
                        f"{tag} effort {self.effort:g}",
                    )
            noted["families"] = table
        return {"test_set": choice.facts(len(mine)), "families": table}

    def _done(self, name: str, result: "Outcome", character: "Character", bar: Any) -> None:
        if self.keep is not None and result.simulated is not None:
            self.keep.mkdir(parents=True, exist_ok=True)
            save_clip(result.simulated, self.keep / f"{name}.motion", character)
        bar.update()

    def show(self, result: dict[str, Any]) -> None:
        print(set_title(result["test_set"]))
        print(f"{'':<10}" + "".join(f"{c:>15}" for c in _COLUMNS))
        for family, row in result["families"].items():
            print(f"{family:<10}" + "".join(f"{row[c]:15.4g}" for c in _COLUMNS))
