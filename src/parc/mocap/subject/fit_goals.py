"""What a fitted motion should look like: places to be at, directions to point to, limits to keep.

Takes of different lengths stand side by side, padded by their last frame and masked by `valid`. Terms are pure functions of
tensors, means over the real frames of each clip, [N], so that a long take and a short one ask for the same steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from parc.character.character import Character
from parc.mocap.read.joint_naming import SIDES
from parc.mocap.subject.calibrate_subject import Fitted
from parc.mocap.subject.closed_form_pose import StartPose
from parc.mocap.subject.human_anatomy import Anatomy

PLACE_WEIGHTS = {"ankle": 10.0, "wrist": 6.0, "hip": 3.0, "knee": 1.5, "shoulder": 0.5, "elbow": 0.5}
"""of squared distances; feet and hands are what meets the terrain"""


@dataclass(frozen=True, eq=False)
class Goals:
    valid: Tensor
    """[N, T] 1 on real frames"""
    bodies: Tensor
    """[K] which bodies have a place to be at"""
    place: Tensor
    """[N, T, K, 3]"""
    weight: Tensor
    """[K]"""
    bone_from: Tensor
    """[M] rows of K: where a bone starts"""
    bone_to: Tensor
    """[M] and where it ends"""
    feet: Tensor
    """[2] bodies"""
    trunk: Tensor
    """bodies whose turn is followed loosely"""
    foot_turn: Tensor
    """[N, T, 2, 3, 3]"""
    trunk_turn: Tensor
    """[N, T, R, 3, 3]"""

    @classmethod
    def stack(
        cls, character: Character, fitted: Sequence[Fitted], starts: Sequence[StartPose], device: torch.device | str
    ) -> "Goals":
        anatomy = Anatomy.of(character)
        places = [f"{side}_{part}" for part in PLACE_WEIGHTS for side in SIDES]
        bodies = [anatomy.body[p] for p in places]
        row = {p: i for i, p in enumerate(places)}
        bones = [(row[a], row[b]) for limb in anatomy.limbs for a, b in pairwise(limb)]
        feet = [anatomy.body[f"{side}_ankle"] for side in SIDES]
        trunk = sorted(
            {0, character.parents[anatomy.body["left_shoulder"]], *([anatomy.body["head"]] if "head" in anatomy.body else [])}
        )
        tracks = [torch.as_tensor(np.stack([f.landmarks[p] for p in places], 1)).float() for f in fitted]

        def index(values: Sequence[int]) -> Tensor:
            return torch.tensor(values, device=device)

        return cls(
            valid=pad([torch.ones(len(t)) for t in tracks], zeros=True).to(device),
            bodies=index(bodies),
            place=pad(tracks).to(device),
            weight=torch.tensor([PLACE_WEIGHTS[p.split("_")[1]] for p in places], device=device),
            bone_from=index([a for a, _ in bones]),
            bone_to=index([b for _, b in bones]),
            feet=index(feet),
            trunk=index(trunk),
            foot_turn=pad([s.world_rot[:, feet] for s in starts]).to(device),
            trunk_turn=pad([s.world_rot[:, trunk] for s in starts]).to(device),
        )


def pad(tracks: Sequence[Tensor], zeros: bool = False) -> Tensor:
    """Tracks [T_i, ...] to one length, by repeating the last frame or with zeros."""
    longest = max(len(t) for t in tracks)
    padded = []
    for t in tracks:
        tail = t[-1:].expand(longest - len(t), *t.shape[1:])
        padded.append(torch.cat([t, torch.zeros_like(tail) if zeros else tail]))
    return torch.stack(padded)


def frame_mean(values: Tensor, valid: Tensor) -> Tensor:
    """Mean over real frames of values [N, T, ...], summed over the rest: [N]."""
    return (values.flatten(2).sum(-1) * valid if values.dim() > 2 else values * valid).sum(1) / valid.sum(1).clamp_min(1)


def placing(pos: Tensor, goals: Goals) -> Tensor:
    """Weighted squared distance of bodies [N, T, B, 3] to their places, mean over places, m2."""
    away = (pos.index_select(2, goals.bodies) - goals.place).square().sum(-1)
    return frame_mean(away @ goals.weight / len(goals.weight), goals.valid)


def pointing(pos: Tensor, goals: Goals) -> Tensor:
    """Squared difference of bone directions to those of the landmarks, mean over bones."""

    def directions(points: Tensor) -> Tensor:
        return torch.nn.functional.normalize(
            points.index_select(2, goals.bone_to) - points.index_select(2, goals.bone_from), dim=-1
        )

    off = (directions(pos.index_select(2, goals.bodies)) - directions(goals.place)).square().sum(-1)
    return frame_mean(off.mean(-1), goals.valid)


def turning(turns: Tensor, wanted: Tensor, valid: Tensor) -> Tensor:
    """Squared difference of rotation matrices [N, T, R, 3, 3], mean over bodies."""
    return frame_mean((turns - wanted).square().sum((-1, -2)).mean(-1), valid)


def accelerating(pos: Tensor, valid: Tensor) -> Tensor:
    """Squared second difference of positions [N, T, B, 3], mean over bodies, m2."""
    second = pos[:, 2:] - 2 * pos[:, 1:-1] + pos[:, :-2]
    return frame_mean(second.square().sum(-1).mean(-1), valid[:, 2:])


def jerking(pos: Tensor, valid: Tensor) -> Tensor:
    """Squared third difference of positions, mean over bodies, m2."""
    third = pos[:, 3:] - 3 * pos[:, 2:-1] + 3 * pos[:, 1:-2] - pos[:, :-3]
    return frame_mean(third.square().sum(-1).mean(-1), valid[:, 3:])


def straining(beyond: Tensor, valid: Tensor) -> Tensor:
    """Squared excess of joint coordinates over their limits [N, T, D], rad2."""
    return frame_mean(beyond.square(), valid)
