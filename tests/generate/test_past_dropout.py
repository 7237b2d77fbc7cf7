"""What a training step shows the network: a noised future, and the past, but for 15 % of the items no past at all."""

from dataclasses import replace

import pytest
import torch

from parc.character import humanoid
from parc.generate.data.frame_table import FrameTable
from parc.generate.data.training_windows import WindowSampler, WindowSettings
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.paper_encoder import EncoderSettings
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.generate.training.flat_adamw import AdamSettings
from parc.generate.training.generator_training import TrainSettings
from parc.generate.training.training_objective import PaperObjective
from parc.generate.training.training_step import GeneratorTrainer, StepSettings
from parc.run import distributed

FAST = GeneratorSettings(network=PrefixSettings(width=32, layers=2, heads=2, hidden=32))
PAPER = replace(GeneratorSettings.paper(), network=EncoderSettings(32, 1, 2, 32))
RECIPES = pytest.mark.parametrize(
    ("generator", "step"), [(FAST, StepSettings()), (PAPER, TrainSettings.paper().step)], ids=["fast", "paper"]
)


def make_trainer(generator: GeneratorSettings, step: StepSettings, table: FrameTable) -> GeneratorTrainer:
    torch.manual_seed(0)
    model = Generator(humanoid(), generator)
    for name, weight in model.network.named_parameters():
        if name.endswith("level.bias"):  # gates that begin closed would let nothing of the context through
            torch.nn.init.normal_(weight, std=0.5)
    step = replace(step, statistics_windows=100, own_start=1.0)
    windows = WindowSampler(table, model.layout, generator.grid, WindowSettings())
    trainer = GeneratorTrainer(model, windows, step, distributed.setup("cpu"), seed=0)
    trainer.fit_statistics()
    return trainer


@RECIPES
def test_a_share_of_the_items_does_not_depend_on_the_past(generator: GeneratorSettings, step: StepSettings, table) -> None:
    """Every past is moved far away: predictions of 15 % of 256 items stay as they were, those of all others change."""
    trainer = make_trainer(generator, replace(step, batch=256 // step.levels), table)
    with torch.no_grad():
        noised = trainer._noising(trainer._draw(), None)
        window = noised.window
        answers = [
            trainer._predicting(window.heightmap, window.target, past, noised.noisy, noised.level, noised.sees)
            for past in (noised.past, noised.past.flip(0) + 1.0)
        ]
    change = (answers[1] - answers[0]).flatten(2).abs().amax(-1)
    assert torch.equal(change > 0, noised.shown)
    assert float((change == 0).float().mean()) == pytest.approx(0.15, abs=0.05)


@RECIPES
def test_every_branch_is_noised_by_itself_as_its_level_says(generator: GeneratorSettings, step: StepSettings, table) -> None:
    trainer = make_trainer(generator, replace(step, batch=64, levels=3), table)
    with torch.no_grad():
        window, _, noisy, level, *_ = trainer._noising(trainer._draw(), None)
        clean = trainer.generator.statistics.standardise(window.future).unsqueeze(1).expand_as(noisy)
        schedule = trainer.generator.schedule
        kept = schedule.corrupt(clean, torch.zeros_like(clean), level)
        strength = schedule.corrupt(torch.zeros_like(clean), torch.ones_like(clean), level)
    noise = (noisy - kept) / strength.clamp_min(1e-3)
    assert (strength > 0.05).any() and float(noise[strength > 0.05].std()) == pytest.approx(1, abs=0.02)
    assert float((noise[:, 0] * noise[:, 1]).mean()) == pytest.approx(0, abs=0.02)
    pure = level >= 1
    assert not ((level[:, 0] == level[:, 1]) & ~pure[:, 0]).any(), "levels of one window are drawn apart"
    lowest = level[window.is_random].min()
    assert lowest >= step.random_level and level[~window.is_random].min() < 0.1


@RECIPES
def test_a_step_on_hidden_pasts_alone_does_not_read_them(generator: GeneratorSettings, step: StepSettings, table) -> None:
    """Two trainings that differ in nothing but the noise on their pasts: with every past hidden they are one."""
    step = replace(step, batch=4, levels=2, warm_up=1, adam=AdamSettings(rate=1e-2), objective=PaperObjective())
    ends = {}
    for dropout in (0.0, 1.0):
        for noise in (0.0, 0.5):
            trainer = make_trainer(generator, replace(step, past_dropout=dropout, past_noise=noise), table)
            trainer.step(0.0)
            ends[dropout, noise] = trainer.flat.values.clone()
    assert torch.equal(ends[1.0, 0.0], ends[1.0, 0.5])
    assert not torch.equal(ends[0.0, 0.0], ends[0.0, 0.5])
