"""The models in the box load, fit the humanoid, and do what they are for."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from parc import models
from parc.author.procedural_walk import stroll
from parc.character import humanoid
from parc.dataset.dataset_store import Dataset
from parc.errors import ParcError
from parc.generate.model.motion_generator import Generator
from parc.generate.rollout.path_rollout import RolloutSettings, roll_out
from parc.metrics.clip_measures import measure_clips
from parc.models import FOLDER, HASHES, generator_file, published_hashes, shipped_generator, shipped_motions, shipped_tracker
from parc.path.terrain_path import TerrainPath
from parc.terrain.terrain import Terrain
from parc.track.follow.runner import Runner
from parc.track.learn.policy import load_actor

GROUND = Terrain.flat((16, 8))
ROUTE = TerrainPath(torch.tensor([[0.8, 1.2, 0.0], [5.2, 1.2, 0.0]]))


def test_hashes_are_published_for_all_that_is_in_the_box_and_match() -> None:
    """After models were replaced: `python -m parc.models.publish_hashes`."""
    files = {f.relative_to(FOLDER).as_posix() for f in FOLDER.rglob("*") if f.suffix in (".safetensors", ".json")} - {HASHES}
    assert published_hashes().keys() == files
    for name, known in published_hashes().items():
        data = (FOLDER / name).read_bytes()
        assert known == {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}, name


def test_a_model_in_the_box_that_is_another_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit of one weight, which loads as well as before."""
    data = bytearray((FOLDER / "generator.safetensors").read_bytes())
    data[-1] ^= 1
    (tmp_path / "generator.safetensors").write_bytes(data)
    (tmp_path / HASHES).write_bytes((FOLDER / HASHES).read_bytes())
    monkeypatch.setattr(models, "FOLDER", tmp_path)
    Generator.load(tmp_path / "generator.safetensors", humanoid())
    with pytest.raises(ParcError, match="is not the published one"):
        shipped_generator()


def test_the_generator_walks_along_a_flat_path() -> None:
    generator = Generator.load(shipped_generator(), humanoid())
    rollouts = roll_out(generator, [GROUND], [ROUTE], 4, RolloutSettings(seconds=3.0), seed=0)
    forward = rollouts.root_pos[:, -1, 0] - rollouts.root_pos[:, 0, 0]
    assert forward.median() > 1.0
    height = torch.cat([motion.root_pos[:, 2] for motion in rollouts.motions()])
    assert float(height.min()) > 0.5 and float(height.max()) < 1.3


def test_the_tracker_follows_a_walk_it_has_never_seen() -> None:
    trained = load_actor(shipped_tracker(), humanoid())
    walk = stroll(GROUND, ROUTE)
    trace = Runner(trained, threads=1).follow([walk])
    assert trace.reached_end.all()
    assert float(trace.mean_error) < 0.1


def test_the_motions_were_recorded_in_simulation_and_stand_on_their_ground() -> None:
    folder = shipped_motions()
    assert folder is not None
    motions = Dataset.open(folder, humanoid())
    assert len(motions) > 300
    some = [motions[i] for i in range(0, len(motions), 40)]
    assert all(c.provenance.source == "simulation" and c.provenance.parent and c.provenance.models["tracker"] for c in some)
    for losses in measure_clips(some, humanoid()):
        assert losses["pen_mm"] < 1.0 and losses["foot_skate"] < 20 and losses["floating"] < 5


def test_the_tracker_repeats_recorded_motions_with_feet_that_stand() -> None:
    folder = shipped_motions()
    assert folder is not None
    motions = Dataset.open(folder, humanoid())
    stairs = [motions[i] for i, entry in enumerate(motions.entries) if entry.skill == "stairs"][:8]
    trained = load_actor(shipped_tracker(), humanoid())
    trace = Runner(trained, threads=1).follow(stairs)
    results = zip(stairs, trace.motions, trace.reached_end.tolist(), strict=True)
    whole = [replace(clip, motion=motion, path=None) for clip, motion, reached in results if reached]
    assert len(whole) >= 6
    for losses in measure_clips(whole, humanoid()):
        assert losses["foot_skate"] < 10 and losses["pen_mm"] < 1.0


def test_a_pace_takes_the_generator_that_can_be_asked_for_one(tmp_path: Path) -> None:
    paced = shipped_generator(paced=True)
    assert [generator_file(None), generator_file(None, "run"), generator_file("paced")] == [shipped_generator(), paced, paced]
    assert generator_file(tmp_path / "mine.safetensors", 2.0) == tmp_path / "mine.safetensors"

    generator, ground = Generator.load(paced, humanoid()), Terrain.flat((40, 8))
    far = TerrainPath(torch.tensor([[0.8, 1.2, 0.0], [14.8, 1.2, 0.0]]))
    speeds = []
    for pace in (1.0, 3.0):
        moved = roll_out(generator, [ground], [far], 4, RolloutSettings(seconds=2.5, pace=pace), seed=0).root_pos
        speeds.append(float((moved[:, 70, :2] - moved[:, 25, :2]).norm(dim=-1).median()) / 1.5)
    assert 0.6 < speeds[0] < 1.3 and 2.4 < speeds[1] < 3.5, speeds
