"""From drafts to motions that could be done: all clips side by side, poses and contact forces fitted together.

    held parts stay where they are held, nothing is inside the terrain, joints stay in their limits,
    contact forces that push within the cone of friction carry the motion (`parc.fit.contact_mechanics`),
    it is smooth, and it looks like the draft as far as all this allows

Unknowns are the change against the draft, a sum of splines (`parc.fit.unknowns`), and the forces.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import torch
from torch import Tensor

from parc.author.script_to_draft import FPS, Draft
from parc.character import rotation
from parc.character.character import Character
from parc.character.joint_coordinates import joints_to_dof
from parc.character.kinematics import BodyPose, forward_kinematics
from parc.fit import contact_mechanics as mechanics
from parc.fit.adam_solver import AdamSolver
from parc.fit.contact_mechanics import Effort, MechanicsSettings
from parc.fit.held_parts import SIDES, part_bodies, part_points
from parc.fit.penalty_terms import bone_directions, frame_mean, held_apart, second_difference
from parc.fit.unknowns import Unknowns, pad
from parc.fit.watched_depth import SelfDepthByPair, TerrainDepth
from parc.mocap.subject.human_anatomy import Anatomy
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
    """Weights of the terms, and how they are solved for."""

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


KNOTS = (12, 4)
"""frames between knots of the splines that the change is a sum of, besides that of each frame"""
_FIRM = ("holding", "penetration", "self_penetration", "limits", "force", "moment", "cone", "torque")


class Solve:
    """The fit of a few drafts: `run` it, then read `motions` and `efforts`."""

    def __init__(
        self, drafts: Sequence[Draft], character: Character, settings: SolveSettings, device: torch.device | str
    ) -> None:
        self.drafts, self.character, self.settings = drafts, character, settings
        self.efforts: list[Effort] = []
        anatomy = Anatomy.of(character)

        # unknowns: the change against the drafts, and a force for each held part, at first an equal share of the weight
        self.unknowns = Unknowns.of(character, [d.start for d in drafts], device, KNOTS)
        self.valid = pad([torch.ones(len(d)) for d in drafts], zeros=True).to(device)
        self.held = pad([d.held for d in drafts], zeros=True).to(device)
        self.place = pad([d.place for d in drafts]).to(device)
        self.normal = pad([d.normal for d in drafts]).to(device)
        many = self.held.sum(-1, keepdim=True).clamp_min(1)
        self.force = (self.held / many).unsqueeze(-1).mul(self.normal).requires_grad_(True)
        rate = settings.step_size
        groups = [(self.unknowns.parameters, rate), ([self.force], 2 * rate)]
        self.solver = AdamSolver(self._loss, groups, betas=(0.9, 0.99))

        # the body: joint ranges, masses, motors, parts that are held
        self.lower = torch.tensor([x for b in character.bodies for x in b.joint.lower], device=device)
        self.upper = torch.tensor([x for b in character.bodies for x in b.joint.upper], device=device)
        self.hinge = torch.tensor([b.joint.is_hinge for b in character.bodies for _ in b.joint.axes], device=device)
        self.first_dof = joints_to_dof(character, self.unknowns.joint_rot)
        self.masses = mechanics.point_masses(character, device)
        self.motors = mechanics.joint_motors(character, device)
        self.part_body = torch.tensor(part_bodies(character), device=device)
        self.part_local = part_points(torch.as_tensor(anatomy.sole, device=device).float())

        # what it may not be inside of
        margin = torch.full((len(character),), MARGIN)
        margin[list(character.key_bodies)] = 0.0
        margin[[anatomy.body[f"{side}_elbow"] for side in SIDES]] = FOREARM
        self.ground = TerrainDepth(character, [d.script.terrain for d in drafts], self.valid, NEAR, RENEW, SOFT, margin)
        self.inside = SelfDepthByPair(character, self.valid, SELF_NEAR, SELF_RENEW, SOFT, SELF_MARGIN)

        # what the drafts look like
        self.feet = torch.tensor(character.feet, device=device)
        self.trunk = torch.tensor(anatomy.trunk(character), device=device)
        bones = [(anatomy.body[a], anatomy.body[b]) for limb in anatomy.limbs for a, b in pairwise(limb)]
        self.bones = torch.tensor(bones, device=device).T
        with torch.no_grad():
            source = self.unknowns
            wanted = _with_matrices(forward_kinematics(character, source.root_pos, source.root_rot, source.joint_rot))
            self.wanted_trunk = wanted.rot.index_select(2, self.trunk)
            self.wanted_feet = wanted.rot.index_select(2, self.feet)
            self.wanted_bones = self._bones(wanted.pos)

    def _bones(self, pos: Tensor) -> Tensor:
        return bone_directions(*(pos.index_select(2, end) for end in self.bones))

    def _coordinates(self, joint_rot: Tensor, joint_turn: Tensor) -> Tensor:
        """[N, T, D]; of a hinge the sum of its turns, so that one that is bent past half a turn is seen to be."""
        return torch.where(self.hinge, self.first_dof + joint_turn, joints_to_dof(self.character, joint_rot))

    def terms(self) -> dict[str, Tensor]:
        """Every term, [N], unweighted: means over frames."""
        valid, inner, settings = self.valid, self.valid[:, 2:], self.settings.mechanics
        change = self.unknowns.total()
        root_pos, root_rot, joint_rot = self.unknowns.poses(change)
        pose = _with_matrices(forward_kinematics(self.character, root_pos, root_rot, joint_rot))
        dof = self._coordinates(joint_rot, self.unknowns.parts(change)[2])
        parts = pose.pos.index_select(2, self.part_body) + (
            pose.rot.index_select(2, self.part_body) * self.part_local.unsqueeze(1)
        ).sum(-1)

        # mechanics: what the motion needs, what the forces give, what the motors hold
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

        # smoothness, limits, and likeness to the draft
        over = (self.lower - dof).clamp_min(0) + (dof - self.upper).clamp_min(0)
        second = second_difference(pose.pos)
        third = second[:, 1:] - second[:, :-1]
        trunk = pose.rot.index_select(2, self.trunk) - self.wanted_trunk
        feet = pose.rot.index_select(2, self.feet) - self.wanted_feet
        return {
            "holding": frame_mean(held_apart(parts, self.place, self.held), valid),
            "penetration": self.ground(pose),
            "self_penetration": self.inside(pose),
            "force": frame_mean((wrench.force - total).square(), inner),
            "moment": frame_mean((wrench.moment - moment).square(), inner),
            "cone": frame_mean(mechanics.over_the_cone(force, self.normal, settings).square() * self.held, valid),
            "torque": frame_mean((torque - settings.torque * self.motors.limit).clamp_min(0).square(), inner),
            "effort": frame_mean(force.square(), valid),
            "limits": frame_mean(over.square(), valid),
            "acceleration": frame_mean(second.square().mean(2), inner),
            "jerk": frame_mean(third.square().mean(2), valid[:, 3:]),
            "turning": frame_mean(second_difference(dof).square(), inner),
            "root": frame_mean((root_pos - self.unknowns.root_pos).square(), valid),
            "trunk": frame_mean(trunk.square(), valid),
            "limbs": frame_mean((self._bones(pose.pos) - self.wanted_bones).square().mean(2), valid),
            "feet": frame_mean(feet.square(), valid),
        }

    def _loss(self) -> Tensor:
        """All terms; what must be kept to weighs ever more."""
        self.last = self.terms()
        firm = 1 + (self.settings.firmness - 1) * self.solver.done / self.settings.iterations
        weights = {name: getattr(self.settings, name) * (firm if name in _FIRM else 1.0) for name in self.last}
        return torch.stack([weights[name] * value.sum() for name, value in self.last.items()]).sum()

    def run(self) -> None:
        """All steps of Adam."""
        self.solver.descend(self.settings.iterations, self.settings.step_size / 50)
        share = (self.torque.detach() / self.motors.limit).amax(-1) * self.valid[:, 2:]
        push = self.last["force"].detach().sqrt()
        self.efforts = [Effort(*row) for row in zip(push.tolist(), share.amax(1).tolist(), strict=True)]

    def motions(self) -> list[Motion]:
        """The clips as they are now, labelled where the script holds them."""
        return self.unknowns.motions([d.contacts(self.character) for d in self.drafts], FPS)


def _with_matrices(pose: BodyPose) -> BodyPose:
    return BodyPose(pose.pos, rotation.to_matrix(pose.rot))
