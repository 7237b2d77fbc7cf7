"""A motion of a rig as GLB: the file it came from with its meshes, materials and skins kept and its animations replaced by ours,
or a skeleton of its own with the mannequin on it.

Of a file everything is kept but the animations and the numbers that only they use. Extensions that may point at numbers in ways
this program does not know keep all of them. The terrain is added as a mesh of its own, in the size of the rig's world.
"""

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.convert.body_mesh import one_sign
from parc.dataset.convert.glb_format import (
    BODY_COLOUR,
    TERRAIN_COLOUR,
    flat_normals,
    index_array,
    plain_material,
    skin_attributes,
)
from parc.dataset.convert.gltf_buffer import GltfBuffer
from parc.dataset.convert.gltf_document import GltfDocument
from parc.mocap.read.gltf_take import PLACE_OF_BONE
from parc.rig.retarget_onto_rig import RigMotion
from parc.rig.rig_files import LoadedRig
from parc.rig.rig_skeleton import Rig
from parc.rig.rig_skin import mannequin_on
from parc.terrain.triangle_mesh import terrain_mesh

_POINTS_NOWHERE = ("KHR_materials_", "KHR_texture_", "KHR_lights_", "KHR_mesh_quantization", "EXT_texture_", "VRM")
"""beginnings of the names of extensions that do not point at accessors"""
_STILL = 1e-6
"""rotations nearer to the rest pose than this (1 - |cos| of half the angle) get no track"""


def rig_glb(loaded: LoadedRig, motion: RigMotion, clip: Clip, character: Character) -> bytes:
    """A clip's motion on a rig; the character is needed for the mannequin of a rig without a skin."""
    if loaded.scene is not None:
        document, buffer = without_animations(loaded.scene.document)
    else:
        document, buffer = _bare(motion.rig, character)
    _add_terrain(document, buffer, motion, clip)
    document["animations"] = [_animation(document["nodes"], buffer, motion, clip)]
    if motion.rig.name == "vrm":
        _say_humanoid(document, motion.rig)
    document["asset"] = {**document.get("asset", {}), "version": "2.0", "generator": "parc"}
    return buffer.glb(document)


def without_animations(source: GltfDocument) -> tuple[dict[str, Any], GltfBuffer]:
    """A document's copy without animations, and one buffer with what the rest of it uses."""
    document = copy.deepcopy(source.json)
    for key in ("animations", "accessors", "bufferViews", "buffers"):
        document.pop(key, None)
    accessors, views = copy.deepcopy(source.entries("accessors")), copy.deepcopy(source.entries("bufferViews"))
    used = document.get("extensionsUsed", [])
    if all(str(name).startswith(_POINTS_NOWHERE) for name in used):
        accessors, views = _only_used(source, document, accessors, views)
    data = bytearray()
    for view in views:
        part = source.view_bytes(view)
        data += bytes(-len(data) % 8)
        view["buffer"], view["byteOffset"] = 0, len(data)
        data += part
    return document, GltfBuffer(bytes(data), views, accessors)


def _only_used(
    source: GltfDocument, document: dict[str, Any], accessors: list[dict[str, Any]], views: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The accessors that meshes and skins point at and the views behind them and behind images, numbered anew."""
    holders: list[tuple[Any, Any]] = []
    for mesh in document.get("meshes", []):
        for primitive in mesh.get("primitives", []):
            holders += [(table, key) for table in (primitive["attributes"], *primitive.get("targets", [])) for key in table]
            holders += [(primitive, "indices")] if "indices" in primitive else []
    holders += [(skin, "inverseBindMatrices") for skin in document.get("skins", []) if "inverseBindMatrices" in skin]
    kept = _renumbered(source, "accessors", holders)
    accessors = [accessors[index] for index in kept]
    holders = [(accessor, "bufferView") for accessor in accessors if "bufferView" in accessor]
    sparse = [accessor["sparse"][part] for accessor in accessors if "sparse" in accessor for part in ("indices", "values")]
    holders += [(part, "bufferView") for part in sparse]
    holders += [(image, "bufferView") for image in document.get("images", []) if "bufferView" in image]
    return accessors, [views[index] for index in _renumbered(source, "bufferViews", holders)]


def _renumbered(source: GltfDocument, key: str, holders: list[tuple[Any, Any]]) -> list[int]:
    """Make what points into a list point into the part of it that is used; returns which entries that are."""
    kept = sorted({source.index(key, holder[name]) for holder, name in holders})
    row = {index: i for i, index in enumerate(kept)}
    for holder, name in holders:
        holder[name] = row[holder[name]]
    return kept


def _bare(rig: Rig, character: Character) -> tuple[dict[str, Any], GltfBuffer]:
    """A skeleton with the mannequin on it."""
    buffer, skin, rest, count = GltfBuffer(), mannequin_on(rig, character), rig.reference, len(rig.joints)
    nodes: list[dict[str, Any]] = []
    for joint, name in enumerate(rig.joints):
        place = {"translation": rest.translation[joint].tolist(), "rotation": rest.rotation[joint].tolist()}
        children = [child for child, parent in enumerate(rig.parents) if parent == joint]
        nodes.append({"name": name, **place, **({"children": children} if children else {})})
    attributes = skin_attributes(buffer, skin.points, skin.normals, skin.joints, skin.weights, count)
    indices = buffer.add(index_array(skin.faces, len(skin.points)), "index")
    inverse = np.linalg.inv(rig.world).astype(np.float32)
    inverse[:, 3] = (0.0, 0.0, 0.0, 1.0)
    roots = [joint for joint, parent in enumerate(rig.parents) if parent < 0]
    document = {
        "scene": 0,
        "scenes": [{"nodes": [*roots, count]}],
        "nodes": [*nodes, {"name": "mannequin", "mesh": 0, "skin": 0}],
        "meshes": [{"name": "mannequin", "primitives": [{"attributes": attributes, "indices": indices, "material": 0}]}],
        "materials": [plain_material("body", BODY_COLOUR, 0.5)],
        "skins": [{"joints": list(range(count)), "inverseBindMatrices": buffer.add(inverse)}],
    }
    return document, buffer


def _add_terrain(document: dict[str, Any], buffer: GltfBuffer, motion: RigMotion, clip: Clip) -> None:
    vertices, faces = terrain_mesh(clip.terrain.to("cpu"))
    turn = motion.rig.to_z_up
    attributes = {
        "POSITION": buffer.add((motion.size * vertices.astype(np.float64) @ turn).astype(np.float32), "vertex"),
        "NORMAL": buffer.add((flat_normals(vertices, faces) @ turn).astype(np.float32), "vertex"),
    }
    indices = buffer.add(index_array(faces, len(vertices)), "index")
    materials, meshes, nodes = (document.setdefault(key, []) for key in ("materials", "meshes", "nodes"))
    primitive = {"attributes": attributes, "indices": indices, "material": len(materials)}
    materials.append(plain_material("terrain", TERRAIN_COLOUR, 0.95))
    nodes.append({"name": "terrain", "mesh": len(meshes)})
    meshes.append({"name": "terrain", "primitives": [primitive]})
    scenes = document.setdefault("scenes", [])
    if not scenes:
        below = {child for node in nodes for child in node.get("children", [])}
        scenes.append({"nodes": [i for i in range(len(nodes) - 1) if i not in below]})
    shown = document.setdefault("scene", 0)
    scenes[shown if type(shown) is int and 0 <= shown < len(scenes) else 0].setdefault("nodes", []).append(len(nodes) - 1)


def _animation(nodes: list[dict[str, Any]], buffer: GltfBuffer, motion: RigMotion, clip: Clip) -> dict[str, Any]:
    rig, rest = motion.rig, motion.rig.reference
    times = buffer.add((np.arange(len(motion.turns)) / motion.fps).astype(np.float32))
    turns = one_sign(motion.turns).astype(np.float32)
    tracks: list[tuple[int, str, NDArray]] = []
    for joint, place in motion.places.items():
        tracks.append((joint, "translation", place.astype(np.float32)))
    for joint in rig.order:
        moves = 1.0 - np.abs(motion.turns[:, joint] @ rest.rotation[joint]) > _STILL
        if joint in motion.places or moves.any():
            tracks.append((joint, "rotation", np.ascontiguousarray(turns[:, joint])))
    for joint in {joint for joint, _, _ in tracks} if any("matrix" in node for node in nodes) else ():
        node = nodes[joint]
        if node.pop("matrix", None) is not None:  # what is animated must not have a matrix
            node |= {key: values[joint].tolist() for key, values in rest._asdict().items()}
    return {
        "name": clip.name or "motion",
        "samplers": [{"input": times, "output": buffer.add(values), "interpolation": "LINEAR"} for _, _, values in tracks],
        "channels": [{"sampler": i, "target": {"node": node, "path": path}} for i, (node, path, _) in enumerate(tracks)],
        "extras": {"fps": motion.fps, "loops": clip.motion.loops},
    }


def _say_humanoid(document: dict[str, Any], rig: Rig) -> None:
    """What makes the file an animation for VRM avatars (VRMC_vrm_animation 1.0, .vrma)."""
    bones = {name: {"node": joint} for joint, name in enumerate(rig.joints) if name in PLACE_OF_BONE or name in _MORE_BONES}
    document["extensionsUsed"] = ["VRMC_vrm_animation"]
    document["extensions"] = {"VRMC_vrm_animation": {"specVersion": "1.0", "humanoid": {"humanBones": bones}}}


_MORE_BONES = ("chest", "leftShoulder", "rightShoulder")
