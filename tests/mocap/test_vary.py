from dataclasses import replace

import numpy as np
import pytest
import torch

from parc.character import Character
from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.metrics.batch import ClipBatch
from parc.mocap.anatomy import Anatomy
from parc.mocap.fit import FitSettings
from parc.mocap.refine import RefineSettings
from parc.mocap.vary import Variation, VarySettings, random_variation, supports_of_clip, varied_terrain, vary

QUICK = VarySettings(
    retarget=FitSettings(iterations=30), refine=RefineSettings(fit=FitSettings(iterations=120, foot_turn=0.02), renew=30)
)


def test_contacts_of_a_clip_are_its_labels(character: Character, step_walk: Clip) -> None:
    supports = supports_of_clip(step_walk, character)
    np.testing.assert_allclose(supports.levels, [0.0, 0.2, 0.35], atol=1e-6)
    feet = list(character.feet)
    labels = supports.contacts.labels(Anatomy.of(character), len(character))
    np.testing.assert_array_equal(labels[:, feet], step_walk.motion.contacts.numpy()[:, feet])


def test_a_walk_over_higher_and_longer_steps_still_stands_on_them(character: Character, step_walk: Clip) -> None:
    short = replace(step_walk, motion=step_walk.motion.slice(0, 90))
    varied, quality = vary(short, Variation(rise=1.3, stretch=(1.15, 1.0)), character, "higher", QUICK)
    assert float(varied.terrain.heights.max()) == pytest.approx(1.3 * 0.35, abs=1e-5)
    assert quality.gap < 1.0 and quality.penetration < 1.5 and quality.deep < 3
    assert varied.provenance.parent == step_walk.name and "heights x1.300" in varied.provenance.edits[-1]
    batch = ClipBatch.stack([varied], character)
    touching = batch.contacts[0][:, list(character.feet)] > 0.5
    assert float(batch.body_clearance[0][:, list(character.feet)][touching].quantile(0.95)) < 0.01
    travelled = float(varied.motion.root_pos[-1, 0] - varied.motion.root_pos[0, 0])
    before = float(short.motion.root_pos[-1, 0] - short.motion.root_pos[0, 0])
    assert travelled == pytest.approx(1.15 * before, rel=0.08)


def test_a_stretched_terrain_has_its_edges_where_they_should_be(step_walk: Clip) -> None:
    origin = np.array([0.4, 1.4])
    got = varied_terrain(step_walk.terrain, Variation(rise=2.0, stretch=(1.5, 1.0)), origin, 0.0)
    rng = np.random.default_rng(0)
    low, high = (c.numpy() for c in step_walk.terrain.extent)
    for p in rng.uniform(low + 0.3, high - 0.3, (200, 2)):
        edges = np.abs((p[0] - low[0]) % 1.6 - 0.0)
        if min(edges, 1.6 - edges) > 0.3:  # farther from a step than half a new cell
            there = origin + np.array([1.5, 1.0]) * (p - origin)
            old = float(step_walk.terrain.height_at(torch.tensor(p).float()))
            assert float(got.height_at(torch.tensor(there).float())) == pytest.approx(2 * old, abs=1e-5)


def test_random_variations_are_a_function_of_the_seed() -> None:
    a, b = (random_variation(np.random.default_rng(np.random.SeedSequence([1, 0, 5]))) for _ in range(2))
    assert a == b and 0.6 <= a.rise <= 1.4
    with pytest.raises(SettingsError, match="rise 9"):
        Variation(rise=9.0)


def test_named_heights_are_met_and_others_interpolated() -> None:
    v = Variation(levels={0.0: 0.0, 0.8: 1.2})
    np.testing.assert_allclose(v.height(np.array([0.0, 0.4, 0.8, 1.0]), 0.0), [0.0, 0.6, 1.2, 1.4])
