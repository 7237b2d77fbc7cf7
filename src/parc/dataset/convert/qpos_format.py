"""Motions as MuJoCo trajectories, `.npz`: what `mj_forward` takes, frame by frame, with the layout written down.

    qpos             [T, nq] float64   root position 3, root quaternion wxyz, then joints (see parc.motion.mujoco_qpos)
    qvel             [T, nv] float64   MuJoCo's own velocities, central differences
    fps              []
    joint_names      [J] text          names of the joints in MuJoCo's order, the root's free joint first
    joint_types      [J] text          free, ball or hinge
    qpos_start       [J] int           first column of each joint in qpos
    qvel_start       [J] int           first column of each joint in qvel
    quaternions      [] text           "wxyz"
    contacts         [T, B] float32    labels in the order of body_names; not MuJoCo's, kept so that a clip comes back whole
    body_names       [B] text
    loops            [] bool

Only qpos and fps are needed to read one; where joint_names are given they must be the character's. Terrain and path are not in
the file: a clip that is read stands on flat ground at height 0. `parc export mjcf` writes the model the numbers belong to.
"""

import io
from dataclasses import replace

import numpy as np
import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.convert.array_file import parse_arrays
from parc.dataset.convert.bvh_format import RETARGET
from parc.dataset.flat_terrain import flat_ground
from parc.errors import FormatError
from parc.motion.motion import Motion
from parc.motion.mujoco_qpos import joint_names, motion_to_qpos, motion_to_qvel, qpos_to_frames, state_layout


def write_qpos(clip: Clip, character: Character) -> bytes:
    """A clip as MuJoCo qpos in the bytes of an .npz file."""
    motion = clip.motion.to("cpu")
    precise = replace(
        motion, root_pos=motion.root_pos.double(), root_rot=motion.root_rot.double(), joint_rot=motion.joint_rot.double()
    )
    names, kinds, qpos_start, qvel_start = _joints(character)
    file = io.BytesIO()
    np.savez_compressed(
        file,
        qpos=motion_to_qpos(character, precise).numpy(),
        qvel=motion_to_qvel(character, precise).numpy(),
        fps=np.float64(motion.fps),
        joint_names=np.array(names),
        joint_types=np.array(kinds),
        qpos_start=np.array(qpos_start),
        qvel_start=np.array(qvel_start),
        quaternions=np.array("wxyz"),
        contacts=motion.contacts.numpy(),
        body_names=np.array(character.names),
        loops=np.array(motion.loops),
    )
    return file.getvalue()


def read_qpos(data: bytes, character: Character, name: str) -> Clip:
    """`name` is the file's, for messages."""
    if not data.startswith((b"PK", b"\x93NUMPY")):
        raise FormatError(f"{name} is not an .npz file")
    if data.startswith(b"\x93NUMPY"):
        raise FormatError(f"{name} is a single array, expected an .npz with qpos and fps; {RETARGET}")
    fields = parse_arrays(data, name)
    for key in ("qpos", "fps"):
        if key not in fields:
            held = ", ".join(sorted(fields)[:8]) or "nothing"
            raise FormatError(f"{name} holds {held} and no '{key}', so it is not a MuJoCo trajectory; {RETARGET}")
    qpos, nq = fields["qpos"], state_layout(character).nq
    if qpos.dtype.kind != "f" or qpos.ndim != 2 or qpos.shape[1] != nq or len(qpos) == 0:
        raise FormatError(f"{name}: qpos is {qpos.dtype} {list(qpos.shape)}, expected [T, {nq}] for '{character.name}'")
    fps = fields["fps"]
    if fps.size != 1 or fps.dtype.kind not in "fiu" or not 0 < float(fps.item()) < np.inf:
        raise FormatError(f"{name}: fps is {str(fps)[:40]}, expected one positive number")
    names = _joints(character)[0]
    if "joint_names" in fields and fields["joint_names"].tolist() != names:
        wrong = next((n for n in fields["joint_names"].ravel().tolist() if n not in names), "another order")
        raise FormatError(f"{name} is of another body: its joints have '{wrong}', character '{character.name}' has not")
    contacts = fields.get("contacts", np.zeros((len(qpos), len(character)), np.float32))
    if contacts.dtype.kind != "f" or contacts.shape != (len(qpos), len(character)):
        raise FormatError(f"{name}: contacts are {list(contacts.shape)}, expected [{len(qpos)}, {len(character)}]")
    root_pos, root_rot, joint_rot = qpos_to_frames(character, torch.from_numpy(qpos.astype(np.float64)))
    motion = Motion(
        root_pos.float().contiguous(), root_rot.float(), joint_rot.float(), torch.from_numpy(contacts.astype(np.float32)),
        fps=float(fps.item()), loops=bool(fields["loops"].all()) if "loops" in fields else False,
    )  # fmt: skip
    return Clip(name, motion, flat_ground(motion), None, character.name)


def _joints(character: Character) -> tuple[list[str], list[str], list[int], list[int]]:
    """Names, types and first columns of MuJoCo's joints, the free root first; two hinges of one body are two joints."""
    layout = state_layout(character)
    names, kinds, qpos_start, qvel_start = ["root"], ["free"], [0], [0]
    for body in layout.order[1:]:
        joint = character.bodies[body].joint
        for k, name in enumerate(joint_names(character.bodies[body])):
            names.append(name)
            kinds.append("ball" if joint.is_ball else "hinge")
            qpos_start.append(layout.qpos_start[body] + k)
            qvel_start.append(layout.qvel_start[body] + k)
    return names, kinds, qpos_start, qvel_start
