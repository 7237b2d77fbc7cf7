"""The contact labeller against labels that are exact: clips recorded in simulation, where the simulator knows who touched.

From the motion of such a clip alone, without its terrain or labels, contacts are labelled as those of a take of motion capture
are. A labelled frame is right if the simulator has a contact of that body within `tolerance` frames of it (precision), and a
contact of the simulator is found if a label is as near (recall). Whether hands touch at all is told, as a shortlist tells it.

Two stages are measured: labels from the motion alone, which the terrain is built from and must not invent anything, and those
that a clip ends up with, once it stands on its ground (here the true one).
"""

from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.fit.held_parts import held_labels
from parc.mocap.contact.find_contacts import ContactSettings, find_contacts
from parc.mocap.contact.label_touching_bodies import label_touching
from parc.mocap.contact.support_levels import LevelSettings, find_levels
from parc.mocap.subject.body_landmarks import landmarks_of_motion
from parc.mocap.subject.calibrate_subject import Fitted
from parc.mocap.subject.human_anatomy import Anatomy

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class LabelScore:
    """Frames of one body, counted."""

    truth: int
    """frames in contact as simulated"""
    labelled: int
    """frames in contact as labelled"""
    right: int
    """labelled frames with a simulated contact near"""
    found: int
    """simulated frames with a label near"""

    def __add__(self, other: "LabelScore") -> "LabelScore":
        return LabelScore(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @property
    def precision(self) -> float:
        """Share of labelled frames that are right."""
        return self.right / self.labelled if self.labelled else float("nan")

    @property
    def recall(self) -> float:
        """Share of simulated frames that are found."""
        return self.found / self.truth if self.truth else float("nan")


STAGES = ("motion alone", "on its ground")
Scores = dict[str, dict[str, LabelScore]]
"""by stage and name of the body"""


def check_labels(
    clips: Iterable[Clip],
    character: Character,
    tolerance: int = 1,
    contact: ContactSettings = ContactSettings(),
    level: LevelSettings = LevelSettings(),
) -> Scores:
    """Of feet and hands over all clips."""
    anatomy = Anatomy.of(character)
    hands = anatomy.hands
    ends = anatomy.feet + hands
    scores = {stage: {character.names[b]: LabelScore(0, 0, 0, 0) for b in ends} for stage in STAGES}
    for clip in clips:
        true = clip.motion.contacts.numpy() > 0.5
        used = bool(true[:, hands].any())
        alone = label_motion(clip, character, used, contact, level)
        start = replace(clip, motion=replace(clip.motion, contacts=torch.as_tensor(alone).float()))
        grounded = label_touching(start, character, used).motion.contacts.numpy() > 0.5
        for stage, labels in zip(STAGES, (alone, grounded), strict=True):
            for body in ends:
                scores[stage][character.names[body]] += score_labels(true[:, body], labels[:, body], tolerance)
    return scores


def label_motion(
    clip: Clip,
    character: Character,
    hands: bool,
    contact: ContactSettings = ContactSettings(),
    level: LevelSettings = LevelSettings(),
) -> Mask:
    """[T, B] contacts of feet and hands from the motion alone."""
    anatomy = Anatomy.of(character)
    marks = landmarks_of_motion(character, clip.motion, clip.name)
    fitted = Fitted(marks, float(np.arctan2(-anatomy.toe[2], anatomy.toe[0])), 1.0)
    found = find_levels(find_contacts(fitted, anatomy, marks.fps, hands, contact), marks.fps, level)
    return held_labels(character, found.contacts.held())[: len(clip.motion)].numpy() > 0.5


def score_labels(true: Mask, labels: Mask, tolerance: int) -> LabelScore:
    """Of one body, [T] each."""

    def near(mask: Mask) -> Mask:
        return ndimage.binary_dilation(mask, iterations=tolerance) if tolerance else mask

    return LabelScore(int(true.sum()), int(labels.sum()), int((labels & near(true)).sum()), int((true & near(labels)).sum()))
