"""The command line by its contract: results as JSON on the last line, bad input as one sentence with exit code 2."""

import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from parc.author.procedural_walk import stroll
from parc.character import humanoid
from parc.cli.main import COMMANDS, main
from parc.dataset import load_clip, save_clip
from parc.dataset.clip import Clip
from parc.dataset.convert.native_format import write_native
from parc.errors import SettingsError
from parc.metrics import UNITS
from parc.models import shipped_generator
from parc.path.terrain_path import TerrainPath
from parc.run.choose_device import use_threads
from parc.terrain.terrain import Terrain


def test_threads_are_those_of_the_networks_too() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        use_threads(0)
        assert torch.get_num_threads() == 2
        use_threads(1)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
    with pytest.raises(SettingsError, match="-1 threads"):
        use_threads(-1)


@pytest.fixture(scope="module")
def walk() -> Clip:
    return stroll(Terrain.flat((14, 8)), TerrainPath(torch.tensor([[0.4, 1.2, 0.0], [4.4, 1.2, 0.0]])))


@pytest.fixture
def motion_file(walk: Clip, tmp_path: Path) -> Path:
    file = tmp_path / "walk.motion"
    save_clip(walk, file)
    return file


@pytest.fixture
def terrain_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    file = tmp_path / "boxes.terrain"
    assert main(["terrain", "make", "boxes", "-o", str(file), "--seed", "3"]) == 0
    capsys.readouterr()
    return file


def result_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def sentence_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence of a refused call."""
    assert main(words) == 2
    captured = capsys.readouterr()
    lines = captured.err.strip().splitlines()
    assert len(lines) == 1, captured.err
    assert lines[0].startswith("parc: ")
    assert "Traceback" not in captured.err
    return lines[0]


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    listed = capsys.readouterr().out
    assert all(f"parc {name} " in listed for name in COMMANDS if not name.startswith("terrain make "))
    assert len([line for line in listed.splitlines() if line.startswith("  parc ")]) <= 47


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_and_the_common_options(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*name.split(), "--help"]) == 0
    text = capsys.readouterr().out
    assert all(option in text for option in ("--seed", "--device", "--json"))


def test_metrics_of_a_clip(motion_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = result_of(["metrics", str(motion_file)], capsys)
    assert result["clip"] == "stroll"
    assert {"tpl", "tcl", "hjf_paper", "hjf_code", "fwd", "frames", "pen_mm", "foot_skate"} <= result.keys()
    assert result["hand_f1"] is None, "a value that has no meaning is null, not NaN"


def test_convert_there_and_back(motion_file: Path, tmp_path: Path, walk: Clip, capsys: pytest.CaptureFixture[str]) -> None:
    for layout in ("parc", "legacy"):
        there, back = tmp_path / f"{layout}.pkl", tmp_path / f"{layout}.motion"
        result_of(["convert", str(motion_file), str(there), "--layout", layout], capsys)
        result_of(["convert", str(there), str(back)], capsys)
        before = result_of(["metrics", str(motion_file)], capsys)
        after = result_of(["metrics", str(back)], capsys)
        assert after["tpl"] == pytest.approx(before["tpl"], abs=1e-3)
        assert after["tcl"] == pytest.approx(before["tcl"], abs=1e-3)
        assert after["frames"] == len(walk.motion)


@pytest.mark.parametrize("suffix", [".bvh", ".npz"])
def test_convert_to_a_skeleton_format_and_back(
    suffix: str, motion_file: Path, tmp_path: Path, walk: Clip, capsys: pytest.CaptureFixture[str]
) -> None:
    there, back = tmp_path / f"there{suffix}", tmp_path / "back.motion"
    result_of(["convert", str(motion_file), str(there), "--unit", "cm"], capsys)
    result = result_of(["convert", str(there), str(back)], capsys)
    assert (result["frames"], result["fps"]) == (len(walk.motion), walk.motion.fps)
    before, after = (load_clip(file, humanoid()).motion.body_poses(humanoid()).pos for file in (motion_file, back))
    assert (before - after).abs().max() < 1e-4


def test_convert_onto_a_rig_and_back(motion_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, bvh = tmp_path / "rig.glb", tmp_path / "rig.bvh"
    result = result_of(["convert", str(motion_file), str(out), "--rig", "unreal"], capsys)
    assert result["rig"] == "unreal" and result["world_scale"] == 1.0 and 0.9 < result["leg_ratio"] < 1.1
    result_of(["convert", str(motion_file), str(bvh), "--rig", str(out)], capsys)
    assert "ROOT pelvis" in bvh.read_text()
    back = result_of(["convert", str(out), str(tmp_path / "back.motion"), "--retarget"], capsys)
    assert back["quality"]["feet"] < 3
    for options, sentence in (
        (["a.glb", "--rig", "mixamoo"], "'mixamoo' is no rig"),
        (["a.usd", "--rig", "mixamo"], "written to .glb or .bvh"),
        (["a.glb", "--rig", "mixamo", "--skin", "capsules"], "--skin only makes sense without --rig"),
        (["a.glb", "--rig-names", "n.json"], "--rig-names only makes sense with --rig"),
        (["a.glb", "--animation", "Roll"], "--animation only makes sense with --retarget"),
    ):
        assert main(["convert", str(motion_file), str(tmp_path / options[0]), *options[1:]]) == 2
        assert sentence in capsys.readouterr().err


def test_convert_to_glb_and_not_from_it(motion_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result_of(["convert", str(motion_file), str(tmp_path / "walk.glb")], capsys)
    assert (tmp_path / "walk.glb").read_bytes()[:4] == b"glTF"
    assert main(["convert", str(tmp_path / "walk.glb"), str(tmp_path / "x.motion")]) == 2
    assert "are fitted to the character: `parc convert --retarget`" in capsys.readouterr().err


def test_same_seed_same_terrain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / f"{k}.terrain" for k in range(3)]
    for file, seed in zip(files, (5, 5, 6), strict=True):
        result_of(["terrain", "make", "walks", "-o", str(file), "--seed", str(seed)], capsys)
    a, b, c = (file.read_bytes() for file in files)
    assert a == b != c


@pytest.mark.parametrize("kind", ["flat", "boxes", "walks", "platforms", "stairs", "course"])
def test_every_kind_of_terrain_can_be_made_and_shown(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "made.terrain"
    made = result_of(["terrain", "make", kind, "-o", str(file)], capsys)
    shown = result_of(["terrain", "show", str(file)], capsys)
    assert made["cells"] == shown["cells"]
    assert made["highest"] == shown["highest"]


def test_a_slice_and_a_picture_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course, piece, picture = tmp_path / "course.terrain", tmp_path / "piece.terrain", tmp_path / "piece.png"
    result_of(["terrain", "make", "course", "-o", str(course)], capsys)
    result = result_of(["terrain", "make", "slice", str(course), "-o", str(piece), "--picture", str(picture)], capsys)
    assert result["cells"] == [16, 16]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_path_is_planned_and_written(terrain_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "path.json"
    result = result_of(["path", str(terrain_file), "-o", str(out), "--start", "1,1", "--goal", "14,14"], capsys)
    np.testing.assert_allclose(result["nodes"][0][:2], [0.4, 0.4], atol=1e-5)
    np.testing.assert_allclose(result["nodes"][-1][:2], [5.6, 5.6], atol=1e-5)
    assert out.exists()


def test_a_folder_becomes_a_data_set_and_bad_files_are_named(
    walk: Clip, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = tmp_path / "files", tmp_path / "set"
    folder.mkdir()
    save_clip(walk, folder / "good.pkl")
    (folder / "bad.pkl").write_bytes(b"not a pickle")
    result = result_of(["dataset", "import", str(folder), "-o", str(out)], capsys)
    assert (result["imported"], list(result["failed"])) == (1, ["bad.pkl"])
    again = result_of(["dataset", "import", str(folder), "-o", str(out)], capsys)
    assert (again["imported"], again["already_there"]) == (0, 1)
    assert result_of(["dataset", "show", str(out)], capsys)["clips"] == 1
    assert result_of(["metrics", str(out)], capsys)["frames"] == len(walk.motion)
    result_of(["dataset", "show", str(out), "--card", str(tmp_path / "card.md")], capsys)
    assert (tmp_path / "card.md").read_text().startswith("#")
    merged = result_of(["dataset", "merge", str(out), "-o", str(tmp_path / "merged")], capsys)
    assert merged["clips"] == 1


class _Hostile:
    """A pickle that would run a command when opened."""

    def __init__(self, proof: Path) -> None:
        self.proof = proof

    def __reduce__(self) -> tuple:
        return os.system, (f"touch {self.proof}",)


def bad_files(folder: Path, walk: Clip) -> dict[str, Path]:
    """One file for each way to be wrong."""
    good = folder / "good.pkl"
    save_clip(walk, good)
    outer = pickle.loads(good.read_bytes())
    motion = pickle.loads(outer["motion_data"])
    terrain = pickle.loads(outer["terrain_data"])

    def write(name: str, **blocks: dict) -> Path:
        file = folder / f"{name}.pkl"
        file.write_bytes(pickle.dumps({**outer, **{k: pickle.dumps(v) for k, v in blocks.items()}}))
        return file

    nan = motion["root_pos"].copy()
    nan[3, 1] = np.nan
    nan_heights = terrain["hf"].copy()
    nan_heights[0, 0] = np.nan
    (folder / "truncated.pkl").write_bytes(good.read_bytes()[:700])
    (folder / "hostile.pkl").write_bytes(pickle.dumps(_Hostile(folder / "ran")))
    (folder / "picture.pkl").write_bytes(b"\x89PNG\r\n\x1a\n")
    (folder / "text.txt").write_text("{")
    return {
        "missing": folder / "nowhere.pkl",
        "unknown extension": folder / "walk.xyz",
        "truncated": folder / "truncated.pkl",
        "hostile": folder / "hostile.pkl",
        "not a pickle": folder / "picture.pkl",
        "broken text": folder / "text.txt",
        "NaN motion": write("nan", motion_data={**motion, "root_pos": nan}),
        "wrong shape": write("shape", motion_data={**motion, "joint_rot": motion["joint_rot"][:, :5]}),
        "zero length": write("empty", motion_data={k: v[:0] if isinstance(v, np.ndarray) else v for k, v in motion.items()}),
        "unknown field": write("field", motion_data={**motion, "extra_field": 1}),
        "NaN terrain": write("nan_terrain", terrain_data={**terrain, "hf": nan_heights}),
        "zero cells": write("no_cells", terrain_data={**terrain, "hf": terrain["hf"][:0], "hf_maxmin": terrain["hf_maxmin"][:0]}),
    }


def test_bad_motion_files_get_one_sentence(walk: Clip, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sentences = {kind: sentence_of(["metrics", str(file)], capsys) for kind, file in bad_files(tmp_path, walk).items()}
    assert not (tmp_path / "ran").exists(), "a hostile pickle ran its command"
    assert len(set(sentences.values())) == len(sentences)
    assert "frame 3" in sentences["NaN motion"]
    assert "extra_field" in sentences["unknown field"]


def test_bad_terrains_get_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.png").write_bytes(b"no picture")
    (tmp_path / "broken.obj").write_text("v nothing")
    (tmp_path / "broken.terrain").write_bytes(b"\0" * 20)
    for file in ("broken.png", "broken.obj", "broken.terrain", "nowhere.terrain", "name.docx"):
        assert file in sentence_of(["terrain", "show", str(tmp_path / file)], capsys)
    sentence_of(["terrain", "make", "flat", "--size", "0", "4", "-o", str(tmp_path / "t.terrain")], capsys)
    assert not (tmp_path / "t.terrain").exists()


def test_bad_paths_get_one_sentence(terrain_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "0-15" in sentence_of(["path", str(terrain_file), "--start", "0,0", "--goal", "99,0"], capsys)
    assert "cell" in sentence_of(["path", str(terrain_file), "--start", "0;0", "--goal", "3,3"], capsys)
    sentence_of(["path", str(terrain_file), "--start", "0,0"], capsys)
    from parc.terrain import save_terrain

    heights = torch.zeros(16, 16)
    heights[8, 8] = 50.0
    tower = tmp_path / "tower.terrain"
    save_terrain(Terrain(heights, torch.zeros(2)), tower)
    assert "reach" in sentence_of(["path", str(tower), "--start", "1,1", "--goal", "8,8"], capsys)


def test_an_unfitting_clip_and_other_mistakes(walk: Clip, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no command" in sentence_of(["dance"], capsys)
    assert "not a folder" in sentence_of(["dataset", "import", str(tmp_path / "nothing"), "-o", str(tmp_path / "o")], capsys)
    sentence_of(["dataset", "show", str(tmp_path)], capsys)
    motion = walk.motion
    small = replace(walk, motion=replace(motion, joint_rot=motion.joint_rot[:, :5], contacts=motion.contacts[:, :6]))
    file = tmp_path / "small.motion"
    file.write_bytes(write_native(small))
    assert "bodies" in sentence_of(["metrics", str(file)], capsys)
    if not torch.cuda.is_available():
        assert "GPU" in sentence_of(["metrics", "x", "--device", "cuda"], capsys)


def test_wrong_options_get_one_sentence(terrain_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "x.terrain"
    assert "--boxxes" in sentence_of(["terrain", "make", "boxes", "-o", str(out), "--boxxes", "3"], capsys)
    assert "banana" in sentence_of(["terrain", "make", "boxes", "-o", str(out), "--seed", "banana"], capsys)
    for words, told in (
        (["loop", "run", "--iterations", "two"], "--iterations is 'two', expected a whole number;"),
        (["loop", "run", "--seed=1.5", "--json"], "--seed is '1.5', expected a whole number;"),
        (["evaluate", "--generator.limits", "ten", "20", "--set", "first"], "--generator.limits is 'ten 20', expected numbers;"),
        (["evaluate", "--tracker.trials", "x_y"], "--tracker.trials is 'x_y', expected a whole number;"),
        (["loop", "run", "--preset", "huge"], "--preset is 'huge', expected gpu, paper, quick, scratch or tiny;"),
        (["evaluate", "traverse", "more"], "`parc evaluate traverse` needs -o PATH (lines of JSON, one a terrain);"),
    ):
        assert told in sentence_of(words, capsys)
    assert "-1" in sentence_of(["terrain", "make", "boxes", "-o", str(out), "--seed", "-1"], capsys)
    assert ".xyz" in sentence_of(["terrain", "make", "boxes", "-o", str(out), "--picture", str(tmp_path / "p.xyz")], capsys)
    assert "terrain nonsense" in sentence_of(["terrain", "nonsense"], capsys)
    assert not out.exists(), "nothing is written before the options are checked"
    assert "folder" in sentence_of(["path", str(tmp_path)], capsys)
    assert "folder" in sentence_of(["path", str(terrain_file), "-o", str(tmp_path)], capsys)


def test_wrong_numbers_and_names_get_one_sentence_before_any_work(
    motion_file: Path, terrain_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "x.terrain"
    for words, told in (
        (["correct", str(motion_file), "-o", str(tmp_path / "c.motion"), "--step-size", "-1"], "the step size is -1.0"),
        (["correct", str(motion_file), "-o", str(tmp_path / "c.motion"), "--step-size", "nan"], "the step size is nan"),
        (["correct", "not looked for", "-o", str(tmp_path / "c.doc")], "c.doc: cannot write '.doc'"),
        (["generate", "not looked for", "-o", str(tmp_path / "p.xyz")], "p.xyz: cannot write '.xyz'"),
        (["track", "not looked for", "-o", str(tmp_path / "t.xyz")], "t.xyz: cannot write '.xyz'"),
        (["terrain", "make", "boxes", "-o", str(out), "--height", "2", "-2"], "heights from 2.0 to -2.0 m"),
        (["terrain", "make", "walks", "-o", str(out), "--height", "nan", "nan"], "heights from nan to nan m"),
        (["terrain", "make", "boxes", "-o", str(out), "--size", "9000000", "9000000"], "more memory than there is"),
        (["traverse", str(terrain_file), "-o", str(tmp_path / "t"), "--start", "1,1", "--goal", "1,1"], "the same cell, 1,1"),
        (["traverse", str(terrain_file), "-o", str(tmp_path / "t"), "--method.candidates", "-1"], "-1 candidates were asked for"),
    ):
        assert told in sentence_of(words, capsys)
    assert not [file for file in tmp_path.iterdir() if file.name[0] in "cptx" and file not in (motion_file, terrain_file)]


def test_weights_that_are_missing_get_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """torch tells it in several."""
    with safe_open(shipped_generator(), "pt") as file:
        header, weights = file.metadata(), {name: file.get_tensor(name) for name in sorted(file.keys())[1:]}
    save_file(weights, tmp_path / "lacks.safetensors", header)
    words = ["loop", str(tmp_path / "run"), "--preset", "tiny", "--generator", str(tmp_path / "lacks.safetensors")]
    assert "does not hold the weights" in sentence_of(words, capsys)


def test_what_a_format_drops_is_told(motion_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert result_of(["convert", str(motion_file), str(tmp_path / "a.bvh")], capsys)["dropped"] == ["contacts", "terrain", "path"]
    assert result_of(["convert", str(motion_file), str(tmp_path / "a.pkl")], capsys)["dropped"] == []


def test_a_pipe_that_closes_early_is_no_error() -> None:
    """`parc --help | head -1`: the reader leaves before we are done."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", "parc", "--help"], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_hasten_shortens_and_refuses_what_is_there(motion_file, tmp_path, capsys):
    out = str(tmp_path / "quick")
    result = result_of(["dataset", "hasten", str(motion_file), "-o", out, "--speed", "3"], capsys)
    assert result["clips"] == 1 and result["minutes"] < result["minutes_before"]
    refused = sentence_of(["dataset", "hasten", str(motion_file), "-o", out], capsys)
    assert "already has 1 of these 1 clips (stroll_quick)" in refused and "-o" in refused
    assert result_of(["dataset", "hasten", str(motion_file), "-o", out, "--resume"], capsys)["clips"] == 0
    assert "0.5" in sentence_of(["dataset", "hasten", str(motion_file), "-o", out, "--fastest", "0.5"], capsys)


def test_metrics_without_a_meaning_are_named_in_one_line(motion_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = result_of(["metrics", str(motion_file)], capsys)
    assert main(["metrics", str(motion_file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    absent = [key for key in UNITS if result[key] is None]
    start = next(i for i, line in enumerate(lines) if line.startswith("nothing to measure in it: "))
    assert absent and all(name in " ".join(lines[start:]) for name in absent)
    shown = [line.split()[0] for line in lines[1:start]]
    assert shown == [key for key in UNITS if result[key] is not None] and all(line == line.rstrip() != "" for line in lines)


def test_metrics_of_equal_names_say_which_file(walk: Clip, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / f"{name}.motion" for name in "ab"]
    for file in files:
        save_clip(walk, file)
    assert main(["metrics", *map(str, files)]) == 0
    shown = capsys.readouterr().out
    assert all(f"{walk.name} in {file}" in shown for file in files)
    assert main(["metrics", *map(str, files), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])["each"]
    assert [row["file"] for row in rows] == [str(file) for file in files]


def test_metrics_say_what_a_number_does_not(walk: Clip, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing labelled gives a TCL of 0, and a motion that came without its ground is measured on level ground."""
    bare = replace(walk, name="bare", motion=replace(walk.motion, contacts=torch.zeros_like(walk.motion.contacts)))
    files = [str(tmp_path / name) for name in ("walk.motion", "bare.motion", "walk.bvh")]
    for clip, file in zip((walk, bare, walk), files, strict=True):
        save_clip(clip, Path(file), humanoid())
    assert result_of(["metrics", files[0]], capsys)["notes"] == []
    assert result_of(["metrics", *files[:2]], capsys)["notes"] == ["bare without contact labels: a TCL of 0 says nothing there"]
    assert main(["metrics", files[2]]) == 0
    shown = capsys.readouterr().out
    assert "note: walk without contact labels" in shown
    assert "note: walk.bvh came without its terrain: TPL, depth and floating are against level ground at" in shown


def test_a_text_file_is_no_npz_and_a_file_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text.npz"
    text.write_text("hello")
    assert main(["convert", str(text), str(tmp_path / "o.motion")]) == 2
    assert "text.npz is not an .npz file" in capsys.readouterr().err
    assert main(["synthesise", "-o", str(tmp_path / "s"), "--units", "0"]) == 2
    assert "0 units" in capsys.readouterr().err and not (tmp_path / "s").exists()
    assert main(["traverse", "boxes", "-o", str(tmp_path / "t"), "--method.seconds", "-5"]) == 2
    assert "-5 s" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--gaps .1", "--gaps takes 2 values"),
        ("--gasp 1 2", "there is no option --gasp (did you mean --gaps?)"),
        ("--turn x", "--turn is 'x', expected a number"),
    ],
)
def test_options_of_settings_are_known(words: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["terrain", "make", "platforms", "-o", str(tmp_path / "x.terrain"), *words.split()]) == 2
    assert capsys.readouterr().err == f"parc: {told}; see `parc terrain make platforms --help`\n"
