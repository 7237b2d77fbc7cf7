"""MimicKit motion files: `.pkl`, one dict of `loop_mode` (0 clamp, 1 wrap), `fps` and `frames` [T, 6+D].

A frame is the root's position, its exponential map, and the joint coordinates in the character's order. Contacts and terrain have
no place in the format: reading gives no contacts and flat ground at height 0, writing drops them.
"""

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.convert import checked_field
from parc.dataset.convert.parc_pickle import frames_of, read_frames
from parc.dataset.convert.portable_pickle import portable_dumps
from parc.dataset.flat_terrain import flat_ground

FIELDS = ("loop_mode", "fps", "frames")


def read_mimickit(content: dict, character: Character, name: str) -> Clip:
    """A clip from the dictionary in a MimicKit pickle."""
    checked_field.check_keys(content, FIELDS, FIELDS, "the file", name)
    motion = read_frames(content, character, name)
    return Clip(name, motion, flat_ground(motion), None, character.name)


def write_mimickit(clip: Clip, character: Character) -> bytes:
    """A clip's motion as a MimicKit pickle."""
    content = {"loop_mode": int(clip.motion.loops), **frames_of(clip.motion, character)}
    content["frames"] = content["frames"].tolist()
    return portable_dumps(content)
