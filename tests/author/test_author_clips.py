"""A climb, a vault and a leap down from script to clip, and the command.

The whole range of heights: `parc dataset author --fixed --json`.
"""

import json
import math
from pathlib import Path

import pytest
import torch

from parc.author import (
    Authored,
    Climb,
    ForwardJump,
    GetUp,
    MakeSettings,
    SolveSettings,
    Vault,
    author,
    climb,
    fixed_scripts,
    forward_jump,
    get_up,
    random_scripts,
    vault,
)
from parc.author.author_clips import SKILLS
from parc.character import humanoid, rotation, self_depth
from parc.character.inertia import centre_of_mass
from parc.cli.main import main
from parc.dataset import Dataset
from parc.errors import SettingsError
from parc.mocap.subject.human_anatomy import Anatomy
from parc.quality.limit_check import ClipQuality
from parc.quality.limit_profiles import AuthoredLimits, TrackerInputLimits
from parc.track.env.reject_bad_references import screen_clips


@pytest.fixture(scope="module")
def made() -> dict[str, Authored]:
    leap = forward_jump("leap", ForwardJump(1.0, "leap", 1.6, heading=0.3))
    stand = climb("stand", Climb(1.6, stand=0.25, approach=0.5, heading=math.radians(40)))
    high = climb("high", Climb(2.05, stand=0.4, approach=0.4, turn=math.radians(60)))
    box = forward_jump("box", ForwardJump(-0.5, "jump", 1.0, approach=1.0))
    scripts = [climb("climb", Climb(1.2)), high, stand, vault("vault", Vault(0.95)), leap, box]
    scripts += [get_up("front", GetUp("front", "left")), get_up("seat", GetUp("seat"))]
    return {a.clip.name: a for a in author(scripts, humanoid(), seed=5)}


def test_they_keep_to_the_rules(made: dict[str, Authored]) -> None:
    for a in made.values():
        assert a.faults == ()
        assert screen_clips(humanoid(), [a.clip], TrackerInputLimits(joint_speed=30.0))[1] == []


def test_a_climb_ends_on_the_ledge_and_takes_the_time_of_a_human(made: dict[str, Authored]) -> None:
    clip = made["climb"].clip
    body = Anatomy.of(humanoid()).body
    hands = clip.motion.contacts[:, [body["left_wrist"], body["right_wrist"]]].amax(1)
    assert 1.0 < float(hands.sum()) / 30 < 3.0
    root = clip.motion.root_pos
    assert 1.2 + 0.75 < float(root[-20:, 2].mean()) < 1.2 + 0.95
    assert 0.75 < float(root[:20, 2].mean()) < 0.95


def test_bodies_stay_outside_of_each_other_and_motors_within_what_they_have(made: dict[str, Authored]) -> None:
    for a in made.values():
        depth = self_depth(humanoid(), a.clip.motion.body_poses(humanoid())).amax(-1)
        assert float((depth > 0.01).float().mean()) < 0.005, a.clip.name
        assert 0.5 < a.quality["torque"] <= 1.0, a.clip.name


@pytest.mark.parametrize(("name", "least"), [("high", 2.2), ("box", 2.0)])
def test_a_standing_jump_leaves_the_ground_as_fast_as_people_do_and_then_falls(
    made: dict[str, Authored], name: str, least: float
) -> None:
    motion, body = made[name].clip.motion, Anatomy.of(humanoid()).body
    ends = motion.contacts[:, [body[f"{s}_{part}"] for s in ("left", "right") for part in ("ankle", "wrist")]] > 0.5
    free = (~ends.any(1)).int()
    first = int(free.argmax())
    last = first + int(free[first:].argmin()) - 1
    height = centre_of_mass(humanoid(), motion.body_poses(humanoid()))[:, 2]
    speed = 30 * height.diff()
    assert least < float(speed[first - 4 : first + 1].max()) < 2.9
    assert last - first >= 4
    falls = 30 * speed[first + 1 : last - 1].diff()
    assert float((falls + 9.81).abs().max()) < 3.0


def test_a_climb_may_begin_standing_turned_aside_before_the_wall(made: dict[str, Authored]) -> None:
    """Both feet down and still for half a second, the ankles 25 cm from the wall; then it steps back, and ends on top."""
    motion, body = made["stand"].clip.motion, Anatomy.of(humanoid()).body
    pos = motion.body_poses(humanoid()).pos
    ankles = pos[:, [body["left_ankle"], body["right_ankle"]]]
    assert bool((motion.contacts[:14, [body["left_ankle"], body["right_ankle"]]] > 0.5).all())
    assert float((ankles[:14] - ankles[0]).norm(dim=-1).max()) < 0.01
    assert float(ankles[0, :, 0].max()) == pytest.approx(-0.25, abs=0.03)
    facing = rotation.rotate(motion.root_rot[5], torch.tensor([1.0, 0.0, 0.0]))
    assert math.degrees(math.atan2(facing[1], facing[0])) == pytest.approx(40, abs=8)
    assert float(ankles[..., 0].amin()) < -0.36
    assert float(motion.root_pos[-10:, 2].min()) > 1.6 + 0.75


@pytest.mark.parametrize("name", ["front", "seat"])
def test_a_get_up_begins_down_on_hands_and_feet_and_ends_standing_still(made: dict[str, Authored], name: str) -> None:
    clip, body = made[name].clip, Anatomy.of(humanoid()).body
    motion = clip.motion
    assert float(motion.root_pos[:6, 2].max()) < 0.16, "a seat or a belly no more than a few centimetres over the ground"
    hands, feet = ([body[f"{side}_{part}"] for side in ("left", "right")] for part in ("wrist", "ankle"))
    assert bool((motion.contacts[:6, hands + feet] > 0.5).all())
    up = rotation.rotate(motion.root_rot, torch.tensor([0.0, 0.0, 1.0]).expand(len(motion), 3))
    first, last = up[0], up[-20:]
    assert float(first[2]) < 0.75 and (float(first[0]) > 0) == (name == "front")
    assert float(last[:, 2].min()) > 0.97 and float(motion.root_pos[-10:, 2].min()) > 0.8
    assert bool((motion.contacts[-15:, feet] > 0.5).all()) and float(motion.contacts[-15:, hands].max()) == 0
    assert 30 * float(motion.root_pos[-10:].diff(dim=0).norm(dim=-1).max()) < 0.3


def test_getting_up_is_made_when_asked_for_alone() -> None:
    assert "get_up" not in {s.skill for s in (*fixed_scripts(), *random_scripts(30, 1))}
    scripts = random_scripts(12, 0, ["get_up"])
    assert {s.skill for s in (*scripts, *fixed_scripts(["get_up"]))} == {"get_up"}
    assert {"foot" in s.parameters for s in scripts} == {True, False}, "from the front and from the seat"
    with pytest.raises(SettingsError, match="getting up at tempo 3"):
        GetUp(tempo=3)


@pytest.mark.parametrize("stand", [0.1, 1.5])
def test_nobody_stands_in_the_wall_or_too_far_to_step_up_to_it(stand: float) -> None:
    with pytest.raises(SettingsError, match="does not begin"):
        Climb(1.5, stand=stand)


@pytest.mark.parametrize("make", [lambda: Climb(1.9, stand=0.5, run_up=True), lambda: Climb(1.2, run_up=True)])
def test_a_run_up_is_for_high_ledges_and_from_afar(make) -> None:
    with pytest.raises(SettingsError, match="a run-up is made"):
        make()


def test_the_highest_climbs_are_made_when_asked_for() -> None:
    assert max(s.parameters["height"] for s in random_scripts(40, 0, ["climb"])) <= 1.85
    for skill, runs in (("leap_climb", False), ("run_up_climb", True)):
        scripts = random_scripts(6, 0, [skill])
        assert all(1.7 <= s.parameters["height"] <= 2.1 for s in scripts)
        assert all(s.parameters.get("speed", 0.0) >= 2.2 for s in scripts) == runs


@pytest.mark.parametrize("name", ["climb", "high", "stand"])
def test_hands_do_not_move_while_they_hold(made: dict[str, Authored], name: str) -> None:
    clip = made[name].clip
    body = Anatomy.of(humanoid()).body
    pos = clip.motion.body_poses(humanoid()).pos
    for side in ("left", "right"):
        hand = body[f"{side}_wrist"]
        held = pos[clip.motion.contacts[:, hand] > 0.5, hand]
        assert float((held - held.median(0).values).norm(dim=-1).max()) < 0.012


def test_a_vault_passes_the_wall_and_only_hands_and_feet_touch(made: dict[str, Authored]) -> None:
    clip = made["vault"].clip
    assert float(clip.motion.root_pos[-1, 0]) > 1.0 > -1.0 > float(clip.motion.root_pos[0, 0])
    ends = torch.zeros(15, dtype=torch.bool)
    ends[list(humanoid().key_bodies)] = True
    assert float(clip.motion.contacts[:, ~ends].max()) == 0.0


def test_a_leap_down_is_made_facing_forward_without_hands_and_ends_in_a_knee_bend(made: dict[str, Authored]) -> None:
    clip, body = made["leap"].clip, Anatomy.of(humanoid()).body
    ahead = rotation.rotate(clip.motion.root_rot, torch.tensor([1.0, 0.0, 0.0]).expand(len(clip.motion), 3))
    way = torch.tensor([math.cos(0.3), math.sin(0.3), 0.0])
    assert float((ahead * way).sum(-1).min()) > 0.75
    feet = clip.motion.contacts[:, [body["left_ankle"], body["right_ankle"]]]
    hands = clip.motion.contacts[:, [body["left_wrist"], body["right_wrist"]]]
    assert float(hands.max()) == 0.0
    assert made["leap"].quality["flight"] > 0.0
    air = (feet.amax(1) < 0.5).nonzero().flatten()
    assert len(air) / 30 == pytest.approx(math.sqrt(2 * 1.0 / 9.81), abs=0.1)
    landed = int(air[-1]) + 1
    assert bool((feet[landed + 2 : landed + 8] > 0.5).all())
    height = clip.motion.root_pos[:, 2]
    assert float(height[landed : landed + 15].min()) < 0.62
    assert 0.75 < float(height[-20:].mean()) < 0.95


def test_only_edges_too_high_to_jump_from_are_climbed_down() -> None:
    for script in random_scripts(30, 2, ["climb_down", "hang_drop", "step_down", "jump_down"]):
        backwards = script.skill in ("climb_down", "hang_drop")
        assert (script.parameters["height"] >= 1.35) == backwards
        assert script.name.endswith(script.skill)


def test_the_clip_says_how_it_was_made(made: dict[str, Authored]) -> None:
    provenance = made["climb"].clip.provenance
    assert provenance.skill == "climb"
    assert provenance.seed == 5
    assert "height 1.2" in provenance.edits[0]
    assert provenance.losses["author_gap"] == made["climb"].quality["gap"]


def test_a_fault_names_the_number_and_its_limit() -> None:
    values = dict.fromkeys(AuthoredLimits.measures.values(), 0.0)
    values |= {"max_depth": 25.0, "max_ballistic": float("nan"), "torque_share": 1.1, "self_pen_frames": 3.0}
    assert ClipQuality(values, AuthoredLimits).faults() == (
        "max_depth is 25 mm, 20 is the limit", "max_ballistic is nan m/s2, 1.5 is the limit",
        "torque_share is 1.1 of the limits, 1 is the limit", "self_pen_frames is 3 %, 2 is the limit",
    )  # fmt: skip


def test_the_fixed_set_has_every_skill() -> None:
    assert {s.skill for s in fixed_scripts()} == set(SKILLS)
    assert {s.skill for s in fixed_scripts(["vault"])} == {"vault"}


def test_the_command_writes_a_data_set_and_leaves_out_what_is_bad(tmp_path: Path, capsys) -> None:
    out = tmp_path / "set"
    words = ["dataset", "author", "-o", str(out), "--count", "1", "--skill", "vault", "--solve.iterations", "2", "--json"]
    assert main(words) == 2
    refused = capsys.readouterr().err
    assert "none of the 1 clips was good enough to keep" in refused and "is the limit" in refused and "--all" in refused
    assert main([*words, "--all"]) == 0
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert report["made"] == report["kept"] == 1
    assert report["each"][0]["faults"]
    assert len(Dataset.open(out)) == 1
    capsys.readouterr()
    assert main(words) == 2
    refused = capsys.readouterr().err
    assert "already has 1 of these 1 clips" in refused and "--seed" in refused and "-o" in refused
    assert main([*words[:5], "2", *words[6:]]) == 2
    assert "--resume to make only the 1 that are missing" in capsys.readouterr().err
    assert main([*words, "--resume"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["made"] == 0
    assert main(["dataset", "author", "-o", str(out), "--skill", "swim"]) == 2


def test_same_seed_same_clip() -> None:
    settings = MakeSettings(solve=SolveSettings(iterations=3))
    one, two = (next(author([vault("v", Vault(0.8))], humanoid(), settings)).clip.motion for _ in range(2))
    assert torch.equal(one.joint_rot, two.joint_rot)
