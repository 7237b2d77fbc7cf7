"""The test set is fixed: the same everywhere, unlike the training terrains, and every path crosses its map."""

import hashlib

import torch

from parc.evaluate.terrains import box_cases, walk_cases


def digest(cases) -> str:
    whole = hashlib.sha256()
    for case in cases:
        whole.update(case.terrain.heights.mul(1000).round().int().numpy().tobytes())
        whole.update(case.path.nodes.mul(1000).round().int().numpy().tobytes())
    return whole.hexdigest()[:16]


def test_items_do_not_depend_on_how_many_are_asked_for() -> None:
    assert digest(walk_cases(6)[:3]) == digest(walk_cases(3))


def test_paths_start_and_end_on_the_ground_well_apart() -> None:
    for case in (*walk_cases(5), *box_cases(5)):
        ends = case.path.nodes[[0, -1]]
        torch.testing.assert_close(case.terrain.height_at(ends[:, :2]), ends[:, 2])
        assert (ends[0, :2] - ends[1, :2]).norm() >= 5 - 1e-4


def test_the_two_kinds_differ_in_size_and_floor() -> None:
    walk, box = walk_cases(1)[0], box_cases(1)[0]
    assert walk.terrain.size == (32, 32)
    assert box.terrain.size == (16, 16)
    assert float(walk.terrain.heights.min()) == -2.0
