from dataclasses import replace

import pytest

from parc.character import Body, Joint, Sphere, humanoid
from parc.character.find_symmetry import extent, find_mirror, other_side


@pytest.mark.parametrize(
    "name, other",
    [("left_arm", "right_arm"), ("RightFoot", "LeftFoot"), ("l_toe", "r_toe"), ("arm_r", "arm_l"), ("LThigh", "RThigh"),
     ("FL_hip", "FR_hip"), ("RL_hip", "RR_hip"), ("RR_hip", "RL_hip"), ("pelvis", "pelvis"), ("Lower", "Lower"),
     ("LEFT", "RIGHT")],
)  # fmt: skip
def test_names_change_sides(name, other):
    assert other_side(name) == other and other_side(other) == name


def test_the_humanoids_pairs_are_found():
    assert find_mirror(humanoid().bodies) == humanoid().mirror_of


def change(name, **what):
    return [replace(b, **{k: f(getattr(b, k)) for k, f in what.items()}) if b.name == name else b for b in humanoid().bodies]


@pytest.mark.parametrize(
    "what",
    [
        {"offset": lambda o: (o[0] + 0.01, o[1], o[2])},
        {"joint": lambda j: replace(j, axes=((1.0, 0.0, 0.0),))},
        {"joint": lambda j: replace(j, upper=(j.upper[0] - 0.2,))},
        {"joint": lambda j: Joint()},
        {"shapes": lambda s: (replace(s[0], radius=s[0].radius + 0.05),)},
        {"shapes": lambda s: ()},
    ],
)
def test_one_uneven_side_is_no_symmetry(what):
    assert find_mirror(change("left_shin", **what)) is None


def test_a_hinge_the_other_way_round_is_symmetric_with_limits_swapped():
    def flip(j):
        return replace(j, axes=((0.0, -1.0, 0.0),), lower=(-j.upper[0],), upper=(-j.lower[0],))

    assert find_mirror(change("left_shin", joint=flip)) == humanoid().mirror_of
    assert find_mirror(change("left_shin", joint=lambda j: replace(flip(j), lower=j.lower, upper=j.upper))) is None


def test_names_decide_between_bodies_in_one_place():
    fins = [Body(name, 0, (0.0, 0.0, 0.0), shapes=(Sphere((0, 0, 0), 0.1, 1),)) for name in ("left_fin", "mid", "right_fin")]
    assert find_mirror([Body("core", -1, (0, 0, 0)), *fins]) == (0, 3, 2, 1)


def test_extent_of_a_body():
    shapes = (Sphere((0, 0, 1), 0.5, 1), Sphere((1, 0, 0), 0.25, 1))
    assert extent(Body("a", -1, (0, 0, 0), shapes=shapes)) == ((-0.5, -0.5, -0.25), (1.25, 0.5, 1.5))
    assert extent(Body("a", -1, (0, 0, 0))) == ((0, 0, 0), (0, 0, 0))
