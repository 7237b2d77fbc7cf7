"""The MuJoCo model of any character, built with MjSpec: one model for both engines.

A joint of three axes is a ball with three geared position motors: motor k pulls the k-th coordinate of the exponential map
of the joint's rotation to its target, so targets have the character's DoF layout. One axis is a hinge, two are two
hinges in sequence.

The motor is PD, and its limit bounds the whole torque: clip(kp (target - q) - kd v, +- limit). Stepped explicitly, kd blows up at
120 Hz, so h kd is put into the joint's armature: where the motor is not saturated, this *is* the step with implicit damping, to
the digit; where it is, the limit is the limit, and the armature keeps it stable. Contact forces are computed with that same
inertia, so contacts stay consistent. (MuJoCo's implicit integrators solve for contacts with the inertia M and step with M + h D,
which dilutes what contacts asked for by a tenth: feet bounce and slide.)

Contracts from before (`damping_in_limit` off) clamp kp alone and leave kd as passive damping of the joint, which the limit does
not bound: such a body is slow, and needs three times the torque to jump half as high.

The ground is a window of boxes around the character, static geoms 0 .. 48 of the model, which the engines move
(`parc.physics.terrain_window`). Bodies touch the ground and, with `self_collision`, each other: every pair but neighbours (a
joint between them) and those whose shapes overlap in the zero pose (`parc.character.self_distance.self_pairs`).

Limits: hinges have MuJoCo's soft limits. Those of a ball are three intervals of an exponential map, which MuJoCo cannot express.
So each end of each interval gets a *stop*, a one-sided spring and damper: an actuator without a control, whose torque
clip(k (end - q) - d v, -most, 0) can only push back. Stops come after the motors, two for each coordinate of a ball.
"""

from dataclasses import replace

import mujoco
import numpy as np

from parc.character.body_shape import Capsule, Shape, Sphere
from parc.character.character import Body, Character
from parc.character.self_distance import self_pairs, separate_pairs
from parc.errors import CharacterError
from parc.motion.mujoco_qpos import joint_names
from parc.physics.physical_contract import Contract, ContractError
from parc.terrain.terrain import CELL

WINDOW = 7
"""cells along a side of the window of ground under a character"""
HALF_HEIGHT = 3.0
"""m; a column of ground is a box of twice this height, so relief of up to 6 m inside the window is solid"""
SOLVER_ITERATIONS = 10
STOP_STIFFNESS, STOP_DAMPING = 0.8, 0.9
"""of a stop, in armature / h^2 and armature / h: an explicit step is stable while the first is under 4 - 2 x the second"""
STOP_TORQUE = 3.0
"""times the character's torque limit: the most a stop gives"""
NATIVE_FLAGS = int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE | mujoco.mjtDisableBit.mjDSBL_AUTORESET)
"""what `native_copy` switches off"""
_BODY_BIT, _GROUND_BIT = 1, 2
_SENSOR_SLOTS = 16
"""contacts one body can have with the ground before Warp's sensor stops sorting them (the found flag stays right)"""


def sealed_contract(character: Character, contract: Contract) -> Contract:
    """The contract with the character's fingerprint and its excluded contacts in it; refuses one made for another character."""
    if contract.character not in ("", character.fingerprint):
        raise ContractError(
            f"the contract is for the character with fingerprint {contract.character}, "
            f"'{character.name}' has {character.fingerprint}"
        )
    excluded = excluded_contacts(character) if contract.self_collision else ()
    if contract.excluded_contacts not in ((), excluded):
        raise ContractError(
            f"the contract excludes the contacts {', '.join(contract.excluded_contacts)}; those of '{character.name}' that "
            f"overlap at rest are {', '.join(excluded) or 'none'}"
        )
    return replace(contract, character=character.fingerprint, excluded_contacts=excluded)


def excluded_contacts(character: Character) -> tuple[str, ...]:
    """Pairs "a/b" of bodies that overlap in the zero pose although no joint is between them."""
    allowed, names = set(self_pairs(character)), character.names
    return tuple(f"{names[i]}/{names[j]}" for i, j in separate_pairs(character) if (i, j) not in allowed)


def build_model(character: Character, contract: Contract, cell: float = CELL) -> mujoco.MjModel:
    """Character, motors, window of ground and contact sensors."""
    return compile_spec(model_spec(character, contract, cell), character)


def model_spec(character: Character, contract: Contract, cell: float = CELL) -> mujoco.MjSpec:
    """The same before it is compiled."""
    spec = new_spec(contract, character.name)
    for i in range(WINDOW):
        for j in range(WINDOW):
            x, y = (cell * (k - WINDOW // 2) for k in (i, j))
            add_ground_box(spec, (x, y, -HALF_HEIGHT), (0.5 * cell, 0.5 * cell, HALF_HEIGHT), contract)
    add_character(spec, character, contract)
    _add_contact_sensors(spec, character)
    return spec


def native_copy(model: mujoco.MjModel) -> mujoco.MjModel:
    """The model with the two flags that only MuJoCo on the CPU knows.

    MIDPHASE off: its bounding volumes are not rebuilt when the window moves, and characters would sink.
    AUTORESET off: MuJoCo would put a diverged world back to its zero pose without telling.
    """
    native = model.__copy__()
    native.opt.disableflags |= NATIVE_FLAGS
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
    """A fixed box of terrain, which touches bodies only; `centre` and half sizes in m."""
    geom = spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, pos=centre, size=half, rgba=(0.55, 0.58, 0.6, 1.0))
    _set_contact(geom, contract, _GROUND_BIT, _BODY_BIT)


def add_character(spec: mujoco.MjSpec, character: Character, contract: Contract) -> None:
    """Bodies, joints, motors, stops; the free root first, then joints and motors in body order, then the stops of balls."""
    added: list[mujoco.MjsBody] = []
    for body in character.bodies:
        parent = spec.worldbody if body.parent < 0 else added[body.parent]
        node = parent.add_body(name=body.name, pos=body.offset)
        added.append(node)
        if body.parent < 0:
            node.add_freejoint(name="root")
        else:
            _add_joint(spec, node, body, contract)
        if (told := body.inertial) is not None:
            node.explicitinertial, node.mass, node.ipos = True, told.mass, told.centre
            node.fullinertia = told.moments
        for shape in body.shapes:
            geom = _add_shape(node, shape)
            _set_contact(geom, contract, _BODY_BIT, _GROUND_BIT | (_BODY_BIT if contract.self_collision else 0))
    if contract.ball_stops:
        for body in character.bodies[1:]:
            if body.joint.is_ball:
                _add_stops(spec, body, contract)
    for pair in excluded_contacts(character) if contract.self_collision else ():
        first, second = pair.split("/")
        spec.add_exclude(bodyname1=first, bodyname2=second)


def compile_spec(spec: mujoco.MjSpec, character: Character) -> mujoco.MjModel:
    """The model of a specification; CharacterError with MuJoCo's reason where it cannot be built."""
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
    passive = 0.0 if contract.damping_in_limit else joint.damping * contract.gain_scale
    shared = {"damping": passive, "armature": _armature(body, contract)}
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


def _armature(body: Body, contract: Contract) -> float:
    """kg m2, with the step's damping h kd in it (see the module's docstring)."""
    joint = body.joint
    damping = joint.damping * contract.gain_scale if contract.damping_as_inertia else 0.0
    return joint.armature + damping * contract.timestep


def _add_motor(spec: mujoco.MjSpec, joint_name: str, body: Body, gear: tuple | np.ndarray, contract: Contract) -> None:
    limit = body.joint.torque_limit * contract.torque_scale
    motor = spec.add_actuator(
        trntype=mujoco.mjtTrn.mjTRN_JOINT,
        target=joint_name,
        gear=(*gear, 0.0, 0.0, 0.0),
        forcelimited=True,
        forcerange=(-limit, limit),
    )
    damping = body.joint.damping if contract.damping_in_limit else 0.0
    motor.set_to_position(kp=body.joint.stiffness * contract.gain_scale, kv=damping * contract.gain_scale)


def _add_stops(spec: mujoco.MjSpec, body: Body, contract: Contract) -> None:
    """A one-sided spring and damper at each end of each coordinate's range, as stiff as an explicit step allows."""
    armature, joint = _armature(body, contract), body.joint
    if armature <= 0:
        raise CharacterError(f"the ball joint of '{body.name}' has neither armature nor damping, so its range cannot be held")
    stiffness = STOP_STIFFNESS * armature / contract.timestep**2
    damping = STOP_DAMPING * armature / contract.timestep
    most = STOP_TORQUE * joint.torque_limit
    name = joint_names(body)[0]
    for gear, low, high in zip(np.eye(3), joint.lower, joint.upper, strict=True):
        if not low < high:
            continue
        for end, torque in ((low, (0.0, most)), (high, (-most, 0.0))):
            stop = spec.add_actuator(
                trntype=mujoco.mjtTrn.mjTRN_JOINT,
                target=name,
                gear=(*gear, 0.0, 0.0, 0.0),
                forcelimited=True,
                forcerange=torque,
                gaintype=mujoco.mjtGain.mjGAIN_FIXED,
                biastype=mujoco.mjtBias.mjBIAS_AFFINE,
            )
            stop.gainprm[0] = 0.0
            stop.biasprm[:3] = (stiffness * end, -stiffness, -damping)


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


def contact_sensor(body: str) -> str:
    """Name of the sensor that counts a body's contacts with the ground."""
    return f"{body}_touches"


def _add_contact_sensors(spec: mujoco.MjSpec, character: Character) -> None:
    """One number a body: how many contacts it has with the ground. Position stage, hence free of forces and cheap."""
    for name in character.names:
        spec.add_sensor(
            name=contact_sensor(name),
            type=mujoco.mjtSensor.mjSENS_CONTACT,
            objtype=mujoco.mjtObj.mjOBJ_BODY,
            objname=name,
            reftype=mujoco.mjtObj.mjOBJ_BODY,
            refname="world",
            intprm=(1 << int(mujoco.mjtConDataField.mjCONDATA_FOUND), 0, 1),
        )
    spec.add_numeric(name="contact_sensor_maxmatch", data=[_SENSOR_SLOTS], size=1)
