"""Crossing by reflex: who plans when and from what, how far a body has come, and what ends a run."""

from dataclasses import replace

import pytest
import torch

from parc.errors import SettingsError
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.path.path_batch import PathBatch
from parc.path.terrain_path import TerrainPath
from parc.plan import Models
from parc.plan.path_progress import STANDING
from parc.plan.reflex import ARRIVED, FALLEN, LATE, OUTCOMES, RUNNING, STUCK, Crossings, Reflex, ReflexSettings
from parc.terrain import Terrain
from parc.terrain.terrain import TerrainBatch
from parc.track.follow.reference_table import FrameRows

SHORT = ReflexSettings(every=4, windows=1)


def of(models: Models, flat: tuple[Terrain, TerrainPath], bodies: int, settings: ReflexSettings, seed: int = 1) -> Reflex:
    terrain, path = flat
    random = torch.Generator().manual_seed(seed)
    reflex = Reflex(models.generator, models.tracker, [terrain], [path], [0] * bodies, settings, random, threads=1)
    reflex.begin()
    return reflex


def test_flat_ground_is_crossed_and_a_seed_says_how(models: Models, flat: tuple[Terrain, TerrainPath]) -> None:
    reflex, states = of(models, flat, 2, ReflexSettings()), []
    while not reflex.is_over():
        reflex.step()
        states.append(reflex.world.qpos.clone())
    assert reflex.crossings.outcome.tolist() == [ARRIVED] * 2
    assert 1.5 < reflex.step_number / reflex.fps < 8.0
    again = of(models, flat, 2, ReflexSettings())
    for state in states[:25]:  # five plans of each body
        again.step()
        assert torch.equal(again.world.qpos, state)


def test_every_body_plans_on_its_own_turn_from_where_it_is(models: Models, flat: tuple[Terrain, TerrainPath]) -> None:
    reflex = of(models, flat, 4, SHORT)
    table, planned = reflex.bodies.reference, []
    for step in range(1, 10):
        reflex.step()
        fresh = reflex.bodies.frame == 0
        planned.append(fresh.tolist())
        # who has just planned is at frame 0 of the plan, and that frame is the body as it was simulated
        states = reflex.bodies.states()
        now = FrameRows.of_frames(reflex.bodies.anatomy, states.frames(reflex.world.character).narrow(1, 1))
        first = table.qpos[table.start]
        torch.testing.assert_close(first[fresh, :3], now.qpos[fresh, 0, :3])
        torch.testing.assert_close(table.contacts[table.start][fresh], reflex.bodies.contacts[fresh])
        assert torch.equal(table.length, torch.full((4,), SHORT.length))
        assert bool((~fresh == ((step - torch.arange(4)) % 4 != 0)).all())
    assert sum(map(sum, planned)) == 9


def test_bodies_more_than_wanted_fill_up_the_groups(models: Models, flat: tuple[Terrain, TerrainPath]) -> None:
    reflex = of(models, flat, 5, SHORT)
    assert (reflex.world.num_worlds, reflex.count, reflex.groups) == (8, 5, 4)
    reflex.step()
    reflex.crossings.outcome[:5] = FALLEN
    assert reflex.is_over()


def test_a_push_changes_the_velocity_of_those_who_are_pushed(models: Models, flat: tuple[Terrain, TerrainPath]) -> None:
    reflex = of(models, flat, 2, SHORT)
    before = reflex.world.qvel.clone()
    reflex.push(torch.tensor([False, True]), torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.5, 0.0]]))
    change = reflex.world.qvel - before
    assert not change[0].any() and not change[1, 3:].any()
    torch.testing.assert_close(change[1, :3], torch.tensor([0.0, 1.5, 0.0]))


def test_what_the_body_believes_of_the_ground_is_not_what_it_stands_on(models: Models, flat: tuple[Terrain, TerrainPath]) -> None:
    terrain, path = flat
    raised = TerrainBatch.stack([terrain.with_heights(terrain.heights + 0.1)])
    walks = []
    for seen in (None, raised):
        random = torch.Generator().manual_seed(1)
        reflex = Reflex(models.generator, models.tracker, [terrain], [path], [0], SHORT, random, seen, threads=1)
        reflex.begin()
        walks.append(reflex)
    heights = reflex.bodies.observer.layout["heights"]
    believed = [walk.bodies.observation[0, heights] + walk.world.qpos[0, 2] for walk in walks]
    assert float(believed[0].abs().max()) < 1e-5
    torch.testing.assert_close(believed[1], torch.full_like(believed[1], 0.1))
    for _ in range(12):
        reflex.step()
    assert float(reflex.world.body_pos[0, :, 2].min()) < 0.12, "feet come down to the real ground"


# ---- how far, and what ends a run: oracles --------------------------------------------------------------------------------

FPS = 10.0
LINE = TerrainPath(torch.tensor([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0]]))
BRIEF = replace(SHORT, stuck=1.0, seconds=3.0, slowest=2.0)


def crossings(count: int) -> Crossings:
    found = Crossings(PathBatch.stack([LINE, TerrainPath(2.0 * LINE.nodes)]), count, BRIEF, FPS)
    everybody, height = torch.ones(count, dtype=torch.bool), torch.full((count,), STANDING)
    found.begin(everybody, torch.zeros(count, dtype=torch.long), torch.zeros(count), height)
    return found


def at(*x: float) -> torch.Tensor:
    return torch.tensor([[v, 0.0, STANDING] for v in x])


def test_what_becomes_of_bodies() -> None:
    """One walks at 1.6 m/s, one stands still, one falls in step 3, one creeps a little faster than being stuck."""
    found = crossings(4)
    for step in range(1, 41):
        fallen = torch.tensor([False, False, step == 3, False])
        found.look(at(0.16 * step, 0.0, 0.1 * step, 0.03 * step), fallen)
        if step == 9:
            assert found.outcome.tolist() == [RUNNING, RUNNING, FALLEN, RUNNING]
        if step == 10:
            assert found.outcome.tolist()[1] == STUCK, "a second without headway"
    # within .5 m of the goal: 3.5 m at .16 m a step are reached in step 22; 3 s end the last, which gains .25 m every 9 steps
    assert [OUTCOMES[k] for k in found.outcome.tolist()] == ["arrived", "stuck", "fallen", "late"]
    assert found.steps.tolist() == [22, 10, 3, 30]
    assert found.outcome[3] == LATE
    torch.testing.assert_close(found.progress[0], torch.tensor(0.16 * 22))


def test_only_new_worth_is_gained() -> None:
    """Forth, back and forth again: the sum of the gains is the way, once."""
    found, total = crossings(1), 0.0
    for x in (0.2, 0.4, 0.2, 0.0, 0.2, 0.4, 0.6):
        found.look(at(x), torch.tensor([False]))
        total += float(found.gain)
    assert total == pytest.approx(0.6, abs=1e-5)


def test_who_begins_anew_is_on_another_path_and_the_others_are_not() -> None:
    found = crossings(2)
    found.look(at(1.0, 1.0), torch.tensor([False, True]))
    found.begin(torch.tensor([False, True]), torch.tensor([1, 1]), torch.tensor([0.0, 0.5]), torch.full((2,), STANDING))
    assert found.case.tolist() == [0, 1] and found.outcome.tolist() == [RUNNING, RUNNING]
    torch.testing.assert_close(found.progress, torch.tensor([1.0, 0.5]))
    torch.testing.assert_close(found.paths.length, torch.tensor([4.0, 8.0]))
    assert found.steps.tolist() == [1, 0]
    found.look(at(float("nan"), 0.5), torch.tensor([True, False]))
    assert found.outcome.tolist() == [FALLEN, RUNNING] and bool(found.progress.isfinite().all())


@pytest.mark.parametrize("wrong", [{"every": 0}, {"windows": 0}, {"every": 14, "windows": 1}, {"stuck": 0.0}, {"slowest": 0.0}])
def test_impossible_settings_are_refused(wrong: dict) -> None:
    with pytest.raises(SettingsError):
        ReflexSettings(**({"rollout": RolloutSettings(keep=13, overlap=0)} | wrong))
