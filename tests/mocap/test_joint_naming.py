import json

import pytest

from parc.character import Character
from parc.errors import FormatError
from parc.mocap.read.amass_files import JOINTS as SMPL
from parc.mocap.read.joint_naming import find_places, load_naming
from parc.mocap.read.joint_positions import SUIT_53

LIMBS = ("UpLeg", "Leg", "Foot", "ToeBase", "Shoulder", "Arm", "ForeArm", "Hand")
CMU = ("Hips", "LHipJoint", "RHipJoint", "LowerBack", "Spine", "Spine1", "Neck", "Neck1", "Head", "LeftFingerBase", "LThumb",
       *(f"{s}{p}" for s in ("Left", "Right") for p in LIMBS))  # fmt: skip
MIXAMO = tuple(f"mixamorig:{n}" for n in ("Hips", "Spine", "Spine1", "Spine2", "Neck", "Head", *CMU[-16:]))
RIG = ("thigh", "shin", "foot", "toe", "shoulder", "upper_arm", "forearm", "hand")
BLENDER = ("root", "spine", "chest", "neck", "head", *(f"{p}.{s}" for s in "LR" for p in RIG))
SENSORS = ("UpperLeg", "LowerLeg", "Foot", "Toe", "Shoulder", "UpperArm", "ForeArm", "Hand")
MAX = tuple(f"Bip01 {n}" for n in ("Pelvis", "Spine", "Neck", "Head", *(f"{s} {p}" for s in "LR" for p in (
    "Thigh", "Calf", "Foot", "Toe0", "Clavicle", "UpperArm", "Forearm", "Hand"))))  # fmt: skip
AVATAR = tuple(f"J_Bip_{n}" for n in ("C_Hips", "C_Spine", "C_UpperChest", "C_Head", *(f"{s}_{p}" for s in "LR" for p in (
    "UpperLeg", "LowerLeg", "Foot", "ToeBase", "Shoulder", "UpperArm", "LowerArm", "Hand"))))  # fmt: skip
DOLL = ("hip", "abdomenLower", "chestUpper", "neckLower", "head", *(f"{s}{p}" for s in "lr" for p in (
    "ThighBend", "ThighTwist", "Shin", "Foot", "Toe", "Collar", "ShldrBend", "ShldrTwist", "ForearmBend", "Hand")))  # fmt: skip
MAKE = ("root", "spine05", "neck01", "head", *(f"{p}.{s}" for s in "LR" for p in (
    "upperleg01", "upperleg02", "lowerleg01", "foot", "toe1-1", "shoulder01", "upperarm01", "lowerarm01", "wrist")))  # fmt: skip
DEFORM = (
    "root",
    "DEF-hips",
    "DEF-spine.001",
    "DEF-spine.003",
    "DEF-neck",
    "DEF-head",
    *(f"DEF-{p}.{s}" for s in "LR" for p in RIG),
)
SUIT = ("Pelvis", "L5", "T8", "Neck", "Head", *(f"{s}{p}" for s in ("Left", "Right") for p in SENSORS))


@pytest.mark.parametrize(
    ("joints", "left"),
    [
        (CMU, ("LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToeBase", "LeftArm", "LeftForeArm", "LeftHand")),
        (MIXAMO, tuple(f"mixamorig:Left{p}" for p in ("UpLeg", "Leg", "Foot", "ToeBase", "Arm", "ForeArm", "Hand"))),
        (SMPL, tuple(f"left_{p}" for p in ("hip", "knee", "ankle", "foot", "shoulder", "elbow", "wrist"))),
        (SUIT_53, ("LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToeBase", "LeftArm", "LeftForeArm", "LeftHand")),
        (BLENDER, ("thigh.L", "shin.L", "foot.L", "toe.L", "upper_arm.L", "forearm.L", "hand.L")),
        (DEFORM, tuple(f"DEF-{p}.L" for p in ("thigh", "shin", "foot", "toe", "upper_arm", "forearm", "hand"))),
        (MAX, tuple(f"Bip01 L {p}" for p in ("Thigh", "Calf", "Foot", "Toe0", "UpperArm", "Forearm", "Hand"))),
        (AVATAR, tuple(f"J_Bip_L_{p}" for p in ("UpperLeg", "LowerLeg", "Foot", "ToeBase", "UpperArm", "LowerArm", "Hand"))),
        (DOLL, ("lThighBend", "lShin", "lFoot", "lToe", "lShldrBend", "lForearmBend", "lHand")),
        (MAKE, ("upperleg01.L", "lowerleg01.L", "foot.L", "toe1-1.L", "upperarm01.L", "lowerarm01.L", "wrist.L")),
        (SUIT, ("LeftUpperLeg", "LeftLowerLeg", "LeftFoot", "LeftToe", "LeftUpperArm", "LeftForeArm", "LeftHand")),
    ],
)
def test_known_skeletons_are_read_without_a_table(joints: tuple[str, ...], left: tuple[str, ...]) -> None:
    places = find_places(joints)
    parts = ("hip", "knee", "ankle", "toe", "shoulder", "elbow", "wrist")
    assert {"pelvis", "spine"} <= set(places)
    assert tuple(joints[places[f"left_{p}"]] for p in parts) == left
    right = tuple(joints[places[f"right_{p}"]] for p in parts)
    assert not set(right) & set(left) and len(set(right)) == len(parts)


def test_the_character_itself(character: Character) -> None:
    places = find_places(character.names)
    assert character.names[places["right_knee"]] == "right_shin"
    assert character.names[places["left_wrist"]] == "left_hand"
    assert "left_toe" not in places


def test_missing_joints_are_named() -> None:
    with pytest.raises(FormatError, match="left_knee, right_ankle among") as error:
        find_places([j for j in CMU if j not in ("LeftLeg", "RightFoot", "RightToeBase")], name="odd.bvh")
    assert str(error.value).startswith("odd.bvh")


def test_a_table_goes_first_and_is_checked(tmp_path) -> None:
    joints = ["bone_7" if j == "LeftLeg" else j for j in CMU]
    table = tmp_path / "names.json"
    table.write_text(json.dumps({"left_knee": "bone_7"}))
    assert joints[find_places(joints, load_naming(table))["left_knee"]] == "bone_7"
    with pytest.raises(FormatError, match="unknown place 'left_nose'"):
        find_places(CMU, {"left_nose": "Head"})
    with pytest.raises(FormatError, match="no such joint; it has Hips, LHipJoint"):
        find_places(CMU, {"left_knee": "bone_8"})
    with pytest.raises(FormatError, match="no such joint; did you mean 'LeftLeg'"):
        find_places(CMU, {"left_knee": "leftLeg"})
    table.write_text("[1]")
    with pytest.raises(FormatError, match="object of places"):
        load_naming(table)


@pytest.mark.parametrize(
    "text", ["left_knee,bone_7\nright_shin,RightLeg\n", "\ufeffplace,joint\r\nleft_knee, bone_7\r\n\r\nright_shin,RightLeg"]
)
def test_a_table_of_two_columns_and_names_of_bodies(tmp_path, text: str) -> None:
    """A spreadsheet's BOM, header, spaces and empty lines are no trouble; a shin begins at the knee."""
    (tmp_path / "names.csv").write_bytes(text.encode())
    table = load_naming(tmp_path / "names.csv")
    assert table == {"left_knee": "bone_7", "right_shin": "RightLeg"}
    joints = ["bone_7" if j == "LeftLeg" else j for j in CMU]
    places = find_places(joints, table)
    assert (joints[places["left_knee"]], joints[places["right_knee"]]) == ("bone_7", "RightLeg")


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("names.csv", "left_kne,bone_7\n", "unknown place 'left_kne'"),
        ("names.csv", "left_knee\n", "'left_knee' is not a place and a joint name"),
        ("names.csv", "place,joint\n", "is empty"),
        ("names.json", "{", "not a JSON naming table"),
        ("names.json", '{"nose": "Head"}', "unknown place 'nose'"),
        ("none.json", None, "does not exist"),
    ],
)
def test_a_wrong_table_is_one_sentence(tmp_path, file: str, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / file).write_text(text)
    with pytest.raises(FormatError, match=said) as error:
        load_naming(tmp_path / file)
    assert file in str(error.value) and "\n" not in str(error.value)
