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
    MakeSettings,
    SolveSettings,
    Vault,
    author,
    climb,
    fixed_scripts,
    forward_jump,
    random_scripts,
    vault,
)
from parc.author.make import SKILLS
from parc.author.quality import AuthoredLimits, AuthoredQuality
from parc.character import humanoid, rotation
from parc.cli.main import main
from parc.dataset import Dataset
from parc.errors import SettingsError
from parc.mocap.anatomy import Anatomy
from parc.track.screen import ScreenSettings, screen_clip


@pytest.fixture(scope="module")
def made() -> dict[str, Authored]:
    leap = forward_jump("leap", ForwardJump(1.0, "leap", 1.6, heading=0.3))
    stand = climb("stand", Climb(1.6, stand=0.25, approach=0.5, heading=math.radians(40)))
    high_leap = climb("leap_climb", Climb(1.95, stand=0.4, approach=0.4, turn=math.radians(60)))
    scripts = [climb("climb", Climb(1.2)), climb("high", Climb(1.75)), stand, vault("vault", Vault(0.95)), leap, high_leap]
    return {a.clip.name: a for a in author(scripts, humanoid(), seed=5)}


def test_they_keep_to_the_rules(made: dict[str, Authored]) -> None:
    for a in made.values():
        assert a.faults == ()
        assert screen_clip(humanoid(), a.clip, ScreenSettings(joint_speed=30.0)) is None


def test_a_climb_ends_on_the_ledge_and_takes_the_time_of_a_human(made: dict[str, Authored]) -> None:
    clip = made["climb"].clip
    body = Anatomy.of(humanoid()).body
    hands = clip.motion.contacts[:, [body["left_wrist"], body["right_wrist"]]].amax(1)
    assert 1.0 < float(hands.sum()) / 30 < 3.0
    root = clip.motion.root_pos
    assert 1.2 + 0.75 < float(root[-20:, 2].mean()) < 1.2 + 0.95
    assert 0.75 < float(root[:20, 2].mean()) < 0.95


def test_a_high_climb_asks_for_no_jump_that_a_simulated_body_cannot_do(made: dict[str, Authored]) -> None:
    """It reaches 1.4 m/s upwards and 1.06 m with the pelvis; a foot is on the ground or the hands hold at all times."""
    motion, body = made["high"].clip.motion, Anatomy.of(humanoid()).body
    feet, hands = (motion.contacts[:, [body[f"{s}_{part}"] for s in ("left", "right")]] > 0.5 for part in ("ankle", "wrist"))
    caught = int(hands.any(1).nonzero()[0])
    height = motion.root_pos[:, 2]
    assert float(30 * height[: caught + 10].diff().max()) < 1.4
    assert float(height[: caught + 1].max()) < 1.06
    both = feet[caught - 12 : caught - 3].all(1)
    assert bool(both.all()) and float(motion.root_pos[caught - 8, 0]) > -0.6


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


@pytest.mark.parametrize(("height", "stand"), [(1.5, 0.1), (1.5, 1.5), (1.9, 0.5)])
def test_nobody_stands_in_the_wall_or_climbs_from_a_stand_what_needs_a_run(height: float, stand: float) -> None:
    with pytest.raises(SettingsError, match="does not begin"):
        Climb(height, stand=stand)


def test_a_leap_reaches_from_a_stand_what_else_needs_a_run(made: dict[str, Authored]) -> None:
    leap = made["leap_climb"]
    assert not leap.faults
    assert leap.clip.motion.root_pos[-5:, 2].min() > 1.95 + 0.75
    assert not random_scripts(14, 0)[0].name.endswith("leap_climb")
    leaps = random_scripts(4, 0, ["leap_climb"])
    assert all(1.7 <= s.parameters["height"] <= 2.1 and s.strength > 1 for s in leaps)


@pytest.mark.parametrize("name", ["climb", "high", "stand", "leap_climb"])
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
    assert made["leap"].quality.flight > 0.0
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
    assert provenance.losses["author_gap"] == made["climb"].quality.gap


def test_a_fault_names_the_number_and_its_limit() -> None:
    quality = AuthoredQuality(
        depth=25.0, gap=1.0, slide=1.0, flight=float("nan"), wall=0.0, limits=0.0, joint_speed=1.0, jerk=1.0, push=0.0
    )
    assert quality.faults(AuthoredLimits()) == ("depth 25 is over 20", "flight nan is over 1.5")


def test_the_fixed_set_has_every_skill() -> None:
    assert {s.skill for s in fixed_scripts()} == set(SKILLS)
    assert {s.skill for s in fixed_scripts(["vault"])} == {"vault"}


def test_the_command_writes_a_data_set_and_leaves_out_what_is_bad(tmp_path: Path, capsys) -> None:
    out = tmp_path / "set"
    words = ["dataset", "author", "-o", str(out), "--count", "1", "--skills", "vault", "--iterations", "2", "--json"]
    assert main(words) == 2
    refused = capsys.readouterr().err
    assert "none of the 1 clips was good enough to keep" in refused and "is over" in refused and "--all" in refused
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
    assert main(["dataset", "author", "-o", str(out), "--skills", "swim"]) == 2


def test_same_seed_same_clip() -> None:
    settings = MakeSettings(solve=SolveSettings(iterations=3))
    one, two = (next(author([vault("v", Vault(0.8))], humanoid(), settings)).clip.motion for _ in range(2))
    assert torch.equal(one.joint_rot, two.joint_rot)
