"""The paper's motion files: `.pkl`, a dict of three dicts that are pickled one by one.

    motion_data   root_pos [T,3], root_rot [T,4], joint_rot [T,B-1,4] (xyzw), body_contacts [T,B] or None, fps, loop_mode
    terrain_data  hf [X,Y], hf_maxmin [X,Y,2] (highest, lowest allowed), min_point [2] (centre of cell 0,0), dx
    misc_data     path_nodes [N,3] and anything else

A block may be None. An unknown field of motion_data or terrain_data is an error, in misc_data it is passed over: users keep notes
there. Without terrain the clip stands on flat ground of height 0. Our provenance travels as JSON text in misc_data.

The older layout is one dict: `frames` [T, 6+D] = root position, root exponential map, joint coordinates, `contacts` [T,B], `fps`,
`loop_mode`, and `terrain`, an object of class SubTerrain whose attributes hf, hf_maxmin, min_point and dxdy are read from an
inert record. What the new layout keeps in misc_data sits in the same dict, so unknown fields are passed over there.
"""

import json
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np
import torch

from parc.character import rotation
from parc.character.character import Character
from parc.character.joint_coordinates import dof_to_joints, joints_to_dof
from parc.dataset.clip import Clip, Provenance
from parc.dataset.convert import checked_field
from parc.dataset.convert.portable_pickle import Disguised, portable_dumps
from parc.dataset.convert.safe_unpickle import PickledObject, safe_loads
from parc.dataset.flat_terrain import flat_ground
from parc.errors import DatasetError, FormatError
from parc.motion.motion import Motion
from parc.path.terrain_path import TerrainPath
from parc.run.dataclass_json import from_json
from parc.run.file_reading import parse_json
from parc.terrain.terrain import Terrain

BLOCKS = ("motion_data", "terrain_data", "misc_data")
_MOTION_FIELDS = ("root_pos", "root_rot", "joint_rot", "body_contacts", "fps", "loop_mode")
_TERRAIN_FIELDS = ("hf", "hf_maxmin", "min_point", "dx")
_PROVENANCE = "parc_provenance"


class SubTerrain(Disguised):
    """A terrain as the paper's older code stores it."""

    written_as: ClassVar[tuple[str, str]] = ("util.terrain_util", "SubTerrain")

    def __init__(self, terrain: Terrain) -> None:
        self.terrain_name = "terrain"
        self.hf = terrain.heights.numpy()
        self.dims = np.array(terrain.size, dtype=np.int64)
        self.min_point = terrain.min_point.numpy()
        self.dxdy = np.array([terrain.cell, terrain.cell], dtype=np.float32)
        self.hf_mask = np.zeros(terrain.size, dtype=bool)
        self.hf_maxmin = _bounds(terrain)


def read_parc(content: dict, character: Character, name: str) -> Clip:
    """A clip of the new layout from the outer dict, whose blocks are still pickled."""
    checked_field.check_keys(content, ("motion_data",), BLOCKS, "the file", name)
    blocks = {key: _block(content.get(key), key, name) for key in BLOCKS}
    if blocks["motion_data"] is None:
        raise FormatError(f"{name}: motion_data is empty, so there is no motion in the file")
    motion = _read_motion(blocks["motion_data"], character, name)
    terrain = flat_ground(motion) if blocks["terrain_data"] is None else _read_terrain(blocks["terrain_data"], name)
    misc = blocks["misc_data"] or {}
    return Clip(name, motion, terrain, _read_path(misc, name), character.name, _read_provenance(misc, name))


def write_parc(clip: Clip) -> bytes:
    """The clip as bytes of the new layout.

    A terrain without bounds is written with its heights for both, so that no augmentation may change it.
    """
    clip = clip.to("cpu")
    motion = clip.motion
    misc: dict[str, Any] = {_PROVENANCE: json.dumps(asdict(clip.provenance))}
    if clip.path is not None:
        misc["path_nodes"] = clip.path.nodes.numpy()
    return portable_dumps(
        {
            "motion_data": portable_dumps(
                {
                    "root_pos": motion.root_pos.numpy(),
                    "root_rot": motion.root_rot.numpy(),
                    "joint_rot": motion.joint_rot.numpy(),
                    "body_contacts": motion.contacts.numpy(),
                    "fps": _plain_fps(motion.fps),
                    "loop_mode": _loop_name(motion),
                }
            ),
            "terrain_data": portable_dumps(
                {
                    "hf": clip.terrain.heights.numpy(),
                    "hf_maxmin": _bounds(clip.terrain),
                    "min_point": clip.terrain.min_point.numpy(),
                    "dx": float(clip.terrain.cell),
                }
            ),
            "misc_data": portable_dumps(misc),
        }
    )


def read_legacy(content: dict, character: Character, name: str) -> Clip:
    """A clip of the old layout from its dictionary."""
    motion = read_frames(content, character, name)
    stored = content.get("terrain")
    if stored is None:
        terrain = flat_ground(motion)
    else:
        if not isinstance(stored, PickledObject):
            raise FormatError(f"{name}: terrain is a {type(stored).__name__}, expected an object of class SubTerrain")
        values: dict[str, Any] = {key: stored.state[key] for key in ("hf", "hf_maxmin", "min_point") if key in stored.state}
        spacing = stored.state.get("dxdy", stored.state.get("dx"))
        if spacing is not None:
            spacing = checked_field.numbers(
                np.atleast_1d(spacing) if not isinstance(spacing, PickledObject) else spacing, (None,), "terrain.dxdy", name
            )
            if len(spacing) == 0 or not torch.allclose(spacing, spacing[:1].expand_as(spacing)):
                raise FormatError(f"{name}: terrain.dxdy is {spacing.tolist()}, expected square cells")
            values["dx"] = float(spacing[0])
        terrain = _read_terrain(values, name)
    return Clip(name, motion, terrain, _read_path(content, name), character.name, _read_provenance(content, name))


def write_legacy(clip: Clip, character: Character) -> bytes:
    """A clip in the old layout."""
    clip = clip.to("cpu")
    content: dict[str, Any] = frames_of(clip.motion, character)
    content["loop_mode"] = _loop_name(clip.motion)
    content["contacts"] = clip.motion.contacts.numpy()
    content["terrain"] = SubTerrain(clip.terrain)
    content[_PROVENANCE] = json.dumps(asdict(clip.provenance))
    if clip.path is not None:
        content["path_nodes"] = clip.path.nodes.numpy()
    return portable_dumps(content)


def read_frames(content: dict, character: Character, name: str) -> Motion:
    """`frames` [T, 6+D] with fps and loop mode, for the older layout and MimicKit; 30 fps and CLAMP where they are missing."""
    frames = checked_field.numbers(content.get("frames"), (None, 6 + character.num_dof), "frames", name)
    contacts = content.get("contacts")
    return Motion(
        root_pos=frames[:, :3].contiguous(),
        root_rot=rotation.from_exp(frames[:, 3:6]),
        joint_rot=dof_to_joints(character, frames[:, 6:]),
        contacts=torch.zeros(len(frames), len(character))
        if contacts is None
        else checked_field.numbers(contacts, (len(frames), len(character)), "contacts", name),
        fps=checked_field.number(content.get("fps", 30), "fps", name),
        loops=checked_field.loops(content.get("loop_mode", "CLAMP"), name),
    )


def frames_of(motion: Motion, character: Character) -> dict[str, Any]:
    """`frames` [T, 6+D] and fps of a motion: root position, root rotation and joint angles as exponential maps."""
    motion.check_fits(character)
    motion = motion.to("cpu")
    parts = [motion.root_pos, rotation.to_exp(motion.root_rot), joints_to_dof(character, motion.joint_rot)]
    return {"frames": torch.cat(parts, -1).numpy(), "fps": _plain_fps(motion.fps)}


def _block(value: Any, key: str, name: str) -> dict | None:
    if isinstance(value, (bytes, bytearray)):
        value = safe_loads(bytes(value), f"{name} ({key})")
    return None if value is None else checked_field.block(value, key, name)


def _read_motion(fields: dict, character: Character, name: str) -> Motion:
    required = ("root_pos", "root_rot", "joint_rot", "fps", "loop_mode")
    checked_field.check_keys(fields, required, _MOTION_FIELDS, "motion_data", name)
    root_pos = checked_field.numbers(fields["root_pos"], (None, 3), "root_pos", name)
    frames, contacts = len(root_pos), fields.get("body_contacts")
    return Motion(
        root_pos=root_pos,
        root_rot=checked_field.numbers(fields["root_rot"], (frames, 4), "root_rot", name),
        joint_rot=checked_field.numbers(fields["joint_rot"], (frames, character.num_joints, 4), "joint_rot", name),
        contacts=torch.zeros(frames, len(character))
        if contacts is None
        else checked_field.numbers(contacts, (frames, len(character)), "body_contacts", name),
        fps=checked_field.number(fields["fps"], "fps", name),
        loops=checked_field.loops(fields["loop_mode"], name),
    )


def _read_terrain(fields: dict, name: str) -> Terrain:
    checked_field.check_keys(fields, ("hf", "min_point", "dx"), _TERRAIN_FIELDS, "terrain_data", name)
    heights = checked_field.numbers(fields["hf"], (None, None), "hf", name)
    bounds = fields.get("hf_maxmin")
    return Terrain(
        heights,
        checked_field.numbers(fields["min_point"], (2,), "min_point", name),
        checked_field.number(fields["dx"], "dx", name),
        None if bounds is None else checked_field.numbers(bounds, (*heights.shape, 2), "hf_maxmin", name),
    )


def _read_path(fields: dict, name: str) -> TerrainPath | None:
    nodes = fields.get("path_nodes")
    if nodes is None or isinstance(nodes, PickledObject):
        return None  # a torch tensor: the older code stored its path so, and no clip is worth losing for it
    return TerrainPath(checked_field.numbers(nodes, (None, 3), "path_nodes", name))


def _read_provenance(fields: dict, name: str) -> Provenance:
    if _PROVENANCE not in fields:
        return Provenance()
    try:
        return from_json(Provenance, parse_json(fields[_PROVENANCE], "it"), DatasetError)
    except (TypeError, DatasetError, FormatError) as error:
        raise FormatError(f"{name}: {_PROVENANCE} cannot be read ({error})") from None


def _bounds(terrain: Terrain) -> np.ndarray:
    bounds = terrain.heights.unsqueeze(-1).expand(*terrain.size, 2) if terrain.bounds is None else terrain.bounds
    return bounds.contiguous().numpy()


def _plain_fps(fps: float) -> int | float:
    return int(fps) if float(fps).is_integer() else float(fps)


def _loop_name(motion: Motion) -> str:
    return "WRAP" if motion.loops else "CLAMP"
