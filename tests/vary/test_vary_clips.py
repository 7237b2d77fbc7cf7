from dataclasses import replace

import numpy as np
import pytest
import torch

from parc.character import Character
from parc.dataset.clip import Clip
from parc.fit.held_parts import held_labels
from parc.metrics.clip_batch import ClipBatch
from parc.mocap.contact.clip_supports import footing_of_clip, supports_of_clip
from parc.mocap.make.mocap_quality import measure_qualities, measure_quality
from parc.mocap.subject.landmark_fit import FitSettings
from parc.mocap.terrain.refine_on_terrain import RefineSettings
from parc.motion.motion_edits import sample
from parc.vary.variation_ranges import Variation
from parc.vary.vary_clips import VarySettings, carry_well, fit_carried, vary, vary_many

FEW = VarySettings(refine=RefineSettings(fit=FitSettings(iterations=15, foot_turn=0.02), renew=5))


@pytest.fixture(scope="module")
def short_walk(step_walk: Clip) -> Clip:
    return replace(step_walk, motion=step_walk.motion.slice(0, 90))


def test_contacts_of_a_clip_are_its_labels(character: Character, step_walk: Clip) -> None:
    supports = supports_of_clip(step_walk, character)
    np.testing.assert_allclose(supports.levels, [0.0, 0.2, 0.35], atol=1e-6)
    feet = list(character.feet)
    labels = held_labels(character, supports.contacts.held()).numpy()
    np.testing.assert_array_equal(labels[:, feet], step_walk.motion.contacts.numpy()[:, feet])


def test_a_walk_over_higher_and_longer_steps_still_stands_on_them(character: Character, short_walk: Clip) -> None:
    varied, quality = vary(short_walk, Variation(rise=1.3, stretch=(1.15, 1.0)), character, "higher")
    assert float(varied.terrain.heights.max()) == pytest.approx(1.3 * 0.35, abs=1e-5)
    assert quality["gap"] < 1.0 and quality["penetration"] < 1.5 and quality["deep"] < 3 and not quality.faults()
    assert varied.provenance.parent == short_walk.name and "heights x1.300" in varied.provenance.edits[-1]
    batch = ClipBatch.stack([varied], character)
    touching = batch.contacts[0][:, list(character.feet)] > 0.5
    assert float(batch.body_clearance[0][:, list(character.feet)][touching].quantile(0.95)) < 0.01
    travelled = float(varied.motion.root_pos[-1, 0] - varied.motion.root_pos[0, 0])
    before = float(short_walk.motion.root_pos[-1, 0] - short_walk.motion.root_pos[0, 0])
    assert travelled == pytest.approx(1.15 * before, rel=0.08)


def test_variations_made_together_are_those_made_alone(character: Character, short_walk: Clip) -> None:
    """Side by side, padded, on their own terrains: a variation does not see its neighbours."""
    first = replace(short_walk, motion=short_walk.motion.slice(0, 40))
    second = replace(short_walk, motion=short_walk.motion.slice(20, 75))
    variations = [Variation(rise=1.2), Variation(rise=0.7, yaw=0.4)]
    together = vary_many([first, second], variations, character, ["a", "b"], FEW)
    for (clip, quality), source, variation in zip(together, (first, second), variations, strict=True):
        alone, own = vary(source, variation, character, clip.name, FEW)
        torch.testing.assert_close(clip.motion.root_pos, alone.motion.root_pos, atol=2e-3, rtol=0)
        torch.testing.assert_close(clip.terrain.heights, alone.terrain.heights)
        assert quality["penetration"] == pytest.approx(own["penetration"], abs=0.2)


def test_a_turned_and_bent_walk_goes_round_the_corner(character: Character, flat_walk: Clip) -> None:
    clip = replace(flat_walk, motion=flat_walk.motion.slice(0, min(110, len(flat_walk.motion))))
    bend = np.pi / 2
    varied, quality = vary(clip, Variation(yaw=np.pi / 2, bend=bend), character, "corner")
    steps = varied.motion.root_pos[:, :2].double().numpy()
    start, end = steps[12] - steps[0], steps[-1] - steps[-12]
    headings = np.arctan2([start[1], end[1]], [start[0], end[0]])
    assert headings[0] == pytest.approx(np.pi / 2, abs=0.25)
    assert (headings[1] - headings[0]) % (2 * np.pi) == pytest.approx(bend, abs=0.35)
    assert not quality.faults()


def test_boxes_around_leave_the_body_alone(character: Character, short_walk: Clip) -> None:
    footing = footing_of_clip(short_walk, character)
    carried = [carry_well(short_walk, footing, Variation(boxes=seed), character) for seed in (None, 3)]
    (plain, _), (boxed, _) = fit_carried([short_walk] * 2, carried, character, ["a", "b"], FEW)
    assert (boxed.terrain.heights - plain.terrain.heights).abs().max() > 0.1
    depth = [ClipBatch.stack([replace(boxed, terrain=t)], character).depth.max() for t in (plain.terrain, boxed.terrain)]
    assert depth[1] <= depth[0] + 1e-5


def test_a_variation_without_ground_is_asked_for_again_milder(character: Character, short_walk: Clip) -> None:
    footing = footing_of_clip(short_walk, character)
    wild = Variation(rise=1.2, stretch=(0.5, 0.5), yaw=0.7)
    strict = carry_well(short_walk, footing, wild, character, VarySettings(conflict=-1.0))
    assert strict.conflict <= carry_well(short_walk, footing, wild, character, VarySettings(milder=0)).conflict
    assert wild.milder(1).yaw in (0.0, np.pi / 2) and wild.milder(3).rise == pytest.approx(1.1)


def test_qualities_side_by_side_are_those_alone(character: Character, short_walk: Clip, flat_walk: Clip) -> None:
    clips = [short_walk, replace(flat_walk, motion=flat_walk.motion.slice(0, 50))]
    carried = [carry_well(c, footing_of_clip(c, character), Variation(), character) for c in clips]
    many = measure_qualities(ClipBatch.stack(clips, character), [c.fitted for c in carried], [0.0, 0.0])
    for got, clip, c in zip(many, clips, carried, strict=True):
        alone = measure_quality(clip, c.fitted, character)
        for name in ("seconds", "feet", "hands", "gap", "penetration", "deep", "slide", "skate", "jerk", "floating"):
            assert got[name] == pytest.approx(alone[name], rel=1e-3, abs=1e-3), name


@pytest.mark.parametrize("lift", [-0.5, 0.3])
def test_a_jump_in_place_lands_on_other_ground(character: Character, flat_walk: Clip, lift: float) -> None:
    """A body that stands goes up and falls; with a leap it does so forward, down from a box or up onto one."""
    feet = list(character.feet)
    both = int((flat_walk.motion.contacts[:, feet] > 0.5).all(1).nonzero()[0])
    standing = sample(flat_walk.motion, torch.full((76,), float(both), dtype=torch.float64))
    t = ((torch.arange(76) - 30) / 30).clamp(0, 15 / 30)
    up = 0.5 * 9.81 * t * (0.5 - t)
    contacts = standing.contacts.clone()
    contacts[31:45] = 0
    jump = replace(standing, root_pos=standing.root_pos + torch.stack([0 * up, 0 * up, up], -1), contacts=contacts)
    clip = replace(flat_walk, motion=jump)
    footing = footing_of_clip(clip, character)
    assert footing.jump_in_place(30.0) == 0 and footing.long_flight(0.5, 30.0) is None
    assert carry_well(clip, footing, Variation(lift=lift), character).variation == Variation(), "no ground to land on but its own"
    varied, quality = vary(clip, Variation(lift=lift, leap=0.8), character, "leapt")
    went = varied.motion.root_pos[-1] - varied.motion.root_pos[0]
    torch.testing.assert_close(went, torch.tensor([0.8, 0.0, lift]), atol=0.06, rtol=0)
    assert not quality.faults() and quality["ballistic"] < 1.5
    assert f"lift {lift:.2f} m, leap 0.80 m" in varied.provenance.edits[-1]
