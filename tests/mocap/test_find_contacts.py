import numpy as np
import pytest

from parc.character import Character
from parc.dataset.clip import Clip
from parc.fit.held_parts import PARTS, held_labels
from parc.mocap.contact.find_contacts import Contacts, Event, find_contacts
from parc.mocap.contact.support_levels import find_levels, floor_slope
from parc.mocap.make.make_clip import stand
from parc.mocap.read.detect_units_and_rate import upright
from parc.mocap.read.source_motion import SourceMotion
from parc.mocap.subject.body_landmarks import landmarks_of, landmarks_of_motion
from parc.mocap.subject.calibrate_subject import Fitted, calibrate, fit_take
from parc.mocap.subject.human_anatomy import Anatomy

Person = dict[str, tuple[float, float, float]]


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
            labels = held_labels(character, find_contacts(fitted, anatomy, 30.0, hands=False).held()).numpy() > 0.5
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
    held = contacts.held()[:, :4].numpy().any(1)
    high = rise[: len(held)] > 0.06
    assert high.sum() > 10 and not held[high].any()
    assert held[rise[: len(held)] < 0.001].mean() > 0.9
    assert not any(e.part == "hand" for e in contacts.events), "arms at rest hold nothing"


def test_levels_of_a_stroll_over_steps(character: Character, step_walk: Clip) -> None:
    supports = find_levels(find_contacts(take_of(character, step_walk), Anatomy.of(character), hands=False))
    low = supports.levels[0]
    lifted = supports.shifted([np.array([0.0, 0.0, -low])] * len(supports.held), [h.level - low for h in supports.held])
    np.testing.assert_allclose(lifted.levels, [0.0, 0.2, 0.35], atol=0.01)


def test_a_sloping_floor_is_seen(character: Character, flat_walk: Clip) -> None:
    marks = landmarks_of_motion(character, flat_walk.motion)
    sloped = marks.moved(lambda track: track + np.array([0.0, 0.0, 0.015]) * track[:, :1])
    anatomy = Anatomy.of(character)
    slope = floor_slope(find_levels(find_contacts(fit_take(sloped, calibrate([sloped]), anatomy), anatomy, hands=False)))
    assert slope[0] > 0.009 and abs(slope[1]) < 0.005


def kneeling_person(person: Person, toes: bool) -> SourceMotion:
    """Stands, goes down on the right knee with the toes tucked under, gets up again."""
    stand = {name: np.array(at, dtype=np.float64) for name, at in person.items() if toes or "Toe" not in name}
    kneel = {name: at + np.array([-0.15, 0.0, -0.45]) for name, at in stand.items()}
    kneel |= {"LeftLeg": np.array([0.24, 0.1, 0.42]), "LeftFoot": stand["LeftFoot"]}
    kneel |= {"RightLeg": np.array([-0.14, -0.1, 0.05]), "RightFoot": np.array([-0.53, -0.1, 0.19])}
    if toes:
        kneel |= {"LeftToeBase": stand["LeftToeBase"], "RightToeBase": np.array([-0.5, -0.1, 0.05])}
    t = np.arange(0, 5, 1 / 60)
    u = np.clip(np.minimum(t - 1, 4 - t) / 0.6, 0, 1)
    share = (u * u * (3 - 2 * u))[:, None, None]
    pos = (1 - share) * np.array(list(stand.values())) + share * np.array(list(kneel.values()))
    return SourceMotion("kneeler", tuple(stand), (-1,) * len(stand), pos, 60.0)


@pytest.mark.parametrize("toes", [True, False])
def test_who_kneels_is_on_one_level(character: Character, person: Person, toes: bool) -> None:
    """A steep foot stands on its toes, though its heel is as still; without toes recorded it is the shin that tells."""
    marks = landmarks_of(kneeling_person(person, toes))
    anatomy = Anatomy.of(character)
    _, supports = stand(marks, calibrate([marks]), anatomy, hands=False)
    assert len(supports.levels) == 1
    down = round(2.5 * 30)
    held = dict(zip(PARTS, supports.contacts.held().bool().T, strict=True))
    assert held["right", "toe"][down] and not held["right", "heel"][down]
    assert held["left", "heel"][down] and held["right", "heel"][0]


def test_a_hand_on_a_hip_holds_nothing(character: Character, person: Person) -> None:
    """The body sways over feet that stand while a hand stays where it is; beside a foot on its level it would count."""
    names = list(person)
    t = np.arange(0, 2, 1 / 60)
    pos = np.repeat(np.array(list(person.values()), dtype=np.float64)[None], len(t), 0)
    above = [names.index(name) for name in names if "Foot" not in name and "Toe" not in name and name != "LeftHand"]
    pos[:, above, 0] += 0.1 * np.sin(np.pi * t)[:, None]
    marks = landmarks_of(SourceMotion("idler", tuple(names), (-1,) * len(names), pos, 60.0))
    anatomy = Anatomy.of(character)
    fitted, supports = stand(marks, calibrate([marks]), anatomy, hands=True)
    seen = find_contacts(fitted, anatomy)
    hands = [e for e in seen.events if (e.side, e.part) == ("left", "hand")]
    assert hands and not any(e.part == "hand" for e in supports.contacts.events) and len(supports.levels) == 1
    ledge = [
        Event("right", part, 0, 10, np.array([[(0.1 * k, 0.25, hands[0].height)]] * 10)) for k, part in ((0, "heel"), (1, "toe"))
    ]
    beside = find_levels(Contacts(seen.frames, (*seen.events, *ledge)))
    assert any(e.part == "hand" for e in beside.contacts.events)
