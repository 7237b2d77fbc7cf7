from dataclasses import replace

import numpy as np
import pytest
import torch

from parc.character import Character
from parc.dataset.clip import Clip
from parc.mocap.contact.label_check import LabelScore, check_labels, score_labels
from parc.mocap.contact.label_touching_bodies import label_touching
from parc.mocap.subject.human_anatomy import Anatomy


def test_scores_are_counted_by_hand() -> None:
    true = np.array([0, 1, 1, 1, 0, 0, 0, 0, 0, 1], bool)
    labels = np.array([1, 1, 1, 0, 0, 0, 1, 0, 0, 0], bool)
    assert score_labels(true, labels, 0) == LabelScore(truth=4, labelled=4, right=2, found=2)
    assert score_labels(true, labels, 1) == LabelScore(truth=4, labelled=4, right=3, found=3)
    together = score_labels(true, labels, 0) + score_labels(true, true, 0)
    assert together.precision == pytest.approx(6 / 8) and together.recall == pytest.approx(6 / 8)
    assert np.isnan(LabelScore(0, 0, 0, 0).precision)


def test_a_walk_is_labelled_as_it_was_made(character: Character, step_walk: Clip) -> None:
    """`stroll` knows its stances; the labeller sees the motion alone."""
    scores = check_labels([step_walk], character)["motion alone"]
    for body in ("left_foot", "right_foot"):
        assert scores[body].precision > 0.95 and scores[body].recall > 0.9
    assert scores["left_hand"].labelled == 0


def test_a_hand_that_lies_on_the_ground_is_labelled_where_hands_are_used(character: Character, flat_walk: Clip) -> None:
    """The body sunk until a hand is on the ground, in three frames; in one of them it is labelled already."""
    anatomy = Anatomy.of(character)
    hand = anatomy.body["left_wrist"]
    motion = flat_walk.motion.slice(0, 1)
    still = replace(motion, **{k: getattr(motion, k).repeat(6, *[1] * (getattr(motion, k).dim() - 1)) for k in
                               ("root_pos", "root_rot", "joint_rot", "contacts")})  # fmt: skip
    drop = float(still.body_poses(character).pos[0, hand, 2]) - anatomy.palm_drop + 0.004
    root, contacts = still.root_pos.clone(), torch.zeros_like(still.contacts)
    root[2:5, 2] -= drop
    contacts[3, hand] = 1
    clip = replace(flat_walk, motion=replace(still, root_pos=root, contacts=contacts))
    assert label_touching(clip, character, True).motion.contacts[:, hand].tolist() == [0, 0, 1, 1, 1, 0]
    assert label_touching(clip, character, False).motion.contacts[:, hand].tolist() == [0, 0, 0, 1, 0, 0]
