"""Landmarks to a character's motion: a closed-form start, then a fit of whole clips, many side by side.

Uniform scale by leg length has been done (`parc.mocap.subject.calibrate_subject.fit_take`), so the legs match to the millimetre
where the subject's thighs and shins have the character's proportions; elsewhere feet and hands win over knees and elbows by their
weights. Callers of `solve` may add terms of their own (contacts, terrain).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.character.joint_coordinates import beyond_limits
from parc.character.kinematics import BodyPose, forward_kinematics
from parc.character.robot.joint_ranges import speed_excess, speed_limits, within_ranges
from parc.fit.adam_solver import AdamSolver
from parc.fit.held_parts import SIDES
from parc.fit.penalty_terms import bone_directions, difference, frame_mean, second_difference, third_difference
from parc.fit.unknowns import HasPoses, Unknowns, pad
from parc.fit.watched_depth import SelfDepth
from parc.mocap.subject.calibrate_subject import Fitted
from parc.mocap.subject.closed_form_pose import StartPose, start_pose
from parc.mocap.subject.human_anatomy import Anatomy
from parc.motion.motion import Motion

PLACE_WEIGHTS = {"ankle": 10.0, "wrist": 6.0, "hip": 3.0, "knee": 1.5, "shoulder": 0.5, "elbow": 0.5}
"""of squared distances; feet and hands are what meets the terrain"""
SELF_MARGIN = 0.002
"""m that bodies are kept apart; nearer ones are pushed by the square of what is missing"""


@dataclass(frozen=True)
class FitSettings:
    """Of the fit of clips to landmarks."""

    iterations: int = 100
    """steps of Adam"""
    step_size: float = 0.02
    """of Adam at first; it falls to a thirtieth as a cosine"""
    placing: float = 1.0
    """of squared distances to the landmarks, 1/m2"""
    pointing: float = 0.06
    """of bone directions"""
    foot_turn: float = 0.05
    trunk_turn: float = 0.01
    acceleration: float = 1.8
    """of squared second differences, 1/m2"""
    jerk: float = 3.0
    """of squared third differences, 1/m2"""
    limits: float = 3.0
    """of squared excess over joint limits, 1/rad2"""
    self_penetration: float = 0.3
    """of the depth of bodies in each other, 1/m"""
    near: float = 0.08
    """m between bodies within which they are watched"""
    renew: int = 40
    """steps between choices of bodies to watch"""


SPEED = 30.0
"""weight of squared coordinate steps beyond a motor's speed, 1/rad2; a constant, as most bodies have none"""


@dataclass(frozen=True, eq=False)
class Goals:
    """What fitted motions should look like: takes of different lengths side by side, padded by their last frame."""

    valid: Tensor
    """[N, T] 1 on real frames"""
    bodies: Tensor
    """[K] which bodies have a place to be at"""
    place: Tensor
    """[N, T, K, 3]"""
    weight: Tensor
    """[K]"""
    bones: Tensor
    """[2, M] rows of K: where a bone starts and where it ends"""
    feet: Tensor
    """[2] bodies"""
    trunk: Tensor
    """bodies whose turn is followed loosely"""
    foot_turn: Tensor
    """[N, T, 2, 3, 3]"""
    trunk_turn: Tensor
    """[N, T, R, 3, 3]"""
    fps: float
    points: Tensor | None = None
    """[K, 3] where in its body's frame each place is; None: all are origins"""

    @classmethod
    def stack(
        cls, character: Character, fitted: Sequence[Fitted], starts: Sequence[StartPose], device: torch.device | str
    ) -> "Goals":
        """Places of the landmarks, and turns of feet and trunk of the starts."""
        anatomy = Anatomy.of(character)
        places = [f"{side}_{part}" for part in PLACE_WEIGHTS for side in SIDES]
        bones = [(places.index(a), places.index(b)) for limb in anatomy.limbs for a, b in pairwise(limb)]
        feet, trunk = anatomy.feet, anatomy.trunk(character)
        tracks = [torch.as_tensor(np.stack([f.landmarks[p] for p in places], 1)).float() for f in fitted]
        return cls(
            valid=pad([torch.ones(len(t)) for t in tracks], zeros=True).to(device),
            bodies=torch.tensor([anatomy.body[p] for p in places], device=device),
            place=pad(tracks).to(device),
            weight=torch.tensor([PLACE_WEIGHTS[p.split("_")[1]] for p in places], device=device),
            bones=torch.tensor(bones, device=device).T,
            feet=torch.tensor(feet, device=device),
            trunk=torch.tensor(trunk, device=device),
            foot_turn=pad([s.world_rot[:, feet] for s in starts]).to(device),
            trunk_turn=pad([s.world_rot[:, trunk] for s in starts]).to(device),
            fps=fitted[0].landmarks.fps,
            points=None if (points := anatomy.points(places)) is None else torch.as_tensor(points, device=device).float(),
        )

    def found(self, pose: BodyPose) -> Tensor:
        """[N, T, K, 3] where the places are in poses."""
        origins = pose.pos.index_select(2, self.bodies)
        if self.points is None:
            return origins
        return origins + rotation.rotate(pose.rot.index_select(2, self.bodies), self.points)

    def directions(self, places: Tensor) -> Tensor:
        """Of the bones [N, T, M, 3] between places [N, T, K, 3]."""
        return bone_directions(*(places.index_select(2, end) for end in self.bones))


ExtraTerms = Callable[[BodyPose], Tensor]
"""weighted loss [N] of what a caller asks for besides the goals"""


class LandmarkFit:
    """Clips that start from poses and are bent towards goals."""

    def __init__(self, character: Character, starts: Sequence[HasPoses], goals: Goals, settings: FitSettings) -> None:
        self.character, self.goals, self.settings = character, goals, settings
        self.unknowns = Unknowns.of(character, starts, goals.place.device)
        self.is_limited = speed_limits(character) is not None
        self.self_depth = SelfDepth(character, goals.valid, settings.near, settings.renew, SELF_MARGIN, SELF_MARGIN)

    def loss(self, extra: ExtraTerms | None) -> Tensor:
        """[N], means over frames."""
        goals, weights, valid = self.goals, self.settings, self.goals.valid
        root_pos, root_rot, joint_rot = self.unknowns.poses(self.unknowns.total())
        pose = forward_kinematics(self.character, root_pos, root_rot, joint_rot)

        turns = rotation.to_matrix(pose.rot.index_select(2, torch.cat([goals.feet, goals.trunk])))
        feet, trunk = turns.split([len(goals.feet), len(goals.trunk)], 2)

        # what the landmarks say: places, directions of bones, turns of feet and trunk
        away = difference(goals.found(pose), goals.place, 1) @ goals.weight / len(goals.weight)
        directions = goals.directions(goals.found(pose))
        total = (
            weights.placing * frame_mean(away, valid)
            + weights.pointing * frame_mean(difference(directions, goals.directions(goals.place), 1).mean(-1), valid)
            + weights.foot_turn * frame_mean(difference(feet, goals.foot_turn, 2).mean(-1), valid)
            + weights.trunk_turn * frame_mean(difference(trunk, goals.trunk_turn, 2).mean(-1), valid)
        )

        # what any motion keeps to: smooth, within its limits, not in itself
        total = (
            total
            + weights.acceleration * frame_mean(second_difference(pose.pos).square().sum(-1).mean(-1), valid[:, 2:])
            + weights.jerk * frame_mean(third_difference(pose.pos).square().sum(-1).mean(-1), valid[:, 3:])
            + weights.limits * frame_mean(beyond_limits(self.character, joint_rot).square(), valid)
            + weights.self_penetration * self.self_depth(pose)
        )
        if self.is_limited:
            total = total + SPEED * frame_mean(speed_excess(self.character, joint_rot, goals.fps).square(), valid[:, 1:])
        return total if extra is None else total + extra(pose)

    def motions(self, contacts: Sequence[Tensor], fps: float) -> list[Motion]:
        """The clips as they are now, with labels [T_i, B]; a body of hinges inside its ranges and under its motors' speeds."""
        found = self.unknowns.motions(contacts, fps)
        if not self.character.is_hinged:
            return found
        return [replace(m, joint_rot=within_ranges(self.character, m.joint_rot, fps)) for m in found]

    def solve(self, extra: ExtraTerms | None = None) -> None:
        """All steps of Adam."""
        rate = self.settings.step_size
        solver = AdamSolver(lambda: self.loss(extra).sum(), [(self.unknowns.parameters, rate)], betas=(0.9, 0.99))
        solver.descend(self.settings.iterations, rate / 30)


def retarget(
    fitted: Sequence[Fitted], character: Character, settings: FitSettings = FitSettings(), device: torch.device | str = "cpu"
) -> list[Motion]:
    """Motions of takes in the character's size, at the takes' rate, without contacts; all takes at once."""
    starts = [start_pose(character, f) for f in fitted]
    problem = LandmarkFit(character, starts, Goals.stack(character, fitted, starts, device), settings)
    problem.solve()
    nothing = [torch.zeros(len(f.landmarks), len(character)) for f in fitted]
    return problem.motions(nothing, fitted[0].landmarks.fps)
