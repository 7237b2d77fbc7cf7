"""The mannequin on a rig that has no skin: our skin with the rig's proportions, following the rig's joints.

Trunk and head are stretched as the rig's hips, shoulders and legs ask for, limbs along their bones, and everything is turned
from our T-pose to the rig's reference pose. Weights of the torso go over to the spine joints by height, those of a foot in
front of the ball to the toes.
"""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from parc.character.character import Character
from parc.character.mannequin import mannequin
from parc.fit.held_parts import SIDES
from parc.fit.two_bone_ik import shortest_turn
from parc.mocap.subject.human_anatomy import Anatomy
from parc.rig.rig_skeleton import Rig

Array = NDArray[np.float64]
_TOES = 0.02
"""m before and behind the ball over which the skin goes over to the toes"""


class RigSkin(NamedTuple):
    """A skin bound to the nodes of a rig, in the axes and unit of its file, in the reference pose."""

    points: Array
    """[V, 3]"""
    normals: Array
    """[V, 3]"""
    faces: NDArray[np.int64]
    """[F, 3]"""
    joints: NDArray[np.int64]
    """[V, 4] nodes"""
    weights: Array
    """[V, 4], sum 1"""


class _Carrier(NamedTuple):
    """How the skin of one of our bodies comes to the rig: m -> turn (stretch (m - origin)) + at."""

    origin: Array
    stretch: Array
    """[3, 3]"""
    turn: Array
    """[3, 3]"""
    at: Array


def mannequin_on(rig: Rig, character: Character) -> RigSkin:
    """The mannequin of a character, in the shape of a rig."""
    skin, stance, anatomy = mannequin(character), rig.stance, Anatomy.of(character)
    carriers = _carriers(rig, character, anatomy, skin.origins)
    dense = skin.dense_weights()
    points = np.zeros_like(skin.vertices)
    for body, carrier in enumerate(carriers):
        moved = (skin.vertices - carrier.origin) @ (carrier.turn @ carrier.stretch).T + carrier.at
        points += dense[:, body : body + 1] * moved

    nodes = np.zeros((len(points), len(rig.joints)))
    node_of = _nodes(rig, anatomy, character)
    for body in range(len(character)):
        nodes[:, node_of[body]] += dense[:, body]
    _share_along(nodes, [rig.pelvis, *rig.chain(rig.pelvis, rig.chest)], stance.pos, points)
    if "head" in rig.places:
        _share_along(nodes, [rig.chest, *rig.chain(rig.chest, rig.places["head"])][1:], stance.pos, points)
    for side in SIDES:
        if (toe := rig.places.get(f"{side}_toe")) is not None:
            ankle = rig.places[f"{side}_ankle"]
            front = np.clip(0.5 + (points[:, 0] - stance.pos[toe, 0]) / (2 * _TOES), 0.0, 1.0)
            nodes[:, toe] += front * nodes[:, ankle]
            nodes[:, ankle] *= 1.0 - front
    joints = np.argsort(-nodes, axis=1, kind="stable")[:, :4]
    weights = np.take_along_axis(nodes, joints, axis=1)
    weights /= weights.sum(1, keepdims=True)
    normals = _normals(points, skin.faces)
    facing = rig.to_file
    return RigSkin(points @ facing.T / rig.unit, normals @ facing.T, skin.faces, joints, weights)


def _carriers(rig: Rig, character: Character, anatomy: Anatomy, origins: Array) -> list[_Carrier]:
    stance, size = rig.stance, rig.stance.leg / anatomy.leg

    def middle(part: str) -> tuple[Array, Array]:
        ours = [origins[anatomy.body[f"{side}_{part}"]] for side in SIDES]
        theirs = [stance.pos[rig.places[f"{side}_{part}"]] for side in SIDES]
        return 0.5 * (ours[0] + ours[1]), 0.5 * (theirs[0] + theirs[1])

    def width(part: str) -> float:
        ours = origins[anatomy.body[f"left_{part}"]] - origins[anatomy.body[f"right_{part}"]]
        theirs = stance.bone(rig.places[f"right_{part}"], rig.places[f"left_{part}"])
        return float(np.linalg.norm(theirs) / np.linalg.norm(ours))

    hips, shoulders = middle("hip"), middle("shoulder")
    tall = (shoulders[1] - hips[1])[2] / (shoulders[0] - hips[0])[2]
    stretch = np.diag([size, 0.5 * (width("hip") + width("shoulder")), tall])
    trunk = _Carrier(hips[0], stretch, np.eye(3), hips[1])
    carriers = [trunk] * len(character)
    if "head" in anatomy.body:
        head = origins[anatomy.body["head"]]
        carriers[anatomy.body["head"]] = _Carrier(head, size * np.eye(3), np.eye(3), stretch @ (head - hips[0]) + hips[1])
    for places in anatomy.limbs:
        bodies, joints = [anatomy.body[p] for p in places], [rig.places[p] for p in places]
        for k in range(2):
            bone, theirs = np.array(character.bodies[bodies[k + 1]].offset), stance.bone(joints[k], joints[k + 1])
            along = bone / np.linalg.norm(bone)
            longer = np.linalg.norm(theirs) / np.linalg.norm(bone)
            shape = size * np.eye(3) + (longer - size) * np.outer(along, along)
            turn = shortest_turn(torch.as_tensor(bone).double(), torch.as_tensor(theirs)).double().numpy()
            carriers[bodies[k]] = _Carrier(origins[bodies[k]], shape, turn, stance.pos[joints[k]])
        end = _Carrier(origins[bodies[2]], size * np.eye(3), carriers[bodies[1]].turn, stance.pos[joints[2]])
        carriers[bodies[2]] = end
        side, part = places[2].split("_")
        if part == "ankle":
            c, s = np.cos(stance.foot_yaw[side]), np.sin(stance.foot_yaw[side])
            level = np.array([(c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)])
            deep = -stance.sole[side][0, 2] / anatomy.ankle_drop
            carriers[bodies[2]] = end._replace(stretch=np.diag([size, size, deep]), turn=level)
    return carriers


def _nodes(rig: Rig, anatomy: Anatomy, character: Character) -> list[int]:
    """The node that each of our bodies' skin follows."""
    nodes = [rig.chest] * len(character)
    nodes[0] = rig.pelvis
    for place, body in anatomy.body.items():
        if place in rig.places and place not in ("pelvis", "spine", "chest"):
            nodes[body] = rig.places[place]
    return nodes


def _share_along(nodes: Array, chain: list[int], pos: Array, points: Array) -> None:
    """Give the skin of the last joint of a chain to those below it by height, each from its own height on."""
    if len(chain) < 2:
        return
    heights = np.maximum.accumulate(pos[chain, 2])
    place = np.interp(points[:, 2], heights + 1e-6 * np.arange(len(chain)), np.arange(len(chain), dtype=float))
    carried = nodes[:, chain[-1]].copy()
    nodes[:, chain[-1]] = 0.0
    for k, joint in enumerate(chain):
        nodes[:, joint] += carried * np.clip(1.0 - np.abs(place - k), 0.0, 1.0)


def _normals(points: Array, faces: NDArray[np.int64]) -> Array:
    """[V, 3] of the faces around each vertex."""
    a, b, c = (points[faces[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    total = np.stack([np.bincount(faces.ravel(), np.repeat(across[:, k], 3), len(points)) for k in range(3)], -1)
    return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-12)
