"""The law of the non-interfering augmentation: whatever is drawn within the bounds, no point of the motion goes deeper."""

import numpy as np
import pytest
import torch
from torch import Tensor

from parc.character import forward_kinematics, humanoid, rotation, surface_points, world_points
from parc.errors import TerrainError
from parc.terrain.procedural_terrain import RandomBoxes, random_boxes
from parc.terrain.random_augmentation import BoundSettings, BoxAugmentation, add_random_boxes, height_bounds, random_boxes_on_grid
from parc.terrain.terrain import Terrain
from parc.terrain.terrain_distance import penetration_depth, signed_distance


def walker(terrain: Terrain, seed: int, lift: float, frames: int = 40) -> Tensor:
    """Surface points [T, P, 3] of a body in random poses on a line across the map that leaves it at the end."""
    generator = torch.Generator().manual_seed(seed)
    character = humanoid()
    low, high = terrain.extent
    start, end = low + 0.3 * (high - low), high + 0.3
    share = torch.linspace(0, 1, frames)[:, None]
    xy = start * (1 - share) + end * share
    root = torch.cat([xy, terrain.height_at(xy)[:, None] + 0.85 + lift], -1)
    turn = rotation.from_yaw(0.8 + 0.3 * torch.randn(frames, generator=generator))
    joints = rotation.from_exp(0.3 * torch.randn(frames, character.num_joints, 3, generator=generator))
    return world_points(surface_points(character), forward_kinematics(character, root, turn, joints))


@pytest.mark.parametrize("border", ["open", "wall"])
@pytest.mark.parametrize("lift", [-0.25, 0.0, 0.5])
def test_no_point_goes_deeper_whatever_is_drawn(border, lift):
    settings = BoxAugmentation(boxes=(8, 12), side=(2, 9), height=(-3, 3))
    changed = 0
    for seed in range(4):
        terrain = random_boxes(RandomBoxes(), np.random.default_rng(seed))
        points = walker(terrain, seed, lift)
        before = penetration_depth(terrain, points, border)
        bounds = height_bounds(terrain, points)
        generator = torch.Generator().manual_seed(seed)
        for _ in range(5):
            augmented = add_random_boxes(terrain, bounds, generator, settings)
            assert (penetration_depth(augmented, points, border) <= before + 1e-5).all()
            changed += int((augmented.heights != terrain.heights).sum())
        for extreme in bounds.unbind(-1):
            assert (penetration_depth(terrain.with_heights(extreme), points, border) <= before + 1e-5).all()
    assert changed > 1000


def test_the_law_is_not_empty():
    """Without the bounds the same boxes do hit the motion."""
    terrain = Terrain.flat((16, 16))
    points = walker(terrain, 0, 0.1)
    free = torch.stack([torch.full((16, 16), 9.0), torch.full((16, 16), -9.0)], -1)
    raised = add_random_boxes(terrain, free, torch.Generator().manual_seed(0), BoxAugmentation((8, 8), height=(1, 2)))
    assert penetration_depth(raised, points).sum() > penetration_depth(terrain, points).sum() + 1


def test_bounds_hold_the_ground_and_free_cells_keep_clear_of_the_body():
    for seed in range(4):
        terrain = random_boxes(RandomBoxes(), np.random.default_rng(seed))
        points, settings = walker(terrain, seed, 0.2), BoundSettings(margin=0.1)
        highest, lowest = height_bounds(terrain, points, settings).unbind(-1)
        assert (lowest <= terrain.heights).all() and (terrain.heights <= highest).all()
        raised = highest > terrain.heights
        clear = signed_distance(terrain.with_heights(torch.where(raised, highest, -50.0)), points, "open")
        assert clear.min() >= 0.1 - 1e-4


def test_cells_that_carry_the_body_keep_their_height():
    terrain = Terrain.flat((6, 6))
    standing = torch.tensor([[[0.8, 0.8, 0.03]], [[0.8, 0.8, 0.02]]])
    highest, lowest = height_bounds(terrain, standing).unbind(-1)
    assert highest[2, 2] == 0 and lowest[2, 2] == 0
    assert lowest[2, 3] < -2 and highest[2, 4] > 2


def test_a_wall_leaned_against_keeps_its_height():
    terrain = Terrain(torch.tensor([[0.0], [0.0], [1.5]]), torch.zeros(2))
    hand = torch.tensor([[[0.57, 0.0, 1.0]]])
    highest, lowest = height_bounds(terrain, hand, BoundSettings(margin=0.02, support=0.05)).unbind(-1)
    assert lowest[2, 0] == 1.5
    assert highest[1, 0] == pytest.approx(0.98)


def test_points_bound_neighbouring_cells_within_the_margin_only():
    terrain = Terrain.flat((3, 3))
    near_the_edge = torch.tensor([[[0.55, 0.4, 1.0]]])
    highest = height_bounds(terrain, near_the_edge, BoundSettings(margin=0.1))[..., 0]
    assert highest[1, 1] == pytest.approx(0.9) and highest[2, 1] == pytest.approx(0.9)
    assert highest[0, 1] == 3.0 and highest[2, 2] == 3.0


def test_boxes_on_a_batch_are_turned_rectangles_within_the_bounds():
    base = torch.zeros(64, 31, 31)
    high, low = torch.full_like(base, 0.7), torch.full_like(base, -0.4)
    settings = BoxAugmentation(boxes=(1, 1), side=(6, 6), height=(1, 2))
    filled = random_boxes_on_grid(base, low, high, torch.Generator().manual_seed(0), settings)
    assert filled.unique().tolist() == pytest.approx([0.0, 0.7])
    area = (filled > 0).sum((1, 2))
    assert area.max() <= 49 and area.median() >= 20
    wide = (filled > 0).any(2).sum(1)
    assert wide.max() >= 8, "turned squares are wider than their side"


def test_number_of_boxes_is_drawn_from_the_whole_range():
    base = torch.zeros(300, 8, 8)
    free = torch.full_like(base, 9.0)
    levels = random_boxes_on_grid(base, -free, free, torch.Generator().manual_seed(1), BoxAugmentation((0, 3), (9, 9), (1, 2)))
    counts = torch.tensor([len(m[m > 0].unique()) for m in levels])
    assert counts.min() == 0 and counts.max() == 3


def test_the_generator_decides():
    base = torch.zeros(4, 9, 9)
    free = torch.full_like(base, 9.0)
    draw = [random_boxes_on_grid(base, -free, free, torch.Generator().manual_seed(s), BoxAugmentation((2, 4))) for s in (5, 5, 6)]
    assert torch.equal(draw[0], draw[1]) and not torch.equal(draw[0], draw[2])
    assert (base == 0).all()


def test_wrong_settings_are_named():
    with pytest.raises(TerrainError, match="boxes is 5 to 2"):
        BoxAugmentation(boxes=(5, 2))
    with pytest.raises(TerrainError, match="bounds have shape"):
        add_random_boxes(Terrain.flat((3, 3)), torch.zeros(3, 4, 2), torch.Generator())
