"""Frames as vectors: what the network reads and predicts, in the canonical frame.

    root position 3 | root rotation | joint rotations | positions of bodies 1.. | contact labels | zeros up to a round width

Two encodings of rotations. `sixd` (fast): two columns of the matrix for balls, (cos, sin) for hinges; continuous, so that a
half-noised value still means something. `exp` (paper): exponential maps for root and balls, angles for hinges. Fixed joints
take no room. The layout follows from the character alone; a joint with two axes is encoded as a ball.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from parc.character import rotation
from parc.character.character import Character
from parc.errors import SettingsError
from parc.motion.frame_state import FrameState

RotationEncoding = Literal["sixd", "exp"]


class DecodedFrames(NamedTuple):
    """Features as poses."""

    state: FrameState
    joint_pos: Tensor
    """[..., B-1, 3] as predicted, which need not agree with the state's own kinematics"""


@dataclass(frozen=True)
class FeatureLayout:
    """Where each part of a frame stands in its features (paper, section 5)."""

    character: Character
    encoding: RotationEncoding = "sixd"
    multiple: int = 64
    """the width is rounded up to this many numbers: whole tiles for the matrix units"""

    def __post_init__(self) -> None:
        if self.encoding not in ("sixd", "exp"):
            raise SettingsError(f"rotation encoding is '{self.encoding}', expected 'sixd' or 'exp'")

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Of each part, by name."""
        joints = self.character.bodies[1:]
        balls = sum(b.joint.dof >= 2 for b in joints)
        hinges = sum(b.joint.is_hinge for b in joints)
        per_ball, per_hinge = (6, 2) if self.encoding == "sixd" else (3, 1)
        widths = {
            "root_pos": 3,
            "root_rot": per_ball,
            "joint_rot": balls * per_ball + hinges * per_hinge,
            "joint_pos": 3 * len(joints),
            "contacts": len(joints) + 1,
        }
        result, start = {}, 0
        for name, width in widths.items():
            result[name] = slice(start, start + width)
            start += width
        return result

    @property
    def used(self) -> int:
        """Numbers that mean something."""
        return self.slices["contacts"].stop

    @property
    def width(self) -> int:
        """Features of a frame, padding included."""
        return -(-self.used // self.multiple) * self.multiple

    def encode(self, state: FrameState, joint_pos: Tensor | None = None) -> Tensor:
        """Local frames [...] to features [..., width]; body positions are taken from kinematics if not given."""
        if joint_pos is None:
            joint_pos = state.body_pose(self.character).pos[..., 1:, :]
        parts = [
            state.root_pos,
            self._encode_ball(state.root_rot),
            self.encode_joints(state.joint_rot),
            joint_pos.flatten(-2),
            state.contacts,
        ]
        features = torch.cat(parts, -1)
        return functional.pad(features, (0, self.width - self.used))

    def decode(self, features: Tensor) -> DecodedFrames:
        """Features [..., width] as poses in the same frame."""
        part = {name: features[..., where] for name, where in self.slices.items()}
        state = FrameState(
            part["root_pos"], self._decode_ball(part["root_rot"]), self.decode_joints(part["joint_rot"]), part["contacts"]
        )
        return DecodedFrames(state, part["joint_pos"].unflatten(-1, (-1, 3)))

    def encode_joints(self, joint_rot: Tensor) -> Tensor:
        """Joint matrices [..., B-1, 3, 3] to their part of the features."""
        places = _joint_places(self.character, joint_rot.device)
        parts = []
        if len(places.balls):
            parts.append(self._encode_ball(joint_rot.index_select(-3, places.balls)).flatten(-2))
        if len(places.hinges):
            m = joint_rot.index_select(-3, places.hinges)
            # of I cos + [a] sin + a a' (1 - cos): the trace holds the cosine, the skew part the sine
            cos = 0.5 * (m.diagonal(dim1=-2, dim2=-1).sum(-1) - 1.0)
            sin = 0.5 * (m * places.hinge_cross).sum((-2, -1))
            if self.encoding == "sixd":
                parts.append(torch.stack([cos, sin], -1).flatten(-2))
            else:
                parts.append(torch.atan2(sin, cos))
        return torch.cat(parts, -1) if parts else joint_rot.new_zeros(*joint_rot.shape[:-3], 0)

    def decode_joints(self, values: Tensor) -> Tensor:
        """Rotations [..., joints, 3, 3] of features [..., joint features]."""
        places = _joint_places(self.character, values.device)
        per_ball = 6 if self.encoding == "sixd" else 3
        ball_width = per_ball * len(places.balls)
        rows = [self._decode_ball(values[..., :ball_width].unflatten(-1, (len(places.balls), per_ball)))] if ball_width else []
        if len(places.hinges):
            rest = values[..., ball_width:]
            if self.encoding == "sixd":
                cos, sin = functional.normalize(rest.unflatten(-1, (-1, 2)), dim=-1, eps=1e-6).unbind(-1)
            else:
                cos, sin = rest.cos(), rest.sin()
            cos, sin = cos[..., None, None], sin[..., None, None]
            rows.append(cos * (places.eye - places.hinge_outer) + sin * places.hinge_cross + places.hinge_outer)
        if places.fixed:
            rows.append(places.eye.expand(*values.shape[:-1], places.fixed, 3, 3))
        return torch.cat(rows, -3).index_select(-3, places.order)

    def _encode_ball(self, m: Tensor) -> Tensor:
        if self.encoding == "sixd":
            return torch.cat([m[..., :, 0], m[..., :, 1]], -1)
        return rotation.to_exp(rotation.from_matrix(m))

    def _decode_ball(self, values: Tensor) -> Tensor:
        if self.encoding == "sixd":
            return rotation.sixd_to_matrix(values)
        return rotation.to_matrix(rotation.from_exp(values))


class Statistics(NamedTuple):
    """Mean and spread of each feature over the training windows; the network works on standardised features."""

    mean: Tensor
    """[width]"""
    std: Tensor
    """[width], at least `SMALLEST_SPREAD`, 1 in the padding"""

    @classmethod
    def of(cls, layout: FeatureLayout, features: Tensor) -> "Statistics":
        """Of features [..., width]."""
        rows = features.reshape(-1, layout.width)
        mean, std = rows.mean(0), rows.std(0).clamp_min(SMALLEST_SPREAD)
        labels = layout.slices["contacts"]
        std[labels] = std[labels].clamp_min(SMALLEST_LABEL_SPREAD)
        mean[layout.used :], std[layout.used :] = 0.0, 1.0
        return cls(mean, std)

    def standardise(self, features: Tensor) -> Tensor:
        """Features [..., width] of mean 0 and spread 1."""
        return (features - self.mean) / self.std

    def restore(self, standardised: Tensor) -> Tensor:
        """The inverse of `standardise`."""
        return standardised * self.std + self.mean


SMALLEST_SPREAD = 0.05
"""A feature that hardly varies must not be blown up into noise."""
SMALLEST_LABEL_SPREAD = 0.25
"""The one contact of a hand among thousands of frames must not outweigh the rest of its window."""


class _JointPlaces(NamedTuple):
    balls: Tensor
    hinges: Tensor
    fixed: int
    order: Tensor
    """rows (balls, hinges, fixed) back to the order of the bodies"""
    hinge_cross: Tensor
    """[H, 3, 3] cross-product matrix of each hinge's axis"""
    hinge_outer: Tensor
    """[H, 3, 3] a a'"""
    eye: Tensor


@cache  # captured graphs read these tensors, so none may be dropped
def _joint_places(character: Character, device: torch.device) -> _JointPlaces:
    joints = [b.joint for b in character.bodies[1:]]
    balls = [i for i, j in enumerate(joints) if j.dof >= 2]
    hinges = [i for i, j in enumerate(joints) if j.is_hinge]
    fixed = [i for i, j in enumerate(joints) if j.dof == 0]
    listed = balls + hinges + fixed
    axes = torch.tensor([joints[i].axes[0] for i in hinges], dtype=torch.float32).reshape(-1, 3)
    x, y, z = axes.unbind(-1)
    zero = torch.zeros_like(x)
    cross = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], -1).reshape(-1, 3, 3)

    def index(values: list[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.long, device=device)

    return _JointPlaces(
        balls=index(balls),
        hinges=index(hinges),
        fixed=len(fixed),
        order=index([listed.index(i) for i in range(len(joints))]),
        hinge_cross=cross.to(device),
        hinge_outer=(axes[:, :, None] * axes[:, None, :]).to(device),
        eye=torch.eye(3, device=device),
    )
