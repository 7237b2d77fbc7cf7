"""Scripts and the first motions drawn from them."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from parc.author import (
    SKILLS,
    Climb,
    Descend,
    ForwardJump,
    RunJump,
    Vault,
    climb,
    descend,
    draft,
    forward_jump,
    random_scripts,
    run_jump,
    vault,
)
from parc.author.skill_script import Script, mirrored
from parc.author.walking_footholds import Pace, walk
from parc.character import forward_kinematics, humanoid
from parc.errors import SettingsError
from parc.fit.held_parts import PARTS
from parc.mocap.subject.human_anatomy import Anatomy

SCRIPTS = [
    climb("low", Climb(1.0)),
    climb("jump", Climb(1.7)),
    climb("out_of_a_pit", Climb(1.6, heading=-0.4, pit=True)),
    climb("high", Climb(2.1, side="left", heading=0.3)),
    climb("run", Climb(1.9, side="left", heading=0.3, run_up=True)),
    descend("down", Descend(1.4)),
    descend("drop", Descend(1.9, left=False)),
    vault("step", Vault(0.8)),
    vault("kong", Vault(1.1, "kong", 2.8)),
    run_jump("jump", RunJump(1.4)),
    forward_jump("step_down", ForwardJump(0.4, "step", 0.9, heading=0.4, turn=-0.4)),
    forward_jump("leap_down", ForwardJump(1.3, "leap", 2.6, gap=2, side="left")),
    forward_jump("jump_down", ForwardJump(0.8, "jump", 0.9, heading=-0.4, gap=1)),
    forward_jump("gap", ForwardJump(0.0, "step", 3.0, gap=4)),
    forward_jump("box", ForwardJump(-0.5, "jump", 1.0, heading=0.3)),
]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.name)
def test_a_limb_is_at_one_place_at_a_time(script: Script) -> None:
    for side in ("left", "right"):
        for holds in ([s for s in script.steps if s.side == side], [g for g in script.grips if g.side == side]):
            spans = sorted((h.start, h.stop) for h in holds)
            assert all(a < b for a, b in spans)
            assert all(before[1] < after[0] for before, after in pairwise(spans))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.name)
def test_holds_lie_on_the_terrain(script: Script) -> None:
    at_all = [s for s in script.steps if not s.toe_only and 0 <= s.start <= script.duration]
    sole = Anatomy.of(humanoid()).sole[:, :2]
    for step in at_all:
        turn = np.array([[math.cos(step.yaw), -math.sin(step.yaw)], [math.sin(step.yaw), math.cos(step.yaw)]])
        corners = torch.as_tensor(np.array(step.place[:2]) + sole @ turn.T).float()
        assert bool(script.terrain.contains(corners).all())
        assert torch.allclose(script.terrain.height_at(corners), torch.tensor(step.place[2]).float(), atol=1e-5), step
    for grip in script.grips:
        assert float(script.terrain.height_at(torch.tensor(grip.place[:2]))) == pytest.approx(grip.place[2], abs=1e-5)
    for step in (s for s in script.steps if s.toe_only):
        assert step.place[0] == 0.0
        assert step.place[2] < float(script.terrain.height_at(torch.tensor([0.2, step.place[1]])))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.name)
def test_a_clip_begins_and_ends_with_a_second_of_walking(script: Script) -> None:
    off_the_walk = [(g.start, g.stop) for g in script.grips] or [(v.time, v.time) for v in script.vias]
    root = draft(script, humanoid()).start.root_pos
    assert min(start for start, _ in off_the_walk) > 1.0
    assert script.duration - max(stop for _, stop in off_the_walk) > 1.0
    for second in (root[:31], root[-31:]):
        assert float((second[-1] - second[0])[:2].norm()) > 0.6


@pytest.mark.parametrize("script", [s for s in SCRIPTS if s.name in ("low", "jump", "high", "step")], ids=lambda s: s.name)
def test_feet_of_a_draft_stand_where_they_are_held(script: Script) -> None:
    made = draft(script, humanoid())
    character, anatomy = humanoid(), Anatomy.of(humanoid())
    pose = forward_kinematics(character, made.start.root_pos, made.start.root_rot, made.start.joint_rot)
    labels = made.contacts(character)
    row = PARTS.index(("left", "heel"))
    first_second = made.held[:20, row] > 0
    ankle = pose.pos[:20, anatomy.body["left_ankle"]]
    assert bool(first_second.any())
    assert bool((labels[:20, anatomy.body["left_ankle"]][first_second] == 1).all())
    away = (ankle - made.place[:20, row]).norm(dim=-1)[first_second]
    heel = float(np.linalg.norm(anatomy.sole[:2].mean(0)))
    assert float((away - heel).abs().max()) < 0.05


def test_a_mirrored_script_drafts_a_mirrored_motion() -> None:
    script = climb("c", Climb(1.2, heading=0.2))
    one, two = (draft(s, humanoid()).start.root_pos for s in (script, mirrored(script)))
    assert torch.allclose(one * torch.tensor([1.0, -1.0, 1.0]), two, atol=1e-5)
    assert mirrored(mirrored(script)).steps == list(script.steps)


def test_a_pit_has_walls_all_around_and_room_for_the_way() -> None:
    script = climb("c", Climb(1.6, heading=0.4, pit=True))
    way = draft(script, humanoid()).start.root_pos
    heights = script.terrain.heights
    assert bool((torch.cat([heights[0], heights[-1], heights[:, 0], heights[:, -1]]) == 1.6).all())
    before = way[way[:, 0] < -0.3]
    around = before[:, None, :2] + 0.35 * torch.tensor([[-1.0, -1.0], [-1.0, 1.0]])
    assert bool((script.terrain.height_at(around) == 0.0).all())


@pytest.mark.parametrize(("height", "run_up"), [(1.4, False), (1.6, False), (2.1, False), (1.9, True)])
def test_ledges_are_left_from_both_feet_unless_one_runs_at_them(height: float, run_up: bool) -> None:
    script = climb("c", Climb(height, run_up=run_up))
    grip = min(g.start for g in script.grips)
    ground = [s for s in script.steps if s.place[2] == 0.0 and s.stop > grip - 0.3]
    assert len({s.side for s in ground}) == (1 if run_up else 2)
    walls = sorted((s.start, s.place[2]) for s in script.steps if s.toe_only)
    assert [z for _, z in walls] == sorted(z for _, z in walls)


@pytest.mark.parametrize("height", [1.8, 1.95, 2.1])
def test_a_jump_at_a_ledge_takes_off_as_fast_as_its_height_asks_for(height: float) -> None:
    """The pelvis goes from tiptoe to 0.8 m under the edge, where the hands come on."""
    script = climb("c", Climb(height))
    grip = min(g.start for g in script.grips)
    take_off = max(s.stop for s in script.steps if s.place[2] == 0.0 and s.place[0] < 0 and s.stop < grip + 0.01)
    low, leaves, caught = (next(k for k in script.keys if k.time == pytest.approx(t)) for t in (take_off - 0.28, take_off, grip))
    time, push = grip - take_off, leaves.z - low.z
    speed = (caught.z - leaves.z) / time + 0.5 * 9.81 * time
    reach = height - np.interp(height, [1.55, 1.95], [0.70, 0.80])
    assert caught.z == pytest.approx(reach)
    assert speed**2 == pytest.approx(2 * 9.81 * (reach - 0.97) + 0.04, rel=1e-3)
    assert push == pytest.approx(0.5 * speed * 0.28)
    assert 1.0 < speed < 2.6


def test_walks_have_human_steps_and_runs_have_flight() -> None:
    steps = walk("left", 0.0, (0.0, 0.0), 6, Pace(1.2), 0.0)
    assert [s.side for s in steps] == ["left", "right"] * 3
    assert steps[1].place[0] - steps[0].place[0] == pytest.approx(0.624)
    assert steps[1].start < steps[0].stop
    run = walk("left", 0.0, (0.0, 0.0), 3, Pace(3.0), 0.0)
    assert run[0].stop < run[1].start


def test_a_larger_count_begins_with_the_same_scripts() -> None:
    few, many = random_scripts(9, 3), random_scripts(11, 3)
    assert [s.parameters for s in few] == [s.parameters for s in many[:9]]
    assert [s.skill for s in few] == list(SKILLS)
    assert few[0].parameters != random_scripts(1, 4)[0].parameters


@pytest.mark.parametrize(
    "make",
    [
        lambda: Climb(3.0), lambda: Vault(2.0), lambda: Descend(0.2), lambda: RunJump(1.0, gap=9), lambda: ForwardJump(2.0),
        lambda: ForwardJump(1.0, "step"), lambda: ForwardJump(1.0, gap=6), lambda: ForwardJump(0.0),
        lambda: ForwardJump(-0.7, "jump"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(make) -> None:
    with pytest.raises(SettingsError, match="is not"):
        make()


def test_an_unknown_skill_is_named() -> None:
    with pytest.raises(SettingsError, match="no skill 'swim'"):
        random_scripts(1, 0, ["swim"])
