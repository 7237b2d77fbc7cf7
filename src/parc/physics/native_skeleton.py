"""Where the bodies are: MuJoCo's own kinematics of a world's states, without ground, contacts or forces.

After a step MuJoCo's body poses are those of the last substep's beginning. They could be brought up to date in the simulation
itself, but that would look for contacts too, which is nearly all of its cost. So the states go through a second batch whose
model touches nothing: 5 us for one character against 60 us, or 400 us for the same in tensor operations; 64 take 0.24 ms.
"""

import mujoco
import numpy as np
from mujoco.batch import Batch
from torch import Tensor

from parc.character.character import Character
from parc.motion.mujoco_qpos import state_layout
from parc.physics.mujoco_model import native_copy


class NativeSkeleton:
    """Forward kinematics of N worlds by MuJoCo on CPU threads: where bodies are, from qpos alone."""

    def __init__(self, character: Character, model: mujoco.MjModel, num_worlds: int, threads: int) -> None:
        bare, off = native_copy(model), mujoco.mjtDisableBit
        bare.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_CONSTRAINT | off.mjDSBL_ACTUATION | off.mjDSBL_SENSOR
        self._batch = Batch(bare, num_worlds, threads)
        self._qpos = self._batch.bind("qpos")
        self._xpos, self._xquat = self._batch.bind("xpos"), self._batch.bind("xquat")
        order = state_layout(character).order
        place = [order.index(body) + 1 for body in range(len(order))]
        """MuJoCo's number of each of the character's bodies; 0 is the ground"""
        straight = place == list(range(1, len(order) + 1))
        self._bodies: slice | np.ndarray = slice(1, len(order) + 1) if straight else np.array(place)

    def pose(self, qpos: np.ndarray, body_pos: Tensor, body_rot: Tensor) -> None:
        """States [N, nq] to positions [N, B, 3] and rotations [N, B, 4] (xyzw) of the bodies, written in place."""
        self._qpos[...] = qpos
        self._batch.forward(stage=mujoco.mjtStage.mjSTAGE_POS.value)
        pos, rot = body_pos.numpy(), body_rot.numpy()
        pos[...] = self._xpos[:, self._bodies]
        rot[..., :3] = self._xquat[:, self._bodies, 1:]
        rot[..., 3] = self._xquat[:, self._bodies, 0]
