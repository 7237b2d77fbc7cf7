"""Left and right exchanged in what the policy sees and does: a gather and a multiplication.

Under the reflection in y = 0 a position or velocity keeps x and z and negates y; an axis of rotation (angular velocity, the
coordinates of a ball) does the opposite; bodies, joints and the two sides of the height grid swap. All of it acts within one
row, so it is a permutation with signs:

    mirrored[i] = sign[i] * row[source[i]]          observe(mirror(state)) = mirror(observe(state))

The coordinate of a joint about axis a turns into that of its twin about a': a reflected rotation about a by t is one
about S a by -t, so the sign is -1 where a' = S a and +1 where a' = -S a.

`side` is a linear reading of the observation that changes sign under the reflection (which foot the reference has in front).
A policy that first mirrors every observation with a negative reading, and mirrors its action back, is exactly
symmetric, learns each skill once instead of twice, and costs nothing: `Symmetry.canonical`.
"""

import torch
from torch import Tensor

from parc.character.character import Character
from parc.character.mirror_pose import mirror_bodies
from parc.errors import CharacterError
from parc.track.env.body_tables import BodyTables
from parc.track.env.observation_layout import ObservationLayout, ObservationSettings

_POLAR = (1.0, -1.0, 1.0)
_AXIAL = (-1.0, 1.0, -1.0)


class _Map:
    """A permutation with signs under construction."""

    def __init__(self, size: int) -> None:
        self.source = list(range(size))
        self.sign = [1.0] * size

    def vectors(self, start: int, twins: list[int], signs: tuple[float, ...]) -> int:
        """Blocks of len(signs) numbers; block b takes the values of block twins[b]. Returns the end."""
        width = len(signs)
        for block, twin in enumerate(twins):
            for k, sign in enumerate(signs):
                self.source[start + block * width + k] = start + twin * width + k
                self.sign[start + block * width + k] = sign
        return start + width * len(twins)


class Symmetry:
    """The two maps and the side reading of one character and observation layout, on one device."""

    def __init__(self, anatomy: BodyTables, layout: ObservationLayout, settings: ObservationSettings) -> None:
        character, device = anatomy.character, anatomy.device
        dof = _dof_map(character)
        row = _observation_map(anatomy, layout, settings, dof)
        self.source = torch.tensor(row.source, device=device)
        self.sign = torch.tensor(row.sign, device=device)
        self.action_source = torch.tensor(dof.source, device=device)
        self.action_sign = torch.tensor(dof.sign, device=device)
        self.side = torch.tensor(_side_reading(anatomy, layout), device=device)
        """[size], changes its sign under the map"""

    def observation(self, rows: Tensor) -> Tensor:
        """Mirror image of observations [..., size]."""
        return rows.index_select(-1, self.source) * self.sign

    def action(self, actions: Tensor) -> Tensor:
        """Mirror image of actions [..., D]."""
        return actions.index_select(-1, self.action_source) * self.action_sign

    def needs_flip(self, rows: Tensor) -> Tensor:
        """[..., 1] whether the canonical view of an observation is its mirror image."""
        return (rows @ self.side < 0).unsqueeze(-1)

    def canonical(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """The view with a positive side reading, and whether it is the mirror image."""
        flip = self.needs_flip(rows)
        return torch.where(flip, self.observation(rows), rows), flip

    def action_back(self, actions: Tensor, flip: Tensor) -> Tensor:
        """Actions of the canonical view in the view the observation came from (and the other way round)."""
        return torch.where(flip, self.action(actions), actions)


def _dof_map(character: Character) -> _Map:
    twins = mirror_bodies(character)
    result = _Map(character.num_dof)
    for body, twin in enumerate(twins):
        mine, theirs = character.bodies[body].joint, character.bodies[twin].joint
        if mine.dof != theirs.dof:
            raise CharacterError(
                f"'{character.names[body]}' and its mirror image have joints of {mine.dof} and {theirs.dof} axes"
            )
        for k, (a, b) in enumerate(zip(mine.axes, theirs.axes, strict=True)):
            along = a[0] * b[0] - a[1] * b[1] + a[2] * b[2]
            if abs(abs(along) - 1.0) > 1e-5:
                raise CharacterError(f"axis {k} of '{character.names[body]}' is not the mirror image of its twin's")
            result.source[character.dof_start[body] + k] = character.dof_start[twin] + k
            result.sign[character.dof_start[body] + k] = -1.0 if along > 0 else 1.0
    return result


def _observation_map(anatomy: BodyTables, layout: ObservationLayout, settings: ObservationSettings, dof: _Map) -> _Map:
    character = anatomy.character
    twins = list(mirror_bodies(character))
    keys, moving = character.key_bodies, anatomy.moving
    key_twins = [keys.index(twins[k]) for k in keys]
    joint_twins = [moving.index(twins[j]) for j in moving]
    row = _Map(layout.size)
    row.vectors(layout["root_x_axis"].start, [0], _POLAR)
    row.vectors(layout["root_y_axis"].start, [0], _AXIAL)
    row.vectors(layout["root_velocity"].start, [0], _POLAR)
    row.vectors(layout["root_angular_velocity"].start, [0], _AXIAL)
    row.vectors(layout["key_positions"].start, key_twins, _POLAR)
    at = layout["target_vectors"].start
    for _ in settings.target_steps:
        at = row.vectors(at, [0, 1], _POLAR)
        at = row.vectors(at, [0], _AXIAL)
        at = row.vectors(at, key_twins, _POLAR)
    row.vectors(layout["joint_rotations"].start, joint_twins, _POLAR + _AXIAL)
    for name in ("joint_velocities", "held"):
        start = layout[name].start
        for i, (source, sign) in enumerate(zip(dof.source, dof.sign, strict=True)):
            if i < layout[name].stop - start:
                row.source[start + i], row.sign[start + i] = start + source, sign
    row.vectors(layout["contacts"].start, twins, (1.0,))
    at = layout["target_rest"].start
    for _ in settings.target_steps:
        at = row.vectors(at, joint_twins, _POLAR + _AXIAL)
        at = row.vectors(at, twins, (1.0,))
    at = layout["heights"].start
    across = list(reversed(range(settings.grid[1])))
    for _ in range(settings.grid[0]):
        at = row.vectors(at, across, (1.0,))
    return row


def _side_reading(anatomy: BodyTables, layout: ObservationLayout) -> list[float]:
    """Forward distance of left over right feet (of all key bodies where there are no feet) in the nearest target frame."""
    character = anatomy.character
    twins, keys = mirror_bodies(character), character.key_bodies
    reading = [0.0] * layout.size
    first_key = layout["target_vectors"].start + 3 * (layout.target_vectors - len(keys))
    pairs = [b for b in keys if twins[b] > b]
    feet = [b for b in pairs if b in character.feet]
    for body in feet or pairs:
        reading[first_key + 3 * keys.index(body)] -= 1.0
        reading[first_key + 3 * keys.index(twins[body])] += 1.0
    return reading
