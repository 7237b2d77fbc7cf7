import numpy as np
import torch

from parc.character import Character
from parc.dataset.clip import Clip
from parc.mocap.contact.find_contacts import Event
from parc.mocap.contact.support_levels import Held, Supports
from parc.mocap.make.make_clip import stand
from parc.mocap.subject.body_landmarks import Landmarks, landmarks_of_motion
from parc.mocap.subject.calibrate_subject import calibrate
from parc.mocap.subject.human_anatomy import Anatomy
from parc.mocap.terrain.shift_contacts import warp
from parc.mocap.terrain.snap_footholds import settle
from parc.terrain.terrain import Terrain


def supports_of(character: Character, clip: Clip) -> tuple[Landmarks, Supports]:
    marks = landmarks_of_motion(character, clip.motion)
    fitted, supports = stand(marks, calibrate([marks]), Anatomy.of(character), hands=False)
    return fitted.landmarks, supports


def test_one_shift_for_all_moves_everything_by_it(character: Character, flat_walk: Clip) -> None:
    marks, supports = supports_of(character, flat_walk)
    shift = np.array([0.3, -0.2, 0.1])
    moved, after = warp(marks, supports, [shift] * len(supports.held), [h.level + 0.1 for h in supports.held])
    for place in marks.at:
        np.testing.assert_allclose(moved[place], marks[place] + shift, atol=1e-6)
    np.testing.assert_allclose(after.levels, [level + 0.1 for level in supports.levels])


def test_a_foot_takes_its_own_shift_exactly_while_it_stands(character: Character, flat_walk: Clip) -> None:
    marks, supports = supports_of(character, flat_walk)
    rng = np.random.default_rng(0)
    events = [h.event for h in supports.held]
    stance = {e.side + str(e.start // 10): rng.normal(0, 0.05, 3) for e in events}
    shifts = [stance[e.side + str(e.start // 10)] for e in events]
    moved, _ = warp(marks, supports, shifts)
    for e, shift in zip(events, shifts, strict=True):
        alone = [o for o in events if o.side == e.side and o.start < e.stop and e.start < o.stop]
        if all(np.array_equal(stance[o.side + str(o.start // 10)], shift) for o in alone):
            place = f"{e.side}_ankle"
            np.testing.assert_allclose(moved[place][e.start : e.stop], marks[place][e.start : e.stop] + shift, atol=1e-9)
    steps = np.abs(np.diff(moved["pelvis"] - marks["pelvis"], axis=0))
    assert steps.max() < 0.02, "the trunk follows smoothly"


def foothold(x: float, y: float, level: float) -> Held:
    sole = np.array([[x, y - 0.045, level], [x, y + 0.045, level]])
    return Held(Event("left", "toe", 0, 5, np.tile(sole, (5, 1, 1))), level)


def test_footholds_are_put_onto_their_cells_by_the_least_shift() -> None:
    heights = torch.zeros(6, 4)
    heights[3:] = 0.3
    terrain = Terrain(heights, torch.zeros(2))  # the step's edge is at x = 1.0
    cases = [(foothold(0.5, 0.6, 0.0), (0, 0)), (foothold(1.05, 0.6, 0.0), (-0.08, 0)), (foothold(0.95, 0.6, 0.3), (0.08, 0))]
    for held, wanted in cases:
        supports = Supports(5, (held,), (0.0, 0.3))
        (shift,) = settle(supports, terrain)
        np.testing.assert_allclose(shift[:2], wanted, atol=0.041)
        place = held.event.points[0, :, :2] + shift[:2]
        assert torch.allclose(terrain.height_at(torch.as_tensor(place).float()), torch.tensor(held.level))
