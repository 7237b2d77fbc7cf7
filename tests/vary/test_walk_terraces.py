from dataclasses import replace

import numpy as np
import pytest
import torch

from parc.character import Character
from parc.dataset.clip import Clip
from parc.mocap.contact.clip_supports import footing_of_clip
from parc.motion.motion_edits import sample
from parc.vary.variation_ranges import Variation
from parc.vary.vary_clips import vary
from parc.vary.walk_terraces import terrace_frames, terrace_lift


def places_of(clip: Clip, character: Character) -> list[int]:
    return terrace_frames(footing_of_clip(clip, character), np.zeros(len(clip.motion), bool), clip.motion.fps)


def test_a_walk_on_the_level_may_step_between_its_footholds(character: Character, flat_walk: Clip) -> None:
    places = places_of(flat_walk, character)
    feet = flat_walk.motion.contacts[:, list(character.feet)] > 0.5
    landings = int((feet[1:] & ~feet[:-1]).sum())
    assert landings - 1 <= len(places) <= landings
    held = footing_of_clip(flat_walk, character).supports.held
    for at in places:
        before, after = (
            [h.event.centre[0] for h in held if ((h.event.start + h.event.stop) // 2 < at) == side] for side in (1, 0)
        )
        assert max(before) + 0.15 < min(after)


def test_no_step_where_something_else_touches_or_one_turns_back(character: Character, flat_walk: Clip) -> None:
    frames, fps = len(flat_walk.motion), flat_walk.motion.fps
    assert terrace_frames(footing_of_clip(flat_walk, character), np.ones(frames, bool), fps) == []
    there_and_back = torch.cat([torch.arange(frames), torch.arange(frames - 2, -1, -1)]).double()
    returned = replace(flat_walk, motion=sample(flat_walk.motion, there_and_back))
    found = places_of(returned, character)
    assert all(abs(at - frames) > 0.5 * 3 * fps - 15 for at in found)
    assert len(found) < 2 * len(places_of(flat_walk, character))


def test_heights_add_up_and_a_place_is_used_once() -> None:
    lift = terrace_lift(6, [2, 4], [(0.1, 0.2), (0.3, 0.5), (1.0, -0.1)])
    np.testing.assert_allclose(lift, [0, 0, 0.2, 0.2, 0.1, 0.1])
    assert not terrace_lift(6, [], [(0.5, 0.2)]).any()


@pytest.mark.parametrize("step", [0.2, -0.2])
def test_a_walk_over_terraces_stands_on_them(character: Character, flat_walk: Clip, step: float) -> None:
    clip, quality = vary(flat_walk, Variation(terraces=((0.3, step), (0.8, step))), character, "terraced")
    heights = torch.unique((clip.terrain.heights * 1000).round()) / 1000
    torch.testing.assert_close(heights, torch.tensor(sorted([0.0, step, 2 * step])), atol=2e-3, rtol=0)
    assert not quality.faults() and quality["gap"] < 1 and quality["penetration"] < 2
    rose = float(clip.motion.root_pos[-1, 2] - clip.motion.root_pos[0, 2])
    was = float(flat_walk.motion.root_pos[-1, 2] - flat_walk.motion.root_pos[0, 2])
    assert rose - was == pytest.approx(2 * step, abs=0.05)
    assert f"steps {step:+.2f} {step:+.2f} m" in clip.provenance.edits[-1]
