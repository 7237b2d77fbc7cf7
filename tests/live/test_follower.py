"""Following references that are swapped at run time, against the tracker's own environment."""

import pytest
import torch

from parc.character import humanoid
from parc.dataset.stroll import stroll
from parc.generate.frame import FrameState
from parc.live.follower import Follower, Reference
from parc.path import TerrainPath
from parc.terrain import Terrain
from parc.track.follow.runner import Runner
from parc.track.reference import ReferenceSettings, build_library
from parc.track.screen import ScreenSettings

BODY = humanoid()


@pytest.fixture(scope="module")
def clip():
    path = TerrainPath(torch.tensor([[1.0, 1.4, 0.0], [3.0, 1.4, 0.0]]))
    return stroll(Terrain.flat((12, 8)), path, name="walk")


def states(*motions) -> FrameState:
    each = [FrameState.of_motion(m) for m in motions]
    return FrameState(*(torch.stack(parts) for parts in zip(*each, strict=True)))


def test_references_are_the_trackers_own_tables(clip) -> None:
    one, two = clip.motion.slice(0, 20), clip.motion.slice(15, 35)
    reference = Reference.of(BODY, states(one, two))
    for k, motion in enumerate((one, two)):
        settings = ReferenceSettings(ScreenSettings(enabled=False))
        library = build_library(BODY, [type(clip)("x", motion, clip.terrain)], settings)
        for name in ("targets", "dof", "body_pos", "root_rot", "qpos"):
            torch.testing.assert_close(getattr(reference, name)[k], getattr(library, name), atol=2e-5, rtol=1e-4)
        start = reference.start(BODY, k, 30.0)
        torch.testing.assert_close(start.qvel, library.qvel[0], atol=2e-3, rtol=1e-3)
        assert torch.equal(start.contacts, motion.contacts[0])
    assert len(reference) == 20 and reference.row(1).targets.shape[0] == 1
    assert torch.equal(reference.row(1).targets[0], reference.targets[1])


def test_it_moves_as_in_the_trackers_environment(clip, tracker) -> None:
    expected = Runner(tracker, threads=1).follow([clip]).motions[0]
    follower = Follower(tracker, clip.terrain)
    reference = Reference.of(BODY, states(clip.motion))
    start = reference.start(BODY, 0, 30.0)
    follower.put(start)
    follower.follow(reference)
    for k in range(1, min(len(expected), 25)):
        follower.step()
        torch.testing.assert_close(follower.world.body_pos[0, 0], expected.root_pos[k], atol=2e-3, rtol=0)
        assert not bool(follower.tracking().lost[0])
    assert float(follower.tracking().error[0]) < 0.2


def test_a_snapshot_goes_on_where_it_was_taken(clip, tracker) -> None:
    """The law that planning ahead rests on: another world put into the same state does the same."""
    reference = Reference.of(BODY, states(clip.motion))
    one = Follower(tracker, clip.terrain)
    one.put(reference.start(BODY, 0, 30.0))
    one.follow(reference)
    for _ in range(6):
        one.step()
    three = Follower(tracker, clip.terrain, 3)
    three.put(one.snapshot())
    three.follow(Reference.of(BODY, states(*[clip.motion] * 3)), one.frame)
    for _ in range(10):
        one.step()
        three.step()
    for k in range(3):
        torch.testing.assert_close(three.world.qpos[k], one.world.qpos[0], atol=5e-3, rtol=0)
    past = one.snapshot().frames(BODY)
    torch.testing.assert_close(past.root_pos[1], one.world.body_pos[0, 0])
    step = (past.root_pos[1] - past.root_pos[0]) * 30
    torch.testing.assert_close(step, one.world.qvel[0, :3], atol=0.5, rtol=0)


def test_a_push_changes_the_velocity_and_nothing_else(clip, tracker) -> None:
    reference = Reference.of(BODY, states(clip.motion))
    follower = Follower(tracker, clip.terrain)
    follower.put(reference.start(BODY, 0, 30.0))
    before = follower.snapshot()
    follower.push(torch.tensor([0.5, -1.0, 0.25]))
    after = follower.snapshot()
    torch.testing.assert_close(after.qvel[:3] - before.qvel[:3], torch.tensor([0.5, -1.0, 0.25]))
    torch.testing.assert_close(after.qvel[3:], before.qvel[3:])
    assert torch.equal(after.qpos, before.qpos) and torch.equal(after.contacts, before.contacts)


def test_ground_can_sink_under_a_running_body(clip, tracker) -> None:
    reference = Reference.of(BODY, states(clip.motion))
    heights = []
    for drop in (0.0, 0.4):
        follower = Follower(tracker, clip.terrain)
        follower.put(reference.start(BODY, 0, 30.0))
        follower.follow(reference)
        follower.set_terrain(clip.terrain.with_heights(clip.terrain.heights - drop))
        for _ in range(15):
            follower.step()
        heights.append(float(follower.world.body_pos[0, 0, 2]))
    assert heights[0] - heights[1] > 0.25
