from dataclasses import replace
from pathlib import Path

import pytest
import torch

from parc.character.character import Character
from parc.cli.main import main
from parc.errors import SettingsError
from parc.physics.contract import Contract
from parc.track.policy import Actor, TrackerPolicy, TrainedActor, load_actor, save_actor
from parc.track.settings import TrackerSettings
from parc.track.weight_average import average_trackers


def tracker(character: Character, settings: TrackerSettings, seed: int) -> TrainedActor:
    """Random weights, and statistics of its own."""
    generator = torch.Generator().manual_seed(seed)
    policy = TrackerPolicy(character, settings, "cpu")
    for p in policy.averaged.parameters():
        torch.nn.init.normal_(p, std=0.1, generator=generator)
    policy.normalizer.mean.copy_(torch.randn(policy.size, generator=generator))
    policy.normalizer.variance.copy_(torch.rand(policy.size, generator=generator) + 0.5)
    contract = Contract(character=character.fingerprint, substeps=4)
    return TrainedActor(policy.averaged_actor(), settings, contract, character)


def rows_of(one: TrainedActor) -> torch.Tensor:
    return torch.randn(40, len(one.actor.normalizer.mean), generator=torch.Generator().manual_seed(9))


def with_statistics_of(one: TrainedActor, other: TrainedActor) -> TrainedActor:
    """The same actions by another way: one's function, written by hand for the other's statistics."""
    own, new, network = one.actor.normalizer, other.actor.normalizer, one.actor.network
    linear = torch.nn.Linear(len(own.mean), network.hidden[0].out_features, dtype=torch.float64)
    with torch.no_grad():
        deviation = (new.variance.double() + 1e-4).sqrt() / (own.variance.double() + 1e-4).sqrt()
        shift = (new.mean.double() - own.mean.double()) / (own.variance.double() + 1e-4).sqrt()
        linear.weight.copy_(network.hidden[0].weight.double() * deviation)
        linear.bias.copy_(network.hidden[0].bias.double() + network.hidden[0].weight.double() @ shift)
    copy = TrackerPolicy(one.character, one.settings, "cpu").averaged
    copy.load_state_dict(network.state_dict() | {"hidden.0.weight": linear.weight.float(), "hidden.0.bias": linear.bias.float()})
    return replace(one, actor=Actor(new, copy, one.actor.symmetry))


def test_a_tracker_averaged_with_itself_acts_as_before(character: Character, tiny: TrackerSettings) -> None:
    one = tracker(character, tiny, 0)
    both = average_trackers([one, one], [0.3, 0.7])
    torch.testing.assert_close(both.actor(rows_of(one)), one.actor(rows_of(one)))


def test_a_tracker_averaged_with_itself_under_other_statistics_acts_as_before(
    character: Character, tiny: TrackerSettings
) -> None:
    one = tracker(character, tiny, 0)
    same = with_statistics_of(one, tracker(character, tiny, 1))
    torch.testing.assert_close(same.actor(rows_of(one)), one.actor(rows_of(one)), rtol=1e-3, atol=1e-4)
    average = average_trackers([same, one], [1.0, 1.0])
    torch.testing.assert_close(average.actor(rows_of(one)), one.actor(rows_of(one)), rtol=1e-3, atol=1e-4)


def test_shares_are_those_of_the_weights(character: Character, tiny: TrackerSettings) -> None:
    one, two = tracker(character, tiny, 0), tracker(character, tiny, 1)
    average = average_trackers([one, two], [6.0, 2.0])
    expected = 0.75 * one.actor.network.last.weight + 0.25 * two.actor.network.last.weight
    torch.testing.assert_close(average.actor.network.last.weight, expected)
    torch.testing.assert_close(average.actor.normalizer.mean, one.actor.normalizer.mean)
    assert (one.actor.network.last.weight - average.actor.network.last.weight).abs().max() > 0.01


def test_averaging_leaves_the_trackers_alone(character: Character, tiny: TrackerSettings) -> None:
    one, two = tracker(character, tiny, 0), tracker(character, tiny, 1)
    before = one.actor(rows_of(one)), two.actor(rows_of(one))
    average_trackers([one, two], [1.0, 1.0])
    assert torch.equal(one.actor(rows_of(one)), before[0])
    assert torch.equal(two.actor(rows_of(one)), before[1])


def test_strangers_are_refused(character: Character, tiny: TrackerSettings) -> None:
    one = tracker(character, tiny, 0)
    with pytest.raises(SettingsError, match="networks"):
        average_trackers([one, tracker(character, replace(tiny, policy=replace(tiny.policy, hidden=(8,))), 1)], [1.0, 1.0])
    with pytest.raises(SettingsError, match="worlds"):
        average_trackers([one, replace(one, contract=replace(one.contract, substeps=3))], [1.0, 1.0])
    for weights in ([1.0], [1.0, 0.0], [1.0, float("nan")], [1.0, -1.0]):
        with pytest.raises(SettingsError, match="weights of 2 trackers"):
            average_trackers([one, one], weights)


def test_the_command_writes_a_tracker_that_can_be_trained_on(
    character: Character, tiny: TrackerSettings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed, name in enumerate(("new", "old")):
        one = tracker(character, tiny, seed)
        save_actor(tmp_path / name / "actor.safetensors", one.actor, character, one.contract, one.settings)
    (tmp_path / "new" / "critic.safetensors").write_bytes(b"value function")
    old = str(tmp_path / "old" / "actor.safetensors")
    call = ["average-trackers", str(tmp_path / "new"), old, "-o", str(tmp_path / "both"), "--weights", "4", "1"]
    assert main(call) == 0
    average, new = (
        load_actor(tmp_path / "both" / "actor.safetensors", character),
        load_actor(tmp_path / "new/actor.safetensors", character),
    )
    assert torch.equal(average.actor.normalizer.mean, new.actor.normalizer.mean)
    assert (tmp_path / "both" / "critic.safetensors").read_bytes() == b"value function"
    for wrong in (call, ["average-trackers", old, "-o", str(tmp_path / "one")]):
        assert main(wrong) == 2
        assert capsys.readouterr().err.count("\n") == 1
