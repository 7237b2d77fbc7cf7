import math

import numpy as np

from parc.character import Box, Capsule, Sphere, humanoid


def test_numbers_of_the_paper():
    character = humanoid()
    assert (len(character), character.num_bodies, character.num_joints, character.num_dof) == (15, 15, 14, 28)
    assert abs(character.mass - 50.05) < 0.05
    assert [character.names[i] for i in character.feet] == ["right_foot", "left_foot"]
    assert [character.names[i] for i in character.key_bodies] == ["right_hand", "left_hand", "right_foot", "left_foot"]


def outline(shape, flip):
    """Every number of a shape, reflected in y = 0 if asked, without regard to which end of a capsule comes first."""

    def place(v):
        return (v[0], -v[1] if flip else v[1], v[2])

    if isinstance(shape, Capsule):
        return (*sorted([place(shape.start), place(shape.end)]), shape.radius, shape.density)
    assert isinstance(shape, Sphere) or shape.rotation == (0, 0, 0, 1)
    return (place(shape.centre), shape.half if isinstance(shape, Box) else shape.radius, shape.density)


def test_the_two_sides_are_exact_reflections():
    character = humanoid()
    assert character.mirror_of is not None
    for body, m in zip(character.bodies, character.mirror_of, strict=True):
        other = character.bodies[m]
        assert character.mirror_of[m] == character.index(body.name)
        assert body.parent == -1 or other.parent == character.mirror_of[body.parent]
        assert other.offset == (body.offset[0], -body.offset[1], body.offset[2])
        assert sorted(map(str, (outline(s, True) for s in body.shapes))) == sorted(
            map(str, (outline(s, False) for s in other.shapes))
        )
        assert other.joint.axes == body.joint.axes
        for axis, low, high, other_low, other_high in zip(
            body.joint.axes, body.joint.lower, body.joint.upper, other.joint.lower, other.joint.upper, strict=True
        ):
            about_y = axis == (0.0, 1.0, 0.0)
            assert (other_low, other_high) == ((low, high) if about_y else (-high, -low))
        a, b = body.joint, other.joint
        assert (a.stiffness, a.damping, a.armature, a.torque_limit, a.weight) == (
            b.stiffness,
            b.damping,
            b.armature,
            b.torque_limit,
            b.weight,
        )
        assert (body.is_key, body.is_foot) == (other.is_key, other.is_foot)


def test_knees_and_elbows_only_bend_the_human_way():
    limits = {b.name: (b.joint.axes[0], b.joint.lower[0], b.joint.upper[0]) for b in humanoid().bodies if b.joint.is_hinge}
    assert set(limits) == {"right_lower_arm", "left_lower_arm", "right_shin", "left_shin"}
    full = math.radians(160)
    assert limits["right_shin"] == limits["left_shin"] == ((0.0, 1.0, 0.0), 0.0, full)
    assert limits["right_lower_arm"] == ((0.0, 0.0, 1.0), 0.0, full) and limits["left_lower_arm"] == ((0.0, 0.0, 1.0), -full, 0.0)


def test_stands_0_9_m_high_hips():
    """Pelvis over the soles, added up by hand along one leg."""
    legs = [b for b in humanoid().bodies if b.name.startswith("left_") and b.name.split("_")[1] in ("thigh", "shin", "foot")]
    sole = legs[-1].shapes[0].bounds[0][2]
    assert np.isclose(-sum(b.offset[2] for b in legs) - sole, 0.421546 + 0.409870 + 0.05)
