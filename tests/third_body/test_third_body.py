"""How far a body gets of which this package knows nothing but its MJCF file (docs/characters.md says the same in words)."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import parc
from parc.character import Character
from parc.character.mannequin import mannequin
from parc.cli.main import main
from parc.dataset import Clip, load_clip, save_clip
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.physics.mujoco_model import sealed_contract
from parc.terrain import save_terrain
from parc.terrain.terrain import Terrain
from parc.track.env.disturbed_bodies import DisturbanceSettings
from parc.track.env.make_track_env import make_track_env
from parc.track.learn.policy import TrackerPolicy, save_actor
from parc.track.tracker_settings import TrackerSettings

HERE = Path(__file__).parent
SMALL = replace(TrackerSettings.small(), policy=replace(TrackerSettings.small().policy, hidden=(8,)))


@pytest.fixture
def motion(bending: Clip, body: Character, tmp_path: Path) -> Path:
    file = tmp_path / "motions" / "bending.motion"
    file.parent.mkdir()
    save_clip(bending, file, body)
    return file


@pytest.fixture
def tracker(body: Character, tmp_path: Path) -> Path:
    """Its actions are zero: the motors follow the reference alone."""
    policy = TrackerPolicy(body, SMALL, "cpu")
    for weights in policy.averaged.parameters():
        torch.nn.init.zeros_(weights)
    save_actor(tmp_path / "actor.safetensors", policy.averaged_actor(), body, sealed_contract(body, SMALL.contract), SMALL)
    return tmp_path / "actor.safetensors"


@pytest.fixture
def generator(body: Character, tmp_path: Path) -> Path:
    """Untrained."""
    torch.manual_seed(0)
    Generator(body, GeneratorSettings(network=PrefixSettings(32, 1, 2, 64))).save(tmp_path / "generator.safetensors")
    return tmp_path / "generator.safetensors"


def test_a_body_is_shown_and_its_parts_are_found(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["character", "show", str(HERE / f"{name}.xml"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    legs = 2 if name == "biped" else 4
    assert len(told["feet"]) == legs and told["dof"] == (10 if name == "biped" else 12)
    assert len(told["mirror"]) == (told["bodies"] - 1) / 2 and not told["limbs"] and not told["notes"]
    assert 0.3 < told["size"] < 0.9


def test_motions_go_through_the_commands_of_data(name: str, motion: Path, body: Character, tmp_path: Path) -> None:
    """Without a word of whose they are, but for formats that do not hold it."""
    data, out = tmp_path / "set", tmp_path / "out"
    for words in (
        ["dataset", "import", motion.parent, "-o", data],
        ["dataset", "show", data, "--card", tmp_path / "card.md"],
        ["metrics", data],
        ["convert", motion, out.with_suffix(".npz")],
        ["convert", motion, out.with_suffix(".bvh")],
        ["convert", out.with_suffix(".npz"), out.with_suffix(".motion"), "--character", HERE / f"{name}.xml"],
        ["export", "mjcf", motion, "-o", out.with_suffix(".xml")],
    ):
        assert main([str(word) for word in words]) == 0, words
    again = load_clip(out.with_suffix(".motion"), body)
    torch.testing.assert_close(again.motion.joint_rot.abs(), parc.load(motion).motion.joint_rot.abs(), atol=1e-5, rtol=0)


def test_a_body_wears_a_skin(body: Character) -> None:
    worn = mannequin(body)
    assert len(worn.vertices) > 300 and bool((worn.vertices == worn.vertices).all())


def test_a_motion_is_tracked_with_what_the_files_say(motion: Path, tracker: Path, tmp_path: Path) -> None:
    out = tmp_path / "tracked.motion"
    assert main(["track", str(motion), "--tracker", str(tracker), "-o", str(out)]) == 0
    assert len(parc.load(out).motion) > 20


def test_training_steps_with_every_disturbance(bending: Clip, body: Character) -> None:
    disturbance = DisturbanceSettings((0.5, 1.2), (0.9, 1.1), (0.8, 1.0), (0.0, 0.02), 1.0, (0.2, 0.4), 0.01)
    env = make_track_env([bending], body, 3, replace(SMALL, disturbance=disturbance), threads=1)
    for _ in range(10):
        env.step(torch.zeros(3, body.num_dof))
    assert env.observation.isfinite().all() and env.reward.isfinite().all() and float(env.reward.mean()) > 0.5
    assert not env.broken.any()


def test_a_generator_writes_motions_of_its_body(generator: Path, body: Character, tmp_path: Path) -> None:
    save_terrain(Terrain.flat((20, 20)), tmp_path / "flat.terrain")
    out = tmp_path / "made.motion"
    words = ["generate", tmp_path / "flat.terrain", "--generator", generator, "-o", out, "--candidates", "1"]
    assert main([*map(str, words), "--rollout.seconds", "1"]) == 0
    assert parc.load(out).motion.num_bodies == len(body)


def test_what_only_the_humanoid_has_is_one_sentence(
    name: str, motion: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    robot = str(HERE / f"{name}.xml")
    for words, said in (
        (["track", str(motion), "-o", str(tmp_path / "x.motion")], f"there is no tracker of character '{name}' in the box"),
        (["dataset", "author", "-o", str(tmp_path / "a"), "--character", robot], "skills are made by rule for the humanoid's"),
        (["loop", str(tmp_path / "r"), "--preset", "quick", "--dry-run", "--character", robot], "there is no generator of"),
        (
            ["loop", str(tmp_path / "r"), "--preset", "tiny", "--dry-run", "--character", robot],
            "walks made by rule are the humanoid",
        ),
        (["metrics", str(motion), "--character", "humanoid"], "bending.motion: the motion is for .* bodies"),
    ):
        assert main(words) == 2
        last = capsys.readouterr().err.strip().splitlines()[-1]
        assert re.search(said, last), last
