"""The state of a simulated character: MuJoCo's generalised coordinates, laid out and converted in `parc.motion.qpos`."""

from parc.motion.qpos import (
    ROOT_QPOS,
    ROOT_QVEL,
    Layout,
    frames_to_qpos,
    motion_to_qpos,
    motion_to_qvel,
    qpos_difference,
    qpos_to_bodies,
    qpos_to_dof,
    qpos_to_frames,
    qpos_to_qvel,
    standing_qpos,
    state_layout,
)

__all__ = [
    "ROOT_QPOS", "ROOT_QVEL", "Layout", "frames_to_qpos", "motion_to_qpos", "motion_to_qvel", "qpos_difference",
    "qpos_to_bodies", "qpos_to_dof", "qpos_to_frames", "qpos_to_qvel", "standing_qpos", "state_layout",
]  # fmt: skip
