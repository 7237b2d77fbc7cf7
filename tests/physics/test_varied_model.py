"""Bodies that differ from world to world: factors of 1 are equal to the bit to none, a factor changes what it says, no more."""

import pytest
import torch

from parc.character.character import Character
from parc.physics.native_world import NativeWorld
from parc.physics.physical_contract import Contract
from parc.physics.simulated_world import World
from parc.physics.varied_model import BodyVariation
from parc.physics.warp_world import WarpWorld

WORLDS, HEIGHT = 3, 0.26


def made(kind: str, crawler: Character, contract: Contract = Contract()) -> World:
    if kind == "native":
        return NativeWorld(crawler, contract, WORLDS, threads=1)
    return WarpWorld(crawler, contract, WORLDS, "cpu", capture=False)


def same(world: World) -> BodyVariation:
    n, character = world.num_worlds, world.character
    return BodyVariation(torch.ones(n), torch.ones(n, len(character)), torch.ones(n, character.num_dof), torch.zeros(n))


def everywhere(world: World) -> torch.Tensor:
    return torch.ones(world.num_worlds, dtype=torch.bool)


def run(world: World, variation: BodyVariation | None, steps: int = 12, speed: float = 0.0) -> torch.Tensor:
    """[steps, N, nq] of bodies that land and are moved by their motors."""
    qpos, qvel = torch.zeros_like(world.qpos), torch.zeros_like(world.qvel)
    qpos[:], qvel[:, 0] = torch.as_tensor(world.model.qpos0), speed  # type: ignore[attr-defined]
    qpos[:, 2] = HEIGHT
    world.reset(everywhere(world), qpos, qvel)
    if variation is not None:
        world.vary(everywhere(world), variation)
    random, seen = torch.Generator().manual_seed(0), []
    for _ in range(steps):
        world.step(0.5 * torch.randn(1, world.character.num_dof, generator=random).expand(WORLDS, -1).contiguous())
        seen.append(world.qpos.clone())
    assert not world.diverged.any()
    return torch.stack(seen) if seen else world.qpos.clone()


@pytest.fixture(params=["native", "warp"])
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


def test_factors_of_one_are_equal_to_the_bit_to_none(engine: str, crawler: Character) -> None:
    world = made(engine, crawler)
    assert run(made(engine, crawler), None).equal(run(world, same(world)))


@pytest.mark.parametrize("field, factor", [("friction", 0.1), ("mass", 1.5), ("strength", 0.3)])
def test_a_factor_changes_its_world_and_no_other(engine: str, crawler: Character, field: str, factor: float) -> None:
    """And the bodies of worlds that are not named stay as they were told before."""
    world = made(engine, crawler)
    usual = run(world, same(world), speed=1.0)
    values = getattr(same(world), field).clone()
    values[1] = factor
    changed = run(world, same(world)._replace(**{field: values}), speed=1.0)
    assert changed[:, [0, 2]].equal(usual[:, [0, 2]])
    assert (changed[-1, 1] - usual[-1, 1]).abs().max() > 1e-3
    world.vary(torch.tensor([True, False, True]), same(world))
    again = run(world, None, speed=1.0)
    torch.testing.assert_close(again[:, 1], changed[:, 1], atol=0, rtol=0)


def test_both_engines_see_the_same_body(crawler: Character) -> None:
    worlds = [made(kind, crawler) for kind in ("native", "warp")]
    random = torch.Generator().manual_seed(1)
    one = same(worlds[0])
    drawn = BodyVariation(*(0.7 + 0.6 * torch.rand(part.shape, generator=random) for part in one[:3]), 0.01 * torch.ones(WORLDS))
    first, second = (run(world, drawn, 5) for world in worlds)
    torch.testing.assert_close(first, second, atol=2e-4, rtol=0)
    assert (first - run(made("native", crawler), None, 5)).abs().max() > 1e-2


def test_late_targets_are_those_of_the_step_before(engine: str, crawler: Character) -> None:
    """A whole control step late, step k does what step k - 1 was asked for; the first of an episode is never late."""
    world = made(engine, crawler)
    late = same(world)._replace(delay=torch.full((WORLDS,), 1 / 30))
    targets = torch.randn(4, crawler.num_dof, generator=torch.Generator().manual_seed(2)).mul(0.4)

    def follow(order: tuple[int, ...], variation: BodyVariation) -> torch.Tensor:
        run(world, variation, 0)
        for k in order:
            world.step(targets[k].expand(WORLDS, -1).contiguous())
        return world.qpos.clone()

    assert follow((0, 1, 2, 3), late).equal(follow((0, 0, 1, 2), same(world)))
    assert not follow((0, 1, 2, 3), late).equal(follow((0, 1, 2, 3), same(world)))
    half = follow((0, 1), same(world)._replace(delay=torch.full((WORLDS,), 2 / 120)))
    assert not half.equal(follow((0, 1), same(world))) and not half.equal(follow((0, 0), same(world)))
