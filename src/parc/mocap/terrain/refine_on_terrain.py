"""Second fit, now with the terrain: held parts stay where they stand, touching bodies touch, nothing is inside.

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
from parc.character.body_surface import surface_points
from parc.character.character import Character
from parc.character.inertia import centre_of_mass
from parc.character.kinematics import BodyPose
from parc.fit.held_parts import PARTS, SIDES, held_labels
from parc.fit.penalty_terms import frame_mean, held_apart, second_difference, soft_distance
from parc.fit.unknowns import pad
from parc.fit.watched_depth import TerrainDepth
from parc.metrics.free_flight import GRAVITY
from parc.mocap.contact.support_levels import Supports
from parc.mocap.subject.calibrate_subject import Fitted
from parc.mocap.subject.closed_form_pose import StartPose, start_pose
from parc.mocap.subject.human_anatomy import Anatomy
from parc.mocap.subject.landmark_fit import FitSettings, Goals, LandmarkFit
from parc.motion.motion import Motion
from parc.terrain.terrain import Terrain


@dataclass(frozen=True)
class RefineSettings:
    """Of the fit on terrain: that to landmarks, and what the terrain adds."""

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
    turned = turned or [start_pose(character, f) for f in fitted]
    goals = Goals.stack(character, fitted, turned, device)
    problem = LandmarkFit(character, motions, goals, settings.fit)
    held, place = _held_parts(supports)
    terms = _TerrainTerms(character, goals.valid, held.to(device), place.to(device), terrains, settings)
    if flying is not None and any(f.any() for f in flying):
        terms.falls = _Falls.of(flying, goals.valid, motions[0].fps)
    problem.solve(terms)
    labels = [held_labels(character, h[: s.frames]) for h, s in zip(held, supports, strict=True)]
    return problem.motions(labels, motions[0].fps)


def _held_parts(supports: Sequence[Supports]) -> tuple[Tensor, Tensor]:
    """[N, T, 6] 1 where a part is held, and [N, T, 6, 3] where."""
    held, place = [], []
    for s in supports:
        where = torch.zeros(s.frames, len(PARTS), 3)
        for h in s.held:
            part = PARTS.index((h.event.side, h.event.part))
            where[h.event.start : h.event.stop, part] = torch.tensor([*h.event.centre[:2], h.level])
        held.append(s.contacts.held())
        place.append(where)
    return pad(held, zeros=True), pad(place)


class _Falls(NamedTuple):
    inside: Tensor
    """[N, T-2] 1 where a frame and its neighbours are in the air"""
    drop: float
    """m, second difference of a falling height"""

    @classmethod
    def of(cls, flying: Sequence[NDArray[np.bool_]], valid: Tensor, fps: float) -> "_Falls":
        free = pad([torch.as_tensor(f).float() for f in flying], zeros=True).to(valid.device) * valid
        return cls(free[:, 1:-1] * torch.maximum(free[:, 2:], free[:, :-2]), GRAVITY / fps**2)


class _TerrainTerms:
    """What is asked for besides the landmarks, of poses of the fit."""

    def __init__(
        self,
        character: Character,
        valid: Tensor,
        held: Tensor,
        place: Tensor,
        terrains: Sequence[Terrain],
        settings: RefineSettings,
    ) -> None:
        anatomy, device = Anatomy.of(character), valid.device
        self.character, self.settings, self.valid, self.held, self.place = character, settings, valid, held, place
        self.depth = TerrainDepth(character, terrains, valid, settings.near, settings.renew, settings.soft)
        self.feet, self.hands = torch.tensor(anatomy.feet * 2, device=device), torch.tensor(anatomy.hands, device=device)
        sole = torch.as_tensor(anatomy.sole, device=device).float()
        self.corners = torch.stack([sole[:2], sole[:2], sole[2:], sole[2:]])
        surface = surface_points(character, device)
        self.hand_points = surface.points[surface.by_body[self.hands]]
        palms = anatomy.points([f"{side}_wrist" for side in SIDES])
        self.palms = None if palms is None else torch.as_tensor(palms, device=device).float()[:, None]
        self.falls: _Falls | None = None

    def __call__(self, pose: BodyPose) -> Tensor:
        """[N]"""
        s, held = self.settings, self.held

        # held parts: their middle along the ground, their lowest point in height
        corners = _placed(pose, self.feet, self.corners)
        hands = _placed(pose, self.hands, self.hand_points)
        palms = pose.pos.index_select(2, self.hands) if self.palms is None else _placed(pose, self.hands, self.palms)[..., 0, :]
        along = torch.cat([corners.mean(-2)[..., :2], palms[..., :2]], 2)
        lowest = torch.cat([corners[..., 2].amin(-1), hands[..., 2].amin(-1)], 2)
        slip = held_apart(along, self.place[..., :2], held)
        gap = soft_distance((lowest - self.place[..., 2]).abs(), s.soft) * held
        loss = s.anchor * frame_mean(slip, self.valid) + s.contact * frame_mean(gap, self.valid)

        # in flight the centre of mass falls
        if self.falls is not None:
            fall = second_difference(centre_of_mass(self.character, pose)[..., 2]) + self.falls.drop
            loss = loss + s.ballistic * frame_mean(fall.square() * self.falls.inside, self.valid[:, 2:])
        return loss + s.penetration * self.depth(pose)


def _placed(pose: BodyPose, bodies: Tensor, points: Tensor) -> Tensor:
    """Points [K, C, 3] of bodies [K] in the world, [N, T, K, C, 3]."""
    turns = rotation.to_matrix(pose.rot.index_select(2, bodies))
    return pose.pos.index_select(2, bodies).unsqueeze(-2) + torch.einsum("ntkij,kcj->ntkci", turns, points)
