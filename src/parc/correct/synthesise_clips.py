"""New clips: terrain -> path -> rollouts -> selection -> hesitation removal -> correction -> data set.

Work is done in *units* of a few terrains, so that a GPU has enough to do. Unit u draws everything from SeedSequence([seed,
iteration, u]) and is computed alone, so the clips do not depend on which process makes it, on how many there are, or on a
stop in between. OUT is a data set; beside it

    OUT/units/000012.json      unit 12 is done: names of its clips, and why the other terrains gave none
    OUT/synthesis.json         seed, settings and generator of all its units: others are refused

say what is done (`parc.run.resumable_items`). A unit that was interrupted is done again and gives the same clips, which are then
found to be there.
"""

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from parc.correct.correct_motions import OptimiseSettings, optimise
from parc.correct.select_candidates import Selection, SelectSettings, select
from parc.dataset.clip import Clip, Provenance
from parc.dataset.clip_edits import mirror, remove_hesitation
from parc.dataset.dataset_store import DatasetWriter
from parc.errors import PathError, SettingsError
from parc.generate.model.motion_generator import Generator
from parc.generate.rollout.path_rollout import RolloutSettings, roll_out
from parc.metrics.clip_batch import ClipBatch
from parc.path.path_planning import PlanSettings, plan_path, plan_random_path
from parc.path.terrain_path import TerrainPath
from parc.run.dataclass_json import reader
from parc.run.resumable_items import ResumableItems
from parc.run.settings_guard import agree
from parc.run.work_items import LOCAL, Workers
from parc.terrain.parkour_course import parkour_park
from parc.terrain.procedural_terrain import RandomBoxes, crowded_boxes, random_boxes, random_slice
from parc.terrain.random_platforms import REACHABLE, platform_chain
from parc.terrain.terrain import Terrain


@dataclass(frozen=True)
class SynthesisSettings:
    """How new clips are made (paper, section 5.4)."""

    ground: Literal["boxes", "crowded", "course", "platforms", "mixed"] = "boxes"
    """random boxes (the paper's iterations 1 and 2), those and narrower, higher ones over a deep floor, slices of the
    100 x 100 course (3 and 4), chains of towers that only leaps cross; mixed: crowded or platforms, each as often"""
    boxes: RandomBoxes = field(default_factory=RandomBoxes)
    slice_size: tuple[int, int] = (16, 16)
    """cells"""
    terrains_per_unit: int = 8
    """terrains that are worked on together"""
    candidates: int = 16
    """motions sampled for each path (paper: 64)"""
    keep: int = 1
    """best motions kept of each path"""
    rollout: RolloutSettings = field(default_factory=lambda: RolloutSettings(choices=4))
    select: SelectSettings = field(default_factory=SelectSettings)
    plan: PlanSettings = field(default_factory=PlanSettings)
    brisk: bool = True
    """take hesitations out of the chosen motions (released code)"""
    optimise: OptimiseSettings | None = field(default_factory=OptimiseSettings)
    """None: no kinematic correction"""
    mirrored: bool = False
    """add a mirrored copy of each clip; trainings make their own"""
    only_valid: bool = True
    """drop clips that did not reach the end of their path or sink or float too much"""
    shortest: int = 30
    """frames"""

    @classmethod
    def paper(cls) -> "SynthesisSettings":
        """The best of 64 motions by the paper's heuristic, by the paper's sampler, corrected by the paper's four terms.

        That hesitations are taken out, and a best motion that does not arrive or is over limits is dropped, is the released
        code's. Mirrored copies are made in training, not stored.
        """
        return cls(
            candidates=64, rollout=RolloutSettings.paper(), select=SelectSettings.paper(), optimise=OptimiseSettings.paper()
        )  # fmt: skip

    def uncorrected(self) -> "SynthesisSettings":
        """The same motions with nothing done to them but the choice among candidates, by the paper's heuristic."""
        return replace(self, rollout=self.rollout.unrepaired(), select=SelectSettings.paper(), brisk=False, optimise=None)

    def __post_init__(self) -> None:
        if self.candidates < self.keep or self.keep < 1 or self.terrains_per_unit < 1:
            raise SettingsError(f"cannot keep {self.keep} of {self.candidates} candidates on {self.terrains_per_unit} terrains")


def make_crossing(settings: SynthesisSettings, rng: np.random.Generator) -> tuple[Terrain, TerrainPath]:
    """A terrain (paper, A.2) and a path over it (paper, B): from landing to landing of platforms, else between random ends near
    edges."""
    if settings.ground == "mixed":
        return make_crossing(replace(settings, ground="platforms" if rng.random() < 0.5 else "crowded"), rng)
    if settings.ground == "platforms":
        chain = platform_chain(REACHABLE, rng)
        return chain.terrain, plan_path(chain.terrain, chain.start, chain.goal, rng, settings.plan)
    if settings.ground == "boxes":
        ground = random_boxes(settings.boxes, rng)
    elif settings.ground == "crowded":
        ground = crowded_boxes(rng)
    else:
        ground = random_slice(parkour_park(), settings.slice_size, rng)
    return ground, plan_random_path(ground, rng, settings.plan)


def synthesise_unit(
    generator: Generator,
    unit: int,
    seed: int,
    iteration: int,
    settings: SynthesisSettings = SynthesisSettings(),
    model: str = "",
) -> tuple[list[Clip], list[str]]:
    """The clips of one unit, and a sentence for each terrain that gave none. `model`: hash of the generator, for provenance."""
    character = generator.character
    rng = np.random.default_rng(np.random.SeedSequence([seed, iteration, unit]))

    # terrains, and a path over each
    grounds, paths, refused = [], [], []
    for k in range(settings.terrains_per_unit):
        try:
            ground, path = make_crossing(settings, rng)
            paths.append(path)
            grounds.append(ground)
        except PathError as error:
            refused.append(f"terrain {k}: {error}")
    if not paths:
        return [], refused

    # candidates for each path, those that arrive
    rollouts = roll_out(generator, grounds, paths, settings.candidates, settings.rollout, int(rng.integers(2**31)))
    rows = torch.arange(len(rollouts), device=generator.device)
    if settings.only_valid:
        rows = rows[rollouts.reached]
    which = (rows // settings.candidates).cpu()
    refused += [f"terrain {g}: no candidate arrived" for g in sorted(set(range(len(paths))) - set(which.tolist()))]
    if not len(rows):
        return [], refused
    candidates = [
        Clip(f"unit{unit:06d}_{row:04d}", motion, grounds[g], paths[g], character.fingerprint)
        for row, motion, g in zip(rows.tolist(), rollouts.motions(rows), which.tolist(), strict=True)
    ]

    # the best of each (paper, E.1), without hesitations
    selection = select(ClipBatch.stack(candidates, character, generator.device), rollouts.reached[rows], settings.select)
    chosen: list[Clip] = []
    for g, best in enumerate(selection.best(which, settings.keep)):
        for rank, row in enumerate(best):
            if settings.only_valid and not bool(selection.valid[row]):
                refused.append(f"terrain {g}: no valid candidate (best score {float(selection.score[row]):.1f})")
                continue
            name = f"it{iteration}_u{unit:06d}_t{g:02d}_{rank}"
            clip = _with_provenance(candidates[row], name, selection, row, seed, iteration, model)
            clip = remove_hesitation(clip, character) if settings.brisk else clip
            if len(clip.motion) < settings.shortest:
                refused.append(f"terrain {g}: only {len(clip.motion)} frames")
                continue
            chosen.append(clip)

    # corrected (paper, E.2), and mirrored
    if chosen and settings.optimise is not None:
        corrected = optimise(chosen, character, settings.optimise, generator.device)
        chosen = [replace(after, name=before.name) for before, after in zip(chosen, corrected, strict=True)]
    if settings.mirrored:
        chosen += [replace(mirror(clip, character), name=f"{clip.name}_m") for clip in chosen]
    return chosen, refused


@dataclass(frozen=True, eq=False)
class SynthesisJob:
    """Units as items of work: unit to (clips, sentences about terrains that gave none)."""

    generator: Generator
    seed: int
    iteration: int
    settings: SynthesisSettings
    model: str

    def open(self) -> Callable[[int], tuple[list[Clip], list[str]]]:
        """Nothing to get ready."""
        return lambda unit: synthesise_unit(self.generator, unit, self.seed, self.iteration, self.settings, self.model)


def synthesise(
    generator: Generator,
    out: Path | str,
    units: Iterable[int],
    seed: int = 0,
    iteration: int = 1,
    settings: SynthesisSettings = SynthesisSettings(),
    on_unit: Callable[[int, int], None] | None = None,
    model: str = "",
    enough: int | None = None,
    workers: Workers = LOCAL,
) -> list[str]:
    """Append the clips of units to the data set OUT, skipping units already done; returns the names written by this call.

    `on_unit(unit, clips)` is called after each unit. Units after the one with which there are `enough` clips are not done;
    workers on many machines may have begun some, whose clips are dropped.
    """
    out, units = Path(out), list(units)
    agree(out / "synthesis.json", {"seed": seed, "iteration": iteration, "generator": model, "settings": asdict(settings)})
    written: list[str] = []
    with DatasetWriter(out, generator.character) as writer:

        def finish(_: int, made: tuple[list[Clip], list[str]]) -> UnitNote:
            clips, refused = made
            written.extend(writer.append([clip for clip in clips if clip.name not in writer]))
            return UnitNote([clip.name for clip in clips], refused)

        job = SynthesisJob(generator, seed, iteration, settings, model)
        keys = [f"{unit:06d}" for unit in units]
        with closing(unit_notes(out).each(keys, job, units.__getitem__, finish, workers)) as notes:
            total = 0
            for unit in units:
                if enough is not None and total >= enough:
                    break
                note, is_new = next(notes)
                total += len(note.clips)
                if on_unit and is_new:
                    on_unit(unit, len(note.clips))
    return written


@dataclass(frozen=True)
class UnitNote:
    """What a finished unit gave."""

    clips: list[str]
    """their names"""
    refused: list[str]
    """a sentence for each terrain that gave none"""


def unit_notes(out: Path | str) -> ResumableItems[UnitNote]:
    """The finished units of a synthesis."""
    return ResumableItems(Path(out) / "units", asdict, reader(UnitNote))


def _with_provenance(clip: Clip, name: str, selection: Selection, row: int, seed: int, iteration: int, model: str) -> Clip:
    losses = {
        "selection_score": float(selection.score[row]),
        "selection_penetration": float(selection.penetration[row]),
        "selection_contact": float(selection.contact[row]),
    }
    provenance = Provenance(source="generator", iteration=iteration, seed=seed, skill="generated", losses=losses)
    if model:
        provenance = replace(provenance, models={"generator": model})
    return replace(clip, name=name, provenance=provenance)
