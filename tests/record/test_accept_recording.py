"""Acceptance: hand-made attempts with one fault each are refused for that fault."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.motion.motion import Motion
from parc.quality.limit_profiles import RecordingLimits
from parc.quality.measure_tracking import contact_quality, spread
from parc.record.accept_recording import judge, trusted
from parc.record.choose_segments import RecordedStretch
from parc.record.tracking_attempts import Attempt


def perfect(clip: Clip, **changes) -> RecordedStretch:
    """The reference itself as a recording."""
    attempt = Attempt(0, 0, clip.motion, torch.full((len(clip.motion),), 0.05), True, False)
    return RecordedStretch(replace(attempt, **changes), 3, len(clip.motion), True)


def touching(character: Character, motion: Motion, body: str, frames: slice, value: float = 1.0) -> Motion:
    contacts = motion.contacts.clone()
    contacts[frames, character.index(body)] = value
    return replace(motion, contacts=contacts)


@pytest.fixture
def standing(rests: Callable[..., Clip], character: Character) -> Clip:
    """Labels as of somebody who stands: feet only."""
    clip = rests(frames=100)
    contacts = torch.zeros_like(clip.motion.contacts)
    contacts[:, list(character.feet)] = 1.0
    return replace(clip, motion=replace(clip.motion, contacts=contacts))


def test_a_perfect_recording_is_accepted(standing: Clip, character: Character) -> None:
    judgement = judge(character, standing, perfect(standing))
    assert judgement.accepted
    assert judgement.losses["contact_agreement"] == 1.0
    assert judgement.losses["tracking_error"] == pytest.approx(0.05)
    assert judgement.losses["root_error"] == 0.0
    assert judgement.losses["recorded_share"] == pytest.approx(0.97)
    assert judgement.losses["start_seconds"] == pytest.approx(0.1)


def test_each_fault_has_its_reason(standing: Clip, character: Character) -> None:
    motion = standing.motion
    spike = torch.full((100,), 0.05)
    spike[50] = 0.5
    leaning = motion.root_rot.clone()
    leaning[70:] = torch.tensor([0.0, 0.0, 0.0, 1.0])
    away = motion.root_pos.clone()
    away[60:, 0] = 20.0
    airborne = touching(character, touching(character, motion, "left_foot", slice(None), 0.0), "right_foot", slice(20, 100), 0.0)
    faults = {
        "tracking_error is": perfect(standing, errors=torch.full((100,), 0.2)),
        "tracking_error_max is": perfect(standing, errors=spike),
        "root_lean_max": perfect(standing, motion=replace(motion, root_rot=leaning)),
        "trunk_contact": perfect(standing, motion=touching(character, motion, "head", slice(40, 50))),
        "strange_contact": perfect(standing, motion=touching(character, motion, "left_thigh", slice(40, 70))),
        "contact_agreement": perfect(standing, motion=airborne),
        "simulation broke": perfect(standing, diverged=True),
        "leaves the terrain at frame 60": perfect(standing, motion=replace(motion, root_pos=away)),
        "seconds is": replace(perfect(standing), stop=40),
    }
    for fault, stretch in faults.items():
        reasons = judge(character, standing, stretch).reasons
        assert len(reasons) == 1 and fault in reasons[0], (fault, reasons)
        without_limits = judge(character, standing, stretch, RecordingLimits.anything()).accepted
        assert without_limits == (fault not in ("simulation broke", "seconds is"))


def test_a_fall_is_cut_off_where_the_limits_of_recording_end(standing: Clip) -> None:
    errors = torch.full((100,), 0.05)
    errors[90:] = 0.3
    attempt = perfect(standing, errors=errors).attempt
    cut = trusted(standing, attempt)
    assert (cut.stop, cut.reached_end, len(cut.errors)) == (90, False, 90)
    assert trusted(standing, perfect(standing).attempt).reached_end


def test_a_contact_that_was_meant_is_no_fault(standing: Clip, character: Character) -> None:
    meant = replace(standing, motion=touching(character, standing.motion, "torso", slice(37, 53)))
    stretch = perfect(meant, motion=touching(character, standing.motion, "torso", slice(40, 50)))
    assert judge(character, meant, stretch).accepted
    assert not judge(character, standing, stretch).accepted


def test_a_reference_without_labels_is_not_judged_by_contacts(standing: Clip, character: Character) -> None:
    silent = replace(standing, motion=replace(standing.motion, contacts=torch.zeros_like(standing.motion.contacts)))
    judgement = judge(character, silent, perfect(standing))
    assert judgement.accepted and "contact_agreement" not in judgement.losses


def test_agreement_by_hand(character: Character) -> None:
    """Foot meant in 0..9, simulated in 4..15, slack 2: four of twelve unmeant, two of ten missed."""
    foot = character.feet[0]
    meant, simulated = (
        torch.zeros(30, character.num_bodies, dtype=torch.bool),
        torch.zeros(30, character.num_bodies, dtype=torch.bool),
    )
    meant[:10, foot] = True
    simulated[4:16, foot] = True
    found = contact_quality(character, meant, simulated, 0, 2)["contact_agreement"]
    assert found == pytest.approx(1 - (4 + 2) / (12 + 10 + 15))
    none = torch.zeros_like(meant)
    assert contact_quality(character, meant, none, 0, 2)["contact_agreement"] == pytest.approx(1 - 10 / (10 + 15))
    assert contact_quality(character, none, none, 0, 2)["contact_agreement"] == 1.0


def test_the_trunk_may_touch_where_the_reference_is_at_the_ground(character: Character) -> None:
    meant, simulated = torch.zeros(20, 15, dtype=torch.bool), torch.zeros(20, 15, dtype=torch.bool)
    simulated[:, 0] = simulated[:, character.key_bodies[0]] = True
    near = simulated.clone()
    strict, fair = (contact_quality(character, meant, simulated, 0, 0, rows) for rows in (None, near))
    assert strict["trunk_contact"] == 1.0 and fair["trunk_contact"] == 0.0
    assert strict["contact_agreement"] == fair["contact_agreement"], "hands and feet go by their labels"


def test_spread() -> None:
    label = torch.tensor([[0, 0, 0, 1, 0, 0, 0, 0]], dtype=torch.bool).T
    assert spread(label, 2)[:, 0].tolist() == [False, True, True, True, True, True, False, False]
