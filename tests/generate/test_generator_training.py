"""Training: learns, repeats itself, and goes on after a kill as if nothing had happened."""

import dataclasses
import json

import pytest
import torch

from parc.character import humanoid
from parc.cli.main import main
from parc.dataset.convert.clip_files import save_clip
from parc.errors import SettingsError
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.noise_schedule import DdpmSchedule
from parc.generate.model.paper_encoder import EncoderSettings
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.generate.rollout.window_step import WindowStart
from parc.generate.training.flat_adamw import AdamSettings, FlatParameters
from parc.generate.training.generator_training import (
    CHECKPOINT_FILE,
    GENERATOR_FILE,
    METRICS_FILE,
    TrainSettings,
    make_trainer,
    run_training,
    train_generator,
)
from parc.generate.training.training_objective import PaperObjective
from parc.generate.training.training_step import GeneratorTrainer, StepSettings, last_two
from parc.run import distributed
from parc.run.checkpoint import load_checkpoint
from parc.run.compile_traced import TracedFunction
from parc.run.metrics_log import read_metrics

TINY = GeneratorSettings(network=PrefixSettings(width=32, layers=1, heads=2, hidden=64))
STEP = StepSettings(
    batch=6, levels=2, warm_up=5, own_start=0.5, own_windows=1, statistics_windows=200, adam=AdamSettings(rate=2e-3)
)


def tiny_run(steps: int, **changes) -> TrainSettings:
    return TrainSettings(**{"steps": steps, "generator": TINY, "step": STEP, "log_steps": 1, **changes})


def test_own_rollouts_that_hover_fall(windows, monkeypatch):
    """A past 1 m above the ground and a plan that stays there: only with the repair is it left lower, and by free fall."""
    ends = {}
    for repairs in (False, True):
        step = dataclasses.replace(STEP, own_repair=repairs, own_share=1.0)
        trainer = GeneratorTrainer(Generator(humanoid(), TINY), windows, step, distributed.setup("cpu"), seed=0)
        trainer.fit_statistics()
        drawn = windows.pick(step.batch, torch.Generator().manual_seed(1), 0.0)
        past = drawn.state.narrow(0, 2)
        past = past._replace(root_pos=past.root_pos[:, -1:].expand(-1, 2, -1) + torch.tensor([0.0, 0.0, 1.0]))
        past = past._replace(joint_rot=past.joint_rot[:, -1:].expand(-1, 2, -1, -1, -1))
        past = past._replace(root_rot=past.root_rot[:, -1:].expand(-1, 2, -1, -1))
        window = trainer._own_window
        plan = window.generator.mean.expand(step.batch, window.generator.settings.future, -1)
        monkeypatch.setattr(window.generator, "denoise_window", lambda *_, plan=plan: plan)
        start = WindowStart(past, past.body_pose(humanoid()), torch.ones(()), drawn.patch, drawn.goal)
        frames, pose = window(start, None, torch.zeros(0), torch.zeros(0), [])
        ends[repairs], _ = last_two(frames, pose)
    fallen = (ends[False].root_pos - ends[True].root_pos)[:, -1, 2]
    assert float(fallen.min()) > 0.5 * (1 - 0.31) * 9.81 * (6 / 30) ** 2
    assert float(fallen.max()) < 1.1


def test_a_trainer_used_again_trains_as_a_new_one_and_compiles_nothing_again(walk, tmp_path):
    other = dataclasses.replace(walk, name="other", motion=walk.motion.slice(5, 50))
    first = tiny_run(3)
    on = tiny_run(4, seed=3, step=dataclasses.replace(STEP, own_start=0.0, adam=dataclasses.replace(STEP.adam, rate=1e-3)))
    for fused in (False, True):
        used = make_trainer(first, [walk], humanoid())
        if fused:
            used.fuse("aot_eager")
        init = tmp_path / f"first{fused}"
        run_training(used, first, init)
        file = init / GENERATOR_FILE
        pieces = (used._noising, used._judging, used._own_window._describing, used._own_window._repairing)
        before = [len(piece._runs) for piece in pieces if isinstance(piece, TracedFunction)]
        again = make_trainer(on, [walk, other], humanoid(), init=file, used=used)
        assert again is used
        run_training(again, on, tmp_path / f"again{fused}")
        new = train_generator(on, [walk, other], tmp_path / f"new{fused}", humanoid(), init=file)
        assert [len(piece._runs) for piece in pieces if fused] == before
        for a, b in zip(again.averaged().network.parameters(), new.network.parameters(), strict=True):
            torch.testing.assert_close(a, b, atol=1e-5 if fused else 0, rtol=0)
    assert (tmp_path / "againFalse" / GENERATOR_FILE).read_bytes() == (tmp_path / "newFalse" / GENERATOR_FILE).read_bytes()
    with pytest.raises(SettingsError, match="other settings"):
        make_trainer(tiny_run(2, step=dataclasses.replace(STEP, batch=7)), [walk], humanoid(), used=used)


def test_overfits_one_clip(walk, tmp_path):
    step = dataclasses.replace(STEP, batch=12, own_start=1.0, warm_up=10, adam=AdamSettings(rate=4e-3, average=0.95))
    network = PrefixSettings(width=64, layers=1, heads=2, hidden=128)
    settings = tiny_run(70, step=step, generator=GeneratorSettings(network=network))
    short = dataclasses.replace(walk, motion=walk.motion.slice(0, 40))
    train_generator(settings, [short], tmp_path, humanoid())
    total = [row["total"] for row in read_metrics(tmp_path / METRICS_FILE)]
    assert sum(total[-10:]) / 10 < 0.2 * sum(total[:3]) / 3


def test_resume_equals_uninterrupted(walk, tmp_path):
    settings = tiny_run(5)
    whole = train_generator(settings, [walk], tmp_path / "whole", humanoid())
    train_generator(settings, [walk], tmp_path / "cut", humanoid(), stop_after=2)
    assert load_checkpoint(tmp_path / "cut" / CHECKPOINT_FILE)[1]["steps"] == 2
    train_generator(settings, [walk], tmp_path / "cut", humanoid(), stop_after=2)
    resumed = train_generator(settings, [walk], tmp_path / "cut", humanoid())
    for a, b in zip(whole.network.parameters(), resumed.network.parameters(), strict=True):
        assert torch.equal(a, b)
    one, two = (load_checkpoint(tmp_path / d / CHECKPOINT_FILE)[0] for d in ("whole", "cut"))
    assert one.keys() == two.keys() and all(torch.equal(one[k], two[k]) for k in one)


def test_finished_run_does_nothing_and_other_settings_are_refused(walk, tmp_path):
    train_generator(tiny_run(2), [walk], tmp_path, humanoid())
    lines = len(read_metrics(tmp_path / METRICS_FILE))
    train_generator(tiny_run(2), [walk], tmp_path, humanoid())
    assert len(read_metrics(tmp_path / METRICS_FILE)) == lines
    with pytest.raises(SettingsError, match="other settings"):
        train_generator(tiny_run(2, seed=7), [walk], tmp_path, humanoid())


def test_what_is_saved_is_the_average(walk, tmp_path):
    returned = train_generator(tiny_run(3), [walk], tmp_path, humanoid())
    loaded = Generator.load(tmp_path / GENERATOR_FILE, humanoid())
    raw = load_checkpoint(tmp_path / CHECKPOINT_FILE)[0]
    assert not torch.equal(raw["values"], raw["average"])
    for a, b in zip(returned.network.parameters(), loaded.network.parameters(), strict=True):
        torch.testing.assert_close(a, b)
    torch.testing.assert_close(loaded.mean, raw["mean"])


def test_init_starts_from_other_weights(walk, tmp_path):
    first = train_generator(tiny_run(2), [walk], tmp_path / "a", humanoid())
    frozen = dataclasses.replace(STEP, adam=AdamSettings(rate=0.0))
    second = train_generator(tiny_run(1, step=frozen), [walk], tmp_path / "b", humanoid(), init=tmp_path / "a" / GENERATOR_FILE)
    for a, b in zip(first.network.parameters(), second.network.parameters(), strict=True):
        torch.testing.assert_close(a, b)
    torch.testing.assert_close(first.mean, second.mean)


def test_the_average_of_a_warm_start_begins_at_its_weights(walk, tmp_path):
    """After a step it has gone a thousandth of the way, and a run from the same weights goes on after a kill as ever."""
    first = train_generator(tiny_run(2), [walk], tmp_path / "a", humanoid())
    start = torch.cat([p.detach().flatten() for p in first.network.parameters()])
    second = train_generator(tiny_run(3), [walk], tmp_path / "b", humanoid(), init=first, stop_after=1)
    raw = load_checkpoint(tmp_path / "b" / CHECKPOINT_FILE)[0]
    now, average = (torch.cat([p.flatten() for p in parameters(raw[name])]) for name in ("values", "average"))
    assert (now - start).abs().max() > 1e-4
    torch.testing.assert_close(average - start, 1e-3 * (now - start), atol=2e-7, rtol=0)
    torch.testing.assert_close(torch.cat([p.detach().flatten() for p in second.network.parameters()]), average)
    resumed = train_generator(tiny_run(3), [walk], tmp_path / "b", humanoid(), init=first)
    whole = train_generator(tiny_run(3), [walk], tmp_path / "c", humanoid(), init=first)
    for a, b in zip(resumed.network.parameters(), whole.network.parameters(), strict=True):
        assert torch.equal(a, b)


def parameters(values: torch.Tensor) -> list[torch.Tensor]:
    """Of a vector of all weights, by parameter."""
    module = Generator(humanoid(), TINY).network
    flat = FlatParameters(module, with_gradients=False)
    flat.values.copy_(values)
    return [p.detach() for p in module.parameters()]


def test_rate_of_a_training(walk, tmp_path):
    settings = tiny_run(5)
    step = dataclasses.replace(settings.step, adam=dataclasses.replace(settings.step.adam, rate=3e-4))
    train_generator(dataclasses.replace(settings, step=step), [walk], tmp_path / "out", humanoid())
    rates = [row["rate"] for row in read_metrics(tmp_path / "out" / METRICS_FILE)]
    assert rates[0] == pytest.approx(3e-4 / STEP.warm_up, rel=1e-3) and max(rates) < 3e-4


def test_only_the_first_rows_are_rolled_out(walk, windows):
    step = dataclasses.replace(STEP, batch=8, own_share=0.5, own_distance=1e3)
    trainer = GeneratorTrainer(Generator(humanoid(), TINY), windows, step, distributed.setup("cpu"), seed=0)
    trainer.fit_statistics()
    with torch.no_grad():
        drawn = windows.draw(8, trainer.random)._replace(first=windows.table.clip_start[torch.zeros(8, dtype=torch.long)] + 40)
        drawn = drawn._replace(clip=torch.zeros(8, dtype=torch.long), is_random=torch.arange(8) == 0)
        drawn = drawn._replace(state=windows.table.at(drawn.first[:, None] + torch.arange(15)))
        past = trainer._own_past(drawn)
    moved = (past.root_pos - drawn.state.root_pos[:, :2]).norm(dim=-1).amax(-1) > 1e-4
    assert moved.tolist() == [False, True, True, True, False, False, False, False]


def test_paper_recipe_trains(walk, tmp_path):
    recipe = TrainSettings.paper(steps=2)
    assert recipe.step.objective == PaperObjective() and recipe.step.batch == 64
    small = GeneratorSettings(network=EncoderSettings(32, 1, 2, 32), schedule=DdpmSchedule(21, 5), encoding="exp")
    settings = dataclasses.replace(recipe, generator=small, step=dataclasses.replace(recipe.step, batch=8), log_steps=1)
    train_generator(settings, [walk], tmp_path, humanoid())
    rows = read_metrics(tmp_path / METRICS_FILE)
    assert len(rows) == 2 and rows[-1]["skipped"] == 0 and rows[-1]["penetration"] is not None


def test_dropout_of_a_resumed_run_is_that_of_one_that_was_never_stopped(walk, tmp_path):
    recipe = TrainSettings.paper(steps=4)
    assert recipe.generator.network.dropout == 0.1
    weights = {}
    for dropout in (0.1, 0.0):
        small = GeneratorSettings(EncoderSettings(32, 1, 2, 32, dropout), DdpmSchedule(21, 5), "exp")
        step = dataclasses.replace(recipe.step, batch=6, statistics_windows=100)
        settings = dataclasses.replace(recipe, generator=small, step=step, log_steps=1)
        whole = train_generator(settings, [walk], tmp_path / f"whole{dropout}", humanoid())
        train_generator(settings, [walk], tmp_path / f"cut{dropout}", humanoid(), stop_after=2)
        torch.rand(5)  # another use of torch's own stream in between
        train_generator(settings, [walk], tmp_path / f"cut{dropout}", humanoid())
        files = [(tmp_path / f"{name}{dropout}" / GENERATOR_FILE).read_bytes() for name in ("whole", "cut")]
        assert files[0] == files[1]
        weights[dropout] = torch.cat([p.detach().flatten() for p in whole.network.parameters()])
    assert not torch.equal(weights[0.1], weights[0.0])


def test_the_papers_weights_are_the_last_ones_and_its_gradients_are_not_shortened(walk, tmp_path):
    recipe = TrainSettings.paper(steps=2)
    small = GeneratorSettings(EncoderSettings(32, 1, 2, 32), DdpmSchedule(21, 5), "exp")
    step = dataclasses.replace(recipe.step, batch=6, statistics_windows=100)
    settings = dataclasses.replace(recipe, generator=small, step=step)
    trainer = make_trainer(settings, [walk], humanoid())
    reference = torch.optim.AdamW([trainer.flat.values.clone().requires_grad_()], lr=1e-5, weight_decay=0.0)
    for _ in range(2):
        trainer.step(0.0)
        reference.param_groups[0]["params"][0].grad = trainer.flat.grads.clone()
        reference.step()
    assert float(trainer.optimiser.norm) > 1.0, "or there is nothing to shorten"
    assert torch.equal(trainer.optimiser.average, trainer.flat.values)
    decay = 2 * 1e-5 * 0.01 * float(trainer.flat.values.abs().max())
    torch.testing.assert_close(trainer.flat.values, reference.param_groups[0]["params"][0].detach(), atol=1e-7 + decay, rtol=0)


def test_command_line(walk, tmp_path, capsys):
    (tmp_path / "clips").mkdir()
    save_clip(walk, tmp_path / "clips" / "walk.motion")
    small = ["--generator.network.width", "32", "--generator.network.layers", "1", "--generator.network.hidden", "32"]
    budget = ["--device", "cpu", "--steps", "1", "--step.batch", "4", "--step.statistics-windows", "100", "--json"]
    out = ["-o", str(tmp_path / "out")]
    assert main(["train-generator", str(tmp_path / "clips"), *out, *budget, *small]) == 0
    file = json.loads(capsys.readouterr().out.splitlines()[-1])["generator"]
    assert Generator.load(file, humanoid()).settings.network.width == 32
    assert main(["train-generator", str(tmp_path / "none"), *out, *budget, *small]) == 2
    assert "none" in capsys.readouterr().err


def test_a_step_in_recorded_pieces_is_the_step(windows):
    """Drawing, noising, network, objective, update and own rollouts, recorded as for compilation and run as recorded."""
    values = []
    for recorded in (False, True):
        torch.manual_seed(0)
        trainer = GeneratorTrainer(
            Generator(humanoid(), TINY), windows, dataclasses.replace(STEP, own_start=0.0), distributed.setup("cpu"), seed=0
        )
        trainer.fit_statistics()
        if recorded:
            trainer.fuse(backend="eager")
        for _ in range(2):
            trainer.step(0.5)
        pieces = (trainer._changing, trainer._noising, trainer._judging)
        assert all(isinstance(p, TracedFunction) and p.is_compiled for p in pieces) == recorded
        assert trainer._own_window.is_compiled == recorded
        values.append((trainer.flat.values.clone(), trainer.parts.clone()))
    torch.testing.assert_close(values[1], values[0])
