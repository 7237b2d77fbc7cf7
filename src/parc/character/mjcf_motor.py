"""PD gains for joints read from MJCF: what the file says, and a rule for what it does not.

A `position` actuator gives kp (and kv, forcerange); seen through a gear g, torque goes with g and gains with g^2. A `motor`
gives the torque limit g * ctrlrange (g, unless that is 1, if controls are not limited), and then a joint's stiffness and
damping are the PD gains if that stiffness can reach the limit within 1 rad; a weaker one is a passive spring and is not
used. A joint's damping also stands in for a position actuator's missing kv. Of several hinges that make one joint the
strongest counts.

What is missing follows from the rest by the ratios of the paper's humanoid, kd = kp / 10, limit = 0.3 kp,
armature = 4e-5 s2 kp. Where nothing is said, with M the total mass, m the mass the joint carries (its subtree), and h the
height of the root over the lowest point at rest,

    kp = M g h (6 m / M)^(1/4)

which gives 440 N m / rad for the hip of that humanoid (the paper's is 500), 255 for its ankle (400), 550 for its waist (1000).
"""

import mujoco
import numpy as np

from parc.character.character import Motor

_GRAVITY = 9.81
_DAMPING_RATIO = 0.1
"""kd / kp, s"""
_LIMIT_RATIO = 0.3
"""torque limit / kp, rad"""
_ARMATURE_RATIO = 4e-5
"""armature / kp, s2"""


def read_motor(model: mujoco.MjModel, joints: list[int], subtree_mass: float, total_mass: float, height: float) -> Motor:
    """Motor of the joint made of these MuJoCo joints (of one body)."""
    share = (6 * subtree_mass / total_mass) ** 0.25
    stiffness, damping, limit = (max(values) for values in zip(*(_actuators(model, j) for j in joints), strict=True))
    dofs = np.concatenate([_dofs(model, j) for j in joints])
    spring, friction = float(max(model.jnt_stiffness[joints])), float(max(model.dof_damping[dofs]))
    if not stiffness and spring >= limit:
        stiffness = spring
    if stiffness:
        damping = damping or friction
    stiffness = stiffness or limit / _LIMIT_RATIO or total_mass * _GRAVITY * height * share
    return Motor(
        stiffness=stiffness,
        damping=damping or _DAMPING_RATIO * stiffness,
        armature=float(max(model.dof_armature[dofs])) or _ARMATURE_RATIO * stiffness,
        torque_limit=limit or _LIMIT_RATIO * stiffness,
        weight=min(1.0, max(0.4, share)),
    )


def has_motor(model: mujoco.MjModel, joints: list[int]) -> bool:
    """Whether the file says anything of what drives a joint."""
    return any(any(_actuators(model, j)) or model.jnt_stiffness[j] > 0 for j in joints)


def _dofs(model: mujoco.MjModel, joint: int) -> np.ndarray:
    width = 3 if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_BALL else 1
    return model.jnt_dofadr[joint] + np.arange(width)


def _actuators(model: mujoco.MjModel, joint: int) -> tuple[float, float, float]:
    """Stiffness, damping and torque limit that actuators give a MuJoCo joint; 0 for what none gives."""
    stiffness = damping = limit = 0.0
    on_joint = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    for a in range(model.nactuator):
        drives = mujoco.mjtTrn(int(model.actuator_trntype[a])) in on_joint and model.actuator_trnid[a, 0] == joint
        if not drives or model.actuator_gaintype[a] != mujoco.mjtGain.mjGAIN_FIXED:
            continue
        if model.actuator_gainprm[a, 0] == 0:  # obeys no control: a spring, or a stop at the end of a range
            continue
        outputs = model.actuator_outadr[a] + np.arange(model.actuator_outnum[a])
        gear = float(np.linalg.norm(model.actuator_gear[outputs, :3], axis=-1).max())
        limits = []
        if model.actuator_biastype[a] == mujoco.mjtBias.mjBIAS_AFFINE:
            stiffness = max(stiffness, -float(model.actuator_biasprm[a, 1]) * gear**2)
            damping = max(damping, -float(model.actuator_biasprm[a, 2]) * gear**2)
        elif (control := _largest_control(model, a)) or gear != 1:
            limits.append(gear * abs(float(model.actuator_gainprm[a, 0])) * (control or 1.0))
        if model.actuator_forcelimited[a]:
            limits.append(gear * float(np.abs(model.actuator_forcerange[a]).max()))
        limit = max(limit, min(limits, default=0.0))
    if model.jnt_actfrclimited[joint]:
        most = float(np.abs(model.jnt_actfrcrange[joint]).max())
        limit = min(limit, most) if limit else most
    return stiffness, damping, limit


def _largest_control(model: mujoco.MjModel, actuator: int) -> float:
    """0 if controls are not limited."""
    first = model.actuator_ctrladr[actuator]
    return float(np.abs(model.actuator_ctrlrange[first]).max()) if model.actuator_ctrllimited[first] else 0.0
