import math

import pytest

from parc.character.mjcf import character_from_mjcf


def joint_of(tmp_path, joint="", actuators=""):
    path = tmp_path / "model.xml"
    path.write_text(f"""<mujoco><worldbody><body name="core" pos="0 0 1"><freejoint/><geom size="0.1" mass="8"/>
        <body name="limb" pos="0 0 -0.2">{joint or '<joint name="j" axis="0 1 0"/>'}
        <geom type="capsule" size="0.05" fromto="0 0 0 0 0 -0.75" mass="2"/></body></body></worldbody>
        <actuator>{actuators}</actuator></mujoco>""")
    return character_from_mjcf(path).bodies[1].joint


def gains(joint):
    return joint.stiffness, joint.damping, joint.torque_limit, joint.armature


SPRING = '<joint name="j" axis="0 1 0" stiffness="{}" damping="{}" armature="0.03"/>'
KP = 10 * 9.81 * 1.0 * (6 * 0.2) ** 0.25
CASES = {
    "nothing said": ("", "", (KP, KP / 10, 0.3 * KP, 4e-5 * KP)),
    "position": ("", '<position joint="j" kp="100" kv="7" forcerange="-50 50"/>', (100, 7, 50, 0.004)),
    "position without kv, damped joint": (SPRING.format(0, 3), '<position joint="j" kp="100"/>', (100, 3, 30, 0.03)),
    "geared position": ("", '<position joint="j" kp="100" kv="7" gear="3" forcerange="-50 40"/>', (900, 63, 150, 0.036)),
    "motor": ("", '<motor joint="j" gear="30" ctrlrange="-2 1"/>', (200, 20, 60, 0.008)),
    "motor with unlimited control": ("", '<motor joint="j" gear="30"/>', (100, 10, 30, 0.004)),
    "bare motor": ("", '<motor joint="j"/>', (KP, KP / 10, 0.3 * KP, 4e-5 * KP)),
    "motor, gains on the joint": (SPRING.format(300, 20), '<motor joint="j" gear="90"/>', (300, 20, 90, 0.03)),
    "motor, passive spring": (SPRING.format(5, 1), '<motor joint="j" gear="90"/>', (300, 30, 90, 0.03)),
    "gains on the joint alone": (SPRING.format(300, 20), "", (300, 20, 90, 0.03)),
    "limited joint": (
        '<joint name="j" actuatorfrcrange="-25 25"/>', '<motor joint="j" gear="90"/>', (25 / 0.3, 25 / 3, 25, 1e-4 / 0.03),
    ),
    "strongest of three": (
        "".join(f'<joint name="{n}" axis="{a}"/>' for n, a in (("a", "1 0 0"), ("j", "0 1 0"), ("c", "0 0 1"))),
        '<motor joint="a" gear="20" forcerange="-6 6"/><motor joint="j" gear="60" ctrlrange="-1 1"/>',
        (200, 20, 60, 0.008),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_gains(tmp_path, case):
    joint, actuators, expected = CASES[case]
    for ours, wanted in zip(gains(joint_of(tmp_path, joint, actuators)), expected, strict=True):
        assert math.isclose(ours, wanted, rel_tol=1e-6)


def test_weights_lie_between_the_humanoids(character):
    assert all(0.4 <= b.joint.weight <= 1 for b in character.bodies if b.joint.axes)
