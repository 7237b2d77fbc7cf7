"""Which joint of a skeleton is the knee: names of any skeleton to the places of a human body.

Skeletons agree on places and disagree on words: `LeftFoot` is an ankle in BVH files and the ball of the foot in SMPL,
`LeftShoulder` a collar bone in the first and a shoulder in the second. So a place has a list of words in order of preference, and
a word that is more telling wins: where a skeleton has an `ankle`, its `foot` is a toe; where it has an `arm`, its `shoulder` is a
collar.

    place    words tried, best first
    ankle    ankle, foot
    toe      toe, ball, foot (if it is not the ankle)

A caller's own table {place: joint name} goes before everything, so a skeleton with unheard-of names needs no code. A place may
also be called as the character calls the body that begins there: left_shin is left_knee.

    names.json    {"left_knee": "bone_7", "right_knee": "bone_8"}
    names.csv     left_knee,bone_7
                  right_knee,bone_8
"""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from parc.errors import FormatError
from parc.fit.held_parts import SIDES
from parc.run.file_reading import MOST_TEXT, parse_json, read_bytes

_TRUNK_WORDS = {
    "pelvis": ("pelvis", "hips", "hip", "root"),
    "spine": ("spine", "spine0", "lowerback", "spine1", "spine01", "spine001", "torso", "abdomen", "abdomenlower", "l5", "chest",
              "spine05"),
    "chest": ("spine3", "upperchest", "chestupper", "chest3", "chest2", "spine03", "spine003", "chest", "spine2", "spine02", "t8",
              "spine1", "torso"),
    "neck": ("neck", "neck0", "neck1", "neck01", "necklower"),
    "head": ("head",),
    "head_top": ("headend", "headtop", "headtopend", "headnub"),
}  # fmt: skip
_LIMB_WORDS = {
    "hip": ("upleg", "upperleg", "upperleg01", "thigh", "upperthigh", "thighbend", "hip", "hipjoint", "femur"),
    "knee": ("knee", "shin", "calf", "lowerleg", "lowerleg01", "loleg", "leg", "tibia"),
    "ankle": ("ankle", "foot"),
    "toe": ("toebase", "toe", "toes", "toe0", "toe11", "ball", "foot", "footend"),
    "shoulder": ("uparm", "upperarm", "upperarm01", "shldrbend", "shldr", "arm", "shoulder", "humerus"),
    "elbow": ("elbow", "forearm", "forearmbend", "lowerarm", "lowerarm01", "loarm", "radius"),
    "wrist": ("wrist", "hand"),
    "finger": (
        "handmiddle1",
        "middle1",
        "middle01",
        "fmiddle01",
        "handindex1",
        "index1",
        "index01",
        "fingerbase",
        "handend",
        "hand",
    ),
}
REQUIRED = tuple(f"{side}_{part}" for part in ("hip", "knee", "ankle", "shoulder", "elbow", "wrist") for side in SIDES)
"""without these there is nothing to retarget; pelvis, spine, chest, neck, head and toes are used where they are"""
PLACES = (*_TRUNK_WORDS, *(f"{side}_{part}" for part in _LIMB_WORDS for side in SIDES))

_HEADERS = ("place", "body", "ours")
_PREFIX = re.compile(r"^(mixamorig\d*|character\d*|bip0*\d+|bip|j_bip(_c)?|skel|avg|def|org|m|f)[:_ -]", re.IGNORECASE)


def find_places(joints: Sequence[str], override: Mapping[str, str] | None = None, name: str = "the skeleton") -> dict[str, int]:
    """Index of the joint at each place of the body that was found; `override` is {place: joint name}."""
    places: dict[str, int] = {}
    for word, joint in (override or {}).items():
        if (place := place_called(word)) is None:
            raise FormatError(f"{name}: the naming table has an unknown place '{word}'; known are {', '.join(PLACES)}")
        if joint not in joints:
            near = get_close_matches(joint, joints, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(joints)}"
            raise FormatError(f"{name}: the naming table puts '{joint}' at {word}, but there is no such joint; {hint}")
        places[place] = list(joints).index(joint)
    words = [_split(j) for j in joints]
    for part, choices in _TRUNK_WORDS.items():
        _choose(places, part, words, "", choices)
    for part, choices in _LIMB_WORDS.items():
        for side in SIDES:
            _choose(places, f"{side}_{part}", words, side, choices)
    missing = [p for p in REQUIRED if p not in places]
    if missing:
        raise FormatError(
            f"{name}: no joint was recognised as {', '.join(missing)} among {', '.join(joints)}; "
            "say which they are in a naming table (--names)"
        )
    return places


def place_called(word: str) -> str | None:
    """The place of the body that a word means: its own name, or the name of a body that begins there."""
    if word in PLACES:
        return word
    side, rest = _split(word)
    parts = _LIMB_WORDS if side else _TRUNK_WORDS
    part = next((part for part, choices in parts.items() if rest in choices), None)
    return part and (f"{side}_{part}" if side else part)


def load_naming(path: Path | str) -> dict[str, str]:
    """A naming table {place: joint name} from a .json file (an object) or a .csv file (two columns; a header `place,joint` is
    passed over)."""
    path = Path(path)
    try:
        text = read_bytes(path, MOST_TEXT).decode("utf-8-sig")
        table = _csv_table(text, path.name) if path.suffix.lower() == ".csv" else _json_table(text, path.name)
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{path.name} is not a readable naming table ({error})") from None
    if not table:
        raise FormatError(f"{path.name}: the naming table is empty")
    unknown = next((word for word in table if place_called(word) is None), None)
    if unknown is not None:
        raise FormatError(f"{path.name}: the naming table has an unknown place '{unknown}'; known are {', '.join(PLACES)}")
    return table


def _json_table(text: str, name: str) -> dict[str, str]:
    try:
        table = parse_json(text, name)
    except FormatError as error:
        raise FormatError(f"{name} is not a JSON naming table ({error})") from None
    if not isinstance(table, dict) or not all(isinstance(v, str) for v in table.values()):
        raise FormatError(f"{name}: a naming table is an object of places and joint names")
    return table


def _csv_table(text: str, name: str) -> dict[str, str]:
    rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text)) if any(cell.strip() for cell in row)]
    wrong = next((row for row in rows if len(row) != 2 or not all(row)), None)
    if wrong is not None:
        raise FormatError(f"{name}: '{','.join(wrong)}' is not a place and a joint name, with a comma between")
    return dict(rows[1:] if rows and rows[0][0].lower() in _HEADERS else rows)


def _choose(places: dict[str, int], place: str, words: list[tuple[str, str]], side: str, choices: Sequence[str]) -> None:
    """The joint with the best word that no other place has taken."""
    if place in places:
        return
    taken = set(places.values())
    for word in choices:
        for index, (joint_side, joint_word) in enumerate(words):
            if (joint_side, joint_word) == (side, word) and index not in taken:
                places[place] = index
                return


def _split(joint: str) -> tuple[str, str]:
    """Side ('left', 'right' or '') and the rest in lower case without separators: 'mixamorig:LeftUpLeg' -> left, upleg."""
    plain = _PREFIX.sub("", joint.strip())
    side, rest = "", plain
    for pattern, group in _SIDE_PATTERNS:
        match = pattern.match(plain)
        if match:
            side, rest = ("left" if match["side"][0] in "lL" else "right"), match[group]
            break
    return side, re.sub(r"[^a-z0-9]", "", rest.lower())


_SIDE_PATTERNS = (
    (re.compile(r"^(?P<side>left|right)[_\-. ]?(?P<rest>.+)$", re.IGNORECASE), "rest"),
    (re.compile(r"^(?P<rest>.+?)[_\-. ]?(?P<side>left|right)$", re.IGNORECASE), "rest"),
    (re.compile(r"^(?P<side>[lrLR])[_\-. ](?P<rest>.+)$"), "rest"),
    (re.compile(r"^(?P<rest>.+)[_\-. ](?P<side>[lrLR])$"), "rest"),
    (re.compile(r"^(?P<side>[lrLR])(?P<rest>[A-Z][a-z].*)$"), "rest"),
)
