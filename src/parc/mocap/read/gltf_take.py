"""Motions of glTF files (.glb, .gltf, .vrm): one animation, moving the joints of the file's skins or plain nodes.

Joints are the nodes of all skins, what the animation moves, and every node above one of these; meshes that hang on them are left
out. A VRM avatar says itself which node is which bone of a human. glTF is in metres with y up.
"""

from pathlib import Path

import numpy as np

from parc.dataset.convert.gltf_document import read_gltf
from parc.dataset.convert.gltf_scene import GltfScene, read_scene
from parc.errors import FormatError
from parc.fit.held_parts import SIDES
from parc.mocap.read.source_motion import SourceMotion

_TRUNK = {"hips": "pelvis", "spine": "spine", "upperChest": "chest", "neck": "neck", "head": "head"}
_LIMBS = {
    "UpperLeg": "hip", "LowerLeg": "knee", "Foot": "ankle", "Toes": "toe", "UpperArm": "shoulder", "LowerArm": "elbow",
    "Hand": "wrist", "MiddleProximal": "finger",
}  # fmt: skip
PLACE_OF_BONE = {**_TRUNK, **{f"{side}{bone}": f"{side}_{place}" for side in SIDES for bone, place in _LIMBS.items()}}
"""{VRM's name of a bone: place of the body}"""


def read_gltf_take(path: Path | str, animation: str | None = None) -> SourceMotion:
    """An animation of a file, by name where it has several."""
    path = Path(path)
    scene = read_scene(read_gltf(path))
    index = _chosen(scene, animation)
    local, fps = scene.animated(index)
    wanted = set(scene.joints) | scene.moved_nodes(index)
    for node in list(wanted):
        while (node := scene.parents[node]) >= 0:
            wanted.add(node)
    kept = [node for node in scene.order if node in wanted]
    world = scene.world(local)[:, kept]
    size = np.linalg.norm(world[..., :3, :3], axis=-2, keepdims=True)
    row = {node: i for i, node in enumerate(kept)}
    return SourceMotion(
        name=scene.animations[index] if animation else path.stem,
        joints=tuple(scene.names[node] for node in kept),
        parents=tuple(row.get(scene.parents[node], -1) for node in kept),
        pos=world[..., :3, 3].copy(),
        fps=fps,
        rot=world[..., :3, :3] / np.maximum(size, 1e-12),
        file=path.name,
        naming=naming_of(scene),
    )


def naming_of(scene: GltfScene) -> dict[str, str]:
    """{place: node} of a VRM avatar; empty for other files."""
    return {PLACE_OF_BONE[bone]: node for bone, node in scene.humanoid.items() if bone in PLACE_OF_BONE}


def _chosen(scene: GltfScene, animation: str | None) -> int:
    names, file = scene.animations, scene.document.name
    listed = ", ".join(names[:60]) + (f" and {len(names) - 60} more" if len(names) > 60 else "")
    if not names:
        raise FormatError(f"{file} has no animation")
    if animation is None and len(names) > 1:
        raise FormatError(f"{file} has {len(names)} animations; name one with --animation: {listed}")
    if animation is not None and animation not in names:
        raise FormatError(f"{file} has no animation '{animation}'; it has {listed}")
    return names.index(animation) if animation else 0
