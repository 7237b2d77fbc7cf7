"""Pictures: the right size, the right things in the right places, the same every time."""

import io
import itertools
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from parc.character import humanoid
from parc.errors import FormatError, MotionError, PathError, SettingsError
from parc.path.terrain_path import TerrainPath
from parc.render import animate, compare, draw_clip, draw_frame, draw_navigation, draw_terrain, filmstrip
from parc.render.camera import Camera
from parc.render.clip_picture import close_up, ghost_frames, path_lines
from parc.render.drawn_motion import actors_of
from parc.render.film_strips import draw_film
from parc.render.viewpoint import ELEVATION, best_azimuth, hidden_share


def bright(picture: Image.Image) -> np.ndarray:
    return np.asarray(picture).astype(int)


def orange(picture: Image.Image) -> int:
    r, g, b = np.moveaxis(bright(picture), -1, 0)
    return int(((r > 150) & (r - b > 110) & (g > 50) & (g < 150)).sum())


def blue(picture: Image.Image) -> int:
    r, _, b = np.moveaxis(bright(picture), -1, 0)
    return int((b - r > 60).sum())


def test_terrain_picture_opens_again_as_png_and_repeats(walk):
    picture = draw_terrain(walk.terrain, walk.path, size=(240, 160))
    stored = io.BytesIO()
    picture.save(stored, "PNG")
    again = Image.open(io.BytesIO(stored.getvalue()))
    assert again.size == (240, 160) and again.mode == "RGB"
    assert np.array_equal(bright(again), bright(draw_terrain(walk.terrain, walk.path, size=(240, 160))))
    assert not np.array_equal(bright(again), bright(draw_terrain(walk.terrain, size=(240, 160))))


def test_contacts_are_orange_and_nothing_else_is(walk):
    free = replace(walk, motion=replace(walk.motion, contacts=walk.motion.contacts * 0), path=None)
    touching = replace(walk, path=None)
    assert orange(draw_frame(touching, humanoid(), 10)) > 60
    assert orange(draw_frame(free, humanoid(), 10)) == 0


def test_the_body_stays_in_the_middle_of_a_following_camera(walk):
    for frame in (0, 20, 39):
        r, _, b = np.moveaxis(bright(draw_frame(walk, humanoid(), frame, size=(240, 180))), -1, 0)
        rows, columns = np.nonzero(b - r > 60)
        assert abs(columns.mean() - 120) < 30 and abs(rows.mean() - 90) < 40
        assert len(rows) > 400


def test_a_film_strip_looks_over_walls_that_hide_the_body(walk):
    """A long stand in the open, a walk, walls around its last place: seen from the usual height but for the last picture."""
    frames = [0] * 200 + list(range(len(walk.motion)))
    motion = replace(
        walk.motion, **{k: getattr(walk.motion, k)[frames] for k in ("root_pos", "root_rot", "joint_rot", "contacts")}
    )
    last = motion.root_pos[-1]
    cells = torch.cartesian_prod(*(torch.arange(n) for n in walk.terrain.heights.shape))
    away = (walk.terrain.min_point + cells * walk.terrain.cell - last[:2]).norm(dim=-1)
    ring = cells[(away > 0.5) & (away < 1.0)]
    heights = walk.terrain.heights.clone()
    heights[ring[:, 0], ring[:, 1]] = last[2] + 1.2
    walled = replace(walk, motion=motion, terrain=replace(walk.terrain, heights=heights), path=None)
    usual = close_up(walled, actors_of(walled, humanoid()), (240, 180))
    assert usual.side[1] == pytest.approx(ELEVATION)
    assert blue(draw_frame(walled, humanoid(), len(frames) - 1, size=(240, 180), camera=usual.aimed(last.numpy()))) < 100
    strip = filmstrip(walled, humanoid(), 2, 1, panel=(240, 180))
    assert blue(strip.crop((strip.width // 2, 0, strip.width, strip.height))) > 300


def test_more_ghosts_cover_more_of_the_picture(walk):
    few, many = (draw_clip(walk, humanoid(), frames=n, size=(300, 200)) for n in (1, 6))
    background = draw_clip(walk, humanoid(), frames=1, size=(300, 200))
    assert np.array_equal(bright(few), bright(background))
    assert (np.abs(bright(many) - bright(few)).max(-1) > 20).mean() > 0.02


def test_ghosts_spread_along_the_way_and_keep_both_ends():
    root = np.zeros((100, 3))
    root[50:, 0] = np.arange(50) * 0.05  # half the time standing
    shown = ghost_frames(root, 30, 8, None)
    assert shown[0] == 0 and shown[-1] == 99 and sum(k > 50 for k in shown) >= 6
    assert ghost_frames(root, 30, 8, every=25) == [0, 25, 50, 75]
    with pytest.raises(MotionError, match="every is 0"):
        ghost_frames(root, 30, 8, every=0)


def test_film_strip_has_its_panels_and_the_times_asked_for(walk):
    strip = filmstrip(walk, humanoid(), columns=3, rows=2, panel=(96, 72))
    assert strip.size == (3 * 96 + 2 * 4, 2 * 72 + 4)
    panels = [bright(strip.crop((100 * c, 76 * r, 100 * c + 96, 76 * r + 72))) for r in range(2) for c in range(3)]
    assert all((np.abs(a - b).max(-1) > 20).mean() > 0.01 for a, b in itertools.pairwise(panels))
    with pytest.raises(SettingsError, match="not inside the motion"):
        filmstrip(walk, humanoid(), stop=99.0)


def test_motions_under_each_other_and_in_one_picture(walk, other_walk):
    rows = compare([walk, other_walk], humanoid(), columns=3, panel=(80, 60))
    assert rows.size == (3 * 84 - 4, 2 * 64 - 4)
    both = draw_frame([walk, other_walk], humanoid(), 5, size=(160, 120))
    alone = draw_frame(walk, humanoid(), 5, size=(160, 120))
    assert both.size == alone.size and not np.array_equal(bright(both), bright(alone))


@pytest.mark.parametrize("ending", ["gif", "webp", "png"])
def test_moving_pictures_have_their_frames_and_speed(walk, tmp_path, ending):
    file = animate(walk, humanoid(), tmp_path / f"walk.{ending}", size=(64, 48), fps=5)
    with Image.open(file) as moving:
        assert moving.n_frames == int(walk.motion.duration * 5) + 1
        moving.seek(1)
        moving.load()
        assert moving.info["duration"] == pytest.approx(200, abs=10)
    with pytest.raises(FormatError, match=r"\.avi"):
        animate(walk, humanoid(), tmp_path / "walk.avi")


def test_a_film_as_mp4_has_its_frames_speed_and_pictures(walk, tmp_path, monkeypatch):
    av = pytest.importorskip("av", reason="PyAV is not installed")
    file = animate(walk, humanoid(), tmp_path / "walk.mp4", size=(65, 49), fps=5)
    with av.open(file) as film:
        stream = film.streams.video[0]
        pictures = [frame.to_ndarray(format="rgb24") for frame in film.decode(stream)]
    assert stream.codec_context.name == "h264" and float(stream.average_rate) == pytest.approx(5)
    assert len(pictures) == int(walk.motion.duration * 5) + 1 and pictures[0].shape == (48, 64, 3)
    first = np.asarray(draw_film_frame(walk), float)[:48, :64]
    assert np.abs(pictures[0] - first).mean() < 8, "as drawn, but for what H.264 loses"
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(SettingsError, match=r"parc-motion\[film\]"):
        animate(walk, humanoid(), tmp_path / "other.mp4", size=(64, 48), fps=5)
    assert not (tmp_path / "other.mp4").exists()


def draw_film_frame(clip):
    """The first picture of a film in a format that loses nothing."""
    data = draw_film(clip, humanoid(), ".png", size=(65, 49), fps=5)
    return Image.open(io.BytesIO(data)).convert("RGB")


def test_navigation_draws_walks_and_jumps_and_refuses_foreign_cells(walk):
    y = walk.terrain.size[1]
    edges = [(i * y + 1, (i + 1) * y + 1) for i in range(8)] + [(2 * y + 1, 5 * y + 6)]
    flags = [False] * 8 + [True]
    plain = bright(draw_navigation(walk.terrain, np.zeros((0, 2)), [], size=(240, 160)))
    with_edges = bright(draw_navigation(walk.terrain, edges, flags, size=(240, 160)))
    r, g, _ = np.moveaxis(with_edges, -1, 0)
    assert ((r - g > 60) & (np.abs(with_edges - plain).max(-1) > 30)).sum() > 15  # the arc
    assert (np.abs(with_edges - plain).max(-1) > 15).sum() > 60
    pairs = np.stack(np.divmod(np.array(edges), y), -1)
    assert np.array_equal(with_edges, bright(draw_navigation(walk.terrain, pairs, flags, size=(240, 160))))
    with pytest.raises(PathError, match="names cell"):
        draw_navigation(walk.terrain, [(0, 9999)], [False])
    with pytest.raises(PathError, match="one flag for each edge"):
        draw_navigation(walk.terrain, edges, [True])


def test_the_side_that_a_wall_hides_is_not_looked_from(walk):
    heights = walk.terrain.heights.clone() * 0
    heights[:, 0] = 4.0  # a wall along the -y side
    terrain = walk.terrain.with_heights(heights)
    pos = walk.motion.body_poses(humanoid()).pos.double().numpy()
    assert hidden_share(terrain, pos.reshape(-1, 3), -90) > 0.9
    assert hidden_share(terrain, pos.reshape(-1, 3), 90) == 0
    chosen = best_azimuth(terrain, pos)
    assert hidden_share(terrain, pos.reshape(-1, 3), chosen) < 0.05
    assert abs(np.sin(np.radians(chosen))) > 0.7  # across the walk, which goes along x


def test_wrong_frames_and_sizes_are_named(walk):
    with pytest.raises(MotionError, match=r"frame 40 .* 0 to 39"):
        draw_frame(walk, humanoid(), 40)
    with pytest.raises(SettingsError, match="2 x 2 pixels"):
        draw_terrain(walk.terrain, size=(2, 2), camera=Camera((5, 5, 5), (0, 0, 0)))


def test_a_path_keeps_to_the_ground_and_does_not_fall_into_pits_it_passes(walk):
    heights = walk.terrain.heights.clone() * 0
    heights[3, 4] = -2.0
    terrain = walk.terrain.with_heights(heights)
    cells = torch.tensor([[2, 3], [3, 3], [4, 4], [8, 4]])  # a step, a diagonal step past the pit, a jump
    nodes = torch.cat([terrain.centre_of(cells), torch.zeros(4, 1)], 1)
    (lines,), ends = path_lines(TerrainPath(nodes), terrain)
    z = lines.segments[..., 2]
    assert z.min() >= 0 and z.max() > 0.3  # nothing below the ground, the jump is an arc
    assert len(ends) == 2
    x = lines.segments[..., 0]
    on_steps = x < float(nodes[2, 0]) - 1e-6
    np.testing.assert_allclose(z[on_steps], z[on_steps][0], atol=1e-6)
