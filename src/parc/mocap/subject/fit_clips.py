"""Fitting whole clips at once: Adam on the change against a start, many clips side by side.

Unknowns of a frame are a shift and a turn of the root and one coordinate for each degree of freedom, so hinges stay hinges. What
the motion should look like is in `Goals`; the callers of `solve` may add terms of their own (contacts, terrain).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.character.joint_coordinates import beyond_limits
from parc.character.kinematics import BodyPose, forward_kinematics
from parc.character.self_distance import NearPairs
from parc.mocap.subject import fit_goals
from parc.mocap.subject.closed_form_pose import StartPose
from parc.mocap.subject.fit_goals import Goals
from parc.mocap.terrain.near_terrain import soft_distance
from parc.motion.motion import Motion


@dataclass(frozen=True)
class FitSettings:
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


SELF_MARGIN = 0.002
"""m that bodies are kept apart; nearer ones are pushed by the square of what is missing"""

ExtraTerms = Callable[[BodyPose], Tensor]
"""weighted loss [N] of what a caller asks for besides the goals"""


class Fit:
    def __init__(self, character: Character, starts: Sequence[StartPose | Motion], goals: Goals, settings: FitSettings) -> None:
        device = goals.place.device
        self.character, self.goals, self.settings = character, goals, settings
        self.root_pos = fit_goals.pad([s.root_pos for s in starts]).to(device)
        self.root_rot = fit_goals.pad([s.root_rot for s in starts]).to(device)
        self.joint_rot = fit_goals.pad([s.joint_rot for s in starts]).to(device)
        n, t = goals.valid.shape
        self.spread = _dof_to_turns(character, device)
        self.change = torch.zeros(n, t, 6 + character.num_dof, device=device, requires_grad=True)
        self.turned_bodies = torch.cat([goals.feet, goals.trunk])
        self.steps = 0
        self.near: NearPairs | None = None

    def motion(self) -> tuple[Tensor, Tensor, Tensor]:
        """Root positions [N, T, 3], root rotations [N, T, 4], joint rotations [N, T, B-1, 4]."""
        shift, root_turn, joint_turn = self.change.split([3, 3, self.character.num_dof], -1)
        turns = (joint_turn @ self.spread).unflatten(-1, (self.character.num_joints, 3))
        root_rot = rotation.multiply(rotation.from_exp(root_turn), self.root_rot)
        return self.root_pos + shift, root_rot, rotation.multiply(rotation.from_exp(turns), self.joint_rot)

    def loss(self, extra: ExtraTerms | None) -> Tensor:
        """[N]"""
        goals, weights = self.goals, self.settings
        root_pos, root_rot, joint_rot = self.motion()
        pose = forward_kinematics(self.character, root_pos, root_rot, joint_rot)
        turns = rotation.to_matrix(pose.rot.index_select(2, self.turned_bodies))
        feet, trunk = turns.split([len(goals.feet), len(goals.trunk)], 2)
        total = (
            weights.placing * fit_goals.placing(pose.pos, goals)
            + weights.pointing * fit_goals.pointing(pose.pos, goals)
            + weights.foot_turn * fit_goals.turning(feet, goals.foot_turn, goals.valid)
            + weights.trunk_turn * fit_goals.turning(trunk, goals.trunk_turn, goals.valid)
            + weights.acceleration * fit_goals.accelerating(pose.pos, goals.valid)
            + weights.jerk * fit_goals.jerking(pose.pos, goals.valid)
            + weights.limits * fit_goals.straining(beyond_limits(self.character, joint_rot), goals.valid)
            + weights.self_penetration * self._self_penetration(pose)
        )
        return total if extra is None else total + extra(pose)

    def _self_penetration(self, pose: BodyPose) -> Tensor:
        """Sum of depths of shapes in each other, mean over frames, [N], m."""
        if self.near is None or self.steps % self.settings.renew == 0:
            self.near = NearPairs(self.character, pose, self.settings.near, self.goals.valid.bool())
        self.steps += 1
        n, t = self.goals.valid.shape
        depth = soft_distance((self.near.depth(pose) + SELF_MARGIN).clamp_min(0), SELF_MARGIN)
        return depth.new_zeros(n).index_add(0, self.near.frame // t, depth) / self.goals.valid.sum(1).clamp_min(1)

    def solve(self, extra: ExtraTerms | None = None) -> None:
        steps = self.settings.iterations
        optimiser = torch.optim.Adam([self.change], lr=self.settings.step_size, betas=(0.9, 0.99))
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps, self.settings.step_size / 30)
        for _ in range(steps):
            optimiser.zero_grad()
            self.loss(extra).sum().backward()
            optimiser.step()
            schedule.step()

    def results(self, contacts: Sequence[Tensor], fps: float) -> list[Motion]:
        """The fitted motions, padding cut off; contacts [T, B] each."""
        with torch.no_grad():
            root_pos, root_rot, joint_rot = (x.detach().cpu() for x in self.motion())
        frames = self.goals.valid.sum(1).int().tolist()
        return [
            Motion(root_pos[i, :t], rotation.normalize(root_rot[i, :t]), rotation.normalize(joint_rot[i, :t]), contacts[i], fps)
            for i, t in enumerate(frames)
        ]


def _dof_to_turns(character: Character, device: torch.device) -> Tensor:
    """[D, 3 (B-1)]: changes of the coordinates to exponential maps of the joints."""
    matrix = torch.zeros(character.num_dof, character.num_joints, 3, device=device)
    for joint, (body, start) in enumerate(zip(character.bodies[1:], character.dof_start[1:], strict=True)):
        for k, axis in enumerate(body.joint.axes):
            matrix[start + k, joint] = torch.tensor(axis, device=device)
    return matrix.flatten(1)
