"""Rigs from files: the skeleton of a GLB with the skin that it carries, or of a BVH."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from parc.dataset.convert.bvh_file import Bvh
from parc.dataset.convert.bvh_file import parse_bvh as parse_text
from parc.dataset.convert.gltf_document import SUFFIXES as GLTF_SUFFIXES
from parc.dataset.convert.gltf_document import GltfDocument, read_gltf
from parc.dataset.convert.gltf_scene import GltfScene, Local, read_scene
from parc.dataset.convert.y_up_axes import from_y_up
from parc.errors import FormatError
from parc.fit.held_parts import SIDES
from parc.mocap.read.bvh_take import parse_bvh
from parc.mocap.read.detect_units_and_rate import UP_TO_Z, likely_unit, likely_up
from parc.mocap.read.gltf_take import naming_of
from parc.mocap.read.joint_naming import find_places
from parc.mocap.read.source_motion import SourceMotion
from parc.rig.named_rigs import named_rig
from parc.rig.rig_skeleton import Rig
from parc.run.file_reading import read_bytes, reading

Array = NDArray[np.float64]
_TO_Z_UP = {**UP_TO_Z, "y": from_y_up(np.eye(3)).T}
"""rotations [3, 3]; y-up files have our world as all that we write has it"""


@dataclass(frozen=True, eq=False)
class LoadedRig:
    """A rig and what it came from."""

    rig: Rig
    scene: GltfScene | None = None
    """of a glTF file"""
    bvh: Bvh | None = None


def load_rig(name: str, naming: Mapping[str, str] | None = None) -> LoadedRig:
    """A named rig, or that of a file; `naming` is {place: joint} where a file's names do not tell."""
    path = Path(name)
    suffix = path.suffix.lower()
    if suffix in GLTF_SUFFIXES:
        with reading(path.name, f"{suffix} file"):
            return _of_scene(read_scene(read_gltf(path)), naming)
    if suffix == ".bvh":
        with reading(path.name, ".bvh file"):
            return _of_bvh(path, naming)
    return LoadedRig(named_rig(name))


def _of_scene(scene: GltfScene, naming: Mapping[str, str] | None) -> LoadedRig:
    name = scene.document.name
    # Only nodes of skins are bones, where there are skins: a mesh may be called as a limb is.
    bones = sorted({above for joint in scene.joints for above in _line(scene, joint)}) or list(range(len(scene.names)))
    names = [scene.names[bone] for bone in bones]
    places = {place: bones[row] for place, row in find_places(names, {**naming_of(scene), **(naming or {})}, name).items()}
    at = scene.world(scene.rest)[:, :3, 3]
    unit = likely_unit(_leg(at, places))
    feet: dict[str, Array | None] = {side: _foot_skin(scene, places[f"{side}_ankle"]) for side in SIDES}
    rig = Rig(
        name, scene.names, scene.parents, scene.order, scene.rest, places, _TO_Z_UP["y"],
        unit=unit if unit in (1.0, 0.01) else 1.0, bones=frozenset(scene.joints), sole_points=feet,
    )  # fmt: skip
    return LoadedRig(rig, scene=scene)


def _of_bvh(path: Path, naming: Mapping[str, str] | None) -> LoadedRig:
    """The zero pose if it stands upright, else the pose of the first frame."""
    try:
        text = read_bytes(path).decode()
    except UnicodeDecodeError:
        raise FormatError(f"{path.name} is not a text file") from None
    bvh, source = parse_text(text, path.name), parse_bvh(text, path.name)
    places = source.places(naming)
    up, first = likely_up(source, places), _first_frame(source)
    zero = Local(_offsets(source), np.tile([0.0, 0.0, 0.0, 1.0], (len(source.joints), 1)), np.ones((len(source.joints), 3)))
    rigs = [
        Rig(path.name, source.joints, source.parents, tuple(range(len(source.joints))), pose, places, _TO_Z_UP[up],
            likely_unit(_leg(source.pos[0], places)), frozenset(range(len(source.joints))), {})
        for pose in (zero, first)
    ]  # fmt: skip
    try:
        _ = rigs[0].stance
    except FormatError:
        return LoadedRig(rigs[1], bvh=bvh)
    return LoadedRig(rigs[0], bvh=bvh)


def _offsets(source: SourceMotion) -> Array:
    """[J, 3] from the parents, in their frames."""
    assert source.rot is not None
    parents = np.array(source.parents)
    away = source.pos[0] - np.where(parents[:, None] >= 0, source.pos[0, np.maximum(parents, 0)], 0.0)
    turns = np.where(parents[:, None, None] >= 0, source.rot[0, np.maximum(parents, 0)], np.eye(3))
    return np.einsum("jki,jk->ji", turns, away)


def _first_frame(source: SourceMotion) -> Local:
    assert source.rot is not None
    parents = np.array(source.parents)
    above = np.where(parents[:, None, None] >= 0, source.rot[0, np.maximum(parents, 0)], np.eye(3))
    turns = Rotation.from_matrix(above.transpose(0, 2, 1) @ source.rot[0]).as_quat()
    return Local(_offsets(source), turns, np.ones((len(parents), 3)))


def _leg(at: Array, places: dict[str, int]) -> float:
    pairs = [(f"{s}_{a}", f"{s}_{b}") for s in SIDES for a, b in (("hip", "knee"), ("knee", "ankle"))]
    leg = 0.5 * float(sum(np.linalg.norm(at[places[a]] - at[places[b]]) for a, b in pairs))
    if leg < 1e-9:
        raise FormatError("the rig's legs have no length")
    return leg


def _line(scene: GltfScene, joint: int) -> list[int]:
    line = []
    while joint >= 0:
        line.append(joint)
        joint = scene.parents[joint]
    return line


def _foot_skin(scene: GltfScene, ankle: int) -> Array | None:
    """[P, 3] skin that follows a foot most, at rest in the file's world; None where it cannot be read."""
    document = scene.document
    world, foot = scene.world(scene.rest), {node for node in scene.order if ankle in _line(scene, node)}
    found = []
    for node in document.entries("nodes"):
        if "skin" not in node or "mesh" not in node:
            continue
        try:
            skin = document.entry("skins", node["skin"])
            joints = np.array([document.index("nodes", j) for j in skin["joints"]])
            binds = document.array(skin["inverseBindMatrices"])
            parts = document.entry("meshes", node["mesh"]).get("primitives", [])
            own, matrices = np.isin(joints, list(foot)), world[joints] @ binds
            found += [_followers(document, part["attributes"], matrices, own) for part in parts]
        except (FormatError, KeyError, TypeError, IndexError):
            continue  # compressed or incomplete: the joints alone must tell
    points = np.concatenate(found) if found else np.zeros((0, 3))
    return points if len(points) else None


def _followers(document: GltfDocument, attributes: dict[str, int], matrices: Array, own: NDArray[np.bool_]) -> Array:
    points = document.array(attributes["POSITION"]).astype(np.float64)
    joints, weights = document.array(attributes["JOINTS_0"]), document.array(attributes["WEIGHTS_0"]).astype(np.float64)
    mine = (own[joints] * weights).sum(1) > 0.5 * weights.sum(1)
    blended = np.einsum("vk,vkij->vij", weights[mine], matrices[joints[mine]])
    return np.einsum("vij,vj->vi", blended[:, :3, :3], points[mine]) + blended[:, :3, 3]
