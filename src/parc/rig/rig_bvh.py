"""A motion of a rig as BVH: the hierarchy, channels and unit of the file it came from, or those of the rig.

BVH has no rotations at rest: a rig of another kind is written as its reference pose stands, every joint aligned with the world.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from parc.dataset.convert.bvh_file import POSITIONS, ROTATIONS, Bvh, BvhJoint, Vector, format_bvh
from parc.dataset.convert.euler_angles import continuous, to_euler
from parc.dataset.convert.gltf_scene import world_matrices
from parc.errors import FormatError
from parc.rig.retarget_onto_rig import RigMotion
from parc.rig.rig_files import LoadedRig

Array = NDArray[np.float64]
_ORDER = "YXZ"


def rig_bvh(loaded: LoadedRig, motion: RigMotion) -> str:
    """The text of a BVH file."""
    if loaded.bvh is None:
        joints, turns, places = _aligned(motion)
    else:
        joints = loaded.bvh.joints
        rows = _rows(joints, motion)
        turns = Rotation.from_quat(motion.turns[:, rows].reshape(-1, 4)).as_matrix().reshape(len(motion.turns), -1, 3, 3)
        places = np.tile(motion.rig.reference.translation[rows], (len(motion.turns), 1, 1))
        for node, place in motion.places.items():
            places[:, rows.index(node)] = place
    _check_moves(joints, places, motion)
    columns = []
    for j, joint in enumerate(joints):
        order = "".join(channel[0] for channel in joint.channels if channel in ROTATIONS)
        if order and sorted(order) != ["X", "Y", "Z"]:
            raise FormatError(f"{motion.rig.name}: joint '{joint.name}' has {len(order)} rotation channels, expected all three")
        angles = np.degrees(continuous(to_euler(turns[:, j], order))) if order else None
        for channel in joint.channels:
            if channel in POSITIONS:
                columns.append(places[:, j, POSITIONS.index(channel)])
            else:
                assert angles is not None
                columns.append(angles[:, order.index(channel[0])])
    return format_bvh(Bvh(joints, 1.0 / motion.fps, np.stack(columns, -1)))


def _rows(joints: list[BvhJoint], motion: RigMotion) -> list[int]:
    """Joints of the rig that are joints of the file and not its end sites."""
    return [motion.rig.joints.index(joint.name) for joint in joints]


def _check_moves(joints: list[BvhJoint], places: Array, motion: RigMotion) -> None:
    moving = np.ptp(places, axis=0).max(-1) > 1e-6 * np.abs(places).max()
    for joint, moves in zip(joints, moving, strict=True):
        if moves and not set(POSITIONS) <= set(joint.channels):
            raise FormatError(f"{motion.rig.name}: joint '{joint.name}' has no position channels, but carries the motion")


def _aligned(motion: RigMotion) -> tuple[list[BvhJoint], Array, Array]:
    """The pelvis and what is below it as BVH joints, with their turns and places [T, J, ..] against the parents."""
    rig = motion.rig
    rest, order = rig.world, _depth_first(rig.subtree, rig.parents)
    local = rig.reference._replace(
        rotation=motion.turns, translation=np.tile(rig.reference.translation, (len(motion.turns), 1, 1))
    )
    for node, place in motion.places.items():
        local.translation[:, node] = place
    local = local._replace(scale=np.tile(rig.reference.scale, (len(motion.turns), 1, 1)))
    world = world_matrices(local, rig.parents, rig.order)
    size = np.linalg.norm(rest[:, :3, :3], axis=1)[:, None, :]
    away = (world[:, :, :3, :3] / size) @ (rest[:, :3, :3] / size).transpose(0, 2, 1)
    joints, turns, places = [], [], []
    for node in order:
        parent, root = rig.parents[node], node == rig.pelvis
        offset = rest[node, :3, 3] - (0.0 if root else rest[parent, :3, 3])
        channels = tuple(f"{axis}rotation" for axis in _ORDER)
        leaf = node not in rig.parents
        name = "_".join(rig.joints[node].split())
        end = _vector(0.3 * offset) if leaf else None
        joints.append(
            BvhJoint(
                name, -1 if root else order.index(parent), _vector(offset), (*POSITIONS, *channels) if root else channels, end
            )
        )
        turns.append(away[:, node] if root else away[:, parent].transpose(0, 2, 1) @ away[:, node])
        places.append(world[:, node, :3, 3] if root else np.broadcast_to(offset, (len(world), 3)))
    return joints, np.stack(turns, 1), np.stack(places, 1)


def _vector(values: Array) -> Vector:
    x, y, z = values.tolist()
    return x, y, z


def _depth_first(nodes: tuple[int, ...], parents: tuple[int, ...]) -> list[int]:
    order, waiting = [], [nodes[0]]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += [child for child in reversed(nodes) if parents[child] == node]
    return order
