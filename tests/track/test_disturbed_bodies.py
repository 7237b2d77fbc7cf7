"""Domain randomisation in training: ranges of nothing are no randomisation, ranges are kept, evaluation has the model's body."""

from dataclasses import replace

import pytest
import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.physics.choose_engine import make_world
from parc.physics.varied_model import BodyVariation
from parc.track.env.disturbed_bodies import DisturbanceSettings
from parc.track.env.reference_library import build_library
from parc.track.env.track_env import TrackEnv
from parc.track.tracker_settings import TrackerSettings

WORLDS = 6
ALL = DisturbanceSettings((0.5, 1.2), (0.8, 1.25), (0.7, 1.0), (0.0, 0.02), 3.0, (0.5, 1.0), 0.05)


@pytest.fixture
def env_of(character: Character, squat: Clip, tiny: TrackerSettings):
    def make(disturbance: DisturbanceSettings | None) -> TrackEnv:
        settings = tiny if disturbance is None else replace(tiny, disturbance=disturbance)
        world = make_world(character, settings.contract, WORLDS, "cpu", threads=1)
        return TrackEnv(world, build_library(character, [squat]), settings, torch.Generator().manual_seed(0))

    return make


def rolled(env: TrackEnv, steps: int = 8) -> torch.Tensor:
    env.restart_all()
    seen = [env.observation.clone()]
    for _ in range(steps):
        env.step(0.1 * torch.ones_like(env.action))
        seen.append(env.observation.clone())
    return torch.stack(seen)


def watched(env: TrackEnv, monkeypatch: pytest.MonkeyPatch) -> list[tuple[torch.Tensor, BodyVariation]]:
    """What the world is told from now on."""
    given: list[tuple[torch.Tensor, BodyVariation]] = []
    monkeypatch.setattr(env.world, "vary", lambda mask, variation: given.append((mask.clone(), variation)))
    return given


def test_ranges_of_nothing_are_equal_to_the_bit_to_none(env_of) -> None:
    nothing = DisturbanceSettings((1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (0.0, 0.0), 0.0, (0.5, 1.5), 0.0)
    assert not nothing.varies_body
    assert rolled(env_of(None)).equal(rolled(env_of(nothing)))


def test_what_is_drawn_is_within_its_range_and_differs(env_of, monkeypatch: pytest.MonkeyPatch) -> None:
    env = env_of(ALL)
    given = watched(env, monkeypatch)
    env.restart_all()
    (mask, drawn), *_ = given
    assert mask.all() and drawn.mass.shape == (WORLDS, 15) and drawn.strength.shape == (WORLDS, 28)
    for name, values in zip(("friction", "mass", "strength", "latency"), drawn, strict=True):
        least, most = getattr(ALL, name)
        assert least <= values.min() < values.max() <= most, name


def test_a_new_episode_has_a_new_body_and_others_keep_theirs(env_of, monkeypatch: pytest.MonkeyPatch) -> None:
    env = env_of(ALL)
    env.restart_all()
    given = watched(env, monkeypatch)
    env.age.copy_(torch.tensor([1 << 30, 0, 0, 0, 0, 0]))
    env.step(torch.zeros_like(env.action))
    assert given[-1][0][0] and not given[-1][0][1:].all()


def test_evaluation_has_the_body_of_the_model_and_sees_the_ground_as_it_is(env_of) -> None:
    """The same episode in an environment that was disturbed before, and in one that never was."""

    def followed(env: TrackEnv) -> torch.Tensor:
        rolled(env, 2)
        clip = torch.zeros(WORLDS, dtype=torch.long)
        env.begin(clip, clip + 5, torch.zeros(WORLDS))
        seen = [env.observation.clone()]
        for _ in range(5):
            env.step(torch.zeros_like(env.action))
            seen.append(env.observation.clone())
        return torch.stack(seen)

    torch.testing.assert_close(followed(env_of(ALL)), followed(env_of(None)), atol=0, rtol=0)


def test_noise_of_heights_changes_the_heights_that_are_seen_and_nothing_else(env_of) -> None:
    plain, noisy = env_of(None), env_of(DisturbanceSettings(height_noise=0.05))
    plain.restart_all()
    noisy.restart_all()
    noisy.bank.heights.copy_(noisy.true_bank.heights.expand_as(noisy.bank.heights))
    noisy.observe()
    seen = noisy.observation.clone()
    noisy.bank.heights.add_(0.1)
    noisy.observe()
    heights = plain.observer.grid.shape[0]
    assert 0 < int((seen != noisy.observation).any(0).sum()) <= heights


def test_what_is_believed_of_the_ground_is_drawn_for_each_body_around_what_it_is(env_of) -> None:
    env = env_of(DisturbanceSettings(height_noise=0.05))
    env.restart_all()
    off = env.bank.heights - env.true_bank.heights
    assert 0.04 < float(off.std()) < 0.06 and not off[0].equal(off[1])
    assert env.world._bank.heights.equal(env.true_bank.heights)


@pytest.mark.parametrize(
    "wrong, said",
    [
        ({"friction": (0.0, 1.0)}, "friction is from 0 to 1 times"),
        ({"mass": (1.2, 0.8)}, "mass is from 1.2 to 0.8"),
        ({"strength": (0.5, float("inf"))}, "strength is from"),
        ({"latency": (-0.01, 0.0)}, "the latency is from -0.01"),
        ({"pushes": -1.0}, "expected to be at least 0"),
    ],
)
def test_impossible_ranges_are_refused(wrong: dict, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        DisturbanceSettings(**wrong)


def test_more_than_a_control_step_of_latency_is_refused(env_of) -> None:
    with pytest.raises(SettingsError, match="longer than a control step"):
        env_of(DisturbanceSettings(latency=(0.0, 0.05)))
