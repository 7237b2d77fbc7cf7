"""Motions onto the skeletons of other people: named ones, and those of a GLB or BVH file with its skin."""

from parc.rig.convert_onto_rig import check_rig_target, convert_onto_rig
from parc.rig.named_rigs import NAMED_RIGS
from parc.rig.retarget_onto_rig import RigMotion, retarget_onto

__all__ = ["NAMED_RIGS", "RigMotion", "check_rig_target", "convert_onto_rig", "retarget_onto"]
