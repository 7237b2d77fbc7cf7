"""Contact sheets: how many pictures, at what times, from which side."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from parc.author.procedural_walk import stroll
from parc.character import humanoid
from parc.cli.main import main
from parc.dataset import save_clip
from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.path.terrain_path import TerrainPath
from parc.render import contact_sheet
from parc.render.contact_sheet import _view, travel
from parc.render.drawn_motion import DrawnMotion
from parc.terrain.terrain import Terrain

BODY = humanoid()


def walk_towards(degrees: float) -> Clip:
    middle = torch.tensor([4.0, 4.0, 0.0])
    way = 1.5 * torch.tensor([math.cos(math.radians(degrees)), math.sin(math.radians(degrees)), 0.0])
    return stroll(Terrain.flat((20, 20)), TerrainPath(torch.stack([middle - way, middle + way])))


def test_a_sheet_has_a_picture_for_each_tenth_of_a_second() -> None:
    clip = walk_towards(0.0)
    size = (40, 54)
    sheet = contact_sheet(clip, BODY, columns=5, start=0.5, stop=1.4, panel=size)
    assert sheet.size == (5 * 42 - 2, 2 * 56 - 2)
    sparse = contact_sheet(clip, BODY, every=0.5, columns=5, start=0.5, stop=1.4, panel=size)
    assert sparse.size == (2 * 42 - 2, 54)
    first = np.asarray(sheet)[:54, :40]
    np.testing.assert_array_equal(first, np.asarray(sparse)[:54, :40])


@pytest.mark.parametrize("degrees", [0.0, 75.0, 180.0, -120.0])
def test_the_camera_stands_to_the_right_of_the_walk(degrees: float) -> None:
    clip = walk_towards(degrees)
    actor = DrawnMotion.of(clip, BODY)
    speed, angle = travel(clip, actor)
    middle = len(actor) // 2
    assert speed[middle] == pytest.approx(1.0, abs=0.05)
    assert math.cos(angle[middle] - math.radians(degrees)) > 0.999
    azimuth, elevation, _ = _view(clip, actor.pos[middle], math.degrees(angle[middle]), -90.0)
    assert math.cos(math.radians(azimuth - degrees + 90)) > 0.999
    assert elevation < 10


def test_walks_in_all_directions_fill_the_same_pixels() -> None:
    """All walk to the right: seen from beside, the direction makes no difference to the outline, only to the light."""
    outlines = []
    for degrees in (0.0, 130.0):
        clip = walk_towards(degrees)
        bare = replace(clip, terrain=Terrain.flat((20, 20), height=-40.0))
        picture = np.asarray(contact_sheet(bare, BODY, start=1.0, stop=1.0, panel=(90, 120))).astype(float)
        outlines.append(np.abs(picture[30:] - picture[30:, :1]).sum(-1) > 60)
    agree = (outlines[0] & outlines[1]).sum() / (outlines[0] | outlines[1]).sum()
    assert outlines[0].sum() > 300
    assert agree > 0.9


def test_the_camera_changes_sides_where_a_wall_hides_the_body() -> None:
    clip = walk_towards(0.0)
    heights = clip.terrain.heights.clone()
    heights[:, 6:9] = 3.0
    walled = replace(clip, terrain=clip.terrain.with_heights(heights))
    actor = DrawnMotion.of(walled, BODY)
    azimuth, elevation, side = _view(walled, actor.pos[40], 0.0, -90.0)
    assert side == 90.0 and azimuth == 90.0 and elevation < 10
    heights[:, 11:14] = 3.0
    between = replace(clip, terrain=clip.terrain.with_heights(heights))
    assert _view(between, actor.pos[40], 0.0, -90.0)[1] > 20


def test_a_body_that_stands_is_seen_from_beside_its_pelvis() -> None:
    clip = walk_towards(90.0)
    still = replace(clip, motion=clip.motion.slice(30, 31))
    speed, angle = travel(still, DrawnMotion.of(still, BODY))
    assert speed[0] == 0
    assert angle[0] == pytest.approx(math.pi / 2, abs=0.05)
    assert contact_sheet(still, BODY, panel=(40, 54)).size == (40, 54)


def test_impossible_sheets_are_refused() -> None:
    clip = walk_towards(0.0)
    for wrong in (
        {"every": 0.0},
        {"every": math.nan},
        {"columns": 0},
        {"start": 2.0, "stop": 1.0},
        {"stop": 99.0},
        {"every": 1e-4},
    ):
        with pytest.raises(SettingsError):
            contact_sheet(clip, BODY, **wrong)


def test_the_command_draws_a_sheet_and_refuses_options_of_other_kinds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, picture = tmp_path / "walk.motion", tmp_path / "sheet.png"
    save_clip(walk_towards(0.0), file, BODY)
    assert (
        main(["picture", str(file), "-o", str(picture), "--kind", "sheet", "--every", "0.5", "--stop-time", "1.0", "--json"]) == 0
    )
    assert picture.read_bytes().startswith(b"\x89PNG")
    for wrong in (["--every", "0.2"], ["--start-time", "1.0"], ["--kind", "strip", "--every", "0.2"]):
        assert main(["picture", str(file), "-o", str(picture), *wrong]) == 2
        assert "--kind" in capsys.readouterr().err
