"""Our motion on other skeletons: what touches stays where it touches, bones point as ours do, and the way back gives it back."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation
from tests.rig.foreign_rig import PLACE, foreign_glb
from tests.rig.gltf_oracle import Oracle

from parc.character import Character, rotation
from parc.dataset.clip import Clip, Provenance
from parc.dataset.convert.y_up_axes import from_y_up
from parc.mocap import ReadSettings, make_clip, read_source, read_take
from parc.mocap.read.bvh_take import read_bvh
from parc.mocap.subject.body_landmarks import PALM
from parc.mocap.subject.human_anatomy import Anatomy
from parc.rig import convert_onto_rig
from parc.rig.named_rigs import NAMED_RIGS, named_rig
from parc.rig.rig_files import load_rig
from parc.terrain import terrain_mesh

torch.set_num_threads(1)
SIDES = ("left", "right")
MIXAMO = {
    "hip": "UpLeg",
    "knee": "Leg",
    "ankle": "Foot",
    "toe": "ToeBase",
    "shoulder": "Arm",
    "elbow": "ForeArm",
    "wrist": "Hand",
}


def node_of(rig: str, place: str) -> str:
    side, part = place.split("_")
    return f"mixamorig:{side.capitalize()}{MIXAMO[part]}" if rig == "mixamo" else f"Bip01 {side[0].upper()} {PLACE[part]}"


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rig") / "hero.glb"
    path.write_bytes(foreign_glb()[0])
    return path


@pytest.fixture(scope="module", params=["mixamo", "file"])
def made(request, tmp_path_factory, foreign: Path, climb: Clip, character: Character) -> tuple[str, Path, Oracle]:
    path = tmp_path_factory.mktemp("made") / f"{request.param}.glb"
    convert_onto_rig(climb, "mixamo" if request.param == "mixamo" else str(foreign), path, character)
    return request.param, path, Oracle(path.read_bytes())


@pytest.fixture(scope="module")
def places(made, climb: Clip) -> dict[str, np.ndarray]:
    """{place: [T, 4, 4]} of the rig, z up."""
    rig, _, oracle = made
    worlds = np.stack([oracle.world(t) for t in range(len(climb.motion))])
    found = {}
    for place in (f"{side}_{part}" for side in SIDES for part in PLACE):
        frames = worlds[:, oracle.names.index(node_of(rig, place))].copy()
        frames[:, :3, :3] /= np.linalg.norm(frames[:, :3, :3], axis=1, keepdims=True)
        found[place] = np.einsum("ij,tjk->tik", _z_up(), frames)
    return found


def _z_up() -> np.ndarray:
    turn = np.eye(4)
    turn[:3, :3] = from_y_up(np.eye(3)).T
    return turn


def ours(clip: Clip, character: Character) -> tuple[np.ndarray, np.ndarray]:
    pose = clip.motion.body_poses(character)
    return pose.pos.double().numpy(), rotation.to_matrix(pose.rot.double()).numpy()


def soles(made, places: dict[str, np.ndarray], side: str) -> np.ndarray:
    """[T, 2, 3] heel and ball of the rig's sole, from its foot at rest: the floor is at 0, the ball below the toe."""
    rig, _, oracle = made
    rest = _z_up() @ oracle.world(None)
    ankle, toe = (rest[oracle.names.index(node_of(rig, f"{side}_{part}"))].copy() for part in ("ankle", "toe"))
    ankle[:3, :3] /= np.linalg.norm(ankle[:3, :3], axis=0)
    heel, ball = ankle[:3, 3].copy(), toe[:3, 3].copy()
    heel -= 0.35 * (ball - heel)
    local = [ankle[:3, :3].T @ (np.array([*p[:2], 0.0]) - ankle[:3, 3]) for p in (heel, ball)]
    frames = places[f"{side}_ankle"]
    return np.stack([frames[:, :3, 3] + frames[:, :3, :3] @ point for point in local], 1)


def test_feet_that_touch_stay_where_they_touch(made, places, climb, character) -> None:
    pos, rot = ours(climb, character)
    anatomy = Anatomy.of(character)
    slides, slips = [], []
    for side in SIDES:
        body = anatomy.body[f"{side}_ankle"]
        held = climb.motion.contacts[:, body].numpy() > 0.5
        toe = pos[:, body] + rot[:, body] @ anatomy.toe
        corners = pos[:, body, None] + np.einsum("tij,kj->tki", rot[:, body], anatomy.sole)
        sole = soles(made, places, side)
        slides.append(np.linalg.norm(sole[held, 1, :2] - toe[held, :2], axis=-1))
        height = sole[held, :, 2].min(1) - corners[held, :, 2].min(1)
        assert np.abs(height).max() < 0.01, "soles stand as high as ours"
        both = held[1:] & held[:-1]
        speed = [np.linalg.norm(np.diff(track, axis=0)[both], axis=-1) * climb.motion.fps for track in (sole[:, 1], toe)]
        slips.append(speed[0].mean() - speed[1].mean())
    print("foot", made[0], np.concatenate(slides).max(), slips)
    assert np.concatenate(slides).max() < 0.005, "the ball of the foot is over the front of ours"
    assert max(slips) < 0.03, "m/s that feet in contact slide more than ours"


def test_hands_that_touch_stay_where_they_touch(made, places, climb, character) -> None:
    pos, _ = ours(climb, character)
    anatomy = Anatomy.of(character)
    touched = 0
    for side in SIDES:
        body = anatomy.body[f"{side}_wrist"]
        held = climb.motion.contacts[:, body].numpy() > 0.5
        wrist, elbow = (places[f"{side}_{part}"][:, :3, 3] for part in ("wrist", "elbow"))
        along = (wrist - elbow) / np.linalg.norm(wrist - elbow, axis=-1, keepdims=True)
        palm = wrist + PALM * along
        away = np.linalg.norm(palm - pos[:, body], axis=-1)[held]
        touched += int(held.sum())
        print("hand", made[0], side, away.max() if len(away) else None)
        assert away.max(initial=0.0) < 0.01
    assert touched > 20


def test_bones_point_as_ours_do(made, places, climb, character) -> None:
    pos, _ = ours(climb, character)
    body = Anatomy.of(character).body
    for side in SIDES:
        for limb, most in ((("hip", "knee", "ankle"), 9.0), (("shoulder", "elbow", "wrist"), 12.0)):
            free = climb.motion.contacts[:, body[f"{side}_{limb[2]}"]].numpy() < 0.5 if limb[0] == "shoulder" else slice(None)
            for a, b in pairwise(limb):
                theirs = places[f"{side}_{b}"][:, :3, 3] - places[f"{side}_{a}"][:, :3, 3]
                own = pos[:, body[f"{side}_{b}"]] - pos[:, body[f"{side}_{a}"]]
                cosine = (theirs * own).sum(-1) / np.linalg.norm(theirs, axis=-1) / np.linalg.norm(own, axis=-1)
                angle = np.degrees(np.arccos(np.clip(cosine[free], -1, 1)))
                assert angle.mean() < most, f"{side} {a} to {b}"


def test_bones_keep_their_length(made, places) -> None:
    for side in SIDES:
        for a, b in (("hip", "knee"), ("knee", "ankle"), ("ankle", "toe"), ("shoulder", "elbow"), ("elbow", "wrist")):
            length = np.linalg.norm(places[f"{side}_{a}"][:, :3, 3] - places[f"{side}_{b}"][:, :3, 3], axis=-1)
            assert np.ptp(length) < 1e-4


def test_and_back_through_retargeting(made, climb, character) -> None:
    rig, path, _ = made
    take = read_take(path, character, ReadSettings())
    back = make_clip(take.landmarks, character, hands=True, provenance=Provenance(source=path.name))
    pos, _ = ours(climb, character)
    got, _ = ours(back.clip, character)
    # Size and time of the way back follow from the legs (Froude): the same poses come at other times.
    at = np.minimum(np.arange(len(got)) / 30.0 / np.sqrt(back.fitted.scale) * climb.motion.fps, len(pos) - 1)
    low = np.minimum(at.astype(int), len(pos) - 2)
    share = (at - low)[:, None, None]
    pos = (1 - share) * pos[low] + share * pos[low + 1]
    own, theirs = pos - pos[:, :1], got - got[:, :1]
    turn, _ = Rotation.align_vectors(own.reshape(-1, 3), theirs.reshape(-1, 3))
    yaw = Rotation.from_euler("z", turn.as_euler("zyx")[0])
    error = np.linalg.norm(yaw.apply(theirs.reshape(-1, 3)).reshape(theirs.shape) - own, axis=-1)
    named = back.quality.named
    print("round trip", rig, "joint error", error.mean(), np.quantile(error, 0.95), "slide cm/s", named["slide"], named["skate"])
    assert error.mean() < 0.03 and np.quantile(error, 0.95) < 0.08
    assert named["slide"] < 6.0


@pytest.mark.parametrize("name", NAMED_RIGS)
def test_named_rigs_stand_on_the_floor_and_are_symmetric(name: str) -> None:
    rig = named_rig(name)
    stance = rig.stance
    for side in SIDES:
        assert np.allclose(stance.pos[rig.places[f"{side}_ankle"], 2] + stance.sole[side][:, 2], 0.0, atol=1e-9)
    for part in PLACE:
        left, right = (stance.pos[rig.places[f"{side}_{part}"]] for side in SIDES)
        assert np.allclose(left, right * (1, -1, 1), atol=1e-9) and left[1] > 0
    assert 0.8 < stance.leg < 0.9


def test_a_root_bone_travels_under_the_pelvis(tmp_path, climb, character) -> None:
    convert_onto_rig(climb, "unreal", tmp_path / "x.glb", character)
    oracle = Oracle((tmp_path / "x.glb").read_bytes())
    frames = len(climb.motion)
    root, pelvis = (oracle.joint(name, frames) for name in ("root", "pelvis"))
    assert np.linalg.norm(root[:, [0, 2], 3] - pelvis[:, [0, 2], 3], axis=-1).max() < 0.12
    rise = float(climb.motion.root_pos[-1, 2] - climb.motion.root_pos[0, 2])
    assert rise > 1.0 and root[-1, 1, 3] - root[0, 1, 3] == pytest.approx(rise, abs=0.1), "as high as the ground"


def test_a_bvh_rig_keeps_its_hierarchy_and_holds_the_same_feet(tmp_path, climb, character, made, places) -> None:
    """The rig of the GLB, written as BVH in centimetres by the program itself, taken as a rig again."""
    rig, _, _ = made
    skeleton, out = tmp_path / "rig.bvh", tmp_path / "out.bvh"
    first = replace(climb, motion=climb.motion.slice(0, 2))
    convert_onto_rig(first, "mixamo", skeleton, character)
    convert_onto_rig(climb, str(skeleton), out, character)
    assert out.read_text().split("MOTION")[0] == skeleton.read_text().split("MOTION")[0]
    if rig == "mixamo":
        source = read_bvh(out)
        ankle = source.pos[:, source.joints.index("mixamorig:LeftFoot")]
        assert np.linalg.norm(from_y_up(ankle) - places["left_ankle"][:, :3, 3], axis=-1).max() < 0.03
    assert read_source(out).fps == 30


def test_a_rig_of_a_dolls_size_gets_a_world_of_its_size(tmp_path, climb, character) -> None:
    convert_onto_rig(replace(climb, motion=climb.motion.slice(0, 2)), "mixamo", tmp_path / "doll.bvh", character)
    text = (tmp_path / "doll.bvh").read_text().splitlines()
    shrunk = [" ".join([w[0], *(f"{0.4 * float(x):.6f}" for x in w[1:])]) if (w := line.split()) and w[0] == "OFFSET" else line
              for line in text]  # fmt: skip
    (tmp_path / "doll.bvh").write_text("\n".join(shrunk) + "\n")
    told = convert_onto_rig(climb, str(tmp_path / "doll.bvh"), tmp_path / "out.glb", character)
    assert told["world_scale"] == pytest.approx(0.4 * 1.0236, abs=0.01)
    oracle = Oracle((tmp_path / "out.glb").read_bytes())
    terrain = oracle.array(oracle.json["meshes"][-1]["primitives"][0]["attributes"]["POSITION"])
    assert np.ptp(terrain[:, 1]) == pytest.approx(told["world_scale"] * np.ptp(terrain_mesh(climb.terrain)[0][:, 2]), rel=0.01)


def test_a_rig_is_read_with_its_places(foreign: Path) -> None:
    rig = load_rig(str(foreign)).rig
    assert rig.joints[rig.pelvis] == "Bip01" and rig.joints[rig.chest] == "Bip01 Spine1" and rig.root == -1
    assert rig.stance.leg == pytest.approx(np.mean([0.45089, 0.42237]) * 2, abs=0.01)
    assert rig.stance.pos[rig.places["left_hip"], 1] > 0, "it faces +x, whatever way the file faces"
