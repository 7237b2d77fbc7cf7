"""Second fit, now with the ground: held parts stay where they stand, touching bodies touch, nothing is inside.

Each contact event has an anchor: the mean place of what touched, put onto its level. Over the event the middle of the heel's
(toe's) edge of the sole is held at the anchor along the ground, and its lowest corner at the anchor's height; a hand's ball is
held beside it. Only parts that stood still in the source are held, so a foot may still roll from heel to toe.

Where the body is known to fly, its centre of mass is asked to fall at 9.81 m/s2.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from parc.character import rotation
from parc.character.body_surface import Surface, surface_points
from parc.character.character import Character
from parc.character.inertia import centre_of_mass
from parc.character.kinematics import BodyPose
from parc.mocap.contact.find_contacts import PARTS
from parc.mocap.contact.support_levels import Supports
from parc.mocap.read.detect_units_and_rate import GRAVITY
from parc.mocap.subject.calibrate_subject import Fitted
from parc.mocap.subject.closed_form_pose import StartPose, start_pose
from parc.mocap.subject.fit_clips import Fit, FitSettings
from parc.mocap.subject.fit_goals import Goals, frame_mean, pad
from parc.mocap.subject.human_anatomy import Anatomy
from parc.mocap.terrain.near_terrain import NearGround, soft_distance
from parc.motion.motion import Motion
from parc.terrain.terrain import Terrain


@dataclass(frozen=True)
class RefineSettings:
    fit: FitSettings = field(default_factory=lambda: FitSettings(iterations=200, foot_turn=0.02))
    anchor: float = 10.0
    """of squared distances along the ground of held parts to their anchors, 1/m2"""
    contact: float = 0.2
    """of the height of held parts over their anchors, 1/m"""
    penetration: float = 0.3
    """of depth, summed over points, 1/m"""
    near: float = 0.12
    """m from the terrain within which points are watched"""
    renew: int = 40
    """steps between choices of points to watch"""
    soft: float = 0.002
    """m under which a distance counts by its square"""
    ballistic: float = 60.0
    """of squared second differences of the centre of mass against a fall, in flight, 1/m2"""


@dataclass(frozen=True, eq=False)
class HeldParts:
    held: Tensor
    """[N, T, 6] 1 where a part is held, in the order of PARTS"""
    place: Tensor
    """[N, T, 6, 3] where"""

    @classmethod
    def of(cls, supports: Sequence[Supports], device: torch.device | str) -> "HeldParts":
        held, place = [], []
        row = {key: i for i, key in enumerate(PARTS)}
        for s in supports:
            h, p = np.zeros((s.contacts.frames, len(PARTS))), np.zeros((s.contacts.frames, len(PARTS), 3))
            for support in s.held:
                e = support.event
                at = (slice(e.start, e.stop), row[e.side, e.part])
                h[at] = 1
                p[at] = (*e.centre[:2], support.level)
            held.append(torch.as_tensor(h).float())
            place.append(torch.as_tensor(p).float())
        return cls(pad(held, zeros=True).to(device), pad(place).to(device))


def refine(
    motions: Sequence[Motion],
    fitted: Sequence[Fitted],
    supports: Sequence[Supports],
    terrains: Sequence[Terrain],
    character: Character,
    settings: RefineSettings = RefineSettings(),
    device: torch.device | str = "cpu",
    turned: Sequence[StartPose] | None = None,
    flying: Sequence[NDArray[np.bool_]] | None = None,
) -> list[Motion]:
    """Motions on their terrains, contacts set; all arguments turned and lifted to the terrains' frame.

    How bodies should be turned is taken from the landmarks, or from `turned` where it is known; `flying` [T] says when nothing
    touches the ground.
    """
    anatomy = Anatomy.of(character)
    turned = turned or [start_pose(character, f) for f in fitted]
    goals = Goals.stack(character, fitted, turned, device)
    problem = Fit(character, motions, goals, settings.fit)
    ground = _GroundTerms(character, anatomy, goals.valid, HeldParts.of(supports, device), list(terrains), settings)
    if flying is not None and any(f.any() for f in flying):
        ground.falls = _Falls.of(flying, goals.valid, motions[0].fps)
    problem.solve(ground)
    labels = [torch.as_tensor(s.contacts.labels(anatomy, len(character))) for s in supports]
    return problem.results(labels, motions[0].fps)


class _Falls(NamedTuple):
    inside: Tensor
    """[N, T-2] 1 where a frame and its neighbours are in the air"""
    drop: float
    """m, second difference of a falling height"""

    @classmethod
    def of(cls, flying: Sequence[NDArray[np.bool_]], valid: Tensor, fps: float) -> "_Falls":
        free = pad([torch.as_tensor(f).float() for f in flying], zeros=True).to(valid.device) * valid
        return cls(free[:, 1:-1] * torch.maximum(free[:, 2:], free[:, :-2]), GRAVITY / fps**2)


class _GroundTerms:
    def __init__(
        self,
        character: Character,
        anatomy: Anatomy,
        valid: Tensor,
        anchors: HeldParts,
        terrains: list[Terrain],
        settings: RefineSettings,
    ) -> None:
        device = valid.device
        self.settings, self.valid, self.anchors = settings, valid, anchors
        self.surface: Surface = surface_points(character, device)
        self.depth = NearGround(character, terrains, valid, settings.near, settings.renew, settings.soft)
        feet = [anatomy.body[f"{side}_ankle"] for side in ("left", "right")]
        self.feet = torch.tensor(feet * 2, device=device)
        sole = torch.as_tensor(anatomy.sole, device=device).float()
        self.corners = torch.stack([sole[:2], sole[:2], sole[2:], sole[2:]])
        self.hands = torch.tensor([anatomy.body[f"{side}_wrist"] for side in ("left", "right")], device=device)
        rows = self.surface.by_body[self.hands]
        self.hand_points = self.surface.points[rows]
        self.character = character
        self.falls: _Falls | None = None

    def __call__(self, pose: BodyPose) -> Tensor:
        """[N]"""
        s = self.settings
        held, place = self.anchors.held, self.anchors.place
        corners = _placed(pose, self.feet, self.corners)
        hands = _placed(pose, self.hands, self.hand_points)
        along = torch.cat([corners.mean(-2)[..., :2], pose.pos.index_select(2, self.hands)[..., :2]], 2)
        lowest = torch.cat([corners[..., 2].amin(-1), hands[..., 2].amin(-1)], 2)
        slip = (along - place[..., :2]).square().sum(-1) * held
        gap = soft_distance((lowest - place[..., 2]).abs(), s.soft) * held
        loss = s.anchor * frame_mean(slip.sum(-1), self.valid) + s.contact * frame_mean(gap.sum(-1), self.valid)
        if self.falls is not None:
            height = centre_of_mass(self.character, pose)[..., 2]
            second = height[:, 2:] - 2 * height[:, 1:-1] + height[:, :-2] + self.falls.drop
            loss = loss + s.ballistic * frame_mean(second.square() * self.falls.inside, self.valid[:, 2:])
        return loss + s.penetration * self.depth(pose)


def _placed(pose: BodyPose, bodies: Tensor, points: Tensor) -> Tensor:
    """Points [K, C, 3] of bodies [K] in the world, [N, T, K, C, 3]."""
    turns = rotation.to_matrix(pose.rot.index_select(2, bodies))
    return pose.pos.index_select(2, bodies).unsqueeze(-2) + torch.einsum("ntkij,kcj->ntkci", turns, points)
