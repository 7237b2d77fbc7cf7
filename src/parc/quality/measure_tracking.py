"""A recording against its reference: do the right bodies touch the terrain?

The reference's contact labels tell what was meant. Labels and simulation need not agree to the frame, so a contact counts as
meant if the reference has it within `slack` frames, and the other way round:

    contact_agreement = 1 - (unmeant + missed) / (simulated + meant + frames / 2)        counted over hands and feet

This is the F1 score of the contacts but for the half of the frames, which keep a stretch with few contacts from being judged
by a single one of them. Other bodies are judged one-sidedly: a contact nobody meant is a fault, a meant one that does not come
is none; and where the reference itself is within `near` of the terrain, touching it is no fault, labelled or not (a back that
rolls over the floor has no label). Bodies that are their own mirror image (pelvis, torso, head) are the trunk, for which less is
allowed.
"""

import torch.nn.functional as F
from torch import Tensor

from parc.character.character import Character


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
    strange = unmeant if near is None else unmeant & ~spread(near, slack)[begin:stop]
    trunk = [b for b in range(character.num_bodies) if _is_trunk(character, b)]
    others = [b for b in range(character.num_bodies) if b not in keys and b not in trunk]
    return {
        "contact_agreement": 1.0 - wrong / (touching + wanted + 0.5 * len(simulated)),
        "trunk_contact": float(strange[:, trunk].any(-1).float().mean()),
        "strange_contact": float(strange[:, others].any(-1).float().mean()),
    }


def spread(labels: Tensor, slack: int) -> Tensor:
    """Labels [T, B], true also within `slack` frames of where they are."""
    return F.max_pool1d(labels.float().T.unsqueeze(0), 2 * slack + 1, stride=1, padding=slack)[0].T > 0.5


def _is_trunk(character: Character, body: int) -> bool:
    """The root, and bodies that lie in the plane of symmetry."""
    return body == 0 or (character.mirror_of is not None and character.mirror_of[body] == body)
