"""Who goes on from whom: two iterations from a generator that was given, in the second of which nothing is learned.

G_1 from G_0, G_2 from G_1 on D_1        M~_2 by G_2 on new terrains        pi_2 from pi_1 on D_1 and M~_2        M_2 by pi_2
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from parc.character import humanoid
from parc.dataset import Dataset
from parc.generate.model.motion_generator import Generator
from parc.loop import IterationPlan, RunSources, preset, run_loop
from parc.run.checkpoint import load_checkpoint
from parc.run.hashing import hash_file
from parc.track.follow.tracked_share import shares_followed

LITTLE = 2e-3
"""learning rate of the first iteration: a few steps of it do not lead far from the models it began with"""
HALF = 1e-4
"""what float16 may round off a weight"""


def learning(rate: float, steps: int, **tracker) -> IterationPlan:
    """The tiny plan with few steps of the generator, and updates of the tracker, at this rate."""
    plan = preset("tiny").plans[0]
    settings, step = plan.tracker.settings, replace(plan.generator.step, warm_up=1)
    rates = {"critic_rate": rate, "actor_rate": rate, "warm_rate": rate, "target_kl": 0.0, "final_rate": 1.0}
    ppo = replace(settings.ppo, critic_first=0, average=0.0, **rates)
    training = replace(plan.tracker.training, iterations=2, milestone_iterations=2)
    return replace(
        plan,
        generator=replace(plan.generator, steps=steps, step=replace(step, adam=replace(step.adam, rate=rate, average=0.0))),
        tracker=replace(plan.tracker, settings=replace(settings, ppo=ppo), training=training, **tracker),
    )


@pytest.fixture(scope="module")
def given(finished: Path) -> RunSources:
    """The generator of another run; a tracker there is none."""
    return RunSources(finished / "start", finished / "iteration-01" / "generator" / "generator.safetensors")


@pytest.fixture(scope="module")
def run(given: RunSources, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("continued") / "run"
    plans = (learning(LITTLE, 3), learning(0.0, 2, least_followed=1.0))  # other steps: a file of its own, of equal weights
    run_loop(folder, replace(preset("tiny"), plans=plans, iterations=2, seed=1), humanoid(), given)
    return folder


def place(run: Path, i: int, stage: str) -> Path:
    return run / f"iteration-0{i}" / stage


def generator_weights(file: Path) -> Tensor:
    return torch.cat([p.detach().flatten() for p in Generator.load(file, humanoid()).network.parameters()])


def critic_weights(file: Path) -> Tensor:
    return load_checkpoint(file)[0]["critic"].float()


def actor_weights(file: Path) -> Tensor:
    tensors = load_checkpoint(file)[0]
    return torch.cat([value.float().flatten() for name, value in sorted(tensors.items()) if "normalizer" not in name])


def names(folder: Path) -> list[str]:
    return list(Dataset.open(folder).names)


def test_generators_go_on_from_those_before(given: RunSources, run: Path) -> None:
    """The first iteration moves them a little; the second, without learning, leaves them where the first has brought them."""
    assert given.generator is not None
    files = (given.generator, *(place(run, i, "generator") / "generator.safetensors" for i in (1, 2)))
    zero, one, two = (generator_weights(file) for file in files)
    assert 3 * HALF < float((one - zero).abs().max()) < 0.02 < 0.3 * float(zero.abs().max())
    torch.testing.assert_close(two, one, atol=HALF, rtol=0)


@pytest.mark.parametrize(("file", "weights"), [("actor.safetensors", actor_weights), ("critic.safetensors", critic_weights)])
def test_trackers_go_on_from_those_before(run: Path, file: str, weights: Callable[[Path], Tensor]) -> None:
    one, two = (weights(place(run, i, "tracker") / file) for i in (1, 2))
    assert float(one.abs().max()) > 1000 * HALF
    torch.testing.assert_close(two, one, atol=HALF, rtol=0)


def test_the_tracker_counts_its_updates_on(run: Path) -> None:
    """Not the actor's file but all that was learned is gone on with."""
    updates = [load_checkpoint(place(run, i, "tracker") / "checkpoint.safetensors")[0]["ppo.updates"] for i in (1, 2)]
    assert [int(u) for u in updates] == [2, 4]


def test_models_of_an_iteration_are_trained_on_all_there_is(given: RunSources, run: Path) -> None:
    """The generator on D_1, the tracker on D_1 and M~_2 less what the tracker before does not follow."""
    assert given.dataset is not None
    start, before = names(given.dataset), names(place(run, 1, "dataset") / "dataset")
    made = [names(place(run, i, "synthesis")) for i in (1, 2)]
    assert len(before) > len(start) and made[0] and made[1]
    stages = json.loads((run / "ledger.json").read_bytes())["stages"]
    assert [stages[f"iteration-0{i}/generator"]["result"]["clips"] for i in (1, 2)] == [len(start), len(before)]
    trained = [
        sorted(clip["name"] for clip in json.loads((place(run, i, "tracker") / "clips.json").read_bytes())["clips"])
        for i in (1, 2)
    ]
    clips = list(Dataset.open(place(run, 2, "synthesis"), humanoid()))
    shares = shares_followed(place(run, 1, "tracker") / "actor.safetensors", clips, humanoid(), threads=1)
    assert json.loads((place(run, 2, "tracker") / "followed.json").read_bytes()) == pytest.approx(shares)
    lost = {name for name, share in shares.items() if share < 1.0}
    assert lost and trained == [sorted(start + made[0]), sorted(set(before + made[1]) - lost)]


def test_the_models_of_an_iteration_make_its_clips(run: Path) -> None:
    seen: list[tuple[str, ...]] = []
    for i in (1, 2):
        generator, tracker = place(run, i, "generator") / "generator.safetensors", place(run, i, "tracker") / "actor.safetensors"
        models = {"generator": hash_file(generator)[:16], "tracker": hash_file(tracker)[:16]}
        seen.append(tuple(models.values()))
        recorded = list(Dataset.open(place(run, i, "recording"), humanoid()))
        assert recorded
        for clip in recorded:
            assert clip.provenance.models == models and clip.provenance.iteration == i
        for clip in Dataset.open(place(run, i, "synthesis"), humanoid()):
            assert clip.provenance.models == {"generator": models["generator"]} and clip.provenance.iteration == i
    assert len({name for names in seen for name in names}) == 4, "no two of the models are one file"


def test_every_iteration_has_terrains_of_its_own(run: Path) -> None:
    made = [list(Dataset.open(place(run, i, "synthesis"), humanoid())) for i in (1, 2)]
    assert made[0] and made[1]
    assert not any(torch.equal(a.terrain.heights, b.terrain.heights) for a in made[0] for b in made[1])


def test_the_second_plan_is_for_the_second_iteration_and_all_after() -> None:
    tiny = preset("tiny")
    both = replace(tiny, plans=(learning(1.0, 1), learning(2.0, 1)), iterations=4)
    assert [both.plan(i).generator.step.adam.rate for i in (1, 2, 3, 4)] == [1.0, 2.0, 2.0, 2.0]
