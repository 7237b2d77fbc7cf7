"""People out of a data set of motion capture: which takes show which activity.

Somebody who runs through the capture volume passes walking speed on the way, somebody about to jump crouches: such windows carry
a label that they are no example of. So each activity is learnt from takes whose skill is known to show it.
"""

from collections.abc import Sequence

import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import DatasetError
from parc.metrics.body_signals import signals_of
from parc.metrics.clip_batch import ClipBatch, groups
from parc.metrics.clip_subject import NOBODY, subject_of
from parc.metrics.gait_windows import AIR, CLIMB, FEATURES, LABELS, RUN, SLOW, STAND, STEP, WALK, gait_windows
from parc.metrics.people_statistics import LEAST_SUBJECTS, People

_ON_FOOT = ("walk", "stairs", "bumpy", "step_over", "platform", "drop", "climb")
_JUMPS = ("gap_jump", "jump_over", "jump_up", "platform_jump", "run_over")
TAKES = {
    STAND: _ON_FOOT,
    SLOW: _ON_FOOT,
    WALK: ("walk", "stairs"),
    RUN: ("run",),
    STEP: (*_ON_FOOT, *_JUMPS),
    AIR: (*_ON_FOOT, *_JUMPS),
    CLIMB: _ON_FOOT,
}
"""skills whose takes show each activity"""
UPRIGHT = 0.4
"""m of the pelvis over the soles in the mean; somebody lower, on the ground or getting up from it, is not on foot"""
_MAY_BE_LOW = (AIR, CLIMB)
_PELVIS = FEATURES.index("pelvis over soles")


def people_from_clips(clips: Sequence[Clip], character: Character) -> tuple[People, dict[str, dict[str, int]]]:
    """The people of retargeted takes, neither hastened nor simulated, and how many windows of whom show each activity."""
    takes = [clip for clip in clips if subject_of(clip) != NOBODY and any(clip.provenance.skill in s for s in TAKES.values())]
    features, labels, subjects = [], [], []
    for group in groups(takes):
        signals = signals_of(ClipBatch.stack(group, character))
        if signals is None:
            raise DatasetError(f"character '{character.name}' has no two legs and two arms whose gait could be learnt")
        found = gait_windows(signals)
        rows = list(zip(found.clip.tolist(), found.label.tolist(), strict=True))
        shown = torch.tensor([group[c].provenance.skill in TAKES[a] for c, a in rows], dtype=torch.bool)
        shown &= (found.features[:, _PELVIS] > UPRIGHT) | torch.isin(found.label, torch.tensor(_MAY_BE_LOW))
        features.append(found.features[shown])
        labels.append(found.label[shown])
        subjects += [subject_of(group[c]) for (c, _), s in zip(rows, shown.tolist(), strict=True) if s]
    counted = _count(torch.cat(labels).tolist() if labels else [], subjects)
    if not any(len(who) >= LEAST_SUBJECTS for who in counted.values()):
        raise DatasetError(
            f"{len(takes)} of {len(clips)} clips show a person on foot, expected {LEAST_SUBJECTS} persons or more who do the same"
            " (a subject is read from a clip's source, as cmu/16 from cmu/16_11.bvh)"
        )
    return People.of(torch.cat(features), torch.cat(labels), subjects, character.fingerprint), counted


def _count(labels: list[int], subjects: list[str]) -> dict[str, dict[str, int]]:
    """{activity: {subject: windows}}"""
    table: dict[str, dict[str, int]] = {name: {} for name in LABELS}
    for label, who in zip(labels, subjects, strict=True):
        table[LABELS[label]][who] = table[LABELS[label]].get(who, 0) + 1
    return table
