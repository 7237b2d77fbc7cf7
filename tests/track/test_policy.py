import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from parc.character.character import Character
from parc.errors import CharacterError, FormatError, SettingsError
from parc.physics.physical_contract import Contract, ContractError
from parc.run.checkpoint import load_checkpoint, save_checkpoint
from parc.run.dataclass_json import from_json
from parc.run.distributed import Group
from parc.track.learn.policy import Normalizer, TrackerPolicy, load_actor, log_probability, save_actor
from parc.track.tracker_settings import TrackerSettings

ALONE = Group(0, 1, torch.device("cpu"))


def small_policy(character: Character, tiny: TrackerSettings) -> TrackerPolicy:
    torch.manual_seed(0)
    policy = TrackerPolicy(character, tiny, "cpu")
    for p in policy.averaged.parameters():
        torch.nn.init.normal_(p, std=0.1)
    return policy


def test_normalizer_has_the_moments_of_all_it_has_seen() -> None:
    rows = torch.randn(300, 5, generator=torch.Generator().manual_seed(0)) * torch.tensor([1.0, 2, 3, 4, 5]) + 7
    normalizer = Normalizer(5)
    for part in rows.split([50, 100, 150]):
        for piece in part.split(25):
            normalizer.collect(piece)
        normalizer.update(ALONE)
    torch.testing.assert_close(normalizer.mean, rows.mean(0), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(normalizer.variance, rows.var(0, correction=0), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(normalizer(rows).std(0), torch.ones(5), rtol=1e-2, atol=0)


def test_log_probability_is_torchs_without_the_constant() -> None:
    mean, action, log_std = torch.randn(4, 3), torch.randn(4, 3), torch.randn(3)
    expected = torch.distributions.Normal(mean, log_std.exp()).log_prob(action).sum(-1)
    constant = -0.5 * 3 * torch.log(torch.tensor(2 * torch.pi))
    torch.testing.assert_close(log_probability(action, mean, log_std) + constant, expected)


def test_a_canonical_actor_is_exactly_symmetric(character: Character, tiny: TrackerSettings) -> None:
    policy = small_policy(character, tiny)
    actor, mirror = policy.averaged_actor(), policy.mirror
    assert mirror is not None
    rows = torch.randn(20, policy.size)
    torch.testing.assert_close(actor(mirror.observation(rows)), mirror.action(actor(rows)))
    assert actor(rows).abs().max() > 0.01


def test_an_actor_survives_its_file(character: Character, tiny: TrackerSettings, tmp_path: Path) -> None:
    policy = small_policy(character, tiny)
    policy.normalizer.collect(torch.randn(50, policy.size))
    policy.normalizer.update(ALONE)
    contract = Contract(character=character.fingerprint, substeps=3)
    rows = torch.randn(6, policy.size)
    for half, tolerance in ((False, 0.0), (True, 2e-3)):
        path = tmp_path / f"actor{half}.safetensors"
        save_actor(path, policy.averaged_actor(), character, contract, tiny, half)
        loaded = load_actor(path, character)
        assert loaded.settings == tiny and loaded.contract == contract
        torch.testing.assert_close(loaded.actor(rows), policy.averaged_actor()(rows), atol=tolerance, rtol=0)
    assert (tmp_path / "actorTrue.safetensors").stat().st_size < (tmp_path / "actorFalse.safetensors").stat().st_size


def test_another_contract_is_named(character: Character, tiny: TrackerSettings, tmp_path: Path) -> None:
    path = tmp_path / "actor.safetensors"
    save_actor(path, small_policy(character, tiny).averaged_actor(), character, Contract(substeps=2), tiny)
    with pytest.raises(ContractError, match="substeps is 4, the policy needs 2"):
        Contract().check_matches(load_actor(path, character).contract)


def test_files_for_another_character_or_of_another_kind_are_refused(
    character: Character, tiny: TrackerSettings, tmp_path: Path
) -> None:
    path = tmp_path / "actor.safetensors"
    save_actor(path, small_policy(character, tiny).averaged_actor(), character, Contract(), tiny)
    taller = replace(
        character, bodies=(character.bodies[0], replace(character.bodies[1], offset=(0, 0, 0.5)), *character.bodies[2:])
    )
    with pytest.raises(CharacterError, match="was trained for character"):
        load_actor(path, taller)
    save_checkpoint(tmp_path / "other.safetensors", {"x": torch.zeros(1)}, {"kind": "something"})
    with pytest.raises(FormatError, match="something"):
        load_actor(tmp_path / "other.safetensors", character)
    with pytest.raises(FormatError, match="no checkpoint"):
        load_actor(tmp_path / "missing.safetensors", character)
    tensors, meta = load_checkpoint(path)
    for wrong in ({"settings": {"nosuch": 1}}, {"contract": None}, {"settings": 3}):
        save_checkpoint(tmp_path / "wrong.safetensors", tensors, meta | wrong)
        with pytest.raises(FormatError, match=r"wrong.safetensors describes no tracker"):
            load_actor(tmp_path / "wrong.safetensors", character)


def test_settings_survive_json_and_unknown_names_do_not() -> None:
    paper = TrackerSettings.paper()
    values = json.loads(json.dumps(asdict(paper)))
    assert from_json(TrackerSettings, values) == paper
    values["policy"]["hiden"] = 3
    with pytest.raises(SettingsError, match="hiden"):
        from_json(TrackerSettings, values)
