"""A person made by code: a skeleton with CMU-like names, and BVH text written from joint rotations."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from parc.author.procedural_walk import stroll
from parc.character import Character, humanoid, rotation
from parc.dataset.clip import Clip
from parc.mocap.read.source_motion import SourceMotion
from parc.path.terrain_path import TerrainPath
from parc.terrain.terrain import Terrain

DATA = Path(__file__).parents[3] / "shared" / "data" / "mocap"

NAMES = {
    "pelvis": "Hips", "torso": "Spine", "head": "Neck", "left_upper_arm": "LeftArm", "left_lower_arm": "LeftForeArm",
    "left_hand": "LeftHand", "right_upper_arm": "RightArm", "right_lower_arm": "RightForeArm", "right_hand": "RightHand",
    "left_thigh": "LeftUpLeg", "left_shin": "LeftLeg", "left_foot": "LeftFoot", "right_thigh": "RightUpLeg",
    "right_shin": "RightLeg", "right_foot": "RightFoot",
}  # fmt: skip


@pytest.fixture(scope="session")
def character() -> Character:
    return humanoid()


@pytest.fixture(scope="session")
def data() -> Path:
    if not DATA.exists():
        pytest.skip("the development motion capture data is not here")
    return DATA


def walk_over(heights: list[float], cells_each: int = 4, width: int = 8) -> Clip:
    """A stroll along x over platforms of the given heights."""
    columns = torch.tensor([h for h in heights for _ in range(cells_each)])
    terrain = Terrain(columns[:, None].expand(-1, width).clone(), torch.zeros(2))
    y = 0.4 * (width - 1) / 2
    length = 0.4 * (len(columns) - 1)
    nodes = torch.tensor([[x, y, 0.0] for x in np.arange(0.4, length - 0.3, 0.2)])
    return stroll(terrain, TerrainPath(nodes.float()))


@pytest.fixture(scope="session")
def flat_walk() -> Clip:
    return walk_over([0.0, 0.0, 0.0])


@pytest.fixture(scope="session")
def step_walk() -> Clip:
    return walk_over([0.0, 0.2, 0.35, 0.0])


def _bvh_text(character: Character, clip: Clip, unit: float = 1.0, tempo: float = 1.0) -> str:
    """A clip as a BVH file with y up and toes as end sites, in a unit of `unit` m; `tempo` scales the frame time written."""
    turn = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0.0]])  # z up, x forward to y up, z forward
    motion = clip.motion
    local = torch.cat([motion.root_rot[:, None], motion.joint_rot], 1).double()
    matrices = turn @ rotation.to_matrix(local).numpy() @ turn.T
    euler = Rotation.from_matrix(matrices.reshape(-1, 3, 3)).as_euler("ZYX", degrees=True).reshape(*matrices.shape[:2], 3)
    root = motion.root_pos.double().numpy() @ turn.T / unit
    lines, order = ["HIERARCHY"], []

    def write(body: int, depth: int) -> None:
        order.append(body)
        pad = "\t" * depth
        offset = turn @ np.array(character.bodies[body].offset) / unit
        name = NAMES[character.names[body]]
        channels = "6 Xposition Yposition Zposition" if body == 0 else "3"
        lines.extend([f"{pad}{'ROOT' if body == 0 else 'JOINT'} {name}", pad + "{", f"{pad}\tOFFSET {' '.join(map(str, offset))}",
                      f"{pad}\tCHANNELS {channels} Zrotation Yrotation Xrotation"])  # fmt: skip
        children = [i for i, p in enumerate(character.parents) if p == body]
        for child in children:
            write(child, depth + 1)
        if not children:
            toe = np.array([0.1335, 0.0, -0.05]) if "Foot" in name else np.array([0.0, 0.0, 0.1])
            end = turn @ toe / unit
            lines.extend([f"{pad}\tEnd Site", pad + "\t{", f"{pad}\t\tOFFSET {' '.join(map(str, end))}", pad + "\t}"])
        lines.append(pad + "}")

    write(0, 0)
    rows = [" ".join(f"{v:.6f}" for v in [*root[t], *euler[t, order].flatten()]) for t in range(len(motion))]
    return "\n".join([*lines, "MOTION", f"Frames: {len(rows)}", f"Frame Time: {tempo / motion.fps:.8f}", *rows, ""])


@pytest.fixture(scope="session")
def bvh_text() -> Callable[..., str]:
    return _bvh_text


PERSON = {
    "Hips": (0, 0, 0.95), "Spine": (0, 0, 1.1), "Neck": (0, 0, 1.5), "Head": (0, 0, 1.6),
    **{f"{s}{p}": (x, sign * y, z) for s, sign in (("Left", 1), ("Right", -1)) for p, (x, y, z) in {
        "UpLeg": (0, 0.1, 0.9), "Leg": (0.02, 0.1, 0.5), "Foot": (0, 0.1, 0.08), "ToeBase": (0.13, 0.1, 0.03),
        "Arm": (0, 0.2, 1.42), "ForeArm": (-0.02, 0.25, 1.15), "Hand": (0, 0.25, 0.9)}.items()},
}  # fmt: skip


@pytest.fixture(scope="session")
def person() -> dict[str, tuple[float, float, float]]:
    """Where the joints of one who stands are, m."""
    return PERSON


def _jumping_person(fps: float, height: float = 0.35) -> SourceMotion:
    """Stands, jumps forward `height` m high, lands, and does so twice."""
    flight = 2 * np.sqrt(2 * height / 9.81)
    t = np.arange(int((2.0 + 2 * flight) * fps)) / fps
    rise, along = np.zeros_like(t), np.zeros_like(t)
    for start in (0.5, 1.2 + flight):
        s = np.clip(t - start, 0, flight)
        rise += np.sqrt(2 * 9.81 * height) * s - 0.5 * 9.81 * s * s
        along += 2.0 * s
    pose = np.array(list(PERSON.values()), dtype=np.float64)
    pos = pose + np.stack([along, np.zeros_like(t), rise], -1)[:, None]
    return SourceMotion("jumper", tuple(PERSON), (-1,) * len(PERSON), pos, fps)


@pytest.fixture(scope="session")
def jumping_person() -> Callable[..., SourceMotion]:
    return _jumping_person
