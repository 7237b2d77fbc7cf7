"""Files of other programs: what goes out comes back, real ones are read, wrong ones give one sentence."""

import json
import os
import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from parc.character.rotation import angle, difference
from parc.dataset import Clip, Provenance, load_clip, save_clip
from parc.dataset.clip_edits import same_terrain
from parc.dataset.convert.portable_pickle import portable_dumps
from parc.errors import CharacterError, FormatError, MotionError, ParcError, TerrainError


def blocks(clip: Clip, **changes) -> dict:
    """The new layout as plain dicts, with changed fields."""
    m, t = clip.motion, clip.terrain
    motion = {"root_pos": m.root_pos.numpy(), "root_rot": m.root_rot.numpy(), "joint_rot": m.joint_rot.numpy()}
    motion |= {"body_contacts": m.contacts.numpy(), "fps": 30, "loop_mode": "CLAMP"}
    terrain = {"hf": t.heights.numpy(), "hf_maxmin": t.bounds.numpy(), "min_point": t.min_point.numpy(), "dx": 0.4}
    content = {"motion_data": motion, "terrain_data": terrain, "misc_data": {"path_nodes": clip.path.nodes.numpy(), "obs": None}}
    for key, value in changes.items():
        group = next((g for g in content.values() if key in g), motion)
        group[key] = value
    return content


def write(path, content: dict) -> None:
    path.write_bytes(pickle.dumps({key: None if value is None else pickle.dumps(value) for key, value in content.items()}))


def test_native_file_is_exact(tmp_path, make_clip, same, character):
    for seed, options in enumerate(({}, {"path": False}, {"bounds": False}, {"frames": 1})):
        clip = make_clip("a name/with parts", seed, **options)
        save_clip(clip, tmp_path / "x.motion")
        assert same(load_clip(tmp_path / "x.motion", character), clip)


def test_parc_layout_is_exact(tmp_path, make_clip, same, character):
    clip = make_clip("x", 3)
    save_clip(clip, tmp_path / "x.pkl")
    assert same(load_clip(tmp_path / "x.pkl", character), clip)


def test_parc_layout_is_what_the_paper_reads(tmp_path, make_clip):
    clip = make_clip("x", 1)
    save_clip(clip, tmp_path / "x.pkl")
    content = {k: pickle.loads(v) for k, v in pickle.loads((tmp_path / "x.pkl").read_bytes()).items()}
    assert set(content["motion_data"]) == {"root_pos", "root_rot", "joint_rot", "body_contacts", "fps", "loop_mode"}
    assert set(content["terrain_data"]) == {"hf", "hf_maxmin", "min_point", "dx"}
    assert content["motion_data"]["fps"] == 30 and content["motion_data"]["loop_mode"] == "CLAMP"
    assert np.array_equal(content["terrain_data"]["hf_maxmin"], clip.terrain.bounds.numpy())
    assert np.array_equal(content["misc_data"]["path_nodes"], clip.path.nodes.numpy())


def test_without_bounds_nothing_may_be_augmented(tmp_path, make_clip, character):
    save_clip(make_clip("x", bounds=False), tmp_path / "x.pkl")
    terrain = load_clip(tmp_path / "x.pkl", character).terrain
    assert torch.equal(terrain.bounds[..., 0], terrain.heights) and torch.equal(terrain.bounds[..., 1], terrain.heights)


def test_legacy_layout_comes_back(tmp_path, make_clip, character):
    clip = make_clip("x", 3)
    save_clip(clip, tmp_path / "x.pkl", character, "legacy")
    assert b"SubTerrain" in (tmp_path / "x.pkl").read_bytes()
    back = load_clip(tmp_path / "x.pkl", character)
    assert torch.equal(back.motion.root_pos, clip.motion.root_pos) and torch.equal(back.motion.contacts, clip.motion.contacts)
    assert angle(difference(back.motion.joint_rot, clip.motion.joint_rot)).max() < 1e-3
    assert same_terrain(back.terrain, clip.terrain) and torch.equal(back.terrain.bounds, clip.terrain.bounds)
    assert torch.equal(back.path.nodes, clip.path.nodes) and back.motion.loops == clip.motion.loops
    assert back.provenance == clip.provenance


def test_legacy_file_with_torch_tensors_and_foreign_objects(tmp_path, make_clip, character):
    """What the paper's first code wrote: masks and paths as tensors, loop mode as an enum member."""
    clip = make_clip("x")
    frames = np.zeros((4, 34), np.float32)
    content = {
        "frames": frames,
        "contacts": np.zeros((4, 15), np.float32),
        "fps": 30,
        "loop_mode": "WRAP",
        "notes": "kept by a user",
    }
    content |= {"hf_mask_inds": [torch.zeros(2, 2)], "path_nodes": clip.path.nodes}
    (tmp_path / "x.pkl").write_bytes(pickle.dumps(content))
    back = load_clip(tmp_path / "x.pkl", character)
    assert back.motion.loops and back.path is None and len(back.motion) == 4


def test_mimickit_comes_back(tmp_path, make_clip, character):
    clip = make_clip("x", 3)
    save_clip(clip, tmp_path / "x.pkl", character, "mimickit")
    content = pickle.loads((tmp_path / "x.pkl").read_bytes())
    assert (
        list(content) == ["loop_mode", "frames", "fps"]
        and content["loop_mode"] == 1
        and np.array(content["frames"]).shape == (12, 34)
    )
    back = load_clip(tmp_path / "x.pkl", character)
    assert torch.allclose(back.motion.root_pos, clip.motion.root_pos)
    assert torch.allclose(back.motion.body_poses(character).pos, clip.motion.body_poses(character).pos, atol=1e-4)
    assert back.motion.loops and not back.motion.contacts.any()


def test_flat_ground_reaches_beyond_the_motion(tmp_path, make_clip, character):
    write(tmp_path / "x.pkl", blocks(make_clip("x")) | {"terrain_data": None})
    clip = load_clip(tmp_path / "x.pkl", character)
    low, high = clip.terrain.extent
    track = clip.motion.root_pos[:, :2]
    assert (track.amin(0) - low >= 2.0).all() and (high - track.amax(0) >= 2.0).all()
    assert not clip.terrain.heights.any() and clip.terrain.cell == 0.4


@pytest.mark.parametrize(
    "stored, loops", [("WRAP", True), ("wrap", True), ("CLAMP", False), (1, True), (0, False), (np.int64(1), True)]
)
def test_loop_modes(tmp_path, make_clip, character, stored, loops):
    write(tmp_path / "x.pkl", blocks(make_clip("x"), loop_mode=stored))
    assert load_clip(tmp_path / "x.pkl", character).motion.loops is loops


NAN = np.zeros((12, 3), np.float32)
NAN[5, 1] = np.nan
BAD = {
    "nan": ({"root_pos": NAN}, MotionError, "root_pos is not finite at frame 5"),
    "overflow": ({"root_pos": np.full((12, 3), 1e300)}, MotionError, "root_pos is not finite at frame 0"),
    "no frames": ({"root_pos": np.zeros((0, 3))}, FormatError, "root_rot has shape"),
    "wrong shape": ({"root_pos": np.zeros((12, 2))}, FormatError, r"root_pos has shape \[12, 2\], expected \[\*, 3\]"),
    "short": ({"root_rot": np.zeros((11, 4))}, FormatError, r"expected \[12, 4\]"),
    "zero quaternions": ({"root_rot": np.zeros((12, 4))}, MotionError, "unit length"),
    "joints": ({"joint_rot": np.zeros((12, 9, 4))}, FormatError, "joint_rot"),
    "text": ({"root_pos": np.full((12, 3), "a")}, FormatError, "expected numbers"),
    "objects": ({"root_pos": [[1, 2, None]] * 12}, FormatError, "expected numbers"),
    "ragged": ({"root_pos": [[1, 2, 3], [1]]}, FormatError, "ragged"),
    "tensor": ({"root_pos": torch.zeros(12, 3)}, FormatError, "torch.*expected a numpy array"),
    "unknown field": ({"root_velocity": 3}, FormatError, "unknown field 'root_velocity'"),
    "contacts": ({"body_contacts": np.full((12, 15), 1e30)}, MotionError, "contacts reach 1e\\+30"),
    "fps text": ({"fps": "fast"}, FormatError, "fps is 'fast'"),
    "fps zero": ({"fps": 0}, MotionError, "fps is 0"),
    "loop mode": ({"loop_mode": "sometimes"}, FormatError, "loop_mode is 'sometimes'"),
    "empty terrain": ({"hf": np.zeros((0, 4)), "hf_maxmin": None}, TerrainError, "at least one cell"),
    "bounds": ({"hf_maxmin": np.zeros((2, 2, 2))}, FormatError, "hf_maxmin"),
    "cell": ({"dx": -0.4}, TerrainError, "cell size is -0.4"),
    "path": ({"path_nodes": np.zeros((4, 2))}, FormatError, "path_nodes"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_content_gives_one_sentence(tmp_path, make_clip, character, case):
    changes, error, sentence = BAD[case]
    write(tmp_path / "bad file.pkl", blocks(make_clip("x"), **changes))
    with pytest.raises(error, match=sentence) as caught:
        load_clip(tmp_path / "bad file.pkl", character)
    assert "bad file.pkl" in str(caught.value) and "\n" not in str(caught.value)


def test_missing_and_unknown_blocks(tmp_path, make_clip, character):
    content = blocks(make_clip("x"))
    del content["motion_data"]["root_rot"]
    write(tmp_path / "x.pkl", content)
    with pytest.raises(FormatError, match="no field 'root_rot'"):
        load_clip(tmp_path / "x.pkl", character)
    write(tmp_path / "x.pkl", blocks(make_clip("x")) | {"extra_data": {}})
    with pytest.raises(FormatError, match="unknown field 'extra_data'"):
        load_clip(tmp_path / "x.pkl", character)
    write(tmp_path / "x.pkl", {"misc_data": {}})
    with pytest.raises(FormatError, match="'misc_data'; expected"):
        load_clip(tmp_path / "x.pkl", character)


class Touch:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.system, (f"touch {self.path}",))


def test_hostile_blocks_do_not_run(tmp_path, make_clip, character):
    content = blocks(make_clip("x"))
    for key in ("motion_data", "misc_data"):
        write(tmp_path / "x.pkl", content | {key: {"obs": Touch(tmp_path / "ran")}})
        with pytest.raises(FormatError, match="system"):
            load_clip(tmp_path / "x.pkl", character)
    assert not (tmp_path / "ran").exists()


def test_extensions_and_missing_files(tmp_path, make_clip, character):
    with pytest.raises(FormatError, match=r"unknown extension '.fbx'; known are .motion, .pkl, .txt, .bvh, .npz"):
        load_clip(tmp_path / "x.fbx", character)
    with pytest.raises(FormatError, match="does not exist"):
        load_clip(tmp_path / "x.pkl", character)
    with pytest.raises(FormatError, match="does not exist"):
        load_clip(tmp_path / "x.motion", character)
    with pytest.raises(FormatError, match=r"cannot write '\.txt'"):
        save_clip(make_clip("x"), tmp_path / "x.txt")
    with pytest.raises(FormatError, match="needs the character"):
        save_clip(make_clip("x"), tmp_path / "x.pkl", layout="legacy")
    (tmp_path / "x.motion").write_bytes(b"not a shard")
    with pytest.raises(FormatError, match=r"x\.motion is damaged"):
        load_clip(tmp_path / "x.motion", character)
    (tmp_path / "x.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(FormatError, match="not text"):
        load_clip(tmp_path / "x.txt", character)


def test_truncated_files_of_every_kind(tmp_path, make_clip, character):
    for name, layout in (("a.motion", "parc"), ("a.pkl", "parc"), ("b.pkl", "legacy"), ("c.pkl", "mimickit")):
        path = tmp_path / name
        save_clip(make_clip("x"), path, character, layout)
        data = path.read_bytes()
        for part in (0, 1, len(data) // 3, len(data) - 1):
            path.write_bytes(data[:part])
            with pytest.raises(ParcError, match=name):
                load_clip(path, character)


def test_provenance_refuses_what_it_does_not_know(tmp_path, make_clip, character):
    content = blocks(make_clip("x"))
    content["misc_data"]["parc_provenance"] = json.dumps({"sauce": "x"})
    write(tmp_path / "x.pkl", content)
    with pytest.raises(FormatError, match="sauce"):
        load_clip(tmp_path / "x.pkl", character)


def deepmimic(**changes) -> str:
    row = [1 / 30, 1.0, 0.9, -2.0, *[1, 0, 0, 0] * 3]
    for _ in range(2):
        row += [1, 0, 0, 0, -0.3, 1, 0, 0, 0, 1, 0, 0, 0, 0.5]
    rows = [list(row), list(row)]
    rows[1][0] = 0.0
    return json.dumps({"Loop": "wrap", "Frames": rows} | changes)


def test_deepmimic_conventions(tmp_path, character):
    """Standing with hanging arms, knees bent by 0.3 and elbows by 0.5; z to the right becomes -y."""
    (tmp_path / "x.txt").write_text(deepmimic())
    clip = load_clip(tmp_path / "x.txt", character)
    assert clip.motion.loops and clip.motion.fps == 30 and len(clip.motion) == 2
    assert torch.allclose(clip.motion.root_pos[0], torch.tensor([1.0, 2.0, 0.9]))
    pos = {
        name: p - clip.motion.root_pos[0]
        for name, p in zip(character.names, clip.motion.body_poses(character).pos[0], strict=True)
    }
    for side, sign in (("right", -1), ("left", 1)):
        arm = pos[f"{side}_lower_arm"] - pos[f"{side}_upper_arm"]
        assert torch.allclose(arm, torch.tensor([0.0, 0.0, -0.274788]), atol=1e-5)
        hand = pos[f"{side}_hand"] - pos[f"{side}_lower_arm"]
        assert torch.allclose(hand, 0.258947 * torch.tensor([np.sin(0.5), 0.0, -np.cos(0.5)]).float(), atol=1e-5)
        foot = pos[f"{side}_foot"] - pos[f"{side}_shin"]
        assert torch.allclose(foot, 0.409870 * torch.tensor([-np.sin(0.3), 0.0, -np.cos(0.3)]).float(), atol=1e-5)
        assert sign * pos[f"{side}_hand"][1] > 0.1


def test_deepmimic_root_rotation_follows_the_axes(tmp_path, character):
    turn = Rotation.from_euler("xyz", [0.3, -0.5, 0.2])
    content = json.loads(deepmimic())
    for row in content["Frames"]:
        row[4:8] = np.roll(turn.as_quat(), 1).tolist()
    (tmp_path / "x.txt").write_text(json.dumps(content))
    axes = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    expected = Rotation.from_matrix(axes @ turn.as_matrix() @ axes.T)
    found = Rotation.from_quat(load_clip(tmp_path / "x.txt", character).motion.root_rot[0].numpy())
    assert (expected.inv() * found).magnitude() < 1e-6


def test_deepmimic_of_uneven_time(tmp_path, character):
    content = json.loads(deepmimic())
    rows = [list(content["Frames"][0]) for _ in range(5)]
    for i, (row, duration) in enumerate(zip(rows, [1, 2, 1, 1, 0], strict=True)):
        row[0], row[1] = duration / 30, float([0, 1, 3, 4, 5][i])
    (tmp_path / "x.txt").write_text(json.dumps({"Loop": "none", "Frames": rows}))
    motion = load_clip(tmp_path / "x.txt", character).motion
    assert torch.allclose(motion.root_pos[:, 0], torch.arange(6.0), atol=1e-5)


def test_bad_deepmimic(tmp_path, character):
    for text, sentence in (
        ("{", "not JSON"), (deepmimic(Frames=[[1, 2]]), "Frames has shape"), (deepmimic(Frames=[]), "Frames"),
        (deepmimic(Speed=3), "unknown field 'Speed'"), (deepmimic(Loop="maybe"), "loop_mode"), ("[]", "expected a dict"),
    ):  # fmt: skip
        (tmp_path / "x.txt").write_text(text)
        with pytest.raises(FormatError, match=sentence):
            load_clip(tmp_path / "x.txt", character)


def test_another_body_is_refused(tmp_path, make_clip, character):
    bird = replace(character, name="bird", bodies=character.bodies[:3], mirror_of=None)
    save_clip(make_clip("x"), tmp_path / "x.motion")
    with pytest.raises(MotionError, match="15 bodies"):
        load_clip(tmp_path / "x.motion", bird)
    (tmp_path / "x.txt").write_text(deepmimic())
    with pytest.raises(CharacterError, match="no body"):
        load_clip(tmp_path / "x.txt", bird)


def test_public_files_of_the_paper(shared, character, tmp_path, same):
    clip = load_clip(shared / "parc" / "civilization.pkl", character)
    assert len(clip.motion) == 254 and clip.terrain.size == (50, 50) and len(clip.path) == 60
    assert clip.provenance == Provenance(source="civilization.pkl") and clip.terrain.bounds.shape == (50, 50, 2)
    raw = pickle.loads(pickle.loads((shared / "parc" / "civilization.pkl").read_bytes())["motion_data"])
    assert np.array_equal(clip.motion.joint_rot.numpy(), raw["joint_rot"])
    save_clip(clip, tmp_path / "civilization.pkl")
    assert same(load_clip(tmp_path / "civilization.pkl", character), clip)
    assert len(load_clip(shared / "parc" / "sfu.pkl", character).motion) == 15


def test_public_deepmimic_files_stand_on_the_ground(shared, character):
    for path in sorted((shared / "mocap" / "deepmimic").glob("*.txt")):
        clip = load_clip(path, character)
        ankles = clip.motion.body_poses(character).pos[:, list(character.feet), 2]
        assert -0.1 < ankles.min() < 0.12, path.name


def test_old_mimickit_object(tmp_path, character):
    """Its first version pickled the Motion object itself."""
    from parc.dataset.convert.portable_pickle import Disguised

    class Motion(Disguised):
        written_as = ("anim.motion", "Motion")

        def __init__(self):
            self.loop_mode, self.fps, self.frames = 1, 60, np.zeros((3, 34))

    (tmp_path / "x.pkl").write_bytes(portable_dumps(Motion()))
    clip = load_clip(tmp_path / "x.pkl", character)
    assert clip.motion.loops and clip.motion.fps == 60
