"""BVH: our motion goes out and comes back, an independent walk over the file agrees with our kinematics, bad files are told."""

import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from parc.character import rotation
from parc.character.joint_coordinates import dof_to_joints
from parc.character.mjcf import character_from_mjcf
from parc.dataset import load_clip, save_clip
from parc.dataset.convert.bvh_file import Bvh, format_bvh, parse_bvh
from parc.dataset.convert.bvh_format import euler_order, read_bvh, write_bvh
from parc.dataset.convert.euler_angles import continuous, to_euler
from parc.dataset.convert.y_up_axes import from_y_up, to_y_up
from parc.errors import FormatError
from parc.motion import Motion

torch.set_num_threads(1)
ORDERS = ["".join(p) for p in itertools.permutations("XYZ")]


def bird():
    return character_from_mjcf(Path(__file__).parents[1] / "character" / "robot_bird.xml")


def farthest(a: Motion, b: Motion, body) -> tuple[float, float]:
    """Largest distance (m) and angle (degrees) between the bodies of two motions."""
    one, two = a.body_poses(body), b.body_poses(body)
    turn = rotation.angle(rotation.difference(one.rot.double(), two.rot.double()))
    return float((one.pos - two.pos).norm(dim=-1).max()), float(torch.rad2deg(turn.max()))


def walk_of_file(bvh: Bvh) -> dict[str, np.ndarray]:
    """World positions [T, 3] by joint, straight from the definition of BVH."""
    place, turn = {}, {}
    for joint, start in zip(bvh.joints, bvh.channel_start, strict=True):
        frames = len(bvh.values)
        own, shift = Rotation.identity(frames), np.tile(joint.offset, (frames, 1))
        for k, channel in enumerate(joint.channels):
            values = bvh.values[:, start + k]
            if channel.endswith("position"):
                shift[:, "XYZ".index(channel[0])] = values
            else:
                own = own * Rotation.from_rotvec(np.radians(values)[:, None] * np.eye(3)["XYZ".index(channel[0])])
        if joint.parent < 0:
            place[joint.name], turn[joint.name] = shift, own
        else:
            parent = bvh.joints[joint.parent].name
            place[joint.name], turn[joint.name] = place[parent] + turn[parent].apply(shift), turn[parent] * own
    return place


@pytest.mark.parametrize("order", ORDERS)
def test_euler_angles_of_every_order(order):
    random = Rotation.from_quat(np.random.default_rng(0).normal(size=(300, 4)))
    locked = Rotation.from_euler(order, [[0.3, np.pi / 2, -1.2], [0.3, -np.pi / 2, 2.0], [3.0, np.pi / 2 - 1e-9, -3.0]])
    for turns in (random, locked):
        angles = to_euler(turns.as_matrix(), order)
        assert (Rotation.from_euler(order, angles).inv() * turns).magnitude().max() < 1e-7
        assert np.abs(angles[:, 1]).max() <= np.pi / 2


def test_a_steady_turn_through_gimbal_lock_has_no_jump():
    steady = np.linspace(0, 6 * np.pi, 200)
    for order, axis in itertools.product(ORDERS, np.eye(3)):
        turns = Rotation.from_rotvec(steady[:, None] * axis)
        angles = continuous(to_euler(turns.as_matrix(), order))
        assert (Rotation.from_euler(order, angles).inv() * turns).magnitude().max() < 1e-6
        assert np.abs(np.diff(angles, axis=0)).max() == pytest.approx(6 * np.pi / 199, rel=1e-3)


def test_y_up_is_a_rotation_and_turns_back():
    g = np.random.default_rng(1)
    q, v = Rotation.from_quat(g.normal(size=(50, 4))), g.normal(size=(50, 3))
    turned = Rotation.from_quat(to_y_up(q.as_quat()))
    assert np.allclose(turned.apply(to_y_up(v)), to_y_up(q.apply(v)))
    assert np.array_equal(from_y_up(to_y_up(v)), v)
    assert to_y_up(np.array([0.0, 0, 1])).tolist() == [0, 1, 0], "up is y"


@pytest.mark.parametrize("unit", ["m", "cm"])
def test_round_trip(unit, tmp_path, make_clip, character):
    for seed in range(3):
        clip = make_clip("x", seed, frames=40)
        save_clip(clip, tmp_path / "x.bvh", character, unit=unit)
        back = load_clip(tmp_path / "x.bvh", character)
        metres, degrees = farthest(clip.motion, back.motion, character)
        assert metres < 1e-5 and degrees < 1e-4
        assert back.name == "x" and back.provenance.source == "x.bvh" and back.motion.fps == clip.motion.fps
        assert back.motion.contacts.count_nonzero() == 0 and back.terrain.heights.count_nonzero() == 0


def test_any_body_round_trip():
    body, g = bird(), torch.Generator().manual_seed(0)
    joints = dof_to_joints(body, torch.randn(9, body.num_dof, generator=g))
    root = rotation.from_exp(torch.randn(9, 3, generator=g))
    motion = Motion(torch.randn(9, 3, generator=g), root, joints, torch.zeros(9, len(body)))
    clip = replace(read_bvh(write_bvh(_clip_of(motion, body), body), body, "x"), name="y")
    metres, degrees = farthest(motion, clip.motion, body)
    assert metres < 1e-5 and degrees < 1e-4


def _clip_of(motion, body):
    from parc.dataset import Clip
    from parc.dataset.flat_terrain import flat_ground

    return Clip("x", motion, flat_ground(motion), None, body.name)


def test_the_definition_of_bvh_gives_our_kinematics(make_clip, character):
    clip = make_clip("x", 5)
    for unit, scale in (("m", 1), ("cm", 100)):
        places = walk_of_file(parse_bvh(write_bvh(clip, character, unit), "x"))
        ours = scale * to_y_up(clip.motion.body_poses(character).pos.double().numpy())
        assert max(np.abs(places[name] - ours[:, i]).max() for i, name in enumerate(character.names)) < 1e-5 * scale


def test_what_the_file_looks_like(make_clip, character):
    text = write_bvh(make_clip("x", frames=7), character)
    bvh = parse_bvh(text, "x")
    assert text.count("ROOT") == 1 and text.count("End Site") == 5
    assert re.search(r"Frames: 7\nFrame Time: 0\.0333333333333\n", text)
    assert [len(j.channels) for j in bvh.joints] == [6] + [3] * 14
    ends = {j.name: j.end for j in bvh.joints if j.end}
    assert ends["head"] == pytest.approx((0, 0.27, 0)), "the top of the head"
    assert ends["left_hand"] == pytest.approx((0, 0, -0.04)), "the hand's radius, away from the arm"
    assert ends["right_foot"] == pytest.approx((0.1335, -0.0225, 0)), "the toes"
    assert format_bvh(bvh) == text


def test_written_angles_do_not_jump(character):
    """Somersaults and pirouettes: three whole turns, then the way the curves run is that of the motion."""
    steady = torch.linspace(0, 6 * np.pi, 120)
    for axis in torch.eye(3):
        joints = rotation.identity((120, character.num_joints))
        motion = Motion(torch.zeros(120, 3), rotation.from_exp(steady[:, None] * axis), joints, torch.zeros(120, len(character)))
        angles = parse_bvh(write_bvh(_clip_of(motion, character), character), "x").values[:, 3:6]
        assert np.abs(np.diff(angles, axis=0)).max() < 10


def test_shoulders_have_another_order_than_the_rest(character):
    orders = {b.name: euler_order(b.joint) for b in character.bodies}
    assert orders.pop("right_upper_arm") == orders.pop("left_upper_arm") == "YZX"
    assert set(orders.values()) == {"YXZ"}


@pytest.mark.parametrize("fps", [30.0, 29.97, 24000 / 1001, 120.0, 7.5])
def test_frame_rate_is_kept(fps, make_clip, character):
    clip = make_clip("x")
    clip = replace(clip, motion=replace(clip.motion, fps=fps))
    assert read_bvh(write_bvh(clip, character), character, "x").motion.fps == pytest.approx(fps, rel=1e-9)


def test_few_digits_of_frame_time_are_a_whole_rate(make_clip, character):
    text = write_bvh(make_clip("x"), character).replace("0.0333333333333", "0.033333")
    assert read_bvh(text, character, "x").motion.fps == 30


def test_other_orders_and_positions_for_all_joints_are_read(make_clip, character):
    """What Blender writes: six channels for every joint, one order."""
    clip = make_clip("x", 2)
    bvh = parse_bvh(write_bvh(clip, character), "x")
    columns = []
    for joint, start in zip(bvh.joints, bvh.channel_start, strict=True):
        axes = "".join(c[0] for c in joint.channels if c.endswith("rotation"))
        values = bvh.values[:, start : start + len(joint.channels)]
        turn = Rotation.from_euler(axes, values[:, -3:], degrees=True).as_euler("ZXY", degrees=True)
        shift = values[:, :3] if joint.parent < 0 else np.tile(joint.offset, (len(values), 1))
        columns += [shift, turn]
        joint.channels = ("Xposition", "Yposition", "Zposition", "Zrotation", "Xrotation", "Yrotation")
    bvh.values = np.concatenate(columns, 1)
    metres, degrees = farthest(clip.motion, read_bvh(format_bvh(bvh), character, "x").motion, character)
    assert metres < 1e-5 and degrees < 1e-3
    bvh.values[3, 6] += 0.05
    with pytest.raises(FormatError, match=r"'torso' moves 5\.0 cm"):
        read_bvh(format_bvh(bvh), character, "x")


def _change(pattern: str, new: str, count: int = 1):
    return lambda text: re.sub(pattern, new, text, count=count, flags=re.MULTILINE)


BAD = {
    "not a bvh": (lambda t: "solid cube\n" + t, "does not begin with HIERARCHY"),
    "no motion": (lambda t: t[: t.index("MOTION")], "no MOTION part"),
    "no timing": (_change(r"^Frame Time.*\n", ""), "'Frame Time: S'"),
    "frame time": (_change(r"Frame Time: \S+", "Frame Time: 0"), "Frame Time is 0"),
    "frame time word": (_change(r"Frame Time: \S+", "Frame Time: nan"), "Frame Time holds 'nan'"),
    "frames": (_change(r"Frames: \d+", "Frames: -3"), "Frames is -3"),
    "more frames": (_change(r"Frames: \d+", "Frames: 13"), "12 frames follow where 'Frames: 13'"),
    "a number too few": (lambda t: t.rstrip().rpartition(" ")[0], "frame 11 has 47 numbers, the channels need 48"),
    "nan": (lambda t: t.rstrip().rpartition(" ")[0] + " nan\n", "frame 11 holds a value that is not finite"),
    "a word": (lambda t: t.rstrip().rpartition(" ")[0] + " x1\n", "not a number"),
    "two channels": (
        lambda t: _change(r"(JOINT torso\s+\{\s+OFFSET.*\s+)CHANNELS 3 Yrotation", r"\1CHANNELS 2")(_drop_column(t, 6)),
        "'torso' has the channels Xrotation Zrotation, expected a rotation about each axis",
    ),
    "one axis twice": (_change(r"CHANNELS 3 Yrotation Xrotation", "CHANNELS 3 Xrotation Xrotation"), "a channel twice"),
    "root without positions": (
        lambda t: _change("CHANNELS 6 Xposition Yposition Zposition", "CHANNELS 3")(_drop_column(t, 0, 1, 2)),
        "expected three positions too",
    ),
    "unknown channel": (_change("Xposition", "Wposition"), "a channel 'Wposition'"),
    "channel count": (_change("CHANNELS 3", "CHANNELS 3000000"), "'3000000' CHANNELS"),
    "offset": (_change(r"OFFSET 0 0 0", "OFFSET 0 up 0"), "OFFSET of joint 'pelvis' holds 'up'"),
    "open brace": (_change(r"^\}\n", ""), "ends inside a joint"),
    "two roots": (_change(r"^MOTION", "ROOT other\n{\n}\nMOTION"), "a ROOT stands where it cannot"),
    "other names": (_change("JOINT torso", "JOINT Spine"), "no joint 'torso'; `parc convert --retarget` and"),
    "a joint more": (
        _change(r"JOINT torso\s+\{\s+OFFSET.*\s+CHANNELS 3.*", r"\g<0> JOINT Toe { OFFSET 0 0 0 CHANNELS 0 }"),
        "'Toe' too many",
    ),
    "inches": (lambda t: re.sub(r"OFFSET (\S+) (\S+) (\S+)", _inches, t), "bones are 39.37 times as long"),
    "other rest pose": (_change(r"OFFSET 0 -0.421546 0", "OFFSET 0.421546 0 0"), "in its rest pose joint 'right_shin' is"),
}


def _drop_column(text: str, *columns: int) -> str:
    head, rows = text[: text.index("Frame Time")], text[text.index("Frame Time") :].splitlines()
    kept = [" ".join(w for i, w in enumerate(row.split()) if i not in columns) for row in rows[1:]]
    return head + "\n".join([rows[0], *kept]) + "\n"


def _inches(match: re.Match) -> str:
    return "OFFSET " + " ".join(str(float(v) * 39.37) for v in match.groups())


@pytest.mark.parametrize("what", BAD)
def test_bad_files_give_one_sentence(what, tmp_path, make_clip, character):
    spoil, message = BAD[what]
    text = write_bvh(make_clip("x"), character)
    spoilt = spoil(text)
    assert spoilt != text
    (tmp_path / "bad.bvh").write_text(spoilt)
    with pytest.raises(FormatError, match=re.escape(message)) as caught:
        load_clip(tmp_path / "bad.bvh", character)
    assert "bad.bvh" in str(caught.value) and "\n" not in str(caught.value)


def test_cut_off_files_give_one_sentence(make_clip, character):
    text = write_bvh(make_clip("x", frames=2), character).rstrip()
    for part in range(0, len(text) - 1, 37):
        try:
            read_bvh(text[:part], character, "cut.bvh")
        except FormatError as error:
            assert "cut.bvh" in str(error) and "\n" not in str(error)
        else:
            assert re.search(r"\d$", text[:part]), "only the last number's digits may be missed"


def test_unknown_unit_and_missing_character(tmp_path, make_clip, character):
    with pytest.raises(FormatError, match="unknown unit 'inch'"):
        write_bvh(make_clip("x"), character, "inch")
    with pytest.raises(FormatError, match="needs the character"):
        save_clip(make_clip("x"), tmp_path / "x.bvh")


def test_motion_capture_of_another_skeleton_is_sent_to_the_importer(shared, character):
    files = sorted((shared / "mocap").rglob("*.bvh"))
    if not files:
        pytest.skip("no .bvh among the development data")
    with pytest.raises(FormatError, match="parc dataset build"):
        load_clip(files[0], character)
