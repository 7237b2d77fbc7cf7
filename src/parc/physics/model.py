"""The MuJoCo model of any character, built with MjSpec: one model for both engines.

A joint of three axes is a ball with three geared position motors: motor k pulls the k-th coordinate of the exponential map
of the joint's rotation to its target, so targets have the character's DoF layout. One axis is a hinge, two are two
hinges in sequence.

The motor is PD in two halves. kp is an actuator whose torque is clamped to the limit; kd is *passive joint damping*, which
the implicit integrator sees at every step. A damped actuator instead loses its implicit damping the moment it saturates,
and blows up at 120 Hz (34 of 64 worlds, against none).

Contact forces have to know that damping. MuJoCo's implicit integrators solve for contacts with the inertia M and then step with
M + h D, which dilutes what the contacts asked for by M / (M + h D): a tenth, for a foot of 0.03 kg m2 with D = 40 and
h = 1/120. Feet bounce and slide (51 % of contact frames, 3.4 mm deep, with a policy that holds still). So h D is put into the
joints' armature and the damping is stepped explicitly: without contacts the same step to the digit, with them a consistent one
(1.3 %, 0.1 mm, the same policy), and cheaper.

The ground is a window of boxes around the character, static geoms 0 .. 48 of the model, which the engines move
(`parc.physics.window`). Bodies touch the ground and not each other.

Limits: hinges have MuJoCo's soft limits. Balls have none: their three intervals are bounds on an exponential map, which
MuJoCo cannot express, and a policy keeps inside them by its targets.
"""

from dataclasses import replace

import mujoco
import numpy as np

from parc.character.character import Body, Character
from parc.character.shape import Capsule, Shape, Sphere
from parc.errors import CharacterError
from parc.motion.qpos import joint_names
from parc.physics.contract import Contract, ContractError
from parc.terrain.terrain import CELL

WINDOW = 7
"""cells along a side of the window of ground under a character"""
HALF_HEIGHT = 3.0
"""m; a column of ground is a box of twice this height, so relief of up to 6 m inside the window is solid"""
SOLVER_ITERATIONS = 10
_BODY_BIT, _GROUND_BIT = 1, 2
_SENSOR_SLOTS = 16
"""contacts one body can have with the ground before Warp's sensor stops sorting them (the found flag stays right)"""


def sealed_contract(character: Character, contract: Contract) -> Contract:
    """The contract with the character's fingerprint in it; refuses one made for another character."""
    if contract.character not in ("", character.fingerprint):
        raise ContractError(
            f"the contract is for the character with fingerprint {contract.character}, "
            f"'{character.name}' has {character.fingerprint}"
        )
    return replace(contract, character=character.fingerprint)


def build_model(character: Character, contract: Contract, cell: float = CELL) -> mujoco.MjModel:
    """Character, motors, window of ground and contact sensors."""
    spec = new_spec(contract, character.name)
    for i in range(WINDOW):
        for j in range(WINDOW):
            x, y = (cell * (k - WINDOW // 2) for k in (i, j))
            add_ground_box(spec, (x, y, -HALF_HEIGHT), (0.5 * cell, 0.5 * cell, HALF_HEIGHT), contract)
    add_character(spec, character, contract)
    _add_contact_sensors(spec, character)
    return compile_spec(spec, character)


def native_copy(model: mujoco.MjModel) -> mujoco.MjModel:
    """The model with the two flags that only MuJoCo on the CPU knows.

    MIDPHASE off: its bounding volumes are not rebuilt when the window moves, and characters would sink.
    AUTORESET off: MuJoCo would put a diverged world back to its zero pose without telling.
    """
    native = model.__copy__()
    native.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_MIDPHASE | mujoco.mjtDisableBit.mjDSBL_AUTORESET
    return native


def new_spec(contract: Contract, name: str) -> mujoco.MjSpec:
    """An empty scene with the integrator, solver and collision settings of the contract."""
    spec = mujoco.MjSpec()
    spec.modelname = name
    spec.compiler.degree = False
    option = spec.option
    option.timestep = contract.timestep
    if contract.damping_as_inertia:
        option.integrator = mujoco.mjtIntegrator.mjINT_EULER
        option.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    else:
        option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    option.iterations = SOLVER_ITERATIONS
    option.ls_iterations = SOLVER_ITERATIONS
    option.cone = mujoco.mjtCone.mjCONE_PYRAMIDAL
    option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    # NATIVECCD off: box on box by the same primitive in both engines. ISLAND off: one tree is one island, 9 % faster.
    option.disableflags |= mujoco.mjtDisableBit.mjDSBL_NATIVECCD | mujoco.mjtDisableBit.mjDSBL_ISLAND
    return spec


def add_ground_box(
    spec: mujoco.MjSpec, centre: tuple[float, float, float], half: tuple[float, float, float], contract: Contract
) -> None:
    geom = spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, pos=centre, size=half, rgba=(0.55, 0.58, 0.6, 1.0))
    _set_contact(geom, contract, _GROUND_BIT, _BODY_BIT)


def add_character(spec: mujoco.MjSpec, character: Character, contract: Contract) -> None:
    """Bodies, joints, motors; the free root first, then joints and motors in body order."""
    added: list[mujoco.MjsBody] = []
    for body in character.bodies:
        parent = spec.worldbody if body.parent < 0 else added[body.parent]
        node = parent.add_body(name=body.name, pos=body.offset)
        added.append(node)
        if body.parent < 0:
            node.add_freejoint(name="root")
        else:
            _add_joint(spec, node, body, contract)
        for shape in body.shapes:
            geom = _add_shape(node, shape)
            _set_contact(geom, contract, _BODY_BIT, _GROUND_BIT)


def compile_spec(spec: mujoco.MjSpec, character: Character) -> mujoco.MjModel:
    try:
        return spec.compile()
    except ValueError as error:
        reason = str(error).strip().splitlines()[0]
        raise CharacterError(f"MuJoCo cannot build character '{character.name}': {reason}") from error


def root_height(character: Character) -> float:
    """Of the root above the lowest point of the body in the zero pose, m: where it stands on flat ground."""
    origins = [0.0]
    for body in character.bodies[1:]:
        origins.append(origins[body.parent] + body.offset[2])
    return -min(z + _bottom(s) for z, body in zip(origins, character.bodies, strict=True) for s in body.shapes)


def _add_joint(spec: mujoco.MjSpec, node: mujoco.MjsBody, body: Body, contract: Contract) -> None:
    joint, names = body.joint, joint_names(body)
    damping = joint.damping * contract.gain_scale
    inertia = damping * contract.timestep if contract.damping_as_inertia else 0.0
    shared = {"damping": damping, "armature": joint.armature + inertia}
    if joint.is_ball:
        if not np.allclose(joint.axes, np.eye(3)):
            raise CharacterError(f"the ball joint of '{body.name}' has axes {joint.axes}, expected x, y and z")
        node.add_joint(name=names[0], type=mujoco.mjtJoint.mjJNT_BALL, limited=False, **shared)
        for gear in np.eye(3):
            _add_motor(spec, names[0], body, gear, contract)
        return
    for name, axis, low, high in zip(names, joint.axes, joint.lower, joint.upper, strict=True):
        node.add_joint(
            name=name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=axis, range=(low, high), limited=bool(low < high), **shared
        )
        _add_motor(spec, name, body, (1.0, 0.0, 0.0), contract)


def _add_motor(spec: mujoco.MjSpec, joint_name: str, body: Body, gear: tuple | np.ndarray, contract: Contract) -> None:
    limit = body.joint.torque_limit * contract.torque_scale
    motor = spec.add_actuator(
        trntype=mujoco.mjtTrn.mjTRN_JOINT,
        target=joint_name,
        gear=(*gear, 0.0, 0.0, 0.0),
        forcelimited=True,
        forcerange=(-limit, limit),
    )
    motor.set_to_position(kp=body.joint.stiffness * contract.gain_scale)


def _bottom(shape: Shape) -> float:
    if isinstance(shape, Sphere):
        return shape.centre[2] - shape.radius
    if isinstance(shape, Capsule):
        return min(shape.start[2], shape.end[2]) - shape.radius
    x, y, z, w = shape.rotation
    up = (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y))
    return shape.centre[2] - sum(abs(u) * h for u, h in zip(up, shape.half, strict=True))


def _add_shape(node: mujoco.MjsBody, shape: Shape) -> mujoco.MjsGeom:
    if isinstance(shape, Sphere):
        return node.add_geom(
            type=mujoco.mjtGeom.mjGEOM_SPHERE, pos=shape.centre, size=(shape.radius, 0, 0), density=shape.density
        )
    if isinstance(shape, Capsule):
        return node.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CAPSULE,
            fromto=(*shape.start, *shape.end),
            size=(shape.radius, 0, 0),
            density=shape.density,
        )
    x, y, z, w = shape.rotation
    return node.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, pos=shape.centre, quat=(w, x, y, z), size=shape.half, density=shape.density
    )


def _set_contact(geom: mujoco.MjsGeom, contract: Contract, own: int, other: int) -> None:
    geom.contype, geom.conaffinity, geom.condim = own, other, 3
    geom.friction = (contract.friction, 0.005, 0.0001)
    geom.solref[:] = (contract.contact_time, 1.0)
    geom.solimp[:] = (*contract.contact_impedance, contract.contact_depth, 0.5, 2.0)
    geom.margin = 0.5 * contract.contact_margin  # MuJoCo adds those of the two geoms


def _add_contact_sensors(spec: mujoco.MjSpec, character: Character) -> None:
    """One number a body: how many contacts it has with the ground. Position stage, hence free of forces and cheap."""
    for name in character.names:
        spec.add_sensor(
            name=f"{name}_touches",
            type=mujoco.mjtSensor.mjSENS_CONTACT,
            objtype=mujoco.mjtObj.mjOBJ_BODY,
            objname=name,
            reftype=mujoco.mjtObj.mjOBJ_BODY,
            refname="world",
            intprm=(1 << int(mujoco.mjtConDataField.mjCONDATA_FOUND), 0, 1),
        )
    spec.add_numeric(name="contact_sensor_maxmatch", data=[_SENSOR_SLOTS], size=1)
