"""Packed networks against the networks they were made from."""

import pickle
from pathlib import Path

import pytest
import torch

from parc.character.character import Character
from parc.physics.physical_contract import Contract
from parc.track.learn.fp16_linear_cpu import PackedMLP, can_be_packed
from parc.track.learn.mlp_network import MLP
from parc.track.learn.policy import TrackerPolicy, load_actor, save_actor
from parc.track.tracker_settings import TrackerSettings

needs_kernels = pytest.mark.skipif(torch.backends.quantized.engine not in ("x86", "fbgemm"), reason="not an x86 processor")


def network(activation: str = "relu", hidden: tuple[int, ...] = (96, 33), seed: int = 0) -> MLP:
    """With weights that float16 holds, some of them subnormal there."""
    made, generator = MLP(70, hidden, 5, activation), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_((0.2 * torch.randn(parameter.shape, generator=generator)).half())
        made.last.weight[0] *= 2.0**-20
        made.last.weight.copy_(made.last.weight.half())
    return made


def rows(count: int) -> torch.Tensor:
    return torch.randn(count, 70, generator=torch.Generator().manual_seed(1))


@needs_kernels
@pytest.mark.parametrize("activation", ["relu", "elu", "silu"])
@pytest.mark.parametrize("hidden", [(96, 33), (17,)])
def test_the_same_function(activation: str, hidden: tuple[int, ...]) -> None:
    made = network(activation, hidden)
    assert can_be_packed(made)
    with torch.no_grad():
        torch.testing.assert_close(PackedMLP(made)(rows(40)), made(rows(40)), atol=2e-6, rtol=1e-5)


@needs_kernels
def test_a_row_depends_on_no_other_row_and_on_no_number_of_threads() -> None:
    packed, before = PackedMLP(network()), torch.get_num_threads()
    together = packed(rows(40))
    for first, count in ((0, 1), (7, 1), (3, 5), (20, 17)):
        assert torch.equal(packed(rows(40)[first : first + count]), together[first : first + count])
    try:
        torch.set_num_threads(3)
        assert torch.equal(packed(rows(40)), together) and torch.equal(packed(rows(40)[:1]), together[:1])
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("weight", [1 / 3, 1e6, 1e-9, float("nan")])
def test_weights_that_float16_does_not_hold_are_left_alone(weight: float) -> None:
    made = network()
    with torch.no_grad():
        made.hidden[1].weight[2, 3] = weight
    assert not can_be_packed(made)


@needs_kernels
def test_an_actor_acts_alike_packed_or_not_and_in_another_process(
    character: Character, tiny: TrackerSettings, tmp_path: Path
) -> None:
    policy = TrackerPolicy(character, tiny, "cpu")
    for parameter in policy.averaged.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    seen = torch.randn(9, policy.size)
    for half in (True, False):
        save_actor(tmp_path / "a.safetensors", policy.averaged_actor(), character, Contract(), tiny, half)
        trained = load_actor(tmp_path / "a.safetensors", character)
        assert can_be_packed(trained.actor.network) == half
        with torch.no_grad():
            expected = trained.actor(seen)
            torch.testing.assert_close(trained.act(seen), expected, atol=1e-5 if half else 0.0, rtol=0)
            moved = pickle.loads(pickle.dumps(trained))
            assert torch.equal(moved.act(seen), trained.act(seen))
