"""The critic is the value network of training."""

from pathlib import Path

import pytest
import torch

from parc.character import humanoid
from parc.errors import FormatError
from parc.models import shipped_tracker
from parc.plan import Models
from parc.plan.tracker_critic import Critic
from parc.run.checkpoint import load_checkpoint, save_checkpoint
from parc.track.learn.policy import TrackerPolicy
from parc.track.learn.ppo import flatten_parameters


def test_values_are_those_of_the_network_in_training(models: Models) -> None:
    tracker = models.tracker
    policy = TrackerPolicy(tracker.character, tracker.settings, "cpu")
    flat = flatten_parameters(list(policy.critic.parameters()))
    tensors, _ = load_checkpoint(shipped_tracker().with_name("critic.safetensors"))
    with torch.no_grad():
        flat.copy_(tensors["critic"].float())
    policy.normalizer.load_state_dict(tracker.actor.normalizer.state_dict())
    rows = torch.randn(2, 3, policy.size, generator=torch.Generator().manual_seed(0))
    shown, _ = policy.view(rows.flatten(0, 1))
    expected = policy.critic(policy.normalizer(shown)).view(2, 3)
    assert models.critic is not None
    torch.testing.assert_close(models.critic(rows), expected.detach(), atol=1e-5, rtol=1e-5)


def test_a_critic_of_another_shape_is_refused(models: Models, tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "critic.safetensors", {"critic": torch.zeros(7)}, {"character": humanoid().fingerprint})
    with pytest.raises(FormatError, match="7 weights"):
        Critic.load(tmp_path / "critic.safetensors", models.tracker)
    save_checkpoint(tmp_path / "other.safetensors", {"critic": torch.zeros(7)}, {"character": "nobody"})
    with pytest.raises(FormatError, match="no critic for character"):
        Critic.load(tmp_path / "other.safetensors", models.tracker)
