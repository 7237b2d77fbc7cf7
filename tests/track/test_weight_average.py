import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from parc.character.character import Character
from parc.cli.main import main
from parc.errors import SettingsError
from parc.physics.physical_contract import Contract
from parc.run.checkpoint import save_checkpoint
from parc.track.learn.policy import Actor, TrackerPolicy, TrainedActor, load_actor, save_actor
from parc.track.learn.weight_average import average_trackers, shares_of
from parc.track.tracker_settings import TrackerSettings


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


def test_shares_are_those_of_the_weights_in_every_layer(character: Character, tiny: TrackerSettings) -> None:
    trackers = [tracker(character, tiny, seed) for seed in range(3)]
    statistics = trackers[0].actor.normalizer
    trackers = [replace(t, actor=Actor(statistics, t.actor.network, t.actor.symmetry)) for t in trackers]
    average = average_trackers(trackers, [5.0, 2.0, 1.0]).actor.network.state_dict()
    networks = [t.actor.network.state_dict() for t in trackers]
    for name, tensor in average.items():
        torch.testing.assert_close(tensor, 0.625 * networks[0][name] + 0.25 * networks[1][name] + 0.125 * networks[2][name])
        assert (tensor - networks[0][name]).abs().max() > 0.01, name


def test_statistics_are_those_of_the_first(character: Character, tiny: TrackerSettings) -> None:
    one, two = tracker(character, tiny, 0), tracker(character, tiny, 1)
    statistics = average_trackers([one, two], [1.0, 1.0]).actor.normalizer
    assert torch.equal(statistics.mean, one.actor.normalizer.mean)
    assert torch.equal(statistics.variance, one.actor.normalizer.variance)


def test_averaging_leaves_the_trackers_alone(character: Character, tiny: TrackerSettings) -> None:
    one, two = tracker(character, tiny, 0), tracker(character, tiny, 1)
    before = one.actor(rows_of(one)), two.actor(rows_of(one))
    average_trackers([one, two], [1.0, 1.0])
    assert torch.equal(one.actor(rows_of(one)), before[0])
    assert torch.equal(two.actor(rows_of(one)), before[1])


def test_trackers_that_are_not_alike_are_refused(character: Character, tiny: TrackerSettings) -> None:
    one = tracker(character, tiny, 0)
    action = replace(one, settings=replace(tiny, action=replace(tiny.action, hold=0.123)))
    observation = replace(one, settings=replace(tiny, observation=replace(tiny.observation, held=not tiny.observation.held)))
    for other in (action, observation):
        with pytest.raises(SettingsError, match="observations or actions"):
            average_trackers([one, other], [1.0, 1.0])
    with pytest.raises(SettingsError, match="networks"):
        average_trackers([one, tracker(character, replace(tiny, policy=replace(tiny.policy, hidden=(8,))), 1)], [1.0, 1.0])
    with pytest.raises(SettingsError, match="worlds"):
        average_trackers([one, replace(one, contract=replace(one.contract, substeps=3))], [1.0, 1.0])


def test_exploration_in_training_makes_no_difference(character: Character, tiny: TrackerSettings) -> None:
    one = tracker(character, tiny, 0)
    bolder = replace(one, settings=replace(tiny, policy=replace(tiny.policy, std=2 * tiny.policy.std)))
    torch.testing.assert_close(average_trackers([one, bolder], [1.0, 1.0]).actor(rows_of(one)), one.actor(rows_of(one)))


def test_weights_float16_cannot_hold_are_refused(character: Character, tiny: TrackerSettings) -> None:
    one, far = tracker(character, tiny, 0), tracker(character, tiny, 1)
    far.actor.normalizer.variance[:5] = 1e14
    with pytest.raises(SettingsError, match="too far apart"):
        average_trackers([far, one], [1.0, 1.0])


@pytest.mark.parametrize(
    "weights, count",
    [
        ([1.0], 2),
        ([1.0, 0.0], 2),
        ([1.0, math.nan], 2),
        ([1.0, -1.0], 2),
        ([1.0, math.inf], 2),
        ([1e308, 1e308], 2),
        ([1.0], 1),
        ([], 0),
    ],
)
def test_weights_that_make_no_average_are_refused(weights: list[float], count: int) -> None:
    with pytest.raises(SettingsError, match=r"expected|needs two"):
        shares_of(weights, count)


@pytest.fixture
def trained(character: Character, tiny: TrackerSettings, tmp_path: Path) -> Path:
    """Folders new and old, as of two trainings; the new one with its value function."""
    for seed, name in enumerate(("new", "old")):
        one = tracker(character, tiny, seed)
        save_actor(tmp_path / name / "actor.safetensors", one.actor, character, one.contract, one.settings)
    policy = TrackerPolicy(character, tiny, "cpu")
    flat = torch.cat([p.detach().flatten() for p in policy.critic.parameters()])
    save_checkpoint(tmp_path / "new" / "critic.safetensors", {"critic": flat}, {"character": character.fingerprint})
    return tmp_path


def test_the_command_writes_the_average(character: Character, trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new, old, both = trained / "new", trained / "old" / "actor.safetensors", trained / "both"
    assert main(["train-tracker", "average", str(new), str(old), "-o", str(both), "--weights", "4", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["share"] for row in told["shares"]] == pytest.approx([0.8, 0.2])
    parts = [load_actor(file, character) for file in (new / "actor.safetensors", old)]
    expected, average = average_trackers(parts, [0.8, 0.2]).actor, load_actor(both / "actor.safetensors", character).actor
    rows = rows_of(parts[0])
    torch.testing.assert_close(average(rows), expected(rows), rtol=1e-2, atol=1e-2)
    assert (average(rows) - parts[0].actor(rows)).abs().max() > 0.1
    assert (both / "critic.safetensors").read_bytes() == (new / "critic.safetensors").read_bytes()


def test_the_command_refuses_and_leaves_alone_what_is_there(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new, old = str(trained / "new"), str(trained / "old")
    before = (trained / "old" / "actor.safetensors").read_bytes()
    for wrong in (
        [new, old, "-o", old],
        [new, "-o", str(trained / "one")],
        [new, str(trained / "none"), "-o", str(trained / "two")],
    ):
        assert main(["train-tracker", "average", *wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert (trained / "old" / "actor.safetensors").read_bytes() == before
    (trained / "new" / "critic.safetensors").write_bytes(b"no value function")
    assert main(["train-tracker", "average", new, old, "-o", str(trained / "three")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (trained / "three").exists()
