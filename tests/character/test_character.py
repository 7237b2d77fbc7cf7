import json
from dataclasses import asdict, replace

import pytest

from parc.character import Body, Character, Joint, humanoid
from parc.character.character import BALL_AXES
from parc.errors import CharacterError

CORE = Body("core", -1, (0, 0, 0))
Y = (0.0, 1.0, 0.0)


def arm(name="arm", parent=0, joint=None):
    return Body(name, parent, (0, 0, 0.3), joint or Joint())


REFUSED = {
    "empty": ((), None, "character 'x' has no bodies"),
    "twins": ((CORE, arm("core")), None, "character 'x' has two bodies of one name: ['core', 'core']"),
    "parent later": ((CORE, arm("a", 2), arm("b")), None, "body 'a' must come after its parent, and only body 0 is the root"),
    "two roots": ((CORE, arm("a", -1)), None, "body 'a' must come after its parent"),
    "limits": ((CORE, arm(joint=Joint((Y,), (0.0,)))), None, "joint of 'arm' needs a lower and an upper limit for each"),
    "order": ((CORE, arm(joint=Joint((Y,), (1.0,), (0.0,)))), None, "joint of 'arm' has a lower limit above its upper"),
    "nan": ((CORE, arm(joint=Joint((Y,), (float("nan"),), (0.0,)))), None, "joint of 'arm' has a lower limit above its upper"),
    "unit": ((CORE, arm(joint=Joint(((0.0, 2.0, 0.0),), (0.0,), (1.0,)))), None, "'arm' has an axis that is not of unit length"),
    "ball": (
        (CORE, arm(joint=Joint(BALL_AXES[::-1], (0.0,) * 3, (1.0,) * 3))), None, "ball joint of 'arm' must have the axes x, y, z",
    ),
    "slant": (
        (CORE, arm(joint=Joint((Y, (0.0, 0.6, 0.8)), (0.0,) * 2, (1.0,) * 2))), None,
        "the two axes of the joint of 'arm' are not perpendicular",
    ),
    "root joint": ((replace(CORE, joint=Joint((Y,), (0.0,), (1.0,))),), None, "root body 'core' has a joint"),
    "mirror length": ((CORE, arm()), (0,), "mirror_of of character 'x' must pair its 2 bodies, got (0,)"),
    "mirror pairs": ((CORE, arm("a"), arm("b")), (0, 2, 2), "mirror_of of character 'x' must pair its 3 bodies, got (0, 2, 2)"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_impossible_characters_are_refused(case):
    bodies, mirror, sentence = REFUSED[case]
    with pytest.raises(CharacterError) as error:
        Character("x", bodies, mirror)
    assert sentence in str(error.value)


def test_unknown_body_is_named():
    with pytest.raises(CharacterError, match="no body 'wing' in character 'humanoid'; it has pelvis, torso, head"):
        humanoid().index("wing")


def test_levels_are_the_depths_of_the_tree(character):
    seen = {0}
    for level in character.levels:
        assert all(character.parents[b] in seen and b not in seen for b in level)
        seen |= set(level)
    assert seen == set(range(character.num_bodies))


def test_dof_layout_counts_up(character):
    ends = [start + b.joint.dof for start, b in zip(character.dof_start, character.bodies, strict=True)]
    assert character.dof_start[0] == 0 and list(character.dof_start[1:]) == ends[:-1] and ends[-1] == character.num_dof


def test_a_character_of_one_body_is_a_character():
    assert Character("ball", (CORE,)).levels == () and Character("ball", (CORE,)).num_dof == 0


def test_fingerprint_sees_structure_and_not_the_way_zeros_are_written():
    spelled = [replace(b, offset=tuple(float(x) if x else -0.0 for x in b.offset)) for b in humanoid().bodies]
    assert Character("other", tuple(spelled)).fingerprint == humanoid().fingerprint
    longer = [replace(b, offset=(b.offset[0], b.offset[1], b.offset[2] - 0.01)) if b.name == "left_shin" else b for b in spelled]
    assert Character("humanoid", tuple(longer)).fingerprint != humanoid().fingerprint


def test_description_survives_json():
    text = json.dumps(asdict(humanoid()))
    assert json.loads(text)["bodies"][1]["name"] == "torso"
