"""The character of a call: the one that is named, else that of its files, else the humanoid; another one is one sentence."""

import json
import re
from pathlib import Path

import pytest
import torch

import parc
from parc.api.whose_files import character_of
from parc.character import find_character, humanoid
from parc.character.named_character import character_in_file, character_of_file
from parc.cli.main import main
from parc.dataset import Clip, Dataset, DatasetWriter, load_clip, save_clip
from parc.dataset.index_file import Index
from parc.errors import CharacterError
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.motion.motion import Motion
from parc.terrain import Terrain

BIRD_FILE = Path(__file__).parents[1] / "character" / "robot_bird.xml"
BIRD = find_character(BIRD_FILE)


def standing(name: str = "still") -> Clip:
    """A bird that stands for a second."""
    rot = torch.tensor([0.0, 0.0, 0.0, 1.0])
    place = torch.tensor([1.0, 1.0, 0.9]).expand(30, 3).clone()
    motion = Motion(
        place, rot.expand(30, 4).clone(), rot.expand(30, BIRD.num_joints, 4).clone(), torch.zeros(30, len(BIRD)), 30.0
    )
    return Clip(name, motion, Terrain.flat((6, 6)), None, BIRD.fingerprint)


@pytest.fixture
def bird_files(tmp_path: Path) -> dict[str, Path]:
    """A motion, a data set and a generator of the bird."""
    motion, data, model = tmp_path / "bird.motion", tmp_path / "birds", tmp_path / "generator.safetensors"
    save_clip(standing(), motion, BIRD)
    with DatasetWriter(data, BIRD) as writer:
        writer.append([standing()])
        writer.append([standing("again")])
    Generator(BIRD, GeneratorSettings(network=PrefixSettings(32, 1, 2, 64))).save(model)
    return {"motion": motion, "data": data, "clip": data / "still", "model": model}


def test_a_character_comes_back_from_a_file_whole() -> None:
    held = json.loads(json.dumps(character_in_file(BIRD)))
    assert character_of_file(BIRD.name, BIRD.fingerprint, held, "it") == BIRD
    assert character_in_file(humanoid()) is None


@pytest.mark.parametrize("kind", ["motion", "data", "clip", "model"])
def test_files_say_whose_they_are(bird_files: dict[str, Path], kind: str) -> None:
    """Masses and motors too, which the fingerprint does not tell."""
    assert character_of(None, bird_files[kind]) == BIRD
    assert character_of("humanoid", bird_files[kind]) is humanoid()
    assert character_of(None) is humanoid()


def test_a_clip_in_memory_is_known_by_the_files_beside_it(bird_files: dict[str, Path]) -> None:
    assert character_of(None, [standing()], bird_files["model"]) == BIRD
    with pytest.raises(CharacterError, match="does not hold it; give its MJCF file"):
        character_of(None, standing())


def test_files_of_two_bodies_are_one_sentence(bird_files: dict[str, Path]) -> None:
    with pytest.raises(CharacterError, match=r"bird.motion is for character '.*', .*tracker.safetensors is for"):
        character_of(None, bird_files["motion"], Path(parc.__file__).parent / "models" / "tracker.safetensors")


def test_the_body_stays_in_a_data_set_that_is_added_to(bird_files: dict[str, Path]) -> None:
    assert Index.read(bird_files["data"]).body(bird_files["data"]) == BIRD
    assert isinstance(parc.load(bird_files["data"]), Dataset)
    clip = parc.load(bird_files["motion"])
    assert isinstance(clip, Clip) and clip.motion.num_bodies == len(BIRD)


def test_files_of_the_humanoid_hold_no_body(tmp_path: Path) -> None:
    with DatasetWriter(tmp_path / "set", humanoid()):
        pass
    assert "held" not in json.loads((tmp_path / "set" / "index.json").read_text())


@pytest.mark.parametrize(
    "change", [{"bodies": 3}, {"name": 7}, {"bodies": []}, {"mirror_of": [10**30]}, {"extra": 1}, {"name": "x", "bodies": [{}]}]
)
def test_a_damaged_body_is_one_sentence(change: dict) -> None:
    held = json.loads(json.dumps(character_in_file(BIRD))) | change
    with pytest.raises(CharacterError, match="the character in it is damaged"):
        character_of_file(BIRD.name, BIRD.fingerprint, held, "it")


@pytest.mark.parametrize(
    "words, said",
    [
        (["metrics", "{motion}", "--character", "humanoid"], "bird.motion: the motion is for"),
        (["track", "{motion}", "-o", "{out}.motion"], "there is no tracker of character 'bird' in the box; name a file"),
        (["picture", "{motion}", "--character", "horse", "-o", "{out}.png"], "there is no character 'horse'; give humanoid, g1"),
        (["dataset", "author", "-o", "{out}", "--character", str(BIRD_FILE)], "skills are made by rule for the humanoid's"),
        (["generate", "x.terrain", "--generator", "{model}", "--character", "humanoid", "-o", "{out}.motion"], "trained for"),
    ],
)
def test_another_body_is_refused_by_commands(
    bird_files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    places = {name: str(file) for name, file in bird_files.items()} | {"out": str(tmp_path / "new")}
    assert main([word.format(**places) for word in words]) == 2
    told = capsys.readouterr().err.strip().splitlines()[-1]
    assert re.search(said, told), told
    assert not (tmp_path / "new").exists()


def test_a_clip_goes_through_commands_without_being_told_its_body(bird_files: dict[str, Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy.motion"
    assert main(["convert", str(bird_files["motion"]), str(copy)]) == 0
    assert load_clip(copy, BIRD).motion.root_pos.equal(standing().motion.root_pos)
    assert character_of(None, copy) == BIRD
