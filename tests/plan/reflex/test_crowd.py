"""A crowd: ways apart from each other on one terrain, and characters that are what they would be alone on it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from parc.errors import PathError, SettingsError
from parc.path.terrain_path import TerrainPath
from parc.plan import Models
from parc.plan.crossing.crowd import CrowdSettings, cross_together, crowd_paths
from parc.plan.crossing.reflex_crossings import OUTCOMES, ReflexSettings
from parc.plan.crossing.reflex_recording import record_crossings
from parc.plan.reflex import Reflex
from parc.terrain import Terrain

BRIEF = CrowdSettings(reflex=ReflexSettings(every=4, windows=1, seconds=0.4, slowest=10.0))


def test_starts_and_goals_lie_apart_and_far_enough() -> None:
    terrain, settings = Terrain.flat((30, 30)), CrowdSettings(characters=12, distance=5.0)
    paths = crowd_paths(terrain, np.random.default_rng(0), settings)
    starts, goals = (torch.stack([path.nodes[end, :2] for path in paths]) for end in (0, -1))
    assert len(paths) == 12 and float((goals - starts).norm(dim=-1).min()) >= 5.0 - 1e-4
    for points in (starts, goals):
        between = torch.cdist(points, points) + 10 * torch.eye(12)
        assert float(between.min()) >= settings.apart - 1e-4
        assert bool(terrain.contains(points).all())
    again = crowd_paths(terrain, np.random.default_rng(0), settings)
    assert all(torch.equal(one.nodes, other.nodes) for one, other in zip(paths, again, strict=True))


def test_a_terrain_without_ways_says_so() -> None:
    heights = 5.0 * torch.randperm(144, generator=torch.Generator().manual_seed(0)).view(12, 12)
    with pytest.raises(PathError, match="0 of 3 characters"):
        crowd_paths(Terrain.flat((12, 12)).with_heights(heights), np.random.default_rng(0), CrowdSettings(3, tries=2))
    with pytest.raises(PathError, match="too small for anybody"):
        crowd_paths(Terrain.flat((4, 4)), np.random.default_rng(0), CrowdSettings(1))
    with pytest.raises(SettingsError, match="at least 1"):
        CrowdSettings(0)


def test_one_terrain_for_all_is_what_a_terrain_for_each_would_be(models: Models) -> None:
    terrain = Terrain.flat((12, 12))
    nodes = torch.tensor([[0.8, 0.8, 0.0], [3.8, 0.8, 0.0]])
    paths = [TerrainPath(nodes), TerrainPath(nodes + torch.tensor([0.0, 1.6, 0.0]))]
    run = cross_together(models, terrain, paths, BRIEF, seed=3, threads=1)
    random = torch.Generator().manual_seed(3)
    each = Reflex(models.generator, models.tracker, [terrain] * 2, paths, [0, 1], BRIEF.reflex, random, threads=1)
    each.begin()
    made = record_crossings(each)
    assert torch.equal(run.recording.qpos, made.qpos) and torch.equal(run.recording.outcome, made.outcome)
    assert run.counts() == {name: int(name == "late") * 2 for name in OUTCOMES[1:]}
    steps = int(run.recording.steps[0])
    assert run.recording.timed_steps == 2 * (steps - 4) and run.rate > 0
    clips = run.clips(models, 1)
    assert len(clips) == 1 and len(clips[0].motion) == steps + 1 and clips[0].path is paths[0]


def test_who_breaks_is_shown_until_then(models: Models) -> None:
    path = TerrainPath(torch.tensor([[0.8, 0.8, 0.0], [3.8, 0.8, 0.0]]))
    run = cross_together(models, Terrain.flat((12, 5)), [path], BRIEF, threads=1)
    broken = run.recording.qpos.clone()
    broken[0, 5:] = torch.nan
    assert len(replace(run, recording=replace(run.recording, qpos=broken)).clips(models, 5)[0].motion) == 5
