"""Training windows: drawn as often as promised, mirrored exactly, on ground that never gets into the body."""

import dataclasses
import itertools
import math

import pytest
import torch

from parc.character import humanoid, surface_points, world_points
from parc.character.kinematics import BodyPose
from parc.dataset.clip import Provenance
from parc.errors import DatasetError
from parc.generate.data.frame_table import STILL_COUNTS, FrameTable, mirror_terrain, skill_of
from parc.generate.data.training_windows import WindowSampler, WindowSettings
from parc.generate.model.canonical_frame import CanonicalFrame
from parc.generate.model.motion_generator import GeneratorSettings
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.generate.training.generator_training import TrainSettings, make_trainer
from parc.generate.training.training_step import StepSettings
from parc.motion import motion_edits
from parc.motion.frame_state import FrameState
from parc.motion.motion_edits import mirror
from parc.terrain.heightmap import HeightmapGrid, grid_world_xy
from parc.terrain.terrain_distance import signed_distance

TINY = GeneratorSettings(network=PrefixSettings(width=32, layers=1, heads=2, hidden=32))
SMALL = StepSettings(batch=4, statistics_windows=50)


def test_windows_stay_inside_their_clips(table, random):
    first, clip = table.draw(4000, random)
    assert (first >= table.clip_start[clip]).all() and (first + 15 <= table.clip_end[clip]).all()
    assert set(first.tolist()) >= {int(table.clip_start[0]), int(table.clip_end[0]) - 15}


def test_skills_share_windows_by_the_root_of_their_length(walk, random):
    long = dataclasses.replace(walk, name="a", provenance=Provenance(skill="walk"))
    short = dataclasses.replace(walk, name="b", motion=walk.motion.slice(0, 15 + 30), provenance=Provenance(skill="step"))
    table = FrameTable.build([long, short], humanoid(), 15, "cpu", mirrored=False, balance=0.5)
    _, clip = table.draw(20000, random)
    n_long, n_short = len(walk.motion) - 14, 31
    expected = n_long**0.5 / (n_long**0.5 + n_short**0.5)
    assert float((clip == 0).float().mean()) == pytest.approx(expected, abs=0.015)


def test_generated_motions_get_the_share_asked_for(walk, random):
    made = dataclasses.replace(walk, name="m", provenance=Provenance(skill="generated"))
    others = [dataclasses.replace(walk, name=n, provenance=Provenance(skill=n)) for n in ("walk", "step")]
    table = FrameTable.build([made, *others], humanoid(), 15, "cpu", mirrored=False, made_share=0.7)
    _, clip = table.draw(20000, random)
    assert [float((clip == k).float().mean()) for k in range(3)] == pytest.approx([0.7, 0.15, 0.15], abs=0.015)


def test_skill_from_the_name(walk):
    assert skill_of(dataclasses.replace(walk, name="gap_jump_cmu_108_15", provenance=Provenance())) == "gap_jump_cmu"


def test_short_clips_are_refused_by_number(walk):
    with pytest.raises(DatasetError, match="15 frames"):
        FrameTable.build([dataclasses.replace(walk, motion=walk.motion.slice(0, 10))], humanoid(), 15, "cpu")
    slow = dataclasses.replace(walk, motion=dataclasses.replace(walk.motion, fps=60.0))
    with pytest.raises(DatasetError, match=r"60\.0 frames a second"):
        FrameTable.build([slow], humanoid(), 15, "cpu")


def test_mirrored_window_is_the_window_of_the_mirrored_clip(walk, layout):
    """The second half of the table against a clip mirrored by hand; and its view is the view flipped left to right."""
    both = FrameTable.build([walk], humanoid(), 15, "cpu", mirrored=True)
    n = len(walk.motion)
    by_hand = mirror(walk.motion, humanoid())
    torch.testing.assert_close(both.frames.root_pos[n:], by_hand.root_pos)
    torch.testing.assert_close(both.frames.contacts[n:], by_hand.contacts)
    sampler = WindowSampler(both, layout, HeightmapGrid(), WindowSettings())
    rows, clips = torch.tensor([20, 20 + n]), torch.tensor([0, 1])
    state = both.at(rows[:, None] + torch.arange(15))
    frame = CanonicalFrame.of(state.root_pos[:, 1], state.root_rot[:, 1])
    view = frame.heightmap(sampler._patch(clips, frame), HeightmapGrid())
    assert (view[1] - view[0].flip(1)).abs().gt(1e-4).float().mean() < 0.02  # samples on a cell's border
    local = frame.to_local(state)
    torch.testing.assert_close(local.root_pos[1], local.root_pos[0] * torch.tensor([1.0, -1.0, 1.0]), atol=1e-5, rtol=0)


def test_terrain_mirrored_twice_is_itself(walk):
    twice = mirror_terrain(mirror_terrain(walk.terrain))
    torch.testing.assert_close(twice.heights, walk.terrain.heights)
    torch.testing.assert_close(twice.min_point, walk.terrain.min_point)
    xy = torch.rand(200, 2, generator=torch.Generator().manual_seed(0)) * 6 + 0.5
    flipped = xy * torch.tensor([1.0, -1.0])
    torch.testing.assert_close(mirror_terrain(walk.terrain).height_at(flipped), walk.terrain.height_at(xy))


def test_with_the_papers_odds_every_window_of_the_data_has_the_same_chance(walk):
    """A clip that stands, a second skill, a short clip: by default none of them counts as much as a walking frame."""
    standing = FrameState.of_motion(walk.motion)
    still = dataclasses.replace(walk.motion, root_pos=standing.root_pos[:1].expand_as(standing.root_pos).clone())
    clips = [
        walk,
        dataclasses.replace(walk, name="stands", motion=still),
        dataclasses.replace(
            walk, name="climb", motion=walk.motion.slice(0, 40), provenance=dataclasses.replace(walk.provenance, skill="climb")
        ),
    ]
    paper = TrainSettings.paper()
    odds = [
        FrameTable.build(clips, humanoid(), 15, "cpu", paper.mirrored, *given).odds.diff()
        for given in ((paper.balance, paper.made_share, paper.still_counts), ())
    ]
    count = 2 * sum(len(clip.motion) - 14 for clip in clips)
    torch.testing.assert_close(odds[0], torch.full((count - 1,), 1 / count, dtype=torch.float64))
    assert float(odds[1].max() / odds[1].min()) > 10


def test_with_the_papers_windows_boxes_are_all_that_changes(walk, layout, random):
    """Ground where the body is not keeps its height unless a box stands there; ours also levels it anew."""
    table = FrameTable.build([walk], humanoid(), 15, "cpu")
    share = {}
    for name, settings in (("paper", WindowSettings.paper()), ("ours", WindowSettings())):
        settings = dataclasses.replace(settings, random_share=0.0, boxes=dataclasses.replace(settings.boxes, boxes=(0, 0)))
        sampler = WindowSampler(table, layout, HeightmapGrid(), settings)
        drawn = sampler.draw(60, random)
        frame = CanonicalFrame.of(drawn.state.root_pos[:, 1], drawn.state.root_rot[:, 1])
        changed = (drawn.patch.heights != sampler._patch(drawn.clip, frame).heights).flatten(1)
        share[name] = float(changed.any(1).float().mean())
    assert share["paper"] == 0 and 0.1 < share["ours"] < 0.5


def test_patch_is_the_terrain(windows, random):
    drawn = windows.draw(40, random, augment=False)
    xy = drawn.state.root_pos[:, 1, :2]
    for row in range(40):
        terrain = windows.table.terrain[int(drawn.clip[row])]
        local = drawn.patch[row]
        assert float(local.height_at(xy[row])) == pytest.approx(float(terrain.height_at(xy[row])))


def test_heightmap_never_leaves_the_patch(windows, random):
    drawn = windows.draw(300, random, augment=False)
    frame = CanonicalFrame.of(drawn.state.root_pos[:, 1], drawn.state.root_rot[:, 1])
    xy = grid_world_xy(windows.grid, frame.origin[:, :2], frame.yaw).flatten(1, 2)
    low = drawn.patch.min_point - 0.5 * drawn.patch.cell
    high = low + drawn.patch.cell * windows.patch_cells
    assert (xy >= low[:, None]).all() and (xy <= high[:, None]).all()


def test_changed_ground_never_enters_the_body(windows, random):
    """Against every surface point of every frame of the window, not only the ones the bounds were made from."""
    drawn = windows.draw(150, random)
    before = windows._patch(drawn.clip, CanonicalFrame.of(drawn.state.root_pos[:, 1], drawn.state.root_rot[:, 1]))
    rows = drawn.first[:, None] + torch.arange(15)
    pose = BodyPose(windows.table.bodies.pos[rows], windows.table.bodies.rot[rows])
    points = world_points(surface_points(humanoid()), pose).flatten(1, 2)
    depth_before = (-signed_distance(before, points)).clamp_min(0).amax(1)
    depth_after = (-signed_distance(drawn.patch, points)).clamp_min(0).amax(1)
    real = ~drawn.is_random
    assert real.sum() > 100
    assert (drawn.patch.heights != before.heights).flatten(1).any(1)[real].float().mean() > 0.6
    assert (depth_after - depth_before)[real].max() < 0.02


def test_ground_under_a_standing_foot_stays(windows, random):
    drawn = windows.draw(100, random)
    feet = list(humanoid().feet)
    rows = drawn.first[:, None] + torch.arange(15)
    contact = windows.table.frames.contacts[rows][..., feet] > 0.5
    foot = windows.table.bodies.pos[rows][..., feet, :]
    before = windows._patch(drawn.clip, CanonicalFrame.of(drawn.state.root_pos[:, 1], drawn.state.root_rot[:, 1]))
    for row in range(100):
        if drawn.is_random[row]:
            continue
        xy = foot[row][contact[row]][:, :2]
        torch.testing.assert_close(drawn.patch[row].height_at(xy), before[row].height_at(xy))


def test_random_terrain_share_and_its_clear_start(windows):
    g = torch.Generator().manual_seed(5)
    drawn = windows.draw(2000, g)
    assert 0.07 < float(drawn.is_random.float().mean()) < 0.13
    rows = drawn.first[:, None] + torch.arange(2)
    pose = BodyPose(windows.table.bodies.pos[rows], windows.table.bodies.rot[rows])
    points = world_points(surface_points(humanoid()), pose).flatten(1, 2)[drawn.is_random]
    patch = drawn.patch.select(drawn.is_random.nonzero().flatten())
    assert (-signed_distance(patch, points)).max() < 0.03


def test_random_terrain_stands_in_the_way_of_what_was_recorded(windows):
    """That is what it is for: in most of its windows some body would go through the ground a second later."""
    drawn = windows.pick(300, torch.Generator().manual_seed(5), 1.0)
    drawn = drawn._replace(first=windows.table.clip_start[drawn.clip] + 20)
    later = windows.table.bodies.pos[drawn.first + 30]
    before = windows._patch(drawn.clip, CanonicalFrame(later[:, 0], torch.zeros(len(later))))
    height = windows.table.frames.root_pos[drawn.first + 1, 2]
    entered = []
    for is_random in (True, False):
        drawn = drawn._replace(is_random=torch.full((300,), is_random))
        ground = windows.change(before, windows.swept(drawn), drawn.is_random, height, torch.Generator().manual_seed(6))
        entered.append(float((signed_distance(ground, later).amin(1) < -0.1).float().mean()))
    assert entered[0] > 0.2 and entered[1] == 0


def test_mirrored_copies_are_trained_on_unless_they_are_refused(walk):
    both, plain = (
        make_trainer(TrainSettings(generator=TINY, step=SMALL, **more), [walk], humanoid()).windows.table
        for more in ({}, {"mirrored": False})
    )
    assert len(both) == 2 * len(plain)


def test_assembled_window_is_canonical_and_decodes_to_the_recording(windows, layout, random):
    drawn = windows.draw(20, random)
    batch = windows.assemble(drawn)
    assert batch.past[:, 1, :3].abs().max() < 1e-5
    state = batch.frame.to_world(layout.decode(torch.cat([batch.past, batch.future], 1)).state)
    for got, expected in zip(state, drawn.state, strict=True):
        torch.testing.assert_close(got, expected, atol=3e-5, rtol=0)
    length = batch.target.norm(dim=-1)
    assert (((length - 1).abs() < 1e-5) | (length == 0)).all()
    assert batch.heightmap.abs().max() <= 1


def test_direction_points_where_the_motion_goes(windows, random):
    drawn = windows.draw(200, random)
    batch = windows.assemble(drawn)
    ahead = batch.future[:, -1, :2]
    assert ((batch.target * ahead).sum(-1) > 0.5 * ahead.norm(dim=-1)).float().mean() > 0.95


def test_same_seed_same_windows(windows):
    a, b = (windows.assemble(windows.draw(8, torch.Generator().manual_seed(3))) for _ in range(2))
    assert torch.equal(a.future, b.future) and torch.equal(a.patch.heights, b.patch.heights)


def test_windows_that_stand_still_are_seldom_drawn(walk, random):
    frames = 240
    start = walk.motion.slice(0, 1)
    motion = motion_edits.select(start, torch.zeros(frames, dtype=torch.long))
    pos = motion.root_pos.clone()
    pos[120:, 0] += torch.arange(120) / 30.0
    clip = dataclasses.replace(walk, motion=dataclasses.replace(motion, root_pos=pos))
    table = FrameTable.build([clip], humanoid(), 15, "cpu", mirrored=False)
    first, _ = table.draw(20000, random)
    still, moving = (first < 89).sum(), (first >= 119).sum()
    assert float(still / moving) == pytest.approx(STILL_COUNTS * 89 / 107, rel=0.15)


def test_bounds_are_those_of_every_point_and_cell(windows, random):
    """Against a loop: a cell may rise to just under the lowest point whose padded square touches it."""
    drawn = windows.draw(2, random, augment=False)
    patch, n, pad = drawn.patch, windows.patch_cells, windows.settings.padding
    points = drawn.state.root_pos[:, :1] + 1.5 * torch.randn(2, 40, 3, generator=random)
    root = drawn.state.root_pos[:, 1, 2]
    low, high = windows._bounds(patch, points, root)
    for b in range(2):
        lowest = torch.full((n, n), float(root[b]) + 4.0)
        for x, y, z in points[b].tolist():
            for dx, dy in itertools.product((-pad, pad), repeat=2):
                i = math.floor((x + dx - float(patch.min_point[b, 0])) / patch.cell + 0.5)
                j = math.floor((y + dy - float(patch.min_point[b, 1])) / patch.cell + 0.5)
                if 0 <= i < n and 0 <= j < n:
                    lowest[i, j] = min(float(lowest[i, j]), z)
        kept = lowest - patch.heights[b] < windows.settings.touching
        torch.testing.assert_close(high[b], torch.where(kept, patch.heights[b], lowest - windows.settings.clearance))
        assert (low[b] <= high[b]).all() and torch.equal(low[b][kept], patch.heights[b][kept])
