"""Bodies that follow plans, against the loop that follows clips; and plans, against the tracker's own tables."""

import pytest
import torch

from parc.author.procedural_walk import stroll
from parc.character import rotation
from parc.character.humanoid import humanoid
from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.models import shipped_tracker
from parc.motion.frame_state import FrameState
from parc.motion.motion import Motion
from parc.motion.mujoco_qpos import frames_to_qpos, motion_to_qpos
from parc.path import TerrainPath
from parc.terrain import Terrain
from parc.track.env.body_tables import BodyTables
from parc.track.follow import Follower, PlanReference, Runner
from parc.track.learn.policy import TrainedActor, load_actor

BODY = humanoid()
ANATOMY = BodyTables(BODY, "cpu")


@pytest.fixture(scope="module")
def clip() -> Clip:
    path = TerrainPath(torch.tensor([[1.0, 1.4, 0.0], [4.0, 1.4, 0.0]]))
    return stroll(Terrain.flat((14, 8)), path, name="walk")


@pytest.fixture(scope="module")
def tracker() -> TrainedActor:
    torch.set_num_threads(1)
    return load_actor(shipped_tracker(), BODY)


def plan(*motions: Motion) -> PlanReference:
    each = [FrameState.of_motion(m) for m in motions]
    return PlanReference.of(ANATOMY, FrameState(*(torch.stack(parts) for parts in zip(*each, strict=True))))


def test_plans_are_the_trackers_own_tables(clip: Clip, tracker: TrainedActor) -> None:
    one, two = clip.motion.slice(0, 20), clip.motion.slice(15, 35)
    reference = plan(one, two)
    start = Follower(tracker, clip.terrain, 2).start(reference)
    for k, motion in enumerate((one, two)):
        library = Runner(tracker).library([Clip("x", motion, clip.terrain)])
        for name in ("targets", "dof", "body_pos", "root_rot", "qpos", "contacts"):
            own, expected = getattr(reference, name)[k], getattr(library, name)
            if name == "root_rot":
                own = own * torch.sign((own * expected).sum(-1, keepdim=True))
            torch.testing.assert_close(own, expected, atol=2e-5, rtol=1e-4, msg=name)
        torch.testing.assert_close(start.qvel[k], library.qvel[0], atol=2e-3, rtol=1e-3)
        assert torch.equal(start.contacts[k], motion.contacts[0].round())
    assert (reference.count, reference.length) == (2, 20) and reference.row(1).count == 1
    assert torch.equal(reference.row(1).targets[0], reference.targets[1])


def test_past_the_end_the_last_frame_stays(clip: Clip) -> None:
    reference = plan(clip.motion.slice(0, 30), clip.motion.slice(20, 50))
    ahead = reference.ahead(reference.dof, torch.tensor([0, 29, 30, 500]))
    assert torch.equal(ahead[:, 1], ahead[:, 2]) and torch.equal(ahead[:, 1], ahead[:, 3])
    assert torch.equal(ahead[:, 0], reference.dof[:, 0])
    assert torch.equal(reference.at(reference.dof, 99), reference.dof[:, -1])


def test_a_body_does_what_it_does_when_it_follows_the_clip(clip: Clip, tracker: TrainedActor) -> None:
    """Oracle: `Runner`, from the same first state; all at once and step by step."""
    trace = Runner(tracker, threads=1).follow([clip])
    expected = motion_to_qpos(BODY, trace.motions[0])[:26]
    follower, reference = Follower(tracker, clip.terrain), plan(clip.motion)
    stretch = follower.run(follower.start(reference), reference, 25)
    assert int(stretch.survived[0]) == 25 == stretch.steps
    torch.testing.assert_close(stretch.root_pos[0], expected[:, :3], atol=1e-3, rtol=0)
    torch.testing.assert_close(stretch.error[0], trace.errors[0][1:26], atol=1e-3, rtol=0)
    torch.testing.assert_close(stretch.states.qpos_before[:, 1:], stretch.states.qpos[:, :-1])
    follower.put(follower.start(reference))
    follower.follow(reference)
    for k in range(1, 26):
        follower.step()
        torch.testing.assert_close(follower.world.body_pos[0, 0], stretch.root_pos[0, k], atol=1e-5, rtol=0)
    torch.testing.assert_close(follower.tracking().error, stretch.error[:, -1])


def test_a_simulation_goes_on_where_it_was_left(clip: Clip, tracker: TrainedActor) -> None:
    """The law that planning ahead rests on: other worlds put into the same state do the same."""
    reference = plan(clip.motion)
    one = Follower(tracker, clip.terrain)
    once = one.run(one.start(reference), reference, 16)
    three = Follower(tracker, clip.terrain, 3)
    three.put(once.state(torch.tensor([10])).row(0))
    three.follow(plan(*[clip.motion] * 3), 10)
    for _ in range(6):
        three.step()
    for k in range(3):
        torch.testing.assert_close(three.world.qpos[k], once.states.qpos[0, -1], atol=5e-3, rtol=0)
    past = one.snapshot().frames(BODY)
    torch.testing.assert_close(past.root_pos[1], one.world.body_pos[0, 0])
    step = (past.root_pos[1] - past.root_pos[0]) * 30
    torch.testing.assert_close(step, one.world.qvel[0, :3], atol=0.5, rtol=0)


def test_a_push_changes_the_velocity_and_nothing_else(clip: Clip, tracker: TrainedActor) -> None:
    follower = Follower(tracker, clip.terrain)
    follower.put(follower.start(plan(clip.motion)))
    before = follower.snapshot()
    follower.push(torch.tensor([0.5, -1.0, 0.25]))
    after = follower.snapshot()
    torch.testing.assert_close(after.qvel[:3] - before.qvel[:3], torch.tensor([0.5, -1.0, 0.25]))
    torch.testing.assert_close(after.qvel[3:], before.qvel[3:])
    assert torch.equal(after.qpos, before.qpos) and torch.equal(after.contacts, before.contacts)


def test_ground_can_sink_under_a_running_body(clip: Clip, tracker: TrainedActor) -> None:
    reference, heights = plan(clip.motion), []
    for drop in (0.0, 0.4):
        follower = Follower(tracker, clip.terrain)
        follower.put(follower.start(reference))
        follower.follow(reference)
        follower.set_terrain(clip.terrain.with_heights(clip.terrain.heights - drop))
        for _ in range(15):
            follower.step()
        heights.append(float(follower.world.body_pos[0, 0, 2]))
    assert heights[0] - heights[1] > 0.25


@pytest.mark.parametrize(("height", "tilt", "expected"), [(0.9, 0.0, False), (0.25, 1.5, True), (0.9, 1.5, False)])
def test_lying_is_low_and_level(tracker: TrainedActor, height: float, tilt: float, expected: bool) -> None:
    """Neither who stands nor who flies lies."""
    follower = Follower(tracker, Terrain.flat((8, 8), 1.0))
    turn = rotation.from_axis_angle(torch.tensor([[0.0, 1.0, 0.0]]), torch.tensor([tilt]))
    joints = rotation.identity((1, BODY.num_joints))
    qpos = frames_to_qpos(BODY, torch.tensor([[1.2, 1.2, 1.0 + height]]), turn, joints)
    follower.world.reset(torch.ones(1, dtype=torch.bool), qpos, torch.zeros_like(follower.world.qvel))
    assert bool(follower.lying()[0]) is expected


def test_a_reference_that_runs_away_is_lost(clip: Clip, tracker: TrainedActor) -> None:
    follower = Follower(tracker, clip.terrain)
    frames = FrameState(*(part[None, :40].clone() for part in FrameState.of_motion(clip.motion)))
    frames.root_pos[:, 8:, 1] += 1.0
    reference = PlanReference.of(ANATOMY, frames)
    assert int(follower.run(follower.start(reference), reference, 14).survived[0]) == 7


def test_wrong_use_is_told(clip: Clip, tracker: TrainedActor) -> None:
    follower, reference = Follower(tracker, clip.terrain, 2), plan(clip.motion)
    with pytest.raises(SettingsError, match="1 references, expected one for each of 2 bodies"):
        follower.run(follower.start(reference), reference, 5)
    with pytest.raises(SettingsError, match="0 steps"):
        follower.run(follower.start(reference), reference, 0)
    with pytest.raises(SettingsError, match="follow nothing yet"):
        follower.step()
