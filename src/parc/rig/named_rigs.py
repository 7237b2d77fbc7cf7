"""Skeletons that many programs know by name: the names of their bones, what hangs on what, and a grown person's proportions.

    mixamo    mixamorig:Hips ..        T-pose     what Mixamo, and Unity's and Blender's importers of it, expect
    unreal    root, pelvis, spine_01   A-pose     the names of Unreal's mannequin of version 5
    vrm       hips, spine, chest ..    T-pose     VRM's humanoid bones

Names and trees are those programs' conventions; the places of the joints are written here, in metres, y up, facing +z, standing
at height 0. Every node is aligned with the world at rest.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from parc.dataset.convert.gltf_scene import Local
from parc.dataset.convert.y_up_axes import from_y_up
from parc.errors import FormatError
from parc.fit.held_parts import SIDES
from parc.mocap.read.gltf_take import PLACE_OF_BONE
from parc.mocap.read.joint_naming import find_places
from parc.rig.rig_skeleton import Rig


class _Bone(NamedTuple):
    parent: str
    at: tuple[float, float, float]
    """m: to the left, up, forward"""


_TRUNK = {
    "hips": ("", (0.0, 0.975, 0.0)), "spine": ("hips", (0.0, 1.075, 0.0)), "chest": ("spine", (0.0, 1.2, 0.0)),
    "upperChest": ("chest", (0.0, 1.325, -0.01)), "neck": ("upperChest", (0.0, 1.49, -0.015)),
    "head": ("neck", (0.0, 1.585, 0.01)),
}  # fmt: skip
_SIDE = {
    "Shoulder": ("upperChest", (0.045, 1.43, -0.01)), "UpperArm": ("Shoulder", (0.18, 1.43, -0.03)),
    "LowerArm": ("UpperArm", (0.46, 1.43, -0.035)), "Hand": ("LowerArm", (0.715, 1.43, -0.03)),
    "UpperLeg": ("hips", (0.092, 0.935, 0.0)), "LowerLeg": ("UpperLeg", (0.092, 0.505, 0.008)),
    "Foot": ("LowerLeg", (0.092, 0.085, -0.02)), "Toes": ("Foot", (0.092, 0.02, 0.115)),
}  # fmt: skip
_FINGERS = {
    "Thumb": ((0.03, -0.01, 0.03), (0.035, 0.028, 0.022)), "Index": ((0.095, 0.0, 0.025), (0.036, 0.024, 0.02)),
    "Middle": ((0.098, 0.0, 0.003), (0.04, 0.027, 0.02)), "Ring": ((0.093, 0.0, -0.018), (0.036, 0.025, 0.02)),
    "Little": ((0.085, -0.002, -0.038), (0.03, 0.02, 0.018)),
}  # fmt: skip
"""from the wrist to the knuckle, and lengths of the bones, m"""
_KNUCKLES = ("Proximal", "Intermediate", "Distal")
_THUMB = ("Metacarpal", "Proximal", "Distal")


def _person() -> dict[str, _Bone]:
    """VRM's bones in a T-pose."""
    bones = {name: _Bone(parent, at) for name, (parent, at) in _TRUNK.items()}
    for side in SIDES:
        sign = 1.0 if side == "left" else -1.0
        for name, (parent, (x, y, z)) in _SIDE.items():
            bones[f"{side}{name}"] = _Bone(parent if parent in _TRUNK else f"{side}{parent}", (sign * x, y, z))
        for finger, (knuckle, lengths) in _FINGERS.items():
            place, parent = np.array(_SIDE["Hand"][1]) + knuckle, f"{side}Hand"
            for part, length in zip(_THUMB if finger == "Thumb" else _KNUCKLES, lengths, strict=True):
                bones[f"{side}{finger}{part}"] = _Bone(parent, (sign * place[0], place[1], place[2]))
                parent, place = f"{side}{finger}{part}", place + (length, 0.0, 0.0)
    return bones


def _lowered(bones: Mapping[str, _Bone], degrees: float) -> dict[str, _Bone]:
    """An A-pose: both arms turned down about the shoulders."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    result = dict(bones)
    for side in SIDES:
        sign, arm = (1.0 if side == "left" else -1.0), {f"{side}UpperArm"}
        pivot = bones[f"{side}UpperArm"].at
        for name, bone in bones.items():
            if bone.parent in arm:
                arm.add(name)
                x, y = sign * (bone.at[0] - pivot[0]), bone.at[1] - pivot[1]
                result[name] = _Bone(bone.parent, (pivot[0] + sign * (c * x + s * y), pivot[1] + c * y - s * x, bone.at[2]))
    return result


def _renamed(bones: Mapping[str, _Bone], called: Callable[[str, str], str]) -> dict[str, _Bone]:
    """With other names, from (side or '', VRM's name without it)."""

    def name(bone: str) -> str:
        side = next((side for side in SIDES if bone.startswith(side)), "")
        return called(side, bone.removeprefix(side)) if bone else ""

    return {name(bone): _Bone(name(parent), at) for bone, (parent, at) in bones.items()}


_MIXAMO = {
    "hips": "Hips", "spine": "Spine", "chest": "Spine1", "upperChest": "Spine2", "neck": "Neck", "head": "Head",
    "Shoulder": "Shoulder", "UpperArm": "Arm", "LowerArm": "ForeArm", "Hand": "Hand", "UpperLeg": "UpLeg", "LowerLeg": "Leg",
    "Foot": "Foot", "Toes": "ToeBase",
    **{f"{finger}{part}": f"Hand{'Pinky' if finger == 'Little' else finger}{k}" for finger in _FINGERS
       for k, part in enumerate(_THUMB if finger == "Thumb" else _KNUCKLES, 1)},
}  # fmt: skip
_UNREAL = {
    "hips": "pelvis", "spine": "spine_01", "chest": "spine_02", "upperChest": "spine_05", "neck": "neck_01", "head": "head",
    "Shoulder": "clavicle", "UpperArm": "upperarm", "LowerArm": "lowerarm", "Hand": "hand", "UpperLeg": "thigh",
    "LowerLeg": "calf", "Foot": "foot", "Toes": "ball",
    **{f"{finger}{part}": f"{'pinky' if finger == 'Little' else finger.lower()}_0{k}" for finger in _FINGERS
       for k, part in enumerate(_THUMB if finger == "Thumb" else _KNUCKLES, 1)},
}  # fmt: skip


def _mixamo() -> dict[str, _Bone]:
    return _renamed(_person(), lambda side, bone: f"mixamorig:{side.capitalize()}{_MIXAMO[bone]}")


def _unreal() -> dict[str, _Bone]:
    bones = _renamed(_lowered(_person(), 45.0), lambda side, bone: _UNREAL[bone] + (f"_{side[0]}" if side else ""))
    bones["pelvis"] = bones["pelvis"]._replace(parent="root")
    bones["spine_03"], bones["spine_04"] = _Bone("spine_02", (0.0, 1.24, 0.0)), _Bone("spine_03", (0.0, 1.285, 0.0))
    bones["spine_05"] = bones["spine_05"]._replace(parent="spine_04")
    bones["neck_02"], bones["head"] = _Bone("neck_01", (0.0, 1.54, 0.0)), bones["head"]._replace(parent="neck_02")
    return {"root": _Bone("", (0.0, 0.0, 0.0)), **bones}


NAMED_RIGS: dict[str, Callable[[], dict[str, _Bone]]] = {"mixamo": _mixamo, "unreal": _unreal, "vrm": _person}


def named_rig(name: str) -> Rig:
    """One of `NAMED_RIGS`."""
    if name not in NAMED_RIGS:
        raise FormatError(
            f"'{name}' is no rig; expected {', '.join(NAMED_RIGS)}, or a file that ends in .glb, .gltf, .vrm or .bvh"
        )
    bones = NAMED_RIGS[name]()
    listed = _parents_first(bones)
    parents = tuple(listed.index(bones[bone].parent) if bones[bone].parent else -1 for bone in listed)
    at = np.array([bones[bone].at for bone in listed])
    local = at - np.where(np.array(parents)[:, None] >= 0, at[np.maximum(parents, 0)], 0.0)
    unit = np.tile([0.0, 0.0, 0.0, 1.0], (len(listed), 1))
    own = {PLACE_OF_BONE[bone]: bone for bone in listed if bone in PLACE_OF_BONE}
    return Rig(
        name=name,
        joints=tuple(listed),
        parents=parents,
        order=tuple(range(len(listed))),
        reference=Local(local, unit, np.ones_like(local)),
        places=find_places(listed, own, name),
        to_z_up=from_y_up(np.eye(3)).T,
        unit=1.0,
        bones=frozenset(range(len(listed))),
        sole_points={},
    )


def _parents_first(bones: Mapping[str, _Bone]) -> list[str]:
    listed: list[str] = []
    while len(listed) < len(bones):
        listed += [name for name, bone in bones.items() if name not in listed and (not bone.parent or bone.parent in listed)]
    return listed
