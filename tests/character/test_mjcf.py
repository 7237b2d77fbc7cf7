import itertools
import math

import mujoco
import numpy as np
import pytest
import torch

from parc.character import BodyPose, Box, Capsule, Sphere, forward_kinematics, rotation
from parc.character.character import BALL_AXES
from parc.character.joint_coordinates import joints_to_dof
from parc.character.mjcf import character_from_mjcf, read_mjcf
from parc.errors import CharacterError


class Simulated:
    """A file read by us, and what MuJoCo's own kinematics makes of random coordinates of it."""

    def __init__(self, path, count=100):
        self.read = read_mjcf(path)
        self.model = mujoco.MjModel.from_xml_path(str(path))
        self.data = mujoco.MjData(self.model)
        self.qpos = np.random.default_rng(0).uniform(-1.4, 1.4, size=(count, self.model.nq))
        self.qpos[:, 3:7] = np.random.default_rng(1).normal(size=(count, 4))
        pos, quat, self.geom_pos, self.geom_mat = [], [], [], []
        for q in self.qpos:
            self.data.qpos = q
            mujoco.mj_normalizeQuat(self.model, self.data.qpos)
            q[:] = self.data.qpos
            mujoco.mj_kinematics(self.model, self.data)
            pos.append(self.data.xpos[list(self.read.frames.mujoco_body)].copy())
            quat.append(self.data.xquat[list(self.read.frames.mujoco_body)][:, [1, 2, 3, 0]].copy())
            self.geom_pos.append(self.data.geom_xpos.copy())
            self.geom_mat.append(self.data.geom_xmat.reshape(-1, 3, 3).copy())
        self.mujoco_pose = BodyPose(torch.tensor(np.array(pos)), torch.tensor(np.array(quat)))
        self.pose = self.read.frames.from_mujoco(self.mujoco_pose)
        parents = list(self.read.character.parents[1:])
        self.joint_rot = rotation.difference(self.pose.rot[:, parents], self.pose.rot[:, 1:])


@pytest.fixture(scope="module", params=["bird", "walker"])
def simulated(request):
    return Simulated(request.getfixturevalue(f"{request.param}_path"))


def test_kinematics_are_mujocos_through_the_frame_map(simulated):
    ours = forward_kinematics(simulated.read.character, simulated.pose.pos[:, 0], simulated.pose.rot[:, 0], simulated.joint_rot)
    back = simulated.read.frames.to_mujoco(ours)
    assert (ours.pos - simulated.pose.pos).abs().max() < 1e-7
    assert (back.pos - simulated.mujoco_pose.pos).abs().max() < 1e-7
    assert (rotation.to_matrix(back.rot) - rotation.to_matrix(simulated.mujoco_pose.rot)).abs().max() < 1e-7


def test_coordinates_are_mujocos(simulated):
    """Angles of single and double hinges are qpos itself; fixed bodies do not turn; balls turn alike in rest axes."""
    character, model = simulated.read.character, simulated.model
    dof = joints_to_dof(character, simulated.joint_rot).numpy()
    for i, body in enumerate(character.bodies[1:], 1):
        first = model.body_jntadr[simulated.read.frames.mujoco_body[i]]
        turn, start = simulated.joint_rot[:, i - 1], character.dof_start[i]
        if body.joint.dof == 0:
            assert rotation.angle(turn).max() < 1e-7
        elif body.joint.dof < 3:
            address = model.jnt_qposadr[first]
            assert np.allclose(
                dof[:, start : start + body.joint.dof], simulated.qpos[:, address : address + body.joint.dof], atol=1e-6
            )
        elif model.jnt_type[first] == mujoco.mjtJoint.mjJNT_BALL:
            address = model.jnt_qposadr[first]
            q = torch.tensor(simulated.qpos[:, address : address + 4][:, [1, 2, 3, 0]])
            rest = simulated.read.frames.rest[i].expand_as(q)
            expected = rotation.multiply(rotation.multiply(rest, q), rotation.conjugate(rest))
            assert rotation.angle(rotation.difference(expected, turn)).max() < 1e-6


def test_zero_pose_has_aligned_frames_and_mujocos_places(simulated):
    character, frames = simulated.read.character, simulated.read.frames
    mujoco.mj_resetData(simulated.model, simulated.data)
    mujoco.mj_kinematics(simulated.model, simulated.data)
    root = torch.tensor(simulated.data.xpos[frames.mujoco_body[0]])
    still = rotation.identity((character.num_joints,), dtype=torch.float64)
    zero = forward_kinematics(character, root, rotation.identity(dtype=torch.float64), still)
    back = frames.to_mujoco(zero)
    assert np.allclose(back.pos, simulated.data.xpos[list(frames.mujoco_body)], atol=1e-8)
    assert np.allclose(rotation.to_matrix(back.rot).flatten(1), simulated.data.xmat[list(frames.mujoco_body)], atol=1e-12)


def test_exact_shapes_are_where_mujoco_has_them(simulated):
    kinds, compared = mujoco.mjtGeom, 0
    for i, body in enumerate(simulated.read.character.bodies):
        first = simulated.model.body_geomadr[simulated.read.frames.mujoco_body[i]]
        for shape, geom in zip(body.shapes[:1], [first], strict=True):
            kind, size = simulated.model.geom_type[geom], simulated.model.geom_size[geom]
            if geom < 0 or kind not in [int(kinds.mjGEOM_CAPSULE), int(kinds.mjGEOM_BOX), int(kinds.mjGEOM_SPHERE)]:
                continue
            if isinstance(shape, Box):
                turn = torch.tensor(shape.rotation, dtype=torch.float64)
                corners = torch.tensor(list(itertools.product((-1, 1), repeat=3))) * torch.tensor(shape.half, dtype=torch.float64)
                points = torch.tensor(shape.centre) + rotation.rotate(turn, corners)
                local = np.array(list(itertools.product((-1, 1), repeat=3))) * size
            else:
                assert isinstance(shape, Capsule) and math.isclose(shape.radius, size[0])
                points = torch.tensor([shape.start, shape.end], dtype=torch.float64)
                local = np.array([[0, 0, -size[1]], [0, 0, size[1]]])
            for frame in range(0, 100, 10):
                pos, rot = simulated.pose.pos[frame, i], simulated.pose.rot[frame, i]
                ours = (pos + rotation.rotate(rot, points)).numpy()
                theirs = simulated.geom_pos[frame][geom] + local @ simulated.geom_mat[frame][geom].T
                gap = np.linalg.norm(ours[:, None] - theirs[None], axis=-1)
                assert gap.min(0).max() < 1e-6 and gap.min(1).max() < 1e-6
            compared += 1
    assert compared >= 6


def test_every_body_weighs_what_it_weighs_in_mujoco(simulated):
    for body, i in zip(simulated.read.character.bodies, simulated.read.frames.mujoco_body, strict=True):
        assert math.isclose(sum(s.mass for s in body.shapes), simulated.model.body_mass[i], rel_tol=1e-9)


def test_the_bird(bird_path):
    read = read_mjcf(bird_path)
    bird = read.character
    assert bird.name == "bird" and read_mjcf(bird_path, "heron").character.name == "heron"
    assert bird.names == ("hull", "neck", "beak", "tail", "l_thigh", "l_shank", "l_toe", "r_thigh", "r_shank", "r_toe")
    assert [b.joint.dof for b in bird.bodies] == [0, 3, 0, 1, 2, 1, 1, 2, 1, 1]
    assert [bird.names[i] for i in bird.feet] == ["l_toe", "r_toe"]
    assert [bird.names[i] for i in bird.key_bodies] == ["beak", "tail", "l_toe", "r_toe"]
    assert bird.mirror_of == (0, 1, 2, 3, 7, 8, 9, 4, 5, 6)
    knee = bird.bodies[bird.index("l_shank")].joint
    assert np.allclose((knee.lower[0], knee.upper[0]), np.radians((-30, 90)))
    neck, tail = bird.bodies[1].joint, bird.bodies[3].joint
    assert np.allclose(neck.upper, math.radians(50)) and np.allclose(neck.lower, -math.radians(50))
    assert tail.lower == (-math.pi,) and tail.upper == (math.pi,)
    assert len(bird.bodies[0].shapes) == 1, "the drawing is left out"
    assert isinstance(bird.bodies[3].shapes[0], Sphere)
    assert len(read.notes) == 3


def test_three_hinges_are_a_ball_that_keeps_limits_by_axis(walker_path):
    walker = character_from_mjcf(walker_path)
    chest, left = (walker.bodies[walker.index(n)].joint for n in ("chest", "LLeg"))
    assert chest.axes == left.axes == BALL_AXES
    assert np.allclose(np.degrees([chest.lower, chest.upper]), [[-35, -30, -40], [35, 70, 45]])
    assert np.allclose(np.degrees([left.lower, left.upper]), [[-20, -120, -10], [40, 50, 30]])
    assert walker.mirror_of is None


def test_a_file_that_faces_elsewhere_is_turned(bird_path, tmp_path):
    text = bird_path.read_text()
    start, end = text.index('<body name="hull"'), text.rindex("</body>") + len("</body>")
    turned = tmp_path / "turned.xml"
    turned.write_text(f'{text[:start]}<frame euler="0 0 70">{text[start:end]}</frame>{text[end:]}')
    straight, again = character_from_mjcf(bird_path), character_from_mjcf(turned, facing=math.radians(70))
    assert character_from_mjcf(turned).mirror_of is None and again.mirror_of == straight.mirror_of
    for a, b in zip(straight.bodies, again.bodies, strict=True):
        assert np.allclose(a.offset, b.offset, atol=1e-7) and np.allclose(a.joint.axes, b.joint.axes, atol=1e-7)
        assert np.allclose([s.bounds for s in a.shapes], [s.bounds for s in b.shapes], atol=1e-6)


def test_feet_and_keys_can_be_named(bird_path):
    bird = character_from_mjcf(bird_path, feet=["l_toe"], keys=["beak", "l_toe"])
    assert [bird.names[i] for i in bird.feet] == ["l_toe"]
    assert [bird.names[i] for i in bird.key_bodies] == ["beak", "l_toe"]
    with pytest.raises(CharacterError, match="no body 'toe' to be a foot or key body; the bodies are hull, neck"):
        character_from_mjcf(bird_path, feet=["toe"])


def model_of(inner="", root='<freejoint name="root"/>', world="", after=""):
    limb = f'<body name="limb" pos="0 0 0.2"><geom size="0.1"/>{inner}</body>'
    return f'<mujoco><worldbody>{world}<body name="core">{root}<geom size="0.1"/>{limb}</body></worldbody>{after}</mujoco>'


HINGES = '<joint name="a" axis="{}" pos="{}"/><joint name="b" axis="{}" pos="{}"/>'
FOUR = (("a", "1 0 0"), ("b", "0 1 0"), ("c", "0 0 1"), ("d", "1 0 0"))
REFUSED = {
    "slide": (model_of('<joint name="leg" type="slide"/>'), "joint 'leg' slides; only hinge and ball joints can be read"),
    "no root": (model_of(root=""), "no body has a free joint; give the root body of the character a <freejoint/>"),
    "two roots": (
        model_of(world='<body><freejoint name="prop"/><geom size="0.1"/></body>'),
        "the root of a character has one free joint, this file has 2: 'prop', 'root'",
    ),
    "door": (
        model_of(world='<body name="door"><joint/><geom size="0.1"/></body>'),
        "joint 'unnamed joint of door' is not on the character of root 'core'",
    ),
    "root hinge": (model_of(root='<freejoint/><joint name="extra"/>'), "Error: more than 6 dofs in body 'core'"),
    "oblique": (
        model_of(HINGES.format("1 0 0", "0 0 0", "0.6 0.8 0", "0 0 0")),
        r"hinges 'a' and 'b' of one body are not perpendicular: axes \(1.0, 0.0, 0.0\) and \(0.6, 0.8, 0.0\)",
    ),
    "anchors": (
        model_of(HINGES.format("1 0 0", "0 0 0", "0 1 0", "0 0 0.1")),
        "hinges 'a' and 'b' of one body have anchors 0.1 m apart; give them one pos",
    ),
    "ball and hinge": (
        model_of('<joint name="a" armature="1"/><joint name="b" type="ball"/>'),
        "joints 'a' and 'b' are a hinge and a ball on one body; a ball must be alone",
    ),
    "four": (
        model_of("".join(f'<joint name="{n}" axis="{a}" armature="1"/>' for n, a in FOUR)),
        "joints 'a' and 'b' and 'c' and 'd' are more than three hinges on one body",
    ),
    "ref": (model_of('<joint name="knee" ref="90"/>'), "joint 'knee' has ref 1.571; ref must be 0"),
    "equality": (
        model_of('<joint name="knee"/>', after='<equality><joint name="lock" joint1="knee"/></equality>'),
        "equality constraint 'lock' ties bodies or joints together; characters are trees, remove it",
    ),
    "not xml": ("<mujoco><worldbody", "MuJoCo cannot read '.*model.xml': XML parse error"),
    "massless": ('<mujoco><worldbody><body><freejoint/></body></worldbody></mujoco>', "Error: mass and inertia"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_named(tmp_path, case):
    text, sentence = REFUSED[case]
    path = tmp_path / "model.xml"
    path.write_text(text)
    with pytest.raises(CharacterError, match=sentence) as error:
        character_from_mjcf(path)
    assert "\n" not in str(error.value)


def test_anchors_a_little_apart_are_moved_together(tmp_path):
    path = tmp_path / "model.xml"
    path.write_text(model_of(HINGES.format("1 0 0", "0 0 0", "0 1 0", "0 0 0.04")))
    read = read_mjcf(path)
    assert read.notes == ("hinges 'a' and 'b' have anchors 0.04 m apart, moved to their middle",)
    assert np.allclose(read.frames.anchor, [[0, 0, 0], [0, 0, 0.02]]) and np.allclose(
        read.character.bodies[1].offset, [0, 0, 0.22]
    )


def test_missing_file_is_named(tmp_path):
    with pytest.raises(CharacterError, match=r"there is no MJCF file '.*nowhere.xml'"):
        character_from_mjcf(tmp_path / "nowhere.xml")


def test_names_are_made_up_where_the_file_has_none(tmp_path):
    path = tmp_path / "anonymous.xml"
    path.write_text(model_of().replace('name="limb"', ""))
    character = character_from_mjcf(path)
    assert character.name == "anonymous" and character.names == ("core", "body2")
