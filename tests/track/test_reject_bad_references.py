from dataclasses import replace

import torch

from parc.character import rotation
from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.quality.limit_profiles import TrackerInputLimits
from parc.track.env.reject_bad_references import Refusal, screen_clips


def refusal_of(character: Character, clip: Clip, limits: TrackerInputLimits) -> Refusal | None:
    _, refused = screen_clips(character, [clip], limits)
    return refused[0] if refused else None


def test_a_clean_clip_passes(character: Character, squat: Clip) -> None:
    assert refusal_of(character, squat, TrackerInputLimits()) is None


def test_a_clip_pushed_into_a_box_is_refused_with_the_depth(character: Character, squat: Clip) -> None:
    heights = squat.terrain.heights.clone()
    heights[:, :] = 0.2
    refusal = refusal_of(character, replace(squat, terrain=squat.terrain.with_heights(heights)), TrackerInputLimits())
    assert refusal is not None and "0.2" in refusal.reason and "terrain_depth is" in refusal.reason


def test_bodies_in_each_other_are_refused_with_the_depth(character: Character, squat: Clip) -> None:
    """For a few frames one thigh hangs down and the other goes through it."""
    rot = squat.motion.joint_rot.clone()
    for side, angle in (("right", 0.6), ("left", 0.0)):
        rot[12:18, character.index(f"{side}_thigh") - 1] = rotation.from_exp(torch.tensor([angle, 0.0, 0.0]))
    clip = replace(squat, motion=replace(squat.motion, joint_rot=rot))
    loose = TrackerInputLimits(joint_speed=1e3, body_step=9.0)
    refusal = refusal_of(character, clip, loose)
    assert refusal is not None and "m at frame 1" in refusal.reason and refusal.reason.startswith("self_depth is 0.")
    assert refusal_of(character, clip, replace(loose, self_depth=0.2)) is None


def test_a_teleport_is_refused_at_its_frame(character: Character, squat: Clip) -> None:
    pos = squat.motion.root_pos.clone()
    pos[20:, 0] += 0.5
    refusal = refusal_of(character, replace(squat, motion=replace(squat.motion, root_pos=pos)), TrackerInputLimits())
    assert refusal is not None and "root_step is" in refusal.reason and "frame 19" in refusal.reason


def test_a_whirling_joint_is_refused(character: Character, squat: Clip) -> None:
    rot = squat.motion.joint_rot.clone()
    head = character.index("head") - 1
    rot[30:, head] = torch.tensor([0.0, 0.0, 1.0, 0.0])
    refusal = refusal_of(character, replace(squat, motion=replace(squat.motion, joint_rot=rot)), TrackerInputLimits())
    assert refusal is not None and "rad/s" in refusal.reason


def test_refused_clips_are_named_and_the_rest_kept(character: Character, squat: Clip) -> None:
    short = replace(squat, name="short", motion=squat.motion.slice(0, 5))
    kept, refused = screen_clips(character, [squat, short], TrackerInputLimits())
    assert [c.name for c in kept] == ["squat"] and [r.clip for r in refused] == ["short"]
    kept, refused = screen_clips(character, [squat, short], TrackerInputLimits(enabled=False))
    assert len(kept) == 2 and not refused
