"""Files of rigs: the skin is kept and follows, the animations are ours, other programs read them, bad ones end in a sentence."""

import base64
import json
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.rig.foreign_rig import bones, foreign_glb
from tests.rig.gltf_oracle import Maker, Oracle, packed

from parc.character import Character
from parc.dataset.clip import Clip
from parc.dataset.convert.gltf_document import GltfDocument
from parc.dataset.convert.gltf_scene import read_scene
from parc.errors import FormatError
from parc.mocap import ReadSettings, read_source
from parc.rig import convert_onto_rig
from parc.rig.rig_files import load_rig

torch.set_num_threads(1)
FRAMES = 20


@pytest.fixture(scope="module")
def hero(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hero") / "hero.glb"
    path.write_bytes(foreign_glb()[0])
    return path


@pytest.fixture(scope="module")
def short(climb: Clip) -> Clip:
    return replace(climb, motion=climb.motion.slice(40, 40 + FRAMES))


@pytest.fixture(scope="module")
def played(hero: Path, short: Clip, character: Character) -> Oracle:
    convert_onto_rig(short, str(hero), hero.parent / "out.glb", character)
    return Oracle((hero.parent / "out.glb").read_bytes())


def test_the_skin_is_kept_and_the_animations_are_ours(hero: Path, played: Oracle, short: Clip) -> None:
    before = Oracle(hero.read_bytes())
    assert [a["name"] for a in before.json["animations"]] == ["Nod", "Shake"]
    assert [a["name"] for a in played.json["animations"]] == [short.name]
    assert played.json["materials"][0] == before.json["materials"][0]
    for name, accessor in before.json["meshes"][0]["primitives"][0]["attributes"].items():
        kept = played.json["meshes"][0]["primitives"][0]["attributes"][name]
        assert np.array_equal(played.array(kept), before.array(accessor)), name
    binds = [o.array(o.json["skins"][0]["inverseBindMatrices"]) for o in (before, played)]
    assert np.array_equal(*binds) and before.json["skins"][0]["joints"] == played.json["skins"][0]["joints"]
    assert np.allclose(before.skinned(None), played.skinned(None)), "at rest it stands as it stood"
    times = played.array(played.json["animations"][0]["samplers"][0]["input"])
    assert np.allclose(times, np.arange(FRAMES) / 30, atol=1e-6)


def test_numbers_of_the_old_animations_are_gone(hero: Path, played: Oracle) -> None:
    before = Oracle(hero.read_bytes())
    old = {s[k] for a in before.json["animations"] for s in a["samplers"] for k in ("input", "output")}
    terrain, tracks = 3, 1 + len(played.json["animations"][0]["samplers"])
    assert len(played.json["accessors"]) == len(before.json["accessors"]) - len(old) + terrain + tracks


def test_skinned_vertices_follow_their_bones(played: Oracle) -> None:
    """What hangs on a shin stays as far from knee and ankle as it is at rest, in every frame."""
    names = list(bones())
    rest, start = played.skinned(None), played.world(None)
    for bone, child in (("Bip01 L Calf", "Bip01 L Foot"), ("Bip01 R Forearm", "Bip01 R Hand"), ("Bip01 Head", "Bip01 Neck")):
        own = slice(9 * names.index(bone), 9 * names.index(bone) + 9)
        for frame in (0, 7, FRAMES - 1):
            moved, world = played.skinned(frame), played.world(frame)
            at = played.names.index(bone)
            # four fifths of a vertex follow the bone rigidly; the parent's fifth may pull it by a little
            away = np.linalg.norm(moved[own] - world[at, :3, 3], axis=-1) - np.linalg.norm(rest[own] - start[at, :3, 3], axis=-1)
            assert np.abs(away).max() < 0.03
            assert np.abs(moved[own].mean(0) - rest[own].mean(0)).max() > 0.05, "and it does move"
            assert played.names.index(child)


def test_another_library_reads_it(hero: Path, played: Oracle) -> None:
    import trimesh

    scene = trimesh.load_scene(hero.parent / "out.glb")
    assert len(scene.geometry["Body"].vertices) == 9 * len(bones()) and "terrain" in scene.geometry


def test_a_named_rig_wears_the_mannequin(tmp_path: Path, short: Clip, character: Character) -> None:
    import trimesh

    convert_onto_rig(short, "vrm", tmp_path / "x.glb", character)
    oracle = Oracle((tmp_path / "x.glb").read_bytes())
    body = trimesh.load_scene(tmp_path / "x.glb").geometry["mannequin"]
    rest = oracle.skinned(None)
    assert body.is_watertight and np.allclose(rest, oracle.array(0), atol=1e-5), "bound as it stands"
    assert abs(rest[:, 1].min()) < 0.02 and 1.6 < rest[:, 1].max() < 1.95
    weights = oracle.array(oracle.json["meshes"][0]["primitives"][0]["attributes"]["WEIGHTS_0"])
    assert np.allclose(weights.sum(1), 1, atol=1e-5) and ((weights > 0.2) & (weights < 0.8)).any()
    humans = oracle.json["extensions"]["VRMC_vrm_animation"]["humanoid"]["humanBones"]
    assert oracle.names[humans["leftLowerLeg"]["node"]] == "leftLowerLeg" and len(humans) > 15
    moved = oracle.skinned(5)
    edges = body.edges_unique
    stretch = np.linalg.norm(moved[edges[:, 0]] - moved[edges[:, 1]], axis=1) / np.linalg.norm(
        rest[edges[:, 0]] - rest[edges[:, 1]], axis=1
    )
    assert np.quantile(stretch, 0.99) < 1.8 and np.quantile(stretch, 0.01) > 0.3


def keyed(kind: str, times: list, values: list, path: str = "translation", number: int = 5126, **more) -> bytes:
    """A file with one node and one track."""
    make = Maker()
    shape = "VEC4" if path == "rotation" else "VEC3"
    sampler = {"input": make.add(times, "SCALAR"), "output": make.add(values, shape, number), "interpolation": kind}
    make.accessors[-1] |= more
    channel = {"sampler": 0, "target": {"node": 0, "path": path}}
    return make.glb({"nodes": [{"name": "a"}], "animations": [{"samplers": [sampler], "channels": [channel]}]})


def sampled(data: bytes, fps: float) -> np.ndarray:
    local, _ = read_scene(GltfDocument(data, "a.glb")).animated(0, fps)
    return local


def test_samplers_are_played_as_the_specification_says() -> None:
    points = [[0, 0, 0], [1, 0, 0], [1, 2, 0]]
    line = sampled(keyed("LINEAR", [0, 1, 2], points), 4).translation[:, 0]
    assert np.allclose(line[:6, 0], [0, 0.25, 0.5, 0.75, 1, 1]) and np.allclose(line[-1], points[-1])
    step = sampled(keyed("STEP", [0, 1, 2], points), 4).translation[:, 0]
    assert np.allclose(step[:, 0], [0, 0, 0, 0, 1, 1, 1, 1, 1]) and np.allclose(step[-2:, 1], [0, 2])
    # the cube t^3 is its own Hermite spline: values t^3, slopes 3 t^2
    spline = [[[3 * t * t, 0, 0], [t**3, 0, 0], [3 * t * t, 0, 0]] for t in (0.0, 1.0, 3.0)]
    cube = sampled(keyed("CUBICSPLINE", [0, 1, 3], spline), 10).translation[:, 0, 0]
    assert np.allclose(cube, (np.arange(31) / 10) ** 3, atol=1e-5)
    late = sampled(keyed("LINEAR", [5, 6], [[1, 1, 1], [3, 3, 3]]), 2).translation[:, 0, 0]
    assert np.allclose(late, [1, 2, 3]), "from the first key on"


def test_rotations_take_the_short_way_and_integers_are_fractions() -> None:
    half = np.sqrt(0.5)
    turned = sampled(keyed("LINEAR", [0, 1], [[0, 0, 0, 1], [0, 0, -half, -half]], "rotation"), 2).rotation[:, 0]
    assert np.allclose(np.abs(turned[1]), [0, 0, np.sin(np.pi / 8), np.cos(np.pi / 8)])
    whole = [[0, 0, 0, 65535], [0, 65535, 0, 0]]
    small = sampled(keyed("STEP", [0, 1], whole, "rotation", 5123, normalized=True), 1).rotation[:, 0]
    assert np.allclose(small, [[0, 0, 0, 1], [0, 1, 0, 0]])


def embedded(data: bytes) -> bytes:
    """The same file as .gltf."""
    oracle = Oracle(data)
    oracle.json["buffers"][0]["uri"] = "data:application/octet-stream;base64," + base64.b64encode(oracle.bin).decode()
    return json.dumps(oracle.json).encode()


def test_text_files_matrices_and_avatars_are_read_alike(tmp_path: Path, hero: Path) -> None:
    plain = read_source(hero, ReadSettings(animation="Nod"))
    (tmp_path / "hero.gltf").write_bytes(embedded(hero.read_bytes()))
    text = read_source(tmp_path / "hero.gltf", ReadSettings(animation="Nod"))
    assert np.allclose(plain.pos, text.pos) and plain.joints == text.joints

    oracle, rest = Oracle(hero.read_bytes()), Oracle(hero.read_bytes()).world(None)
    nodes = oracle.json["nodes"]
    parents = {child: i for i, node in enumerate(nodes) for child in node.get("children", [])}
    for i, node in enumerate(nodes[:-1]):
        local = np.linalg.inv(rest[parents[i]]) @ rest[i] if i in parents else rest[i]
        nodes[i] = {"name": f"x{i}", "matrix": local.T.ravel().tolist(), **{k: v for k, v in node.items() if k == "children"}}
    del oracle.json["animations"]
    human = {"hips": "Bip01"}
    for side, letter in (("left", "L"), ("right", "R")):
        for bone, part in {"UpperLeg": "Thigh", "LowerLeg": "Calf", "Foot": "Foot", "Toes": "Toe0", "UpperArm": "UpperArm",
                           "LowerArm": "Forearm", "Hand": "Hand"}.items():  # fmt: skip
            human[side + bone] = f"Bip01 {letter} {part}"
    rows = {name: i for i, name in enumerate(oracle.names)}
    for extension in ({"VRMC_vrm": {"humanoid": {"humanBones": {k: {"node": rows[v]} for k, v in human.items()}}}},
                      {"VRM": {"humanoid": {"humanBones": [{"bone": k, "node": rows[human[k]]} for k in human]}}}):  # fmt: skip
        path = tmp_path / "avatar.vrm"
        path.write_bytes(packed(oracle.json | {"extensions": extension}, oracle.bin))
        rig, named = load_rig(str(path)).rig, load_rig(str(hero)).rig
        assert rig.places["left_knee"] == named.places["left_knee"] and rig.pelvis == named.pelvis
        assert np.allclose(rig.stance.pos, named.stance.pos, atol=1e-5)
        assert np.allclose(rig.stance.sole["left"], named.stance.sole["left"], atol=1e-5)


def changed(data: bytes, *path: str | int, value: object) -> bytes:
    oracle = Oracle(data)
    place = oracle.json
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return packed(oracle.json, oracle.bin)


HOSTILE = {
    "two parents|is a ring|form a ring": lambda d: changed(d, "nodes", 3, "children", value=[1]),
    "deep": lambda d: packed({"asset": {"version": "2.0"}, "nodes": [{"children": [i + 1]} for i in range(900)] + [{}]}, b""),
    "nodes, expected": lambda d: packed({"asset": {"version": "2.0"}, "nodes": [{}] * 30_000}, b""),
    "stands for one of": lambda d: changed(d, "nodes", 0, "children", value=[99999]),
    "of a buffer of": lambda d: changed(d, "bufferViews", 4, "byteLength", value=2**35),
    "does not fit": lambda d: changed(d, "accessors", 5, "count", value=2**30),
    "a number of bytes": lambda d: changed(d, "accessors", 5, "count", value=-1),
    "unknown type": lambda d: changed(d, "accessors", 5, "type", value=["VEC3"]),
    "another file": lambda d: changed(d, "buffers", 0, "uri", value="../secret.bin"),
    "not of glTF 2": lambda d: changed(d, "asset", "version", value="1.0"),
    "is not JSON": lambda d: d[:20] + b"x" + d[21:],
    "cut off|at most": lambda d: d[: len(d) // 2],
    "not 3 numbers": lambda d: changed(d, "nodes", 2, "translation", value=[1, "2", 3]),
    "no length": lambda d: changed(d, "nodes", 2, "rotation", value=[0, 0, 0, 0]),
    "an interpolation": lambda d: changed(d, "animations", 0, "samplers", 0, "interpolation", value="BEZIER"),
    "has no sampler": lambda d: changed(d, "animations", 0, "channels", 0, "sampler", value=7),
    "moves no node": lambda d: changed(d, "animations", 0, "channels", value=[]),
}


@pytest.mark.parametrize("sentence", HOSTILE)
def test_hostile_files_end_in_one_sentence(tmp_path: Path, hero: Path, sentence: str) -> None:
    (tmp_path / "bad.glb").write_bytes(HOSTILE[sentence](hero.read_bytes()))
    with pytest.raises(FormatError, match=sentence) as told:
        read_source(tmp_path / "bad.glb", ReadSettings(animation="Nod"))
        load_rig(str(tmp_path / "bad.glb"))
    assert "bad.glb" in str(told.value) and "\n" not in str(told.value)


def test_times_that_ask_for_much_are_refused() -> None:
    with pytest.raises(FormatError, match="of 100000000 s, at most 3600"):
        sampled(keyed("LINEAR", [0, 1e8], [[0, 0, 0], [1, 0, 0]]), 30)
    with pytest.raises(FormatError, match="do not rise"):
        sampled(keyed("LINEAR", [1, 0], [[0, 0, 0], [1, 0, 0]]), 30)
    with pytest.raises(FormatError, match="2 values for 3 times"):
        sampled(keyed("LINEAR", [0, 1, 2], [[0, 0, 0], [1, 0, 0]]), 30)
    with pytest.raises(FormatError, match="not finite"):
        sampled(keyed("LINEAR", [0, 1], [[0, 0, 0], [float("nan"), 0, 0]]), 30)


def test_animations_are_chosen_by_name(tmp_path: Path, hero: Path) -> None:
    with pytest.raises(FormatError, match="has 2 animations; name one with --animation: Nod, Shake"):
        read_source(hero)
    with pytest.raises(FormatError, match="no animation 'Roll'; it has Nod, Shake"):
        read_source(hero, ReadSettings(animation="Roll"))
    (tmp_path / "a.bvh").write_text("x")
    with pytest.raises(FormatError, match="holds one motion"):
        read_source(tmp_path / "a.bvh", ReadSettings(animation="Roll"))


def test_rigs_that_cannot_be_used_are_told(tmp_path: Path, hero: Path, short: Clip, character: Character) -> None:
    out = tmp_path / "out.glb"

    def told(data: bytes | None, rig: str, sentence: str, path: Path = out) -> None:
        if data is not None:
            (tmp_path / rig).write_bytes(data)
            rig = str(tmp_path / rig)
        with pytest.raises(FormatError, match=sentence):
            convert_onto_rig(short, rig, path, character)
        assert not path.exists()

    good = hero.read_bytes()
    told(None, "maximo", "'maximo' is no rig; expected mixamo, unreal, vrm, or a file")
    told(None, str(tmp_path / "none.glb"), "does not exist")
    told(None, "mixamo", r"written to \.glb or \.bvh", tmp_path / "out.usd")
    oracle = Oracle(good)
    thigh = oracle.names.index("Bip01 L Thigh")
    told(changed(good, "nodes", thigh, "name", value="pole"), "a.glb", "no joint was recognised as left_hip")
    told(changed(good, "nodes", 1, "scale", value=[1, 2, 1]), "b.glb", "stretched along one axis")
    told(changed(good, "nodes", 1, "scale", value=[-1, 1, 1]), "c.glb", "mirrored")
    lying = (np.array(oracle.json["nodes"][0]["rotation"]) * 0 + [0, 0, 0, 1]).tolist()
    told(changed(good, "nodes", 0, "rotation", value=lying), "d.glb", "does not stand upright")
    told(changed(good, "bufferViews", 0, "byteLength", value=2**35), "f.glb", "of a buffer of")
    told(struct.pack("<4sII", b"glTF", 2, 12), "e.glb", "ends in its header")
