"""The actor alone as an ONNX file: it gives the actor's actions, in a runtime that knows nothing of torch."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch

from parc.character.character import Character
from parc.physics.mujoco_model import sealed_contract
from parc.track.learn.mlp_network import initialise
from parc.track.learn.policy import TrackerPolicy, TrainedActor, load_actor, save_actor
from parc.track.tracker_settings import TrackerSettings

pytest.importorskip("onnx", reason="onnx is not installed (parc-motion[onnx])")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (parc-motion[onnx])")
from parc.track.export.onnx_export import export_graph  # noqa: E402
from parc.track.export.tracker_graph import ActorGraph  # noqa: E402


def make_actor(character: Character, settings: TrackerSettings, file: Path) -> TrainedActor:
    """Weights and statistics that leave their mark."""
    generator = torch.Generator().manual_seed(3)
    policy = TrackerPolicy(character, settings, "cpu")
    initialise(policy, generator)
    with torch.no_grad():
        policy.averaged.last.weight.copy_(0.3 * torch.randn(policy.averaged.last.weight.shape, generator=generator))
        policy.averaged.last.bias.uniform_(-0.5, 0.5, generator=generator)
        policy.normalizer.mean.uniform_(-1, 1, generator=generator)
        policy.normalizer.variance.uniform_(0.0, 2, generator=generator)
    save_actor(file, policy.averaged_actor(), character, sealed_contract(character, settings.contract), settings)
    return load_actor(file, character)


def write(trained: TrainedActor, file: Path) -> Any:
    """A session of the exported actor."""
    graph = ActorGraph(trained)
    export_graph(graph, file, graph.description())
    return runtime.InferenceSession(str(file))


@pytest.mark.parametrize("symmetry", ["canonical", "none"])
@pytest.mark.parametrize("activation", ["relu", "elu", "silu"])
def test_same_actions(
    character: Character,
    tiny: TrackerSettings,
    tmp_path: Path,
    symmetry: Literal["canonical", "none"],
    activation: Literal["relu"],
) -> None:
    settings = replace(tiny, policy=replace(tiny.policy, symmetry=symmetry, activation=activation))
    trained = make_actor(character, settings, tmp_path / "actor.safetensors")
    session = write(trained, tmp_path / "policy.onnx")
    for rows in (1, 33):
        observation = 2.0 * torch.randn(rows, session.get_inputs()[0].shape[1], generator=torch.Generator().manual_seed(rows))
        with torch.no_grad():
            expected = trained.actor(observation).numpy()
        found = session.run(["action"], {"observation": observation.numpy()})[0]
        np.testing.assert_allclose(found, expected, atol=1e-4)
        assert np.abs(expected).max() > 0.1


def test_the_symmetry_is_in_the_file(character: Character, tiny: TrackerSettings, tmp_path: Path) -> None:
    trained = make_actor(character, tiny, tmp_path / "actor.safetensors")
    session = write(trained, tmp_path / "policy.onnx")
    symmetry = trained.actor.symmetry
    assert symmetry is not None
    observation = torch.randn(16, session.get_inputs()[0].shape[1], generator=torch.Generator().manual_seed(0))
    action, mirrored = (
        torch.from_numpy(session.run(None, {"observation": rows.numpy()})[0])
        for rows in (observation, symmetry.observation(observation))
    )
    torch.testing.assert_close(mirrored, symmetry.action(action), atol=1e-5, rtol=0)
    assert (symmetry.needs_flip(observation)).any() and not symmetry.needs_flip(observation).all()


def test_the_contract_travels_along(character: Character, tiny: TrackerSettings, tmp_path: Path) -> None:
    trained = make_actor(character, tiny, tmp_path / "actor.safetensors")
    meta = write(trained, tmp_path / "policy.onnx").get_modelmeta().custom_metadata_map
    description = json.loads(meta["parc"])
    assert description["character"] == character.fingerprint
    assert description["contract"]["substeps"] == trained.contract.substeps
    assert description["settings"]["action"]["residual"] is True
    assert description["observation"]["root_x_axis"] == [0, 3]
