"""GLB: a file parsed by hand, skinned by hand, has its surface where forward kinematics puts it; Khronos' validator agrees."""

import json
import shutil
import struct
import subprocess
from dataclasses import replace

import numpy as np
import pytest
import torch

from parc.character import Box, Capsule, rotation
from parc.character.mannequin import mannequin
from parc.dataset import save_clip
from parc.dataset.convert.body_mesh import body_mesh, one_sign
from parc.dataset.convert.glb_format import index_array, write_glb
from parc.dataset.convert.gltf_buffer import GltfBuffer
from parc.dataset.convert.y_up_axes import from_y_up, to_y_up
from parc.errors import CharacterError, FormatError
from parc.terrain import terrain_mesh

torch.set_num_threads(1)
TYPES = {"SCALAR": (), "VEC3": (3,), "VEC4": (4,), "MAT4": (4, 4)}
COMPONENTS = {5121: "<u1", 5123: "<u2", 5125: "<u4", 5126: "<f4"}


class Glb:
    """A reader of the format, from its specification."""

    def __init__(self, data: bytes) -> None:
        magic, version, length = struct.unpack_from("<4sII", data)
        assert (magic, version, length) == (b"glTF", 2, len(data))
        size, kind = struct.unpack_from("<I4s", data, 12)
        assert kind == b"JSON" and size % 4 == 0
        self.json = json.loads(data[20 : 20 + size])
        bin_size, bin_kind = struct.unpack_from("<I4s", data, 20 + size)
        assert bin_kind == b"BIN\0" and bin_size % 4 == 0
        self.bin = data[28 + size :]
        assert len(self.bin) == bin_size == self.json["buffers"][0]["byteLength"]

    def array(self, accessor: int) -> np.ndarray:
        a = self.json["accessors"][accessor]
        view = self.json["bufferViews"][a["bufferView"]]
        dtype, shape = np.dtype(COMPONENTS[a["componentType"]]), (a["count"], *TYPES[a["type"]])
        assert view["byteOffset"] % 4 == 0 and view["byteLength"] == dtype.itemsize * np.prod(shape)
        values = np.frombuffer(self.bin, dtype, int(np.prod(shape)), view["byteOffset"]).reshape(shape)
        return values.transpose(0, 2, 1) if a["type"] == "MAT4" else values

    def attribute(self, mesh: int, name: str) -> np.ndarray:
        return self.array(self.json["meshes"][mesh]["primitives"][0]["attributes"][name])

    def triangles(self, mesh: int) -> np.ndarray:
        return self.array(self.json["meshes"][mesh]["primitives"][0]["indices"]).reshape(-1, 3).astype(int)

    def tracks(self) -> dict[tuple[int, str], np.ndarray]:
        animation = self.json["animations"][0]
        return {
            (c["target"]["node"], c["target"]["path"]): self.array(animation["samplers"][c["sampler"]]["output"])
            for c in animation["channels"]
        }

    def world(self, frame: int | None) -> np.ndarray:
        """World matrices [N, 4, 4] of all nodes; None: the node transforms themselves, without the animation."""
        nodes, tracks = self.json["nodes"], self.tracks() if frame is not None else {}
        world = np.zeros((len(nodes), 4, 4))

        def visit(node: int, parent: np.ndarray) -> None:
            own = np.eye(4)
            own[:3, 3] = (
                tracks[node, "translation"][frame] if (node, "translation") in tracks else nodes[node].get("translation", 0)
            )
            if (node, "rotation") in tracks:
                own[:3, :3] = rotation.to_matrix(torch.tensor(tracks[node, "rotation"][frame], dtype=torch.float64)).numpy()
            world[node] = parent @ own
            for child in nodes[node].get("children", []):
                visit(child, world[node])

        for root in self.json["scenes"][0]["nodes"]:
            visit(root, np.eye(4))
        return world

    def skinned(self, frame: int | None) -> np.ndarray:
        skin = self.json["skins"][0]
        matrices = self.world(frame)[skin["joints"]] @ self.array(skin["inverseBindMatrices"])
        joints, weights = self.attribute(0, "JOINTS_0"), self.attribute(0, "WEIGHTS_0")
        blended = np.einsum("vk,vkij->vij", weights, matrices[joints])
        points = np.concatenate([self.attribute(0, "POSITION"), np.ones((len(joints), 1))], 1)
        return np.einsum("vij,vj->vi", blended, points)[:, :3]


def distance_to(shape, points: np.ndarray) -> np.ndarray:
    """Unsigned distance [N] of points [N, 3] to a shape's surface, from its definition."""
    if isinstance(shape, Box):
        q = torch.tensor(shape.rotation, dtype=torch.float64)
        local = rotation.rotate(rotation.conjugate(q), torch.from_numpy(points - np.array(shape.centre))).numpy()
        over = np.abs(local) - np.array(shape.half)
        return np.abs(np.linalg.norm(over.clip(0), axis=1) + np.minimum(over.max(1), 0))
    a, b = (np.array(p, float) for p in ((shape.start, shape.end) if isinstance(shape, Capsule) else (shape.centre,) * 2))
    along = (((points - a) @ (b - a)) / max((b - a) @ (b - a), 1e-12)).clip(0, 1)
    return np.abs(np.linalg.norm(points - a - along[:, None] * (b - a), axis=1) - shape.radius)


@pytest.fixture
def clip(make_clip):
    return make_clip("jump", 4, frames=20)


@pytest.fixture
def glb(clip, character):
    return Glb(write_glb(clip, character, "capsules"))


def test_skinned_by_hand_the_surface_is_where_kinematics_puts_it(glb, clip, character):
    poses, owner = clip.motion.body_poses(character), glb.attribute(0, "JOINTS_0")[:, 0]
    for frame in (0, 7, 19):
        points = from_y_up(glb.skinned(frame))
        for b, body in enumerate(character.bodies):
            turn, place = poses.rot[frame, b].double(), poses.pos[frame, b].double()
            local = rotation.rotate(rotation.conjugate(turn), torch.from_numpy(points[owner == b]) - place).numpy()
            off = np.min([distance_to(shape, local) for shape in body.shapes], 0)
            assert off.max() < 1e-4, body.name
            for shape in body.shapes:
                assert (distance_to(shape, local) < 1e-4).sum() >= 8, f"all shapes of {body.name} are drawn"


def test_vertices_follow_their_bodies(glb, clip, character):
    mesh, poses = body_mesh(character), clip.motion.body_poses(character)
    for frame in (3, 11):
        turn, place = poses.rot[frame].double()[mesh.body], poses.pos[frame].double()[mesh.body]
        expected = place + rotation.rotate(turn, torch.from_numpy(mesh.points))
        assert np.abs(from_y_up(glb.skinned(frame)) - expected.numpy()).max() < 1e-5


def test_the_mannequin_is_skinned_as_kinematics_poses_it(clip, character):
    """An independent skinning of the file agrees with the mannequin posed by the bodies."""
    glb, worn, poses = Glb(write_glb(clip, character)), mannequin(character), clip.motion.body_poses(character)
    assert np.allclose(glb.attribute(0, "WEIGHTS_0").sum(1), 1, atol=1e-5)
    for frame in (0, 11):
        expected = worn.posed(poses.pos[frame].double().numpy(), rotation.to_matrix(poses.rot[frame].double()).numpy())
        assert np.abs(from_y_up(glb.skinned(frame)) - expected).max() < 1e-4


def test_at_rest_the_mesh_stands_as_it_is_bound(glb, clip, character):
    assert np.abs(glb.skinned(None) - glb.attribute(0, "POSITION")).max() < 1e-6
    assert np.allclose(glb.world(None)[0, :3, 3], to_y_up(clip.motion.root_pos[0].numpy()), atol=1e-6)


def test_the_body_mesh_is_closed_and_faces_outwards(character):
    mesh = body_mesh(character)
    a, b, c = (mesh.points[mesh.triangles[:, k]] for k in range(3))
    facing = np.einsum("fi,fki->fk", np.cross(b - a, c - a), mesh.normals[mesh.triangles])
    assert facing.min() > 0 and np.allclose(np.linalg.norm(mesh.normals, axis=1), 1)
    assert (mesh.body[mesh.triangles] == mesh.body[mesh.triangles[:, :1]]).all()
    for i, body in enumerate(character.bodies):
        mine = mesh.body[mesh.triangles[:, 0]] == i
        volume = np.einsum("fi,fi->f", a[mine], np.cross(b[mine], c[mine])).sum() / 6
        assert volume == pytest.approx(sum(s.volume for s in body.shapes), rel=0.06)
        assert volume <= sum(s.volume for s in body.shapes) + 1e-9


def test_times_and_tracks(glb, clip, character):
    animation, tracks = glb.json["animations"][0], glb.tracks()
    assert set(tracks) == {(0, "translation"), *((b, "rotation") for b in range(15))}
    inputs = {s["input"] for s in animation["samplers"]}
    assert len(inputs) == 1 and {s["interpolation"] for s in animation["samplers"]} == {"LINEAR"}
    assert np.array_equal(glb.array(inputs.pop()), (np.arange(20) / 30).astype(np.float32))
    for (_, path), values in tracks.items():
        if path == "rotation":
            assert np.allclose(np.linalg.norm(values, axis=1), 1, atol=1e-6)
            assert (values[1:] * values[:-1]).sum(1).min() >= 0, "the short way from frame to frame"


def test_sign_changes_in_the_motion_do_not_show(clip, character):
    signs = torch.ones(20, 1)
    signs[::3] = -1
    m = clip.motion
    flipped = replace(clip, motion=replace(m, root_rot=m.root_rot * signs, joint_rot=m.joint_rot * signs.unsqueeze(-1)))
    one, two = (Glb(write_glb(c, character, "capsules")).tracks() for c in (clip, flipped))
    assert all(np.allclose(one[key], two[key]) or np.allclose(one[key], -two[key]) for key in one)
    q = one_sign(np.array([[0.0, 0, 0, 2], [0, 0, 0, -1], [0, 0, 0, -1], [0, 0, 0, 1]]))
    assert np.array_equal(q, np.tile([0.0, 0, 0, 1], (4, 1)))


def test_every_accessor_tells_its_true_bounds(glb):
    for i, accessor in enumerate(glb.json["accessors"]):
        a = glb.json["accessors"][i]
        values = glb.array(i)
        flat = values.transpose(0, 2, 1).reshape(len(values), -1) if values.ndim == 3 else values.reshape(len(values), -1)
        assert accessor["min"] == flat.min(0).tolist() and accessor["max"] == flat.max(0).tolist()
        assert a["count"] == len(values)
    for mesh in range(2):
        assert glb.triangles(mesh).max() == len(glb.attribute(mesh, "POSITION")) - 1


def test_the_terrain_goes_along(glb, clip):
    vertices, faces = terrain_mesh(clip.terrain)
    assert np.allclose(from_y_up(glb.attribute(1, "POSITION")), vertices) and np.array_equal(glb.triangles(1), faces)
    p, n = glb.attribute(1, "POSITION")[glb.triangles(1)], glb.attribute(1, "NORMAL")[glb.triangles(1)]
    face = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    face /= np.linalg.norm(face, axis=1, keepdims=True)
    assert np.allclose(n, face[:, None], atol=1e-4)
    assert "skin" not in glb.json["nodes"][16] and glb.json["meshes"][1]["primitives"][0]["material"] == 1


def test_another_library_reads_it(tmp_path, clip, character):
    import trimesh

    save_clip(clip, tmp_path / "x.glb", character, skin="capsules")
    scene = trimesh.load_scene(tmp_path / "x.glb")
    drawn = {name: (len(g.vertices), len(g.faces)) for name, g in scene.geometry.items()}
    mesh, (vertices, faces) = body_mesh(character), terrain_mesh(clip.terrain)
    assert drawn["terrain"] == (len(vertices), len(faces)) and drawn["humanoid"] == (len(mesh.points), len(mesh.triangles))


def test_large_meshes_take_wide_indices():
    assert index_array(np.arange(3), 65534).dtype == np.uint16 and index_array(np.arange(3), 65535).dtype == np.uint32
    buffer = GltfBuffer()
    buffer.add(np.arange(3, dtype=np.uint16), "index")
    buffer.add(np.arange(16, dtype=np.float32).reshape(1, 4, 4))
    read = Glb(buffer.glb({"asset": {"version": "2.0"}}))
    assert read.array(0).tolist() == [0, 1, 2] and read.array(1)[0].tolist() == np.arange(16).reshape(4, 4).tolist()


def test_nothing_to_draw_and_no_character(tmp_path, clip, character):
    bare = replace(character, bodies=tuple(replace(b, shapes=()) for b in character.bodies))
    with pytest.raises(CharacterError, match="no shapes"):
        write_glb(clip, bare, "capsules")
    with pytest.raises(FormatError, match="unknown skin 'armour'; known are mannequin, capsules"):
        save_clip(clip, tmp_path / "x.glb", character, skin="armour")
    with pytest.raises(FormatError, match=r"writing \.glb needs the character"):
        save_clip(clip, tmp_path / "x.glb")


VALIDATE = """
const validator = require('gltf-validator'), fs = require('fs');
Promise.all(process.argv.slice(1).map(f => validator.validateBytes(new Uint8Array(fs.readFileSync(f)))))
  .then(reports => console.log(JSON.stringify(reports.map(r => r.issues))));
"""


def test_khronos_validator_finds_nothing(tmp_path, make_clip, character):
    if (
        shutil.which("node") is None
        or subprocess.run(["node", "-e", "require('gltf-validator')"], capture_output=True).returncode
    ):
        pytest.skip("node with the package gltf-validator not found (npm install gltf-validator; NODE_PATH names its folder)")
    files = [tmp_path / f"{frames}.glb" for frames in (1, 2, 40)]
    for seed, (file, frames) in enumerate(zip(files, (1, 2, 40), strict=True)):
        save_clip(make_clip("ein Clip – ünïcode", seed, frames=frames), file, character)
    result = subprocess.run(["node", "-e", VALIDATE, *map(str, files)], capture_output=True, text=True, check=True)
    for issues in json.loads(result.stdout):
        assert (issues["numErrors"], issues["numWarnings"], issues["numInfos"]) == (0, 0, 0), issues["messages"]
