"""A clip as skinned, animated GLB (glTF 2.0 binary): the body, its motion and the terrain in one file that every viewer opens.

    node 0 .. B-1    the bodies, a tree; node transforms are the zero pose (T-pose), root at its place on the first frame
    node B           the body's mesh and its skin: the mannequin, whose vertices follow up to four bodies with smooth weights,
                     or the body's own shapes, each vertex with one body b, weight 1
    node B+1         the terrain, static
    animation 0      rotation of every body, translation of the root, linear, a key at each frame's time i / fps

At rest every body is aligned with the world, so its inverse bind matrix is a shift by minus its place, and a skinned vertex is
the sum of w_b T_b(t) (v - p_b). World: y up, metres (see `parc.dataset.convert.y_up_axes`). Contacts, path and provenance are
not written.
"""

from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from parc.character.character import Character
from parc.character.mannequin import mannequin
from parc.dataset.clip import Clip
from parc.dataset.convert.body_mesh import body_mesh, one_sign, rest_positions
from parc.dataset.convert.gltf_buffer import GltfBuffer
from parc.dataset.convert.y_up_axes import to_y_up
from parc.errors import FormatError
from parc.motion.motion import Motion
from parc.terrain.terrain import Terrain
from parc.terrain.triangle_mesh import terrain_mesh

BODY_COLOUR = (0.042, 0.174, 0.552)
TERRAIN_COLOUR = (0.687, 0.658, 0.565)
"""linear red, green, blue"""


Skin = Literal["mannequin", "capsules"]


def write_glb(clip: Clip, character: Character, skin: Skin = "mannequin") -> bytes:
    """A clip as the bytes of a GLB file; `skin` is what the body wears."""
    if skin not in ("mannequin", "capsules"):
        raise FormatError(f"unknown skin '{skin}'; known are mannequin, capsules")
    clip.check_fits(character)
    motion, terrain = clip.motion.to("cpu"), clip.terrain.to("cpu")
    buffer, bodies = GltfBuffer(), len(character)
    start = to_y_up(motion.root_pos[0].double().numpy())
    places = start + to_y_up(rest_positions(character))
    inverse_bind = np.tile(np.eye(4, dtype=np.float32), (bodies, 1, 1))
    inverse_bind[:, :3, 3] = -places
    document = {
        "asset": {"version": "2.0", "generator": "parc"},
        "scene": 0,
        "scenes": [{"name": clip.name, "nodes": [0, bodies, bodies + 1]}],
        "nodes": [
            *_body_nodes(character, start),
            {"name": f"{character.name} mesh", "mesh": 0, "skin": 0},
            {"name": "terrain", "mesh": 1},
        ],
        "meshes": [_body_mesh(character, start, skin, buffer), _terrain_primitive(terrain, buffer)],
        "materials": [plain_material("body", BODY_COLOUR, 0.5), plain_material("terrain", TERRAIN_COLOUR, 0.95)],
        "skins": [{"joints": list(range(bodies)), "skeleton": 0, "inverseBindMatrices": buffer.add(inverse_bind)}],
        "animations": [_animation(clip.name, motion, buffer)],
    }
    return buffer.glb(document)


def flat_normals(vertices: NDArray, faces: NDArray) -> NDArray[np.float32]:
    """Normals [V, 3] of a mesh whose faces that share a vertex are coplanar, as `terrain_mesh` makes it."""
    a, b, c = (vertices[faces[:, k]].astype(np.float64) for k in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    normals = np.zeros((len(vertices), 3), np.float32)
    normals[faces] = normal[:, None]
    return normals


def _body_nodes(character: Character, start: NDArray[np.float64]) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = []
    for i, body in enumerate(character.bodies):
        place = to_y_up(np.array(body.offset, float)) if i else start
        node: dict[str, Any] = {"name": body.name, "translation": place.tolist()}
        if children := [child for child, parent in enumerate(character.parents) if parent == i]:
            node["children"] = children
        nodes.append(node)
    return nodes


def _body_mesh(character: Character, start: NDArray[np.float64], skin: Skin, buffer: GltfBuffer) -> dict[str, Any]:
    if skin == "mannequin":
        worn = mannequin(character)
        points, normals, faces, joints, weights = worn.vertices, worn.normals, worn.faces, worn.joints, worn.weights
    else:
        mesh = body_mesh(character)
        points, normals, faces = rest_positions(character)[mesh.body] + mesh.points, mesh.normals, mesh.triangles
        joints = np.pad(mesh.body[:, None], ((0, 0), (0, 3)))
        weights = np.tile([1.0, 0.0, 0.0, 0.0], (len(points), 1))
    attributes = skin_attributes(buffer, start + to_y_up(points), to_y_up(normals), joints, weights, len(character))
    indices = buffer.add(index_array(faces, len(points)), "index")
    return {"name": character.name, "primitives": [{"attributes": attributes, "indices": indices, "material": 0}]}


def skin_attributes(
    buffer: GltfBuffer, points: NDArray, normals: NDArray, joints: NDArray, weights: NDArray, count: int
) -> dict[str, int]:
    """Accessors of a skin's points and normals [V, 3], and of the joints, of `count`, and weights [V, 4] that they follow."""
    joints = np.where(weights > 0, joints, 0).astype(np.uint8 if count <= 256 else np.uint16)
    return {
        "POSITION": buffer.add(points.astype(np.float32), "vertex"),
        "NORMAL": buffer.add(normals.astype(np.float32), "vertex"),
        "JOINTS_0": buffer.add(joints, "vertex"),
        "WEIGHTS_0": buffer.add(weights.astype(np.float32), "vertex"),
    }


def _terrain_primitive(terrain: Terrain, buffer: GltfBuffer) -> dict[str, Any]:
    vertices, faces = terrain_mesh(terrain)
    attributes = {
        "POSITION": buffer.add(to_y_up(vertices), "vertex"),
        "NORMAL": buffer.add(to_y_up(flat_normals(vertices, faces)), "vertex"),
    }
    indices = buffer.add(index_array(faces, len(vertices)), "index")
    return {"name": "terrain", "primitives": [{"attributes": attributes, "indices": indices, "material": 1}]}


def index_array(triangles: NDArray, vertices: int) -> NDArray:
    """Of triangles [F, 3]: flat, in the smallest type; the largest value of a type is reserved."""
    return triangles.ravel().astype(np.uint16 if vertices < 65535 else np.uint32)


def plain_material(name: str, colour: tuple[float, float, float], roughness: float) -> dict[str, Any]:
    """Of one colour, no metal."""
    shading = {"baseColorFactor": [*colour, 1.0], "metallicFactor": 0.0, "roughnessFactor": roughness}
    return {"name": name, "pbrMetallicRoughness": shading}


def _animation(name: str, motion: Motion, buffer: GltfBuffer) -> dict[str, Any]:
    times = buffer.add((np.arange(len(motion)) / motion.fps).astype(np.float32))
    rotations = torch.cat([motion.root_rot.unsqueeze(1), motion.joint_rot], 1).double().numpy()
    turned = to_y_up(one_sign(rotations)).astype(np.float32)
    samplers = [buffer.add(to_y_up(motion.root_pos.double().numpy()).astype(np.float32))]
    samplers += [buffer.add(np.ascontiguousarray(turned[:, body])) for body in range(turned.shape[1])]
    targets = [(0, "translation"), *((body, "rotation") for body in range(turned.shape[1]))]
    return {
        "name": name or "motion",
        "samplers": [{"input": times, "output": values, "interpolation": "LINEAR"} for values in samplers],
        "channels": [{"sampler": i, "target": {"node": node, "path": path}} for i, (node, path) in enumerate(targets)],
        "extras": {"fps": motion.fps, "loops": motion.loops},
    }
