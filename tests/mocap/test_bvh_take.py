import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from parc.errors import FormatError
from parc.mocap.read.bvh_take import parse_bvh, read_bvh

HEAD = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Knee left
  {
    OFFSET 1 -2 0.5
    CHANNELS 3 Yrotation Zrotation Xrotation
    End Site
    {
      OFFSET 0 -3 0
    }
  }
}
"""


def motion(rows: list[list[float]], step: float = 0.01) -> str:
    table = "\n".join(" ".join(map(str, r)) for r in rows)
    return f"MOTION\nFrames: {len(rows)}\nFrame Time: {step}\n{table}\n"


def test_positions_are_those_of_the_channels_in_their_order() -> None:
    rng = np.random.default_rng(0)
    rows = rng.uniform(-170, 170, (7, 9))
    got = parse_bvh(HEAD + motion(rows.tolist()), "take_01")
    assert got.joints == ("Hips", "Knee left", "Knee left_end")
    assert got.parents == (-1, 0, 1)
    assert got.fps == 100
    root = Rotation.from_euler("ZXY", rows[:, 3:6], degrees=True)
    knee = root * Rotation.from_euler("YZX", rows[:, 6:], degrees=True)
    at = rows[:, :3] + root.apply([1, -2, 0.5])
    np.testing.assert_allclose(got.pos[:, 0], rows[:, :3])
    np.testing.assert_allclose(got.pos[:, 1], at, atol=1e-9)
    np.testing.assert_allclose(got.pos[:, 2], at + knee.apply([0, -3, 0]), atol=1e-9)
    np.testing.assert_allclose(got.rot[:, 1], knee.as_matrix(), atol=1e-9)


def test_joints_with_position_channels_move_in_their_parent() -> None:
    head = HEAD.replace(
        "CHANNELS 3 Yrotation Zrotation Xrotation", "CHANNELS 6 Zposition Xposition Yposition Yrotation Zrotation Xrotation"
    )
    row = [0, 0, 0, 90, 0, 0, 3, 1, 2, 0, 0, 0]
    got = parse_bvh(head + motion([row]), "t")
    np.testing.assert_allclose(got.pos[0, 1], [-2, 1, 3], atol=1e-9)  # (1, 2, 3) turned by 90 degrees about z


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("OFFSET 1 -2 0.5", "OFFSET 1 -2 x", "OFFSET of joint 'Knee left'"),
        ("OFFSET 1 -2 0.5\n", "\n", "has no OFFSET"),
        ("Yrotation Zrotation Xrotation", "Yrotation Zrotation Wrotation", "channel 'Wrotation'"),
        ("Yrotation Zrotation Xrotation", "Yrotation Yrotation Xrotation", "a channel twice"),
        ("CHANNELS 3", "CHANNELS three", "'three' CHANNELS"),
        ("CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation", "", "no CHANNELS"),
        ("  }\n}\n", "  }\n", "ends inside a joint"),
        ("HIERARCHY", "HIERARCHIES", "not"),
        ("Frames: 2", "Frames: 3", "2 frames follow"),
        ("Frames: 2", "Frames: many", "Frames is many"),
        ("Frame Time: 0.01", "Frame Time: 0", "Frame Time is 0"),
        ("7.5", "nan", "frame 1 holds a value that is not finite"),
        ("7.5", "seven", "not a number"),
    ],
)
def test_a_damaged_file_is_named_in_one_sentence(old: str, new: str, said: str) -> None:
    text = HEAD + motion([[1.0] * 9, [1.0] * 8 + [7.5]])
    assert old in text
    with pytest.raises(FormatError, match=said) as error:
        parse_bvh(text.replace(old, new), "take")
    assert "\n" not in str(error.value)


def test_no_frames_and_no_file(tmp_path) -> None:
    with pytest.raises(FormatError, match="Frames is 0"):
        parse_bvh(HEAD + "MOTION\nFrames: 0\nFrame Time: 0.01\n", "take")
    with pytest.raises(FormatError, match="does not exist"):
        read_bvh(tmp_path / "none.bvh")
    (tmp_path / "binary.bvh").write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(FormatError, match="not a text file"):
        read_bvh(tmp_path / "binary.bvh")
