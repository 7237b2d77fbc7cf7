"""A pace can be asked for: what windows are labelled with, what the network is told, and who cannot be asked."""

from dataclasses import replace

import pytest
import torch

from parc.character.humanoid import humanoid
from parc.errors import PathError, SettingsError
from parc.generate.data.frame_table import pace_of_frames
from parc.generate.data.training_windows import WindowSampler, WindowSettings
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.generate.model.wanted_pace import PACES, pace_features, read_pace
from parc.generate.rollout.path_rollout import PathRunner, RolloutSettings
from parc.generate.rollout.window_score import ScoreWeights, score_window
from parc.models import shipped_generator
from parc.path.path_batch import PathBatch
from parc.path.path_file import load_path, save_path
from parc.path.terrain_path import TerrainPath
from parc.terrain.heightmap import HeightmapGrid
from parc.terrain.terrain import Terrain, TerrainBatch

SMALL = GeneratorSettings(network=PrefixSettings(width=32, layers=1, heads=2, hidden=32))
FLAT = Terrain(torch.zeros(20, 20), torch.zeros(2))
NODES = torch.tensor([[1.0, 3.0, 0.0], [3.0, 3.0, 0.0], [6.0, 3.0, 0.0]])


def small(pace: bool) -> Generator:
    torch.manual_seed(0)
    return Generator(humanoid(), replace(SMALL, pace=pace)).eval()


def runner(generator: Generator, path: TerrainPath, **settings: object) -> PathRunner:
    rollout = RolloutSettings(seconds=1.0, lock_feet=False, steps=2, **settings)  # type: ignore[arg-type]
    return PathRunner(generator, TerrainBatch.stack([FLAT]), PathBatch.stack([path]), 2, rollout)


def test_the_label_is_the_speed_along_the_way_of_the_next_second_in_the_clip():
    t = torch.arange(60) / 30
    line = torch.stack([1.5 * t, torch.zeros(60), torch.sin(9 * t)], -1)  # up and down does not count
    circle = torch.stack([torch.cos(t), torch.sin(t), 0 * t], -1)  # 1 m/s around, much less from end to end
    pace = pace_of_frames(torch.cat([line, circle]), torch.tensor([60] * 60 + [120] * 60))
    torch.testing.assert_close(pace[:58], torch.full((58,), 1.5))
    torch.testing.assert_close(pace[60:118], torch.ones(58), atol=0.01, rtol=0)


def test_windows_are_told_their_pace_or_that_none_is_wanted(table, layout):
    def sampler(**settings: float) -> WindowSampler:
        return WindowSampler(table, layout, HeightmapGrid(), WindowSettings(**settings), has_pace=True)

    random = torch.Generator().manual_seed(3)
    drawn = sampler(pace_hidden=0.5).pick(200, random, 0.0)
    torch.testing.assert_close(drawn.pace.nan_to_num(0), torch.where(drawn.pace.isnan(), 0.0, table.pace[drawn.first + 1]))
    assert 60 < int(drawn.pace.isnan().sum()) < 140
    target = sampler().assemble(drawn).target
    torch.testing.assert_close(target[:, 2:], pace_features(drawn.pace))
    plain = WindowSampler(table, layout, HeightmapGrid(), WindowSettings())
    same = plain.pick(200, random.manual_seed(3), 0.0)
    assert torch.equal(same.first, drawn.first) and torch.equal(same.goal, drawn.goal) and same.pace is None
    assert plain.assemble(same).target.shape == (200, 2)


def test_trained_on_from_one_without_a_pace_it_moves_as_that_one_until_it_has_learnt():
    old, new = small(False), small(True)
    new.begin_from(old)
    inputs = torch.randn(2, 31, 31), torch.randn(2, 13, old.layout.width)
    direction = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    expected = old.sample_window(None, inputs[0], old.target(direction), inputs[1])
    asked = new.sample_window(None, inputs[0], new.target(direction, torch.tensor([1.4, torch.nan])), inputs[1])
    torch.testing.assert_close(asked, expected)


def test_a_file_remembers_whether_it_can_be_asked(tmp_path):
    for pace in (False, True):
        small(pace).save(tmp_path / "g.safetensors")
        assert Generator.load(tmp_path / "g.safetensors", humanoid()).settings.pace is pace


def test_the_wanted_pace_moves_the_windows_and_none_is_not_zero():
    generator = small(True)
    ways = {}
    for pace in (None, 0.0, 1.4, 3.0):
        walker = runner(generator, TerrainPath(NODES), pace=pace)
        ways[pace] = walker.run(5).root_pos
    assert not any(torch.equal(ways[a], ways[b]) for a, b in ((None, 0.0), (0.0, 1.4), (1.4, 3.0)))


def test_the_pace_of_a_path_comes_before_the_one_asked_for():
    generator, wanted = small(True), torch.tensor([2.0, torch.nan, 0.5])
    walker = runner(generator, TerrainPath(NODES, wanted), pace=1.0)
    for progress, expected in ((0.0, 2.0), (1.95, 2.0), (2.05, 1.0), (4.9, 1.0), (5.0, 0.5)):
        walker.progress.fill_(progress)
        torch.testing.assert_close(walker._wanted_pace(), torch.full((2,), expected))


def test_who_was_trained_without_a_pace_refuses_one_and_overlooks_that_of_a_path():
    with pytest.raises(SettingsError, match="without one"):
        runner(small(False), TerrainPath(NODES), pace=3.0)
    plain, paced = (runner(small(False), TerrainPath(NODES, p)).run(1).root_pos for p in (None, torch.ones(3)))
    assert torch.equal(plain, paced)


def test_impossible_paces_are_refused(tmp_path):
    for pace in (-1.0, 40.0, float("nan")):
        with pytest.raises(SettingsError, match="pace"):
            RolloutSettings(pace=pace)
    for text in ("crawl", "-1", "40", "nan"):
        with pytest.raises(SettingsError, match=text):
            read_pace(text)
    assert read_pace("1.4") == 1.4 and read_pace("run") == PACES["run"]
    for pace in (torch.ones(2), torch.tensor([1.0, -1.0, 1.0])):
        with pytest.raises(PathError, match="paces"):
            TerrainPath(NODES, pace)


def test_a_path_file_keeps_the_pace(tmp_path):
    wanted = torch.tensor([1.4, torch.nan, 3.0])
    save_path(TerrainPath(NODES, wanted), tmp_path / "a.json")
    torch.testing.assert_close(load_path(tmp_path / "a.json").pace, wanted, equal_nan=True)
    save_path(TerrainPath(NODES), tmp_path / "b.json")
    assert load_path(tmp_path / "b.json").pace is None


def test_progress_beyond_the_wanted_counts_against_a_window():
    character = humanoid()
    generator = small(False)
    state = generator.layout.decode(generator.mean.expand(1, 7, -1)).state
    state = state._replace(root_pos=torch.tensor([[[0.0, 0.0, 5.0]]]).repeat(1, 7, 1))

    def score(metres: float, wanted: float) -> float:
        moved = state._replace(root_pos=state.root_pos + torch.linspace(0, metres, 7)[None, :, None] * torch.eye(3)[0])
        pose = moved.body_pose(character)
        weights = ScoreWeights(jerk=0.0, flight=0.0)
        east, past = torch.tensor([[1.0, 0.0]]), pose.pos[:, :2]
        ground = TerrainBatch.stack([FLAT])
        limit = torch.tensor([wanted])
        return float(score_window(character, pose, state.contacts * 0, past, torch.ones(()), east, ground, weights, False, limit))

    assert score(0.3, 0.3) < min(score(0.2, 0.3), score(0.4, 0.3))
    assert score(0.4, torch.nan) < score(0.3, torch.nan)


def test_the_generator_in_the_box_walks_as_fast_as_it_is_asked_to():
    """From second 2 to 4 on flat ground, the median of four: within a tenth of a walk of 1.0 and 1.5 m/s."""
    asked = torch.tensor([1.0, 1.5])
    generator = Generator.load(shipped_generator(paced=True), humanoid())
    flat, way = Terrain(torch.zeros(36, 8), torch.zeros(2)), torch.tensor([[1.0, 1.4, 0.0], [13.0, 1.4, 0.0]])
    paths = PathBatch.stack([TerrainPath(way, speed.expand(2).clone()) for speed in asked])
    root = PathRunner(generator, TerrainBatch.stack([flat] * 2), paths, 4, RolloutSettings(seconds=4.2)).run(0).root_pos
    speed = (root[:, 125] - root[:, 60])[:, :2].norm(dim=-1) * 30 / 65
    torch.testing.assert_close(speed.view(2, 4).median(1).values, asked, atol=0.0, rtol=0.1)
