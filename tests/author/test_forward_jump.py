"""Jumps and steps from one level to another facing forward, before any fit."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from parc.author import ForwardJump, Script, draft, forward_jump, random_scripts
from parc.author.skill_script import turned
from parc.character import humanoid
from parc.mocap.subject.human_anatomy import Anatomy
from parc.terrain.terrain import CELL

ROOM = [
    ForwardJump(0.4, "step", 1.0),
    ForwardJump(0.6, "step", 2.4),
    ForwardJump(0.9, "leap", 1.6),
    ForwardJump(1.3, "jump", 1.2),
    ForwardJump(0.0, "step", 3.0, gap=4),
    ForwardJump(0.1, "jump", 1.2, gap=3),
    ForwardJump(-0.6, "jump", 1.0),
    ForwardJump(-0.4, "leap", 2.0),
]


def _take_off_and_landing(script: Script) -> tuple[float, float]:
    """s"""
    before = [s for s in script.steps if s.place[0] < 0]
    behind = [s for s in script.steps if s.place[0] > 0]
    return max(s.stop for s in before), min(s.start for s in behind)


@pytest.mark.parametrize("make", ROOM, ids=lambda m: f"{m.style}_{m.height}")
def test_the_pelvis_falls_as_a_stone_between_take_off_and_landing(make: ForwardJump) -> None:
    script = forward_jump("down", make)
    leaves, lands = _take_off_and_landing(script)
    keys = [k for k in script.keys if leaves - 1e-6 <= k.time <= lands + 1e-6]
    times, heights, along = (np.array([getattr(k, name) for k in keys]) for name in ("time", "z", "x"))
    assert len(keys) >= 5
    assert 2 * np.polyfit(times, heights, 2)[0] == pytest.approx(-9.81, rel=1e-6)
    assert heights[-1] < max(heights) or make.style == "step"
    assert np.diff(along) / np.diff(times) == pytest.approx((along[-1] - along[0]) / (lands - leaves))


@pytest.mark.parametrize("gap", [0, 1, 2])
@pytest.mark.parametrize("heading", [-0.4, 0.0, 0.4])
@pytest.mark.parametrize("style", ["leap", "jump"])
def test_the_last_foot_is_at_the_edge_and_the_first_beyond_the_ditch(gap: int, heading: float, style) -> None:
    make = ForwardJump(0.6, style, 1.0, gap=gap, heading=heading)
    script = forward_jump("down", make)
    sole = Anatomy.of(humanoid()).sole[:, :2]

    def corners(step) -> np.ndarray:
        c, s = math.cos(step.yaw), math.sin(step.yaw)
        return step.place[0] + sole @ np.array([c, -s])

    leaves, _ = _take_off_and_landing(script)
    last = next(s for s in script.steps if s.stop == pytest.approx(leaves) and s.side == make.side)
    assert -0.025 <= corners(last).max() <= 0.0
    behind = [s for s in script.steps if s.place[0] > 0]
    assert min(corners(s).min() for s in behind) >= gap * CELL + 0.03


@pytest.mark.parametrize("gap", range(1, 6))
def test_a_gap_is_cleared_at_its_level_by_a_take_off_that_people_reach(gap: int) -> None:
    make = ForwardJump(0.0, "leap", 1.6 + 0.4 * gap, gap=gap)
    script = forward_jump("gap", make)
    leaves, lands = _take_off_and_landing(script)
    assert script.skill == "gap_jump"
    assert float(script.terrain.height_at(torch.tensor([0.5 * CELL * gap, 0.0]))) == pytest.approx(-make.depth)
    assert 0.2 < lands - leaves < 0.65
    assert min(s.place[0] for s in script.steps if s.place[0] > 0) > gap * CELL


@pytest.mark.parametrize(("style", "height"), [("leap", 0.3), ("leap", 0.5), ("jump", 0.3), ("jump", 0.6)])
def test_a_box_is_reached_from_above_with_bent_legs(style, height: float) -> None:
    script = forward_jump("up", ForwardJump(-height, style, 1.4))
    leaves, lands = _take_off_and_landing(script)
    flight = [k for k in script.keys if leaves - 1e-6 <= k.time <= lands + 1e-6]
    assert script.skill == "jump_up"
    assert script.terrain.height_at(torch.tensor([-0.5, 0.0])) == pytest.approx(-height)
    assert flight[-2].z > flight[-1].z
    assert 0.5 < flight[-1].z < 0.8
    rise = 9.81 * (lands - leaves) / 2 + (flight[-1].z - flight[0].z) / (lands - leaves)
    assert 1.2 < rise < 2.7


def test_knees_bend_deeper_after_a_higher_fall() -> None:
    lowest = []
    for height in (0.5, 0.9, 1.3):
        script = forward_jump("down", ForwardJump(height, "leap"))
        _, lands = _take_off_and_landing(script)
        lowest.append(min(k.z for k in script.keys if lands < k.time < lands + 0.4))
    assert lowest[0] > lowest[1] > lowest[2] > 0.35


def test_a_walk_is_not_broken_by_a_step_down() -> None:
    make = ForwardJump(0.45, "step", 1.3, 1.3)
    root = draft(forward_jump("down", make), humanoid()).start.root_pos
    assert float((root[10:, 0] - root[:-10, 0]).min()) * 3 > 0.7 * make.speed


def test_feet_come_down_on_their_toes() -> None:
    make = ForwardJump(0.9, "jump", 1.2)
    script = forward_jump("down", make)
    held = draft(script, humanoid()).held
    first = math.ceil(_take_off_and_landing(script)[1] * 30 - 1e-6)
    assert held[first - 1].tolist() == [0.0] * 6
    heels, toes = held[first : first + 4, 0:2], held[first : first + 4, 2:4]
    assert float(toes[0].max()) == 1.0
    assert float(heels[0].max()) == 0.0
    assert bool((toes >= heels).all()) and bool((heels[-1] == 1).all())


def test_a_turned_script_is_the_same_seen_by_who_turned() -> None:
    script = forward_jump("down", ForwardJump(0.8, turn=0.3))
    other = turned(script, 0.5)

    def seen(x: float, y: float) -> complex:
        return complex(x, y) * np.exp(-0.5j)

    for one, two in zip([*script.steps, *script.vias], [*other.steps, *other.vias], strict=True):
        assert seen(*two.place[:2]) == pytest.approx(complex(*one.place[:2]))
        assert two.place[2] == one.place[2]
    for one, two in zip(script.keys, other.keys, strict=True):
        assert seen(two.x, two.y) == pytest.approx(complex(one.x, one.y))
        assert two.yaw - one.yaw == pytest.approx(0.5)
    assert all(b.yaw - a.yaw == pytest.approx(0.5) for a, b in zip(script.steps, other.steps, strict=True))


def test_every_drawn_jump_leaves_a_foot_the_time_of_a_swing() -> None:
    for script in random_scripts(80, 7, ["step_down", "jump_down", "jump_up", "gap_jump"]):
        for side in ("left", "right"):
            spans = sorted((s.start, s.stop) for s in script.steps if s.side == side)
            assert min(after[0] - before[1] for before, after in pairwise(spans)) > 0.2, script.name
