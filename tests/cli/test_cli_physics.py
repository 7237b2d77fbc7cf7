"""Simulation on the command line: track, record, train-tracker, export; and one sentence for each way to be wrong."""

import json
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
import torch

from parc.character import rotation
from parc.character.humanoid import humanoid
from parc.cli.main import main
from parc.dataset import Dataset, DatasetWriter, load_clip, save_clip
from parc.dataset.clip import Clip
from parc.dataset.convert.native_format import write_native
from parc.motion.motion import Motion
from parc.physics.mujoco_model import sealed_contract
from parc.terrain import save_terrain
from parc.terrain.terrain import Terrain
from parc.track.learn.policy import TrackerPolicy, save_actor
from parc.track.tracker_settings import TrackerSettings

FRAMES = 70


@pytest.fixture(scope="module")
def rest() -> Clip:
    """On its back, legs on the ground: the motors hold that pose without a policy's help."""
    character = humanoid()
    joints = rotation.identity((FRAMES, character.num_joints))
    toes_up = rotation.from_axis_angle(torch.tensor([0.0, 1.0, 0.0]), torch.tensor(-0.5))
    for foot in character.feet:
        joints[:, foot - 1] = toes_up
    root = torch.tensor([0.0, 0.0, 0.12]).expand(FRAMES, 3).clone()
    lying = rotation.from_axis_angle(torch.tensor([0.0, 1.0, 0.0]), torch.tensor(-1.5708)).expand(FRAMES, 4).clone()
    contacts = torch.zeros(FRAMES, character.num_bodies)
    contacts[:, [character.index(body) for body in ("torso", "right_shin", "left_shin")]] = 1.0
    return Clip("rest", Motion(root, lying, joints, contacts), Terrain(torch.zeros(14, 14), torch.tensor([-2.6, -2.6])))


@pytest.fixture
def clip_file(rest: Clip, tmp_path: Path) -> Path:
    file = tmp_path / "rest.motion"
    save_clip(rest, file)
    return file


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "actor.safetensors"
    make_policy(file)
    return file


def make_policy(file: Path, character: str = "") -> None:
    """Actions of zero; `character` is written into the contract."""
    small, body = TrackerSettings.small(), humanoid()
    settings = replace(small, policy=replace(small.policy, hidden=(8,)))
    policy = TrackerPolicy(body, settings, "cpu")
    torch.nn.init.zeros_(policy.averaged.last.weight)
    torch.nn.init.zeros_(policy.averaged.last.bias)
    contract = sealed_contract(body, settings.contract)
    contract = replace(contract, character=character) if character else contract
    save_actor(file, policy.averaged_actor(), body, contract, settings)


def result_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict:
    assert main([*words, "--json", "--device", "cpu"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def sentence_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence of a refused call."""
    assert main([*words, "--device", "cpu"]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("parc: "), lines
    return lines[0]


@pytest.mark.parametrize("suffix", [".motion", ".pkl"])
def test_a_clip_is_tracked_and_written(
    clip_file: Path, policy: Path, tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / f"simulated{suffix}"
    result = result_of(["track", str(clip_file), "-o", str(out), "--tracker", str(policy)], capsys)
    assert result["success"] is True and result["diverged"] is False
    assert 0 < result["joint_error"] < 0.1
    assert result["seconds"] == pytest.approx(result["reference_seconds"]) == pytest.approx((FRAMES - 1) / 30)
    assert result["seconds_per_second"] > 0
    simulated = load_clip(out, humanoid())
    assert len(simulated.motion) == FRAMES
    assert (simulated.motion.root_pos[-1] - load_clip(clip_file, humanoid()).motion.root_pos[-1]).norm() < 0.1


def test_from_a_later_start_with_a_picture(
    clip_file: Path, policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, picture = tmp_path / "s.motion", tmp_path / "strip.png"
    words = ["track", str(clip_file), "-o", str(out), "--tracker", str(policy), "--start-time", "2.0", "--picture", str(picture)]
    assert result_of(words, capsys)["seconds"] == pytest.approx((FRAMES - 1) / 30 - 2.0)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_data_set_is_recorded_and_a_second_call_finds_it_done(
    rest: Clip, policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "set", tmp_path / "recorded"
    short = replace(rest, name="short", motion=rest.motion.slice(0, 20))
    with DatasetWriter(source, humanoid()) as writer:
        writer.append([rest, short])
    words = ["record", str(source), "-o", str(out), "--tracker", str(policy), "--threads", "1", "--iteration", "3"]
    result = result_of(words, capsys)
    assert (result["clips"], result["recorded_whole"], result["clips_written"]) == (2, 0.5, 1)
    assert list(result["failures"]) == ["short"]
    assert result["tpl_after"] < 0.1
    entry = Dataset.open(out).entries[0]
    assert (entry.name, entry.provenance.parent, entry.provenance.iteration) == ("rest_sim", "rest", 3)
    assert result_of(words, capsys) == result
    assert main([*words, "--device", "cpu"]) == 0
    assert "50 % recorded whole" in capsys.readouterr().out


def test_training_writes_a_policy_that_tracks(clip_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    words = ["train-tracker", str(clip_file), "-o", str(out), "--preset", "small", "--iterations", "1", "--worlds", "4"]
    result = result_of([*words, "--threads", "1"], capsys)
    assert Path(result["tracker"]).is_file() and result["clips"] == 1
    assert 0 <= result["success"] <= 1
    result_of(["track", str(clip_file), "-o", str(tmp_path / "s.motion"), "--tracker", result["tracker"]], capsys)


def test_exports(policy: Path, clip_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    terrain, scene = tmp_path / "t.terrain", tmp_path / "scene.xml"
    heights = torch.zeros(8, 8)
    heights[3:5, 3:5] = 0.5
    save_terrain(Terrain(heights, torch.zeros(2)), terrain)
    assert result_of(["export", "mjcf", str(terrain), "-o", str(scene)], capsys)["cells"] == [8, 8]
    assert mujoco.MjModel.from_xml_path(str(scene)).nv == 34
    assert result_of(["export", "mjcf", str(clip_file), "-o", str(scene)], capsys)["keyframes"] == ["start"]
    assert mujoco.MjModel.from_xml_path(str(scene)).nkey == 1
    pytest.importorskip("onnx", reason="onnx is not installed (parc-motion[onnx])")
    out = tmp_path / "policy.onnx"
    result = result_of(["export", "onnx", "--tracker", str(policy), "--plain-actor", "-o", str(out)], capsys)
    assert result["action"] == 28 and result["bytes"] == out.stat().st_size
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (parc-motion[onnx])")
    action = runtime.InferenceSession(str(out)).run(None, {"observation": np.zeros((2, result["observation"]), np.float32)})[0]
    assert action.shape == (2, 28)


def test_wrong_clips_get_one_sentence(rest: Clip, policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.motion"

    def refused(clip: Clip, *options: str) -> str:
        file = tmp_path / "wrong.motion"
        file.write_bytes(write_native(clip))
        return sentence_of(["track", str(file), "-o", str(out), "--tracker", str(policy), *options], capsys)

    motion = rest.motion
    few = replace(motion, joint_rot=motion.joint_rot[:, :5], contacts=motion.contacts[:, :6])
    assert "bodies" in refused(replace(rest, motion=few))
    assert "'bird'" in refused(replace(rest, character="bird"))
    assert "off its terrain" in refused(replace(rest, terrain=replace(rest.terrain, min_point=torch.tensor([30.0, 30.0]))))
    assert "cannot start at 9 s" in refused(rest, "--start-time", "9")
    assert "nowhere" in sentence_of(["track", str(tmp_path / "nowhere.motion"), "-o", str(out), "--tracker", str(policy)], capsys)
    assert not out.exists()


def test_wrong_policies_get_one_sentence(clip_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, other = tmp_path / "out.motion", tmp_path / "other.safetensors"
    words = ["track", str(clip_file), "-o", str(out), "--tracker"]
    make_policy(other, character="0123456789")
    assert "0123456789" in sentence_of([*words, str(other)], capsys)
    assert "0123456789" in sentence_of(["record", str(clip_file), "-o", str(tmp_path / "r"), "--tracker", str(other)], capsys)
    (tmp_path / "broken.safetensors").write_bytes(b"nothing")
    assert "broken" in sentence_of([*words, str(tmp_path / "broken.safetensors")], capsys)
    assert "no checkpoint" in sentence_of([*words, str(tmp_path / "missing.safetensors")], capsys)
    assert "expected a tracker actor" in sentence_of([*words, str(_another_kind(tmp_path))], capsys)
    assert not out.exists()


def _another_kind(folder: Path) -> Path:
    from parc.run.checkpoint import save_checkpoint

    file = folder / "generator.safetensors"
    save_checkpoint(file, {"x": torch.zeros(1)}, {"kind": "generator"})
    return file


def test_no_clips_and_missing_terrains_get_one_sentence(policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty, folder = tmp_path / "empty", tmp_path / "folder"
    with DatasetWriter(empty, humanoid()):
        pass
    folder.mkdir()
    recorded = ["-o", str(tmp_path / "r"), "--tracker", str(policy)]
    assert "no clips" in sentence_of(["record", str(empty), *recorded], capsys)
    assert "neither a data set" in sentence_of(["record", str(folder), *recorded], capsys)
    sentence_of(["record", str(tmp_path / "nowhere"), *recorded], capsys)
    assert "clips" in sentence_of(["train-tracker", str(empty), "-o", str(tmp_path / "t"), "--preset", "small"], capsys)
    assert "no terrain" in sentence_of(["export", "mjcf", str(tmp_path / "no.terrain"), "-o", str(tmp_path / "s.xml")], capsys)
    assert ".xml" in sentence_of(["export", "mjcf", str(tmp_path / "no.terrain"), "-o", str(tmp_path / "s.mjcf")], capsys)
    assert ".onnx" in sentence_of(["export", "onnx", "--plain-actor", "-o", str(tmp_path / "p.pt")], capsys)
    assert "a folder" in sentence_of(["export", "onnx", "-o", str(tmp_path / "p.onnx")], capsys)


def test_wrong_numbers_get_one_sentence(
    clip_file: Path, policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = ["train-tracker", str(clip_file), "-o", str(tmp_path / "t"), "--preset", "small", "--worlds", "2"]
    for option, number in (("--seconds", "nan"), ("--seconds", "-1"), ("--iterations", "-3"), ("--milestone-seconds", "-1")):
        assert number in sentence_of([*train, option, number], capsys)
    assert not (tmp_path / "t").exists()
    record = ["record", str(clip_file), "-o", str(tmp_path / "r"), "--tracker", str(policy)]
    assert "-1 threads" in sentence_of([*record, "--threads", "-1"], capsys)
    assert "iteration -2" in sentence_of([*record, "--iteration", "-2"], capsys)
    assert not (tmp_path / "r").exists()
    track = ["track", str(clip_file), "-o", str(tmp_path / "o.motion"), "--tracker", str(policy)]
    assert "cannot start at nan s" in sentence_of([*track, "--start-time", "nan"], capsys)


def test_folders_are_not_mixed(
    rest: Clip, clip_file: Path, policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clips, training, recorded = tmp_path / "clips", tmp_path / "training", tmp_path / "recorded"
    clips.mkdir()
    save_clip(rest, clips / "rest.motion")
    with_policy = ["--tracker", str(policy)]
    assert "holds the clips" in sentence_of(["record", str(clips), "-o", str(clips), *with_policy], capsys)
    assert "holds the clips" in sentence_of(["record", str(clips / "rest.motion"), "-o", str(clips), *with_policy], capsys)
    assert [file.name for file in clips.iterdir()] == ["rest.motion"]
    training.mkdir()
    (training / "checkpoint.safetensors").write_bytes(b"")
    assert "neither empty nor a data set" in sentence_of(["record", str(clips), "-o", str(training), *with_policy], capsys)
    recorded.mkdir()
    for left_by_a_kill in ("lock", ".parc-0123456789ab-index.json.part"):
        (recorded / left_by_a_kill).write_bytes(b"")
    result_of(["record", str(clips), "-o", str(recorded), "--threads", "1", *with_policy], capsys)
    train = ["train-tracker", str(clip_file), "-o", str(recorded), "--preset", "small", "--worlds", "2", "--iterations", "1"]
    assert "is a data set" in sentence_of(train, capsys)
    again = ["record", str(clips), "-o", str(recorded), "--threads", "1", "--mirrored", *with_policy]
    assert "begun otherwise (settings.mirrored)" in sentence_of(again, capsys)


def test_clips_of_another_character_are_not_trained_on(rest: Clip, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bird.motion"
    file.write_bytes(write_native(replace(rest, character="bird")))
    train = ["train-tracker", str(file), "-o", str(tmp_path / "t"), "--preset", "small", "--worlds", "2", "--iterations", "1"]
    assert "'bird'" in sentence_of(train, capsys)
    evaluate = ["evaluate", "tracker", "--dataset", str(file), "-o", str(tmp_path / "e"), "--tracker.trials", "1"]
    assert main([*evaluate, "--device", "cpu"]) == 2
    assert "'bird'" in capsys.readouterr().err.splitlines()[-1]


def test_a_folder_in_place_of_a_policy_gets_one_sentence(
    clip_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["track", str(clip_file), "-o", str(tmp_path / "o.motion"), "--tracker", str(tmp_path)]
    assert "is a folder" in sentence_of(words, capsys)
