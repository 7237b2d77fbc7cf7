import numpy as np

from parc.character import Character
from parc.dataset.clip import Clip
from parc.mocap.anatomy import Anatomy
from parc.mocap.calibrate import Fitted, calibrate, fit_take
from parc.mocap.check import upright
from parc.mocap.contact import find_contacts
from parc.mocap.landmark import landmarks_of, landmarks_of_motion
from parc.mocap.level import find_levels, floor_slope
from parc.mocap.naming import SIDES


def take_of(character: Character, clip: Clip) -> Fitted:
    marks = landmarks_of_motion(character, clip.motion)
    return fit_take(marks, calibrate([marks]), Anatomy.of(character))


def test_labels_of_a_stroll_are_its_own(character: Character, flat_walk: Clip, step_walk: Clip) -> None:
    """Precision and recall of at least 0.9 against labels that are exact by construction, at its rate and at four times it."""
    anatomy = Anatomy.of(character)
    for clip in (flat_walk, step_walk):
        for rate in (30.0, 120.0):
            fitted = take_of(character, clip)
            if rate != 30.0:
                fitted = Fitted(fitted.landmarks.resampled(rate), fitted.foot_pitch, fitted.scale)
            labels = find_contacts(fitted, anatomy, 30.0, hands=False).labels(anatomy, len(character)) > 0.5
            feet = list(character.feet)
            true = clip.motion.contacts.numpy()[: len(labels)][:, feet] > 0.5
            got = labels[:, feet]
            hits = (true & got).sum()
            assert hits / got.sum() >= 0.9 and hits / true.sum() >= 0.9
            assert labels.sum() == got.sum(), "only feet touch"


def test_the_top_of_a_jump_is_no_contact(character: Character, jumping_person) -> None:
    source = upright(jumping_person(120.0))
    marks = landmarks_of(source)
    anatomy = Anatomy.of(character)
    fitted = fit_take(marks, calibrate([marks]), anatomy)
    contacts = find_contacts(fitted, anatomy, 30.0, hands=True)
    rise = fitted.landmarks.resampled(30.0)["left_ankle"][:, 2] - anatomy.ankle_drop
    held = np.stack([contacts.held(side, part) for side in SIDES for part in ("heel", "toe")]).any(0)
    high = rise[: len(held)] > 0.06
    assert high.sum() > 10 and not held[high].any()
    assert held[rise[: len(held)] < 0.001].mean() > 0.9
    assert not any(e.part == "hand" for e in contacts.events), "arms at rest hold nothing"


def test_levels_of_a_stroll_over_steps(character: Character, step_walk: Clip) -> None:
    supports = find_levels(find_contacts(take_of(character, step_walk), Anatomy.of(character), hands=False))
    lifted = supports.lifted(-supports.levels[0])
    np.testing.assert_allclose(lifted.levels, [0.0, 0.2, 0.35], atol=0.01)


def test_a_sloping_floor_is_seen(character: Character, flat_walk: Clip) -> None:
    marks = landmarks_of_motion(character, flat_walk.motion)
    sloped = marks.moved(lambda track: track + np.array([0.0, 0.0, 0.015]) * track[:, :1])
    anatomy = Anatomy.of(character)
    slope = floor_slope(find_levels(find_contacts(fit_take(sloped, calibrate([sloped]), anatomy), anatomy, hands=False)))
    assert slope[0] > 0.009 and abs(slope[1]) < 0.005
