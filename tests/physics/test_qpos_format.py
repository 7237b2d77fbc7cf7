"""MuJoCo trajectories: MuJoCo itself puts the bodies where our kinematics does, and the motion comes back."""

import mujoco
import numpy as np
import pytest
import torch

from parc.character import humanoid, rotation
from parc.character.joint_coordinates import dof_to_joints
from parc.dataset import Clip, load_clip, save_clip
from parc.dataset.flat_terrain import flat_ground
from parc.errors import FormatError, ParcError
from parc.motion import Motion
from parc.physics.mujoco_model import build_model
from parc.physics.physical_contract import Contract


def clip_of(character, frames: int = 9, fps: float = 30.0, loops: bool = False) -> Clip:
    g = torch.Generator().manual_seed(frames)
    t = torch.linspace(0, 1, frames).unsqueeze(-1)
    motion = Motion(
        root_pos=torch.cat([t, -t, 1 + t], -1),
        root_rot=rotation.from_exp(t * torch.randn(3, generator=g)),
        joint_rot=dof_to_joints(character, t * torch.randn(character.num_dof, generator=g)),
        contacts=torch.rand(frames, len(character), generator=g).round(),
        fps=fps,
        loops=loops,
    )
    return Clip("walk", motion, flat_ground(motion), None, character.name)


@pytest.fixture(params=["humanoid", "crawler"])
def character(request):
    return humanoid() if request.param == "humanoid" else request.getfixturevalue("crawler")


def test_mujoco_takes_it_as_it_is(tmp_path, character):
    clip = clip_of(character)
    save_clip(clip, tmp_path / "walk.npz", character)
    file = np.load(tmp_path / "walk.npz")
    model = build_model(character, Contract())
    data = mujoco.MjData(model)
    assert file["qpos"].shape == (9, model.nq) and file["qvel"].shape == (9, model.nv) and file["quaternions"] == "wxyz"
    ours = clip.motion.body_poses(character).pos.numpy()
    for frame in range(9):
        data.qpos[:] = file["qpos"][frame]
        mujoco.mj_kinematics(model, data)
        theirs = np.array([data.body(name).xpos for name in character.names])
        assert np.abs(theirs - ours[frame]).max() < 1e-5
    forward = np.zeros(model.nv)
    mujoco.mj_differentiatePos(model, forward, 2 / 30, file["qpos"][3], file["qpos"][5])
    assert np.abs(file["qvel"][4] - forward).max() < 1e-6


def test_the_layout_written_down_is_mujocos(tmp_path, character):
    save_clip(clip_of(character), tmp_path / "walk.npz", character)
    file, model = np.load(tmp_path / "walk.npz"), build_model(character, Contract())
    assert file["joint_names"].tolist() == [model.joint(i).name for i in range(model.njnt)]
    assert file["qpos_start"].tolist() == model.jnt_qposadr.tolist() and file["qvel_start"].tolist() == model.jnt_dofadr.tolist()
    kinds = {0: "free", 1: "ball", 3: "hinge"}
    assert file["joint_types"].tolist() == [kinds[int(k)] for k in model.jnt_type]


@pytest.mark.parametrize("frames,fps,loops", [(9, 30.0, False), (1, 120.0, True), (2, 29.97, False)])
def test_round_trip(tmp_path, character, frames, fps, loops):
    clip = clip_of(character, frames, fps, loops)
    save_clip(clip, tmp_path / "walk.npz", character)
    back = load_clip(tmp_path / "walk.npz", character)
    one, two = clip.motion.body_poses(character), back.motion.body_poses(character)
    assert (one.pos - two.pos).abs().max() < 1e-5
    assert rotation.angle(rotation.difference(one.rot.double(), two.rot.double())).max() < 1e-5
    assert torch.equal(back.motion.contacts, clip.motion.contacts)
    assert (back.name, back.motion.fps, back.motion.loops) == ("walk", fps, loops)
    assert back.provenance.source == "walk.npz" and back.terrain.heights.count_nonzero() == 0


def test_a_file_of_qpos_and_fps_alone_is_enough(tmp_path, character):
    save_clip(clip_of(character), tmp_path / "walk.npz", character)
    whole = load_clip(tmp_path / "walk.npz", character)
    np.savez(tmp_path / "bare.npz", qpos=np.load(tmp_path / "walk.npz")["qpos"], fps=30)
    bare = load_clip(tmp_path / "bare.npz", character)
    assert torch.equal(bare.motion.joint_rot, whole.motion.joint_rot) and not bare.motion.contacts.any()


BAD = {
    "no qpos": (lambda f: {k: v for k, v in f.items() if k != "qpos"}, "no 'qpos'"),
    "no fps": (lambda f: {k: v for k, v in f.items() if k != "fps"}, "no 'fps'"),
    "width": (lambda f: f | {"qpos": f["qpos"][:, 1:]}, r"expected \[T, "),
    "no frames": (lambda f: f | {"qpos": f["qpos"][:0]}, r"expected \[T, "),
    "text": (lambda f: f | {"qpos": f["qpos"].astype(str)}, r"qpos is <U"),
    "fps zero": (lambda f: f | {"fps": np.float64(0)}, "expected one positive number"),
    "fps text": (lambda f: f | {"fps": np.array("thirty")}, "fps is thirty"),
    "nan": (lambda f: f | {"qpos": np.where(f["qpos"] > 1.5, np.nan, f["qpos"])}, "not finite at frame"),
    "other joints": (lambda f: f | {"joint_names": np.array(["root", "wing"])}, "'wing'"),
    "contacts": (lambda f: f | {"contacts": f["contacts"][1:]}, "contacts are"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_files_give_one_sentence(tmp_path, character, what):
    spoil, message = BAD[what]
    save_clip(clip_of(character), tmp_path / "bad.npz", character)
    np.savez(tmp_path / "bad.npz", **spoil(dict(np.load(tmp_path / "bad.npz"))))
    with pytest.raises(ParcError, match=message) as caught:
        load_clip(tmp_path / "bad.npz", character)
    assert "bad.npz" in str(caught.value) and "\n" not in str(caught.value)


def test_what_is_no_npz(tmp_path, character):
    with pytest.raises(FormatError, match="does not exist"):
        load_clip(tmp_path / "x.npz", character)
    (tmp_path / "x.npz").write_bytes(b"hello")
    with pytest.raises(FormatError, match=r"not an \.npz file"):
        load_clip(tmp_path / "x.npz", character)
    np.save(tmp_path / "y.npy", np.zeros(3))
    (tmp_path / "y.npy").rename(tmp_path / "y.npz")
    with pytest.raises(FormatError, match="a single array"):
        load_clip(tmp_path / "y.npz", character)
    np.savez(tmp_path / "z.npz", qpos=np.array([{"a": 1}], dtype=object), fps=30)
    with pytest.raises(FormatError, match="so it is not a MuJoCo trajectory"):
        load_clip(tmp_path / "z.npz", character)
    save_clip(clip_of(character), tmp_path / "w.npz", character)
    data = (tmp_path / "w.npz").read_bytes()
    (tmp_path / "w.npz").write_bytes(data[: len(data) // 2])
    with pytest.raises(FormatError, match="not a readable"):
        load_clip(tmp_path / "w.npz", character)
