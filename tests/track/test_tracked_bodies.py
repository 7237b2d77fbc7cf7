"""Bodies step alike with and without rewards, from a clip or from frames written just before they are needed."""

import pytest
import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.physics.choose_engine import make_world
from parc.track.env.body_tables import BodyTables
from parc.track.env.reference_library import ReferenceLibrary, build_library
from parc.track.env.track_env import TrackEnv
from parc.track.follow.reference_table import FrameRows, WrittenTable
from parc.track.follow.tracked_bodies import TrackedBodies
from parc.track.tracker_settings import TrackerSettings

WORLDS = 4


@pytest.fixture
def library(character: Character, squat: Clip) -> ReferenceLibrary:
    return build_library(character, [squat])


def bodies_of(
    character: Character, tiny: TrackerSettings, library: ReferenceLibrary, table: WrittenTable | None = None
) -> TrackedBodies:
    world = make_world(character, tiny.contract, WORLDS, "cpu", threads=1)
    random = torch.Generator().manual_seed(0)
    return TrackedBodies(world, table or library, library.bank, tiny, random, keeps_past=True)


def action(step: int) -> torch.Tensor:
    return 0.05 * torch.randn(WORLDS, 28, generator=torch.Generator().manual_seed(step))


def test_rewards_change_nothing_else(character: Character, tiny: TrackerSettings, library: ReferenceLibrary) -> None:
    world = make_world(character, tiny.contract, WORLDS, "cpu", threads=1)
    env, bodies = TrackEnv(world, library, tiny, torch.Generator().manual_seed(0)), bodies_of(character, tiny, library)
    clip, frame, noisy = torch.zeros(WORLDS, dtype=torch.long), torch.tensor([0, 5, 9, 20]), torch.tensor([1.0, 0, 0, 1])
    for both in (env, bodies):
        both.begin(clip, frame, noisy)
    for step in range(20):
        for both in (env, bodies):
            both.step(action(step))
        assert torch.equal(env.observation, bodies.observation) and torch.equal(env.world.qpos, bodies.world.qpos)
        assert torch.equal(env.error, bodies.error) and torch.equal(env.failed, bodies.failed)
    assert float(env.reward.min()) > 0 and not hasattr(bodies, "reward")


def test_a_reference_may_be_written_while_it_is_followed(
    character: Character, tiny: TrackerSettings, library: ReferenceLibrary
) -> None:
    """Oracle: the whole clip. Every 4 steps, bodies at other frames each, as far ahead as they look; all in one call."""
    anatomy = BodyTables(character, "cpu")
    table = WrittenTable.empty(anatomy, WORLDS, 60, 30.0)
    start = torch.tensor([0, 3, 6, 9])
    ahead = 1 + max(tiny.observation.target_steps)

    def frames(first: torch.Tensor, count: int) -> FrameRows:
        row = library.row(torch.zeros(WORLDS, 1, dtype=torch.long), first.unsqueeze(1) + torch.arange(count))
        return FrameRows(*(getattr(library, name)[row] for name in FrameRows._fields))

    known, live = bodies_of(character, tiny, library), bodies_of(character, tiny, library, table)
    known.begin(torch.zeros(WORLDS, dtype=torch.long), start, torch.zeros(WORLDS))
    live.restore(known.snapshots())
    live.place(0, 0)
    for step in range(16):
        if step % 4 == 0:
            table.write(
                torch.ones(WORLDS, dtype=torch.bool), live.frame + (step > 0), frames(known.frame + (step > 0), ahead + 4)
            )
            live.observe()
        torch.testing.assert_close(live.observation, known.observation, atol=1e-6, rtol=0)
        for both in (known, live):
            both.step(action(step))
    assert torch.equal(live.world.qpos, known.world.qpos)
    torch.testing.assert_close(live.error, known.error)


def test_what_is_written_is_rewarded_like_a_clip(character: Character, tiny: TrackerSettings, library: ReferenceLibrary) -> None:
    """Written in two halves, the second while it is followed; every body has its own strip."""
    table, everybody = WrittenTable.empty(BodyTables(character, "cpu"), WORLDS, 60, 30.0), torch.ones(WORLDS, dtype=torch.bool)
    whole = FrameRows(*(getattr(library, name).expand(WORLDS, *getattr(library, name).shape) for name in FrameRows._fields))
    clip, start = torch.zeros(WORLDS, dtype=torch.long), torch.tensor([0, 2, 4, 6])
    envs = []
    for _ in range(2):
        world = make_world(character, tiny.contract, WORLDS, "cpu", threads=1)
        envs.append(TrackEnv(world, library, tiny, torch.Generator().manual_seed(0)))
        envs[-1].begin(clip, start, torch.zeros(WORLDS))
    known, live = envs
    live.read(table)
    table.write(everybody, 0, FrameRows(*(part[:, :20] for part in whole)))
    for step in range(8):
        if step == 4:
            table.write(everybody, 10, FrameRows(*(part[:, 10:] for part in whole)))
        live.place(known.frame, known.age)
        live.observe()
        for env in envs:
            env.step(action(step))
        torch.testing.assert_close(live.reward, known.reward, atol=1e-4, rtol=0)
        assert not known.failed.any() and float(known.reward.min()) > 0.5


def test_some_bodies_go_back_and_repeat_themselves(
    character: Character, tiny: TrackerSettings, library: ReferenceLibrary
) -> None:
    bodies = bodies_of(character, tiny, library)
    bodies.begin(torch.zeros(WORLDS, dtype=torch.long), torch.arange(WORLDS), torch.zeros(WORLDS))
    for step in range(3):
        bodies.step(action(step))
    states, frame, age = bodies.snapshots(), bodies.frame.clone(), bodies.age.clone()
    assert not torch.equal(states.qpos, states.qpos_before)
    seen = bodies.observation.clone()
    for step in range(3, 8):
        bodies.step(action(step))
    first, mask = bodies.snapshots(), torch.tensor([True, False, True, False])
    bodies.restore(states, mask)
    bodies.place(frame, age, mask)
    bodies.observe()
    torch.testing.assert_close(bodies.observation[mask], seen[mask])
    for now, then, other in zip(bodies.snapshots(), states, first, strict=True):
        assert torch.equal(now[mask], then[mask]) and torch.equal(now[~mask], other[~mask])
    for step in range(3, 8):
        bodies.step(action(step))
    again = bodies.snapshots()
    for name in ("qpos", "qpos_before", "contacts", "offset"):
        torch.testing.assert_close(getattr(again, name)[mask], getattr(first, name)[mask], atol=2e-3, rtol=0, msg=name)
    assert float((again.qpos[~mask] - first.qpos[~mask]).abs().max()) > 1e-3, "the others went on"
    assert bodies.frame.tolist() == [8, 14, 10, 16]


def test_both_engines_are_stepped_alike(character: Character, tiny: TrackerSettings, library: ReferenceLibrary) -> None:
    """Warp, here on the CPU, against MuJoCo: from a clip, then with a body put back."""
    pytest.importorskip("mujoco_warp")
    from parc.physics.warp_world import WarpWorld

    native = bodies_of(character, tiny, library)
    warp_world = WarpWorld(character, tiny.contract, WORLDS, "cpu", library.bank.cell)
    warp = TrackedBodies(warp_world, library, library.bank, tiny, torch.Generator().manual_seed(0), keeps_past=True)
    mask = torch.tensor([True, False, False, False])
    for bodies in (native, warp):
        bodies.begin(torch.zeros(WORLDS, dtype=torch.long), torch.arange(WORLDS), torch.zeros(WORLDS))
        start = bodies.snapshots()
        for step in range(3):
            bodies.step(action(step))
        bodies.restore(start, mask)
        bodies.place(0, 0, mask)
        bodies.observe()
    torch.testing.assert_close(warp.observation, native.observation, atol=2e-3, rtol=0)
    torch.testing.assert_close(warp.error, native.error, atol=1e-3, rtol=0)
    assert warp.frame.tolist() == [0, 4, 5, 6] == native.frame.tolist()
