"""Synthesis: clips depend on the unit alone, not on who makes it, in what order, or after which interruption."""

import contextlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from parc.character import humanoid
from parc.correct.correct_motions import OptimiseSettings
from parc.correct.synthesise_clips import SynthesisSettings, make_crossing, synthesise, synthesise_unit, unit_notes
from parc.dataset.clip import Clip
from parc.dataset.dataset_store import Dataset
from parc.errors import PathError, SettingsError
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.models import shipped_generator
from parc.terrain.procedural_terrain import RandomBoxes

TINY = SynthesisSettings(
    terrains_per_unit=2,
    mirrored=True,
    candidates=2,
    rollout=RolloutSettings(seconds=1.5),
    optimise=OptimiseSettings(iterations=2),
    only_valid=False,
    shortest=10,
)


@pytest.fixture(scope="module")
def generator() -> Generator:
    torch.manual_seed(0)
    return Generator(humanoid(), GeneratorSettings(network=PrefixSettings(width=32, layers=1, hidden=32))).eval()


def contents(folder: Path) -> dict[str, bytes]:
    return {c.name: c.motion.root_pos.numpy().tobytes() + c.motion.joint_rot.numpy().tobytes() for c in Dataset.open(folder)}


def test_one_shard_or_four_give_the_same_clips(generator: Generator, tmp_path: Path) -> None:
    synthesise(generator, tmp_path / "whole", range(4), seed=3, settings=TINY)
    parts: dict[str, bytes] = {}
    for shard in range(4):
        synthesise(generator, tmp_path / f"shard{shard}", range(shard, 4, 4), seed=3, settings=TINY)
        parts |= contents(tmp_path / f"shard{shard}")
    whole = contents(tmp_path / "whole")
    assert whole
    assert whole == parts


def test_an_interrupted_job_goes_on_and_ends_the_same(generator: Generator, tmp_path: Path) -> None:
    synthesise(generator, tmp_path / "whole", range(3), settings=TINY)
    synthesise(generator, tmp_path / "torn", range(2), settings=TINY)
    (tmp_path / "torn" / "units" / "000001.json").unlink()  # killed between the clips and the marker of unit 1
    made = []
    synthesise(generator, tmp_path / "torn", range(3), settings=TINY, on_unit=lambda unit, clips: made.append(unit))
    assert made == [1, 2]
    assert contents(tmp_path / "torn") == contents(tmp_path / "whole")


def test_a_folder_begun_otherwise_is_refused_and_kept(generator: Generator, tmp_path: Path) -> None:
    synthesise(generator, tmp_path, range(1), seed=3, settings=TINY)
    before = contents(tmp_path)
    with pytest.raises(SettingsError, match=r"otherwise \(seed\)"):
        synthesise(generator, tmp_path, range(2), seed=4, settings=TINY)
    with pytest.raises(SettingsError, match=r"otherwise \(settings\.candidates\)"):
        synthesise(generator, tmp_path, range(2), seed=3, settings=replace(TINY, candidates=3))
    assert contents(tmp_path) == before
    synthesise(generator, tmp_path, range(2), seed=3, settings=TINY)
    assert len(contents(tmp_path)) > len(before)


def test_clips_come_with_terrain_path_mirror_and_history(generator: Generator) -> None:
    clips, _ = synthesise_unit(generator, 0, seed=1, iteration=2, settings=TINY, model="abc")
    assert clips
    names = {c.name for c in clips}
    for clip in clips:
        assert clip.path is not None
        assert clip.provenance.iteration == 2
        assert clip.provenance.models["generator"] == "abc"
        assert "selection_score" in clip.provenance.losses
        assert clip.name.removesuffix("_m") in names
    assert len([n for n in names if n.endswith("_m")]) * 2 == len(names)


def test_refused_terrains_say_why(generator: Generator, tmp_path: Path) -> None:
    strict = replace(TINY, only_valid=True, mirrored=False)
    synthesise(generator, tmp_path, range(1), settings=strict)
    done = unit_notes(tmp_path).get("000000")
    assert done is not None and len(done.clips) + len(done.refused) == 2
    assert unit_notes(tmp_path).get("000007") is None
    with pytest.raises(SettingsError):
        SynthesisSettings(candidates=1, keep=2)


def test_a_unit_of_crowded_boxes_mixes_their_kinds(generator: Generator) -> None:
    settings = replace(TINY, ground="crowded", terrains_per_unit=6, candidates=1, optimise=None, mirrored=False)
    clips, refused = synthesise_unit(generator, 1, 0, 1, settings)
    sizes = {tuple(clip.terrain.heights.shape) for clip in clips}
    assert len(clips) + len(refused) == 6 and sizes == {(16, 16), (24, 24)}
    deep = [float(clip.terrain.heights.min()) for clip in clips if clip.terrain.heights.shape[0] == 24]
    assert all(floor == -2.0 for floor in deep), "boxes leave some of the deep floor bare"


def test_a_unit_of_platforms_goes_from_landing_to_landing(generator: Generator) -> None:
    settings = replace(TINY, ground="platforms", terrains_per_unit=3, candidates=1, optimise=None, mirrored=False)
    clips, refused = synthesise_unit(generator, 1, 0, 1, settings)
    assert len(clips) + len(refused) == 3 and clips
    for clip in clips:
        assert clip.path is not None
        ends = clip.path.nodes[[0, -1]]
        assert (ends[:, 2] > clip.terrain.heights.min() + 2.1).all(), "not on the floor below"
        assert torch.allclose(clip.terrain.height_at(ends[:, :2]), ends[:, 2])


def test_mixed_ground_is_crowded_or_platforms() -> None:
    kinds = []
    for seed in range(12):
        with contextlib.suppress(PathError):
            ground, path = make_crossing(replace(TINY, ground="mixed"), np.random.default_rng(seed))
            sizes = tuple(ground.heights.shape)
            stands_high = bool((path.nodes[[0, -1], 2] > ground.heights.min() + 2.1).all())
            kinds.append("platforms" if stands_high and sizes not in {(16, 16), (24, 24)} else sizes)
    assert 2 <= kinds.count("platforms") <= len(kinds) - 2 and set(kinds) <= {"platforms", (16, 16), (24, 24)}


def test_only_motions_that_arrive_are_kept_and_they_are_those_that_were_rolled_out() -> None:
    """On flat ground, with time for some of the paths only."""
    model = Generator.load(shipped_generator(), humanoid())
    everything = SynthesisSettings(
        boxes=RandomBoxes(boxes=0), terrains_per_unit=4, candidates=2, keep=2, rollout=RolloutSettings(seconds=3.9),
        optimise=None, mirrored=False, only_valid=False, shortest=1,
    )  # fmt: skip
    rolled, _ = synthesise_unit(model, 3, 0, 1, everything)
    kept, refused = synthesise_unit(model, 3, 0, 1, replace(everything, only_valid=True))

    def arrived(clip: Clip) -> bool:
        return float((clip.motion.root_pos[-1, :2] - clip.path.goal[:2]).norm()) < 0.75

    known = {clip.motion.root_pos.numpy().tobytes(): clip for clip in rolled}
    assert kept and len(rolled) == 8
    assert all(clip.motion.root_pos.numpy().tobytes() in known and arrived(clip) for clip in kept)
    grounds = {clip.name.split("_")[2] for clip in kept}
    assert refused == [f"terrain {g}: no candidate arrived" for g in range(4) if f"t{g:02d}" not in grounds]
