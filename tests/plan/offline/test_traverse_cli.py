"""The commands write what they say, and refuse in one sentence."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from parc.api import cross_terrain
from parc.api.arguments import terrain_of
from parc.api.cross_terrain import priced
from parc.api.crossing_files import motion_files, write_crossing
from parc.character.character import Character
from parc.cli.main import main
from parc.dataset import load_clip, save_clip
from parc.dataset.clip import Clip
from parc.errors import FormatError, TerrainError
from parc.path import TerrainPath
from parc.plan import Models, RouteSettings, Traverse
from parc.plan.least_effort_route import ends_of
from parc.terrain import Terrain
from parc.terrain.random_platforms import REACHABLE, platform_chain


def test_a_crossing_leaves_motions_a_page_a_strip_and_the_facts(crossing: Traverse, character: Character, tmp_path: Path) -> None:
    assert crossing.simulated is not None and crossing.simulated.path is not None
    out = tmp_path / "run.motion"
    facts = write_crossing(replace(crossing, seed=3), character, out, ("bvh", ".glb"), strip=True)
    assert all(Path(file).is_file() for file in facts["files"])
    assert {Path(file).suffix for file in facts["files"]} == {".motion", ".bvh", ".glb", ".png", ".html", ".json"}
    note = json.loads((tmp_path / "run.json").read_text())
    assert note["reached"] is crossing.reached and note["seed"] == 3
    assert len(load_clip(out, character).motion) == len(crossing.simulated.motion)
    page = (tmp_path / "run.html").read_text()
    assert "The goal was reached" in page and "traverse_plan" in page


def test_files_by_extension() -> None:
    assert [p.name for p in motion_files(Path("a/run"), ())] == ["run.motion", "run.bvh", "run.glb"]
    assert [p.name for p in motion_files(Path("run.bvh"), ("bvh", "pkl"))] == ["run.bvh", "run.pkl"]
    with pytest.raises(FormatError, match=r"'\.txt'"):
        motion_files(Path("run.txt"), ())


def test_terrains_by_name_and_seed() -> None:
    assert (terrain_of("boxes", 1).heights == terrain_of("boxes", 1).heights).all()
    assert (terrain_of("boxes", 1).heights != terrain_of("boxes", 2).heights).any()
    platforms = terrain_of("platforms", 1).heights
    assert (platforms == terrain_of("platforms", 1).heights).all() and len(platforms.unique()) > 3
    assert terrain_of("course", 0).size == (100, 100) and terrain_of("walks", 0).size == (32, 32)
    with pytest.raises(TerrainError, match="kinds are boxes"):
        terrain_of("hills", 0)


def test_effort_scales_every_price() -> None:
    free, half = priced(RouteSettings(), 0.0), priced(RouteSettings(), 0.5)
    assert (free.climb, free.drop, free.jump) == (0, 0, 0) and half.climb * 2 == RouteSettings().climb


def test_strips_of_random_motions(walk: Clip, character: Character, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    for name in "abc":
        save_clip(walk, tmp_path / "clips" / f"{name}.motion", character)
    page = tmp_path / "page.html"
    assert main(["picture", str(tmp_path / "clips"), "-o", str(page), "--count", "2", "--columns", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["strips"] == 2
    assert page.read_text().count("<img") == 2


def test_the_way_over_platforms_is_from_landing_to_landing(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    chain = platform_chain(REACHABLE, np.random.default_rng(2))
    asked: list[tuple] = []

    def cross(ground: Terrain, path: TerrainPath, *_: object) -> Traverse:
        asked.append((ground, path))
        return Traverse(path, None, None, None, None, False, 0.0, 1, 1, 1, 0.0, 0.0, 0.0)

    monkeypatch.setattr(cross_terrain, "traverse_path", cross)
    cross_terrain.traverse("platforms", terrain_seed=2, models=models)
    ground, path = asked[0]
    assert torch.equal(ground.heights, chain.terrain.heights)
    assert ends_of(ground, path) == (chain.start, chain.goal)


def test_crossings_of_the_test_set_are_told_by_family_and_written_down(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out, ledger = tmp_path / "rows.jsonl", tmp_path / "runs.jsonl"
    words = ["evaluate", "traverse", "-o", str(out), "--set", "test", "--ledger", str(ledger), "--terrains", "1", "--json"]
    words += [
        "--method.seconds",
        "1e-9",
        "--threads",
        "1",
        "--device",
        "cpu",
        "--tries",
        "1",
        "--method.candidates",
        "2",
        "--method.beam",
        "2",
    ]
    assert main([*words, "--families", "stairs", "boxes"]) == 0
    captured = capsys.readouterr()
    assert captured.err.endswith(f"This run on the test set is written down in {ledger}.\n")
    told = json.loads(captured.out.splitlines()[-1])
    assert told["test_set"] == {"set": "test", "version": 1, "families": ["stairs", "boxes"], "terrains": 1}
    assert list(told["families"]) == ["stairs", "boxes"] and told["families"]["stairs"]["terrains"] == 1
    _, line = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert line["numbers"]["traverse"]["boxes"]["reached"] == 0 and set(line["models"]) == {"generator", "tracker"}
    assert [json.loads(row)["family"] for row in out.read_text().splitlines()] == ["stairs", "boxes"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["traverse", "hills", "-o", "x"], "neither a file nor a kind"),
        (["traverse", "boxes", "-o", "x.doc"], "cannot be written"),
        (["traverse", "boxes", "-o", "x", "--tries", "0"], "tries"),
        (["traverse", "boxes", "-o", "x", "--start", "1,1"], "both --start and --goal"),
        (["traverse", "boxes", "-o", "x", "--effort", "-1"], "effort"),
        (["traverse", "course", "-o", "x", "--preset", "course", "--seeds", "0"], "0 crossings"),
        (["picture", "x", "-o", "x.html", "--count", "0"], "0 strips"),
        (["evaluate", "traverse", "-o", "x", "--shard", "2"], "shard"),
        (["evaluate", "traverse", "-o", "x", "--set", "first", "--families", "stairs"], "no stairs"),
        (["evaluate", "traverse", "-o", "x", "--set", "second"], "--set is 'second', expected development, first or test"),
    ],
)
def test_wrong_options_are_one_sentence(words: list[str], sentence: str, capsys: pytest.CaptureFixture) -> None:
    assert main(words) == 2
    told = capsys.readouterr().err
    assert sentence in told and told.count("\n") == 1
