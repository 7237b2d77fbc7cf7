"""Characters from MJCF files, read by MuJoCo's own parser.

A `Character` has every body frame aligned with the world in the zero pose and its origin at the joint; MuJoCo lets bodies
be turned at rest and joints sit anywhere. So each body is re-framed by a constant transform: with (p, R) the pose of a body
in MuJoCo, R0 its rotation at rest (qpos0) and a its joint's anchor in its own frame,

    p' = p + R a        R' = R R0^T

is the pose of the same body here (`FrameMap`). Offsets, axes and shapes are then read off the rest pose, in world axes.

Joints: one free root; ball joints; one hinge; two perpendicular hinges of one anchor in sequence; three such hinges become a
ball, each axis keeping the limits of the hinge nearest to it. (Three hinges are a parametrisation of the same rotations; only
the coordinates change, to an exponential map.) Everything else is refused with the joint's name. A ball of one cone angle
keeps it on each axis, and what is not limited may turn by pi. Hinges of one body whose anchors are up to 5 cm apart, as in
MuJoCo's own humanoid's ankles, are moved to the middle, and a note says so: there the frame map is not exact.

Shapes are described in `mjcf_geom`, gains in `mjcf_motor`, symmetry in `find_symmetry`. Key bodies are the leaves of the tree,
feet those leaves that at rest reach down to within 2 cm of the lowest. A description beside the file, or in its place arguments,
names them where that is not right (`body_description`); `MjcfCharacter.guesses` tells what was found by rule.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from pathlib import Path

import mujoco
import numpy as np
import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import BALL_AXES, Body, Character, Joint, Vector
from parc.character.find_symmetry import extent
from parc.character.kinematics import BodyPose
from parc.character.mjcf_geom import body_inertial, body_name, body_shapes, collides, geoms_of, vector
from parc.character.mjcf_motor import has_motor, read_motor
from parc.character.robot.body_description import (
    BodyDescription,
    description_beside,
    named_bodies,
    read_description,
    shipped_description,
)
from parc.character.robot.character_report import guesses_of
from parc.character.robot.described_bodies import landmarks, mirror_of, with_told_boxes, with_told_motors
from parc.errors import CharacterError

_FOOT_TOLERANCE = 0.02
"""m"""
_ANCHOR_TOLERANCE = 0.05
"""m, how far apart the anchors of one body's hinges may be"""


@dataclass(frozen=True)
class FrameMap:
    """The constant transform between MuJoCo's body frames and the character's, for every body of the character."""

    mujoco_body: tuple[int, ...]
    """MuJoCo's index of each body"""
    anchor: Tensor
    """[B, 3] origin of our frame in MuJoCo's, float64"""
    rest: Tensor
    """[B, 4] MuJoCo's rotation at rest (R0), xyzw, float64"""

    def from_mujoco(self, pose: BodyPose) -> BodyPose:
        """MuJoCo's xpos and xquat of the character's bodies, [..., B, 3] and [..., B, 4] (xyzw), to our frames."""
        anchor, rest = self.anchor.to(pose.pos), self.rest.to(pose.rot)
        return BodyPose(pose.pos + rotation.rotate(pose.rot, anchor), rotation.multiply(pose.rot, rotation.conjugate(rest)))

    def to_mujoco(self, pose: BodyPose) -> BodyPose:
        """The inverse of `from_mujoco`."""
        rot = rotation.multiply(pose.rot, self.rest.to(pose.rot))
        return BodyPose(pose.pos - rotation.rotate(rot, self.anchor.to(pose.pos)), rot)


@dataclass(frozen=True)
class MjcfCharacter:
    """A character that was read from MJCF, and how its frames lie in MuJoCo's."""

    character: Character
    frames: FrameMap
    notes: tuple[str, ...]
    """one sentence for each thing that was approximated"""
    guesses: tuple[str, ...] = ()
    """one sentence for each thing that neither the file nor a description told"""


def character_from_mjcf(
    path: str | Path,
    name: str | None = None,
    *,
    feet: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    facing: float = 0.0,
    description: BodyDescription | None = None,
) -> Character:
    """The character of an MJCF file; see `read_mjcf` for the arguments, the frame map and what was approximated."""
    return read_mjcf(path, name, feet=feet, keys=keys, facing=facing, description=description).character


def read_mjcf(
    path: str | Path,
    name: str | None = None,
    *,
    feet: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    facing: float = 0.0,
    description: BodyDescription | None = None,
) -> MjcfCharacter:
    """Read an MJCF file, and its `description`: by default the one beside it, or else the one in this package, if there is one.

    `feet` and `keys` are names of bodies that replace the ones found by geometry. `facing` (rad, from x towards y) is where the
    character of the file looks at rest; the file's rest pose is turned back by it, since characters here look along x.
    """
    spec, model = _compile(Path(path))
    ids = _character_bodies(model)
    beside = description_beside(path)
    if description is None and beside.is_file():
        description = read_description(beside)
    told = description or shipped_description([body_name(model, b) for b in ids]) or BodyDescription()
    rest = _rest_pose(model, ids[0], facing or math.radians(told.facing))
    joints = {body: _joints_of(model, body) for body in ids}
    anchors = np.array([model.jnt_pos[joints[b]].mean(0) if b != ids[0] and joints[b] else np.zeros(3) for b in ids])
    origins = np.array([rest.xpos[b] + rest.xmat[b].reshape(3, 3) @ a for b, a in zip(ids, anchors, strict=True)])
    notes: list[str] = []
    drawn = not any(collides(model, g) for b in ids for g in geoms_of(model, b))

    bodies = []
    for i, body in enumerate(ids):
        parent = -1 if i == 0 else ids.index(int(model.body_parentid[body]))
        bodies.append(
            Body(
                name=body_name(model, body),
                parent=parent,
                offset=(0.0, 0.0, 0.0) if i == 0 else vector(origins[i] - origins[parent]),
                joint=Joint() if i == 0 else _joint(model, rest, body, joints[body], notes),
                shapes=body_shapes(spec, model, rest, body, origins[i], notes, drawn),
                inertial=body_inertial(spec, model, rest, body, origins[i]),
            )
        )
    depths = [float(origin[2]) + extent(body)[0][2] for origin, body in zip(origins, bodies, strict=True)]
    bodies = _with_motors(model, bodies, ids, joints, height=float(origins[0][2]) - min(depths))
    bodies = with_told_boxes(with_told_motors(bodies, told), told)
    names = [b.name for b in bodies]
    feet = feet if told.feet is None or feet is not None else named_bodies(told.feet, names, "foot")
    keys = keys if told.keys is None or keys is not None else named_bodies(told.keys, names, "key body")
    bodies = _with_ends(bodies, depths, feet, keys)
    title = name or told.name or (spec.modelname if spec.modelname != "MuJoCo Model" else Path(path).stem)
    character = Character(title, tuple(bodies), mirror_of(bodies, told), landmarks(bodies, told))
    silent = [body.name for body, i in zip(bodies, ids, strict=True) if body.joint.dof and not has_motor(model, joints[i])]
    return MjcfCharacter(
        character,
        FrameMap(tuple(ids), torch.tensor(anchors), torch.tensor(rest.xquat[ids][:, [1, 2, 3, 0]])),
        tuple(notes),
        guesses_of(character, told, silent, feet is None, keys is None),
    )


def _compile(path: Path) -> tuple[mujoco.MjSpec, mujoco.MjModel]:
    if not path.is_file():
        raise CharacterError(f"there is no MJCF file '{path}'")
    try:
        spec = mujoco.MjSpec.from_file(str(path))
        return spec, spec.compile()
    except ValueError as e:
        raise CharacterError(f"MuJoCo cannot read '{path}': {' '.join(str(e).split())}") from None


def _rest_pose(model: mujoco.MjModel, root: int, facing: float) -> mujoco.MjData:
    rest = mujoco.MjData(model)
    start = model.jnt_qposadr[model.body_jntadr[root]]
    turned = np.zeros(4)
    mujoco.mju_mulQuat(turned, np.array([math.cos(facing / 2), 0, 0, -math.sin(facing / 2)]), rest.qpos[start + 3 : start + 7])
    rest.qpos[start + 3 : start + 7] = turned
    mujoco.mj_kinematics(model, rest)
    mujoco.mj_comPos(model, rest)
    return rest


def _character_bodies(model: mujoco.MjModel) -> list[int]:
    """MuJoCo bodies of the one free tree, parents first; scenery without joints is left out."""
    free = [j for j in range(model.njnt) if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE]
    if len(free) != 1:
        found = ", ".join(f"'{_joint_name(model, j)}'" for j in free[:4]) + ("..." if len(free) > 4 else "")
        raise CharacterError(
            f"the root of a character has one free joint, this file has {len(free)}: {found}"
            if free
            else "no body has a free joint; give the root body of the character a <freejoint/>"
        )
    root = int(model.jnt_bodyid[free[0]])
    for j in range(model.njnt):
        body = model.jnt_bodyid[j]
        if model.body_rootid[body] != root:
            raise CharacterError(f"joint '{_joint_name(model, j)}' is not on the character of root '{body_name(model, root)}'")
        if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_SLIDE:
            raise CharacterError(f"joint '{_joint_name(model, j)}' slides; only hinge and ball joints can be read")
        if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_HINGE and model.qpos0[model.jnt_qposadr[j]] != 0:
            raise CharacterError(
                f"joint '{_joint_name(model, j)}' has ref {model.qpos0[model.jnt_qposadr[j]]:.4g}; ref must be 0"
            )
    for e in range(model.neq):
        raise CharacterError(
            f"equality constraint '{model.equality(e).name or e}' ties bodies or joints together; characters are trees, remove it"
        )
    return [b for b in range(model.nbody) if model.body_rootid[b] == root]


def _joint_name(model: mujoco.MjModel, joint: int) -> str:
    return model.joint(joint).name or f"unnamed joint of {body_name(model, model.jnt_bodyid[joint])}"


def _joints_of(model: mujoco.MjModel, body: int) -> list[int]:
    first = int(model.body_jntadr[body])
    return list(range(first, first + int(model.body_jntnum[body])))


def _joint(model: mujoco.MjModel, rest: mujoco.MjData, body: int, joints: list[int], notes: list[str]) -> Joint:
    """Axes and limits; the motor comes later."""
    if not joints:
        return Joint()
    kinds = [mujoco.mjtJoint(int(model.jnt_type[j])) for j in joints]
    names = " and ".join(f"'{_joint_name(model, j)}'" for j in joints)
    if mujoco.mjtJoint.mjJNT_BALL in kinds:
        if len(joints) > 1:
            raise CharacterError(f"joints {names} are a hinge and a ball on one body; a ball must be alone")
        cone = float(model.jnt_range[joints[0], 1]) if model.jnt_limited[joints[0]] else math.pi
        return Joint(BALL_AXES, (-cone,) * 3, (cone,) * 3)
    if len(joints) > 3:
        raise CharacterError(f"joints {names} are more than three hinges on one body")
    apart = max(math.dist(model.jnt_pos[a], model.jnt_pos[b]) for a in joints for b in joints)
    if apart > _ANCHOR_TOLERANCE:
        raise CharacterError(f"hinges {names} of one body have anchors {apart:.3g} m apart; give them one pos")
    if apart > 1e-6:
        notes.append(f"hinges {names} have anchors {apart:.3g} m apart, moved to their middle")
    axes = model.jnt_axis[joints] @ rest.xmat[body].reshape(3, 3).T
    for a, b in combinations(range(len(joints)), 2):
        if abs(axes[a] @ axes[b]) > 1e-3:
            raise CharacterError(
                f"hinges {names} of one body are not perpendicular: axes {vector(axes[a])} and {vector(axes[b])}"
            )
    limits = [tuple(map(float, model.jnt_range[j])) if model.jnt_limited[j] else (-math.pi, math.pi) for j in joints]
    if len(joints) == 3:
        note = f"hinges {names} are read as a ball joint"
        limits, aligned = _ball_limits(axes, limits)
        notes.append(note if aligned else f"{note}; they are oblique to x, y, z, so its limits are approximate")
        return Joint(BALL_AXES, tuple(lo for lo, _ in limits), tuple(hi for _, hi in limits))
    units: tuple[Vector, ...] = tuple(vector(a) for a in axes)
    return Joint(units, tuple(lo for lo, _ in limits), tuple(hi for _, hi in limits))


def _ball_limits(axes: np.ndarray, limits: list[tuple[float, ...]]) -> tuple[list[tuple[float, ...]], bool]:
    """Limits of x, y, z from three perpendicular hinges: each takes those of the hinge nearest to it, turned with its sign."""
    hinge_of = max(permutations(range(3)), key=lambda order: sum(abs(axes[hinge, k]) for k, hinge in enumerate(order)))
    along = [float(axes[hinge, k]) for k, hinge in enumerate(hinge_of)]
    turned = [
        limits[hinge] if sign > 0 else (-limits[hinge][1], -limits[hinge][0]) for hinge, sign in zip(hinge_of, along, strict=True)
    ]
    return turned, min(map(abs, along)) > 0.99


def _with_motors(
    model: mujoco.MjModel, bodies: list[Body], ids: list[int], joints: dict[int, list[int]], height: float
) -> list[Body]:
    total = float(model.body_subtreemass[ids[0]])
    equipped = []
    for body, i in zip(bodies, ids, strict=True):
        joint = body.joint
        if joint.axes:
            motor = read_motor(model, joints[i], float(model.body_subtreemass[i]), total, height)
            joint = Joint(
                joint.axes, joint.lower, joint.upper,
                motor.stiffness, motor.damping, motor.armature, motor.torque_limit, motor.weight,
            )  # fmt: skip
        equipped.append(replace(body, joint=joint))
    return equipped


def _with_ends(bodies: list[Body], depths: list[float], feet: Sequence[str] | None, keys: Sequence[str] | None) -> list[Body]:
    """Mark feet and key bodies, by name where names are given."""
    names = [b.name for b in bodies]
    for wanted in (*(feet or ()), *(keys or ())):
        if wanted not in names:
            raise CharacterError(f"no body '{wanted}' to be a foot or key body; the bodies are {', '.join(names)}")
    leaves = set(range(len(bodies))) - {b.parent for b in bodies}
    lowest = min(depths[i] for i in leaves)
    return [
        replace(
            body,
            is_key=body.name in keys if keys is not None else i in leaves,
            is_foot=body.name in feet if feet is not None else i in leaves and depths[i] <= lowest + _FOOT_TOLERANCE,
        )
        for i, body in enumerate(bodies)
    ]
