"""The clock, the skin of the ground, curves, casting, brush, fit: each against its law."""

import itertools

import numpy as np
import pytest
import torch

from parc.character import humanoid
from parc.errors import MotionError, SettingsError
from parc.studio.actions import retouch
from parc.studio.actions.clip_analysis import Analyst
from parc.studio.actions.terrain_brush import Brush, paint
from parc.studio.actions.terrain_for_clip import fit_terrain
from parc.studio.document import Document
from parc.studio.scene.figures_on_stage import Casting
from parc.studio.scene.frame_curves import clip_curves, derivative, ramp_colours
from parc.studio.scene.playback import Clock, Playback
from parc.studio.scene.terrain_skin import TILE, changed_tiles, skin_glb, tile_skin, tiles
from parc.terrain import Terrain
from parc.terrain.triangle_mesh import terrain_mesh

BODY = humanoid()


def rough(rows: int = 20, columns: int = 18, seed: int = 0) -> Terrain:
    heights = np.random.default_rng(seed).integers(-2, 3, (rows, columns)) * 0.3
    return Terrain(torch.tensor(heights, dtype=torch.float32), torch.tensor([0.3, -1.0]))


def area(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    a, b, c = (vertices[faces[:, k]].astype(float) for k in range(3))
    return np.cross(b - a, c - a) / 2


def test_tiles_together_are_the_skin_of_the_whole() -> None:
    terrain = rough()
    skins = [tile_skin(terrain, first) for first in tiles(terrain)]
    vertices, faces = terrain_mesh(terrain)
    whole = area(vertices, faces)
    parts = np.concatenate([area(s.vertices, s.faces) for s in skins])
    np.testing.assert_allclose(np.abs(parts).sum(0), np.abs(whole).sum(0), rtol=1e-4)
    np.testing.assert_allclose(parts.clip(0).sum(0), whole.clip(0).sum(0), rtol=1e-4)


def test_only_tiles_that_look_different_are_sent() -> None:
    terrain = rough(40, 40)
    heights = terrain.heights.clone()
    heights[20, 20] += 0.1
    assert changed_tiles(terrain, terrain.with_heights(heights)) == [(16, 16)]
    heights[15, 20] += 0.1
    assert set(changed_tiles(terrain, terrain.with_heights(heights))) == {(0, 16), (16, 16)}
    assert changed_tiles(terrain, terrain) == []
    assert len(changed_tiles(None, terrain)) == len(tiles(terrain)) == int(np.ceil(40 / TILE)) ** 2
    assert len(changed_tiles(terrain, Terrain.flat((40, 41)))) == 9


def test_the_skin_is_a_gltf_file_and_rims_stand_on_steps() -> None:
    import io

    import trimesh

    terrain = rough(5, 5)
    skin = tile_skin(terrain, (0, 0))
    scene = trimesh.load_scene(io.BytesIO(skin_glb(skin)), file_type="glb", process=False)
    faces = [part for part in scene.geometry.values() if isinstance(part, trimesh.Trimesh)]
    assert [len(part.faces) for part in faces] == [len(skin.faces)]
    flat = tile_skin(Terrain.flat((3, 2), 1.5), (0, 0))
    assert len(flat.rims) == 2 * 10
    np.testing.assert_allclose(flat.rims[:, 2], 1.5, atol=0.01)
    assert np.linalg.norm(flat.rims[::2] - flat.rims[1::2], axis=-1) == pytest.approx(0.4)


def test_the_clock_loops_stops_and_keeps_its_speed() -> None:
    clock = Clock()
    clock.set_end(2.0)
    clock.play()
    clock.speed = 0.5
    clock.advance(3.0)
    assert clock.time == pytest.approx(1.5)
    clock.advance(2.0)
    assert clock.time == pytest.approx(0.5)
    clock.loops = False
    clock.advance(10.0)
    assert clock.time == 2.0 and not clock.is_playing
    clock.play()
    assert clock.time == 0.0
    clock.set_end(0.0)
    clock.advance(1.0)
    assert clock.time == 0.0


def test_playback_shows_and_steps() -> None:
    shown: list[float] = []
    playback = Playback(shown.append)
    playback.clock.set_end(1.0)
    playback.step(3)
    playback.step(-1)
    assert shown == pytest.approx([3 / 30, 2 / 30])
    playback.play()
    while len(shown) < 6:
        pass
    playback.close()
    assert all(0 <= t < 1.0 for t in shown)


def test_derivatives_of_a_parabola_and_a_cubic() -> None:
    t = np.arange(50) / 30
    track = np.stack([t, t**2, t**3], -1)[:, None]
    assert derivative(track, 30.0, "jerk")[20, 0] == pytest.approx(6.0)
    assert derivative(track[..., :2] * [[[1.0, 1.0]]], 30.0, "acceleration")[25, 0] == pytest.approx(2.0)
    assert derivative(track[..., :1], 30.0, "speed")[:, 0] == pytest.approx(np.ones(50))
    assert derivative(track[:2], 30.0, "jerk").shape == (2, 1)
    colours = ramp_colours(np.array([0.0, 1.0, np.nan]), top=1.0)
    assert colours[0, 2] > colours[0, 0] and colours[1, 0] > colours[1, 2]


def test_curves_know_depth(walk) -> None:
    sunk = retouch.offset_root(walk, (0.0, 0.0, -0.05), start=10, stop=30)
    above, below = clip_curves(walk, BODY), clip_curves(sunk, BODY)
    deeper = below.values["penetration, mm"] - above.values["penetration, mm"]
    assert deeper[12:28] == pytest.approx(50, abs=12)
    assert below.depth.shape == (len(walk.motion), BODY.num_bodies)
    assert all(len(values) == len(walk.motion) for values in below.values.values())


def test_the_analyst_can_be_waited_for(walk) -> None:
    found: list[object] = []
    analyst = Analyst(humanoid(), lambda: found.append(analyst.latest.clip))
    assert not analyst.wait(0.0)
    analyst.look_at(walk)
    analyst.close()
    assert analyst.wait(60.0) and found in ([], [walk])


def test_other_grounds_lie_beside_and_do_not_overlap(walk) -> None:
    from dataclasses import replace

    others = [replace(walk, name=str(k), terrain=rough(4 + k, 6, k)) for k in range(3)]
    document = Document(walk.terrain, clips=(walk, *others, replace(walk, name="same ground")), active=0)
    cast = Casting(BODY).cast(document)
    assert len(cast.lanes) == 4 and len(cast.roles) == 5
    assert (cast.roles[4].shift == 0).all() and cast.active is cast.roles[0]
    edges = [(float(lane.terrain.extent[0][1]), float(lane.terrain.extent[1][1]), lane.shift[1]) for lane in cast.lanes]
    spans = sorted((low + shift, high + shift) for low, high, shift in edges)
    assert all(b[0] > a[1] for a, b in itertools.pairwise(spans))
    assert len(Casting(BODY).cast(document, only_active=True).roles) == 1
    many = replace(document, candidates=tuple(replace(walk, name=f"c{k}") for k in range(12)))
    shown = Casting(BODY).cast(many, only_active=True, picked=10).roles
    assert len(shown) == 1 + 8 + 1 and [r.clip.name for r in shown if r.leaves_traces] == [walk.name, "c10"]
    preview = replace(walk, name="on its way")
    assert [r.clip.name for r in Casting(BODY).cast(document, only_active=True, preview=preview).roles] == ["on its way"]


def test_the_brush() -> None:
    ground = Terrain.flat((6, 6))
    raised = paint(ground, (0, 5), Brush("raise", 0.5, radius=1))
    assert int((raised.heights == 0.5).sum()) == 4
    assert torch.equal(paint(raised, (0, 5), Brush("lower", 0.5, radius=1)).heights, ground.heights)
    assert float(paint(ground, (2, 2), Brush("set", height=-1.0)).heights[2, 2]) == -1.0
    assert float(paint(raised, (1, 4), Brush("flatten", radius=1)).heights[1, 4]) == pytest.approx(4 * 0.5 / 9)
    with pytest.raises(SettingsError, match="radius of -1"):
        Brush(radius=-1)


def test_the_ground_of_a_walk_is_found_again(walk) -> None:
    fitted = fit_terrain(walk, BODY)
    feet = list(BODY.feet)
    pos = fitted.motion.body_poses(BODY).pos
    planted = fitted.motion.contacts[:, feet] > 0.5
    ground = fitted.terrain.height_at(pos[:, feet][planted][:, :2])
    sole = pos[:, feet][planted][:, 2] - 0.05
    assert float((ground - sole).abs().median()) < 0.03
    levels = fitted.terrain.heights.unique()
    assert float(levels.min()) == pytest.approx(0.0, abs=0.02) and float(levels.max()) == pytest.approx(0.2, abs=0.02)
    silent = retouch.label_contacts(walk, BODY, list(BODY.names), 0, len(walk.motion), False)
    with pytest.raises(MotionError, match="label them first"):
        fit_terrain(silent, BODY)


@pytest.mark.parametrize("aspect", [0.5, 1.0, 2.2])
def test_the_view_holds_everything(aspect: float) -> None:
    from parc.studio.scene.camera_framing import fitting_view

    bounds, field = np.array([[-3.0, 1.0, -0.5], [9.0, 5.0, 2.0]]), 0.7
    corners = np.array(list(itertools.product(*bounds.T)))
    eye, target = fitting_view(corners, field, aspect)
    ahead = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(ahead, [0, 0, 1]) / np.linalg.norm(np.cross(ahead, [0, 0, 1]))
    depth = (corners - eye) @ ahead
    across, along = (corners - eye) @ right / depth, (corners - eye) @ np.cross(right, ahead) / depth
    assert (depth > 0).all()
    assert np.abs(across).max() <= np.tan(field / 2) * aspect and np.abs(along).max() <= np.tan(field / 2)
    assert max(np.abs(across).max() / aspect, np.abs(along).max()) > 0.5 * np.tan(field / 2)


def test_contact_dots_are_one_for_each_stretch() -> None:
    from parc.studio.scene.figure3d import contact_moments, trail_segments

    labels = np.array([[1, 0], [1, 0], [1, 1], [0, 0], [0, 1], [0, 1], [0, 1]], float)
    assert contact_moments(labels) == [(0, 1), (1, 2), (1, 5)]
    segments, colours = trail_segments(np.random.default_rng(0).normal(size=(5, 3, 3)), 30.0, "speed")
    assert segments.shape == colours.shape == (12, 2, 3)
