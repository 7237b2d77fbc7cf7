"""Is a recorded stretch good data? Length, distance from the reference, on the map, and the right bodies on the ground.

A policy can pass every termination and still move badly: drag a shin over an edge, lean its chest on a box, catch itself with
its head. The reference's contact labels tell what was meant. Labels and simulation need not agree to the frame, so a contact
counts as meant if the reference has it within `slack` frames, and the other way round:

    contact_agreement = 1 - (unmeant + missed) / (simulated + meant + frames / 2)        counted over hands and feet

This is the F1 score of the contacts but for the half of the frames, which keep a stretch with few contacts from being judged
by a single one of them. Other bodies are judged one-sidedly: a contact nobody meant is a fault, a meant one that does not come
is none; and where the reference itself is within `near` of the ground, touching it is no fault, labelled or not (a back that
rolls over the floor has no label). Bodies that are their own mirror image (pelvis, torso, head) are the trunk, for which less is
allowed. A reference without any label says nothing about contacts and is not judged by them.
"""

import math
from dataclasses import dataclass, replace

import torch.nn.functional as F
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.record.choose_segments import RecordedStretch
from parc.record.tracking_attempts import Attempt


@dataclass(frozen=True)
class AcceptSettings:
    """What a recording must be like to be kept."""

    shortest: float = 2.0
    """s"""
    mean_error: float = 0.15
    """m, mean over frames and bodies of the root-relative distance from the reference"""
    worst_error: float = 0.25
    """m, mean over bodies, in the worst frame"""
    worst_lean: float = 0.7
    """rad of the root from the reference's, in the worst frame"""
    contact_agreement: float = 0.65
    """least agreement of simulated with meant contacts of hands and feet"""
    trunk_contact: float = 0.03
    """share of frames in which the trunk may touch the ground unmeant"""
    strange_contact: float = 0.2
    """share of frames in which another body than hands, feet and trunk may touch the ground unmeant"""
    slack: int = 4
    """frames between a contact and its label"""
    near: float = 0.04
    """m between ground and a body of the reference, other than hands and feet, within which touching is no fault"""
    on_terrain: bool = True
    """the root must stay above the map"""

    @classmethod
    def anything(cls) -> "AcceptSettings":
        """No limits but the length."""
        free = math.inf
        return cls(
            mean_error=free,
            worst_error=free,
            worst_lean=free,
            contact_agreement=-free,
            trunk_contact=free,
            strange_contact=free,
            on_terrain=False,
        )


@dataclass(frozen=True)
class Judgement:
    """What is said of a recording."""

    reasons: tuple[str, ...]
    """why the stretch is refused, one sentence part each"""
    losses: dict[str, float]
    """for the clip's provenance"""

    @property
    def accepted(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.reasons


def trusted(reference: Clip, attempt: Attempt, settings: AcceptSettings = AcceptSettings()) -> Attempt:
    """The attempt as far as it keeps within the limits for single frames, as if the pose had been lost there.

    Training ends an episode late, so that recovering can be learned; a recording must not show the fall.
    """
    bad = (attempt.errors > settings.worst_error) | (lean(reference, attempt) > settings.worst_lean)
    bad[0] = False
    if not bool(bad.any()):
        return attempt
    stop = int(bad.nonzero()[0])
    return replace(attempt, motion=attempt.motion.slice(0, stop), errors=attempt.errors[:stop], reached_end=False)


def lean(reference: Clip, attempt: Attempt) -> Tensor:
    """[T] rad, the angle between the roots of simulation and reference."""
    meant = reference.motion.root_rot[attempt.start : attempt.stop]
    return rotation.angle(rotation.difference(attempt.motion.root_rot, meant)).abs()


def judge(
    character: Character,
    reference: Clip,
    stretch: RecordedStretch,
    settings: AcceptSettings = AcceptSettings(),
    near: Tensor | None = None,
) -> Judgement:
    """A stretch of an attempt at `reference`; near [T, B]: its bodies are near the ground (`parc.track.env.terrain_nearness`)."""
    attempt, fps = stretch.attempt, reference.motion.fps
    first, last = stretch.begin - attempt.start, stretch.stop - attempt.start
    error, root = attempt.errors[first:last], attempt.motion.root_pos[first:last]
    losses = {
        "tracking_error": float(error.mean()),
        "tracking_error_max": float(error.max()),
        "root_lean_max": float(lean(reference, attempt)[first:last].max()),
        "root_error": float((root - reference.motion.root_pos[stretch.begin : stretch.stop]).norm(dim=-1).mean()),
        "recorded_share": len(stretch) / len(reference.motion),
        "start_seconds": stretch.begin / fps,
    }
    reasons = []
    if attempt.diverged:
        reasons.append(f"the simulation broke at frame {attempt.stop}")
    if len(stretch) < round(settings.shortest * fps):
        reasons.append(f"lasts {len(stretch) / fps:.2f} s, {settings.shortest:g} s are the least")
    off = (~reference.terrain.contains(root[:, :2])).nonzero()
    if len(off) and settings.on_terrain:
        reasons.append(f"leaves the terrain at frame {stretch.begin + int(off[0])}")
    simulated = attempt.motion.contacts[first:last] > 0.5
    limits = [
        ("tracking_error", settings.mean_error, "m"),
        ("tracking_error_max", settings.worst_error, "m"),
        ("root_lean_max", settings.worst_lean, "rad"),
    ]
    if bool((reference.motion.contacts > 0.5).any()):
        losses |= contact_quality(character, reference.motion.contacts > 0.5, simulated, stretch.begin, settings.slack, near)
        limits.append(("trunk_contact", settings.trunk_contact, "of the frames"))
        limits.append(("strange_contact", settings.strange_contact, "of the frames"))
        if losses["contact_agreement"] < settings.contact_agreement:
            reasons.append(f"contact_agreement is {losses['contact_agreement']:.3f}, {settings.contact_agreement:g} is the least")
    for name, limit, unit in limits:
        if losses[name] > limit:
            reasons.append(f"{name} is {losses[name]:.3f} {unit}, {limit:g} is the limit")
    return Judgement(tuple(reasons), losses)


def contact_quality(
    character: Character, meant: Tensor, simulated: Tensor, begin: int, slack: int, near: Tensor | None = None
) -> dict[str, float]:
    """Labels [T, B] of a whole reference against contacts [F, B] of frames begin .. begin + F - 1."""
    stop = begin + len(simulated)
    unmeant = simulated & ~spread(meant, slack)[begin:stop]
    missed = meant[begin:stop] & ~spread(simulated, slack)
    keys = list(character.key_bodies)
    touching, wanted = int(simulated[:, keys].sum()), int(meant[begin:stop, keys].sum())
    wrong = int(unmeant[:, keys].sum()) + int(missed[:, keys].sum())
    fault = unmeant if near is None else unmeant & ~spread(near, slack)[begin:stop]
    trunk = [b for b in range(character.num_bodies) if _is_trunk(character, b)]
    others = [b for b in range(character.num_bodies) if b not in keys and b not in trunk]
    return {
        "contact_agreement": 1.0 - wrong / (touching + wanted + 0.5 * len(simulated)),
        "trunk_contact": float(fault[:, trunk].any(-1).float().mean()),
        "strange_contact": float(fault[:, others].any(-1).float().mean()),
    }


def spread(labels: Tensor, slack: int) -> Tensor:
    """Labels [T, B], true also within `slack` frames of where they are."""
    return F.max_pool1d(labels.float().T.unsqueeze(0), 2 * slack + 1, stride=1, padding=slack)[0].T > 0.5


def _is_trunk(character: Character, body: int) -> bool:
    """The root, and bodies that lie in the plane of symmetry."""
    return body == 0 or (character.mirror_of is not None and character.mirror_of[body] == body)
