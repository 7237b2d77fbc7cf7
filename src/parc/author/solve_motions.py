"""From drafts to motions that could be done: all clips side by side, poses and contact forces fitted together.

    held parts stay where they are held, nothing is inside the terrain, joints stay in their limits,
    contact forces that push within the cone of friction carry the motion (`parc.author.contact_mechanics`),
    it is smooth, and it looks like the draft as far as all this allows

Unknowns are the change against the draft and the forces. A change that lasts would need many small steps if every frame were
moved alone, so it is a sum of splines with knots every 12, 4 and 1 frames, and Adam's steps along the wide ones move half a
second at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import torch
from torch import Tensor

from parc.author import contact_mechanics as mechanics
from parc.author.contact_mechanics import Effort, MechanicsSettings
from parc.author.script_to_draft import FPS, PARTS, Draft
from parc.author.skill_script import SIDES
from parc.character import rotation
from parc.character.character import Character
from parc.character.joint_coordinates import joints_to_dof
from parc.character.kinematics import BodyPose, forward_kinematics
from parc.character.self_distance import self_depth
from parc.mocap.subject.fit_goals import frame_mean, pad
from parc.mocap.subject.human_anatomy import Anatomy
from parc.mocap.terrain.near_terrain import NearGround, soft_distance
from parc.motion.motion import Motion

NEAR = 0.1
"""m from the terrain within which points are watched"""
RENEW = 25
"""steps between choices of points to watch"""
MARGIN = 0.015
"""m that bodies other than hands and feet keep from the terrain, so that knees that pass a wall do not lean on it"""
FOREARM = -0.018
"""m, the same of forearms, which lie on the edge that a body hangs from"""
SELF_MARGIN = 0.005
"""m that bodies keep from each other"""
SELF_NEAR, SELF_RENEW = 0.03, 10
"""m: only frames with bodies nearer than this to each other are looked at; and steps between choices of these frames"""
SOFT = 0.004
"""m under which a depth counts by its square"""


@dataclass(frozen=True)
class SolveSettings:
    iterations: int = 300
    """steps of Adam"""
    step_size: float = 0.015
    """of Adam at first; it falls to a fiftieth as a cosine"""
    holding: float = 2000.0
    """of squared distances of held parts to their places, 1/m2"""
    penetration: float = 40.0
    """of depth over `soft`, summed over points, 1/m"""
    self_penetration: float = 40.0
    """of depth of bodies in each other over `soft`, summed over pairs, 1/m"""
    force: float = 3.0
    """of the squared force that contacts do not give, weights"""
    moment: float = 20.0
    """of the squared moment that contacts do not give, weights x m"""
    cone: float = 10.0
    """of squared forces outside the cone of friction, weights"""
    torque: float = 50.0
    """of squared moments over the motors' limits, weights x m"""
    effort: float = 0.005
    """of squared forces"""
    limits: float = 60.0
    """of squared excess over joint limits, 1/rad2"""
    acceleration: float = 8.0
    """of squared second differences of body positions, 1/m2"""
    jerk: float = 40.0
    """of squared third differences, 1/m2"""
    turning: float = 0.3
    """of squared second differences of joint coordinates, 1/rad2"""
    root: float = 1.5
    """of squared distances of the pelvis to the draft's, 1/m2"""
    trunk: float = 0.25
    """of squared differences of the trunk's rotation matrices to the draft's"""
    limbs: float = 0.12
    """of squared differences of bone directions to the draft's"""
    feet: float = 0.15
    """of squared differences of the feet's rotation matrices to the draft's"""
    firmness: float = 4.0
    """by which what must be kept to has grown at the end"""
    mechanics: MechanicsSettings = field(default_factory=MechanicsSettings)


_FIRM = ("holding", "penetration", "self_penetration", "limits", "force", "moment", "cone", "torque")


class Solve:
    def __init__(
        self, drafts: Sequence[Draft], character: Character, settings: SolveSettings, device: torch.device | str
    ) -> None:
        self.drafts, self.character, self.settings = drafts, character, settings
        anatomy = Anatomy.of(character)

        def stack(values: list[Tensor], zeros: bool = False) -> Tensor:
            return pad(values, zeros).to(device)

        self.root_pos = stack([d.start.root_pos for d in drafts])
        self.root_rot = stack([d.start.root_rot for d in drafts])
        self.joint_rot = stack([d.start.joint_rot for d in drafts])
        self.valid = stack([torch.ones(len(d)) for d in drafts], zeros=True)
        self.held = stack([d.held for d in drafts], zeros=True)
        self.place = stack([d.place for d in drafts])
        self.normal = stack([d.normal for d in drafts])
        n, t = self.valid.shape
        self.basis = [_splines(t, every).to(device) for every in (12, 4)]
        width = 6 + character.num_dof
        self.waves = [torch.zeros(n, b.shape[1], width, device=device, requires_grad=True) for b in self.basis]
        self.change = torch.zeros(n, t, width, device=device, requires_grad=True)
        many = self.held.sum(-1, keepdim=True).clamp_min(1)
        self.steps = 0
        self.force = (self.held / many).unsqueeze(-1).mul(self.normal).requires_grad_(True)
        self.spread = _dof_to_turns(character, device)
        self.lower = torch.tensor([x for b in character.bodies for x in b.joint.lower], device=device)
        self.upper = torch.tensor([x for b in character.bodies for x in b.joint.upper], device=device)
        self.hinge = torch.tensor([b.joint.is_hinge for b in character.bodies for _ in b.joint.axes], device=device)
        self.first_dof = joints_to_dof(character, self.joint_rot)
        self.masses = mechanics.point_masses(character, device)
        self.motors = mechanics.joint_motors(character, device)
        sole = torch.as_tensor(anatomy.sole, device=device).float()
        edges = {"heel": sole[:2].mean(0), "toe": sole[2:].mean(0), "hand": torch.zeros(3, device=device)}
        ends = {"heel": "ankle", "toe": "ankle", "hand": "wrist"}
        self.part_body = torch.tensor([anatomy.body[f"{side}_{ends[part]}"] for side, part in PARTS], device=device)
        self.part_local = torch.stack([edges[part] for _, part in PARTS])
        self.feet = torch.tensor(character.feet, device=device)
        chest = character.parents[anatomy.body["left_shoulder"]]
        self.trunk = torch.tensor(sorted({0, chest, anatomy.body.get("head", chest)}), device=device)
        bones = [(anatomy.body[a], anatomy.body[b]) for limb in anatomy.limbs for a, b in pairwise(limb)]
        self.bone_from, self.bone_to = (torch.tensor(x, device=device) for x in zip(*bones, strict=True))
        self.ground = NearGround(character, [d.script.terrain for d in drafts], self.valid, NEAR, RENEW, SOFT, MARGIN)
        forearms = torch.tensor([anatomy.body[f"{side}_elbow"] for side in SIDES], device=device)
        self.ground.margin[torch.isin(self.ground.surface.body, forearms)] = FOREARM
        with torch.no_grad():
            wanted = _with_matrices(forward_kinematics(character, self.root_pos, self.root_rot, self.joint_rot))
            self.wanted_trunk = wanted.rot.index_select(2, self.trunk)
            self.wanted_feet = wanted.rot.index_select(2, self.feet)
            self.wanted_bones = self._bones(wanted.pos)

    def _bones(self, pos: Tensor) -> Tensor:
        way = pos.index_select(2, self.bone_to) - pos.index_select(2, self.bone_from)
        return torch.nn.functional.normalize(way, dim=-1)

    def frames(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Root positions [N, T, 3], root rotations [N, T, 4], joint rotations [N, T, B-1, 4], change of coordinates [N, T, D]."""
        change = self.change
        for basis, wave in zip(self.basis, self.waves, strict=True):
            change = change + basis @ wave
        shift, root_turn, joint_turn = change.split([3, 3, self.character.num_dof], -1)
        turns = (joint_turn @ self.spread).unflatten(-1, (self.character.num_joints, 3))
        root_rot = rotation.multiply(rotation.from_exp(root_turn), self.root_rot)
        return self.root_pos + shift, root_rot, rotation.multiply(rotation.from_exp(turns), self.joint_rot), joint_turn

    def _coordinates(self, joint_rot: Tensor, joint_turn: Tensor) -> Tensor:
        """[N, T, D]; of a hinge the sum of its turns, so that one that is bent past half a turn is seen to be."""
        return torch.where(self.hinge, self.first_dof + joint_turn, joints_to_dof(self.character, joint_rot))

    def _inside(self, pose: BodyPose) -> Tensor:
        """[N, T] sum over pairs of the depth of bodies in each other, m, in the frames where some are near each other."""
        frames = BodyPose(pose.pos.flatten(0, 1), pose.rot.flatten(0, 1))
        if self.steps % SELF_RENEW == 0:
            with torch.no_grad():
                depth = self_depth(self.character, frames)
                self.tight = ((depth > -SELF_NEAR).any(-1) & self.valid.flatten().bool()).nonzero().squeeze(-1)
        chosen = BodyPose(frames.pos.index_select(0, self.tight), frames.rot.index_select(0, self.tight))
        depth = (self_depth(self.character, chosen) + SELF_MARGIN).clamp_min(0)
        found = frames.pos.new_zeros(len(frames.pos)).index_add(0, self.tight, soft_distance(depth, SOFT).sum(-1))
        return found.view_as(self.valid)

    def terms(self, pose: BodyPose, root_pos: Tensor, joint_rot: Tensor, joint_turn: Tensor) -> dict[str, Tensor]:
        """Every term, [N], unweighted."""
        valid, inner = self.valid, self.valid[:, 2:]
        dof = self._coordinates(joint_rot, joint_turn)
        parts = pose.pos.index_select(2, self.part_body) + (
            pose.rot.index_select(2, self.part_body) * self.part_local.unsqueeze(1)
        ).sum(-1)
        points = mechanics.place_masses(self.masses, pose)
        wrench = mechanics.needed(points, self.masses.share, FPS)
        force = self.force * self.held.unsqueeze(-1)
        total, moment = mechanics.given(force[:, 1:-1], parts[:, 1:-1], wrench.centre[:, 1:-1])
        torque = mechanics.joint_torques(
            force[:, 1:-1],
            parts[:, 1:-1],
            wrench.load,
            points[:, 1:-1],
            BodyPose(pose.pos[:, 1:-1], pose.rot[:, 1:-1]),
            mechanics.angular_acceleration(pose.rot, FPS),
            self.motors,
        )
        self.torque = torque
        settings = self.settings.mechanics
        over = (self.lower - dof).clamp_min(0) + (dof - self.upper).clamp_min(0)
        second = pose.pos[:, 2:] - 2 * pose.pos[:, 1:-1] + pose.pos[:, :-2]
        third = second[:, 1:] - second[:, :-1]
        bend = dof[:, 2:] - 2 * dof[:, 1:-1] + dof[:, :-2]
        trunk = pose.rot.index_select(2, self.trunk) - self.wanted_trunk
        feet = pose.rot.index_select(2, self.feet) - self.wanted_feet
        return {
            "holding": frame_mean((parts - self.place).square().sum(-1) * self.held, valid),
            "penetration": self.ground(pose),
            "self_penetration": frame_mean(self._inside(pose), valid),
            "force": frame_mean((wrench.force - total).square(), inner),
            "moment": frame_mean((wrench.moment - moment).square(), inner),
            "cone": frame_mean(mechanics.over_the_cone(force, self.normal, settings).square() * self.held, valid),
            "torque": frame_mean((torque - settings.torque * self.motors.limit).clamp_min(0).square(), inner),
            "effort": frame_mean(force.square(), valid),
            "limits": frame_mean(over.square(), valid),
            "acceleration": frame_mean(second.square().mean(2), inner),
            "jerk": frame_mean(third.square().mean(2), valid[:, 3:]),
            "turning": frame_mean(bend.square(), inner),
            "root": frame_mean((root_pos - self.root_pos).square(), valid),
            "trunk": frame_mean(trunk.square(), valid),
            "limbs": frame_mean((self._bones(pose.pos) - self.wanted_bones).square().mean(2), valid),
            "feet": frame_mean(feet.square(), valid),
        }

    def run(self) -> None:
        steps, rate = self.settings.iterations, self.settings.step_size
        groups = [
            {"params": [self.change, *self.waves], "lr": rate},
            {"params": [self.force], "lr": 2 * rate},
        ]
        optimiser = torch.optim.Adam(groups, betas=(0.9, 0.99))
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps, rate / 50)
        for k in range(steps):
            self.steps = k
            optimiser.zero_grad()
            root_pos, root_rot, joint_rot, joint_turn = self.frames()
            pose = _with_matrices(forward_kinematics(self.character, root_pos, root_rot, joint_rot))
            terms = self.terms(pose, root_pos, joint_rot, joint_turn)
            firm = 1 + (self.settings.firmness - 1) * k / steps
            weights = {name: getattr(self.settings, name) * (firm if name in _FIRM else 1.0) for name in terms}
            torch.stack([weights[name] * value.sum() for name, value in terms.items()]).sum().backward()
            optimiser.step()
            schedule.step()
        share = (self.torque.detach() / self.motors.limit).amax(-1) * self.valid[:, 2:]
        self.efforts = [Effort(*row) for row in zip(terms["force"].detach().sqrt().tolist(), share.amax(1).tolist(), strict=True)]

    def motions(self) -> list[Motion]:
        with torch.no_grad():
            root_pos, root_rot, joint_rot = (x.detach().cpu() for x in self.frames()[:3])
        results = []
        for i, d in enumerate(self.drafts):
            t = len(d)
            turned = rotation.normalize(root_rot[i, :t]), rotation.normalize(joint_rot[i, :t])
            results.append(Motion(root_pos[i, :t], *turned, d.contacts(self.character), FPS))
        return results


def _with_matrices(pose: BodyPose) -> BodyPose:
    return BodyPose(pose.pos, rotation.to_matrix(pose.rot))


def _splines(frames: int, every: int) -> Tensor:
    """[T, K] cubic B-splines with knots every so many frames."""
    knots = torch.arange(-every, frames + 2 * every, every, dtype=torch.float32)
    x = (torch.arange(frames).unsqueeze(1) - knots).abs() / every
    inner, outer = (4 - 6 * x**2 + 3 * x**3) / 6, (2 - x).clamp_min(0) ** 3 / 6
    return torch.where(x < 1, inner, outer)


def _dof_to_turns(character: Character, device: torch.device | str) -> Tensor:
    """[D, 3 (B-1)]: changes of the coordinates to exponential maps of the joints."""
    matrix = torch.zeros(character.num_dof, character.num_joints, 3, device=device)
    for joint, (body, start) in enumerate(zip(character.bodies[1:], character.dof_start[1:], strict=True)):
        for k, axis in enumerate(body.joint.axes):
            matrix[start + k, joint] = torch.tensor(axis, device=device)
    return matrix.flatten(1)
