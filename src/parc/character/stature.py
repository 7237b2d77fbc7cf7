"""How large a character is: the height of its root over the ground when it stands with its limbs straight, beside the humanoid's.

Lengths that say how a body of a size stands, crouches or lies are told in metres of the humanoid (how low a pelvis is down, how
high a root is over a path) and multiplied by `size_of`, which is exactly 1 for it.
"""

from functools import cache

from parc.character.character import Character
from parc.character.find_symmetry import extent
from parc.character.humanoid import humanoid


def stature(character: Character) -> float:
    """m from the lowest point up to the root, at rest."""
    heights = [0.0]
    for body in character.bodies[1:]:
        heights.append(heights[body.parent] + body.offset[2])
    return -min(height + extent(body)[0][2] for height, body in zip(heights, character.bodies, strict=True))


@cache
def size_of(character: Character) -> float:
    """The stature in those of the humanoid; a root that is the lowest point of its body says nothing, and counts as 1."""
    own = stature(character)
    return own / stature(humanoid()) if own > 0.02 else 1.0
