"""Students: they learn what their teacher makes of the same noise, and sample as they were trained."""

from dataclasses import replace

import pytest
import torch

from parc.character import humanoid
from parc.cli.main import main
from parc.dataset.convert.clip_files import save_clip
from parc.errors import SettingsError
from parc.generate.data.training_windows import WindowSampler, WindowSettings
from parc.generate.model.blended_denoising import Blend
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.noise_schedule import FlowSchedule
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.generate.training.flat_adamw import AdamSettings
from parc.generate.training.generator_training import GENERATOR_FILE, METRICS_FILE, TrainSettings, train_generator
from parc.generate.training.student_step import StudentSettings, StudentTrainer
from parc.generate.training.training_step import StepSettings
from parc.run import distributed
from parc.run.metrics_log import read_metrics

NETWORK = PrefixSettings(width=32, layers=2, heads=2, hidden=64)
STEP = StepSettings(batch=8, past_noise=0.0, own_start=1.0, past_dropout=0.25, warm_up=2, adam=AdamSettings(rate=5e-3))
"""2 of the 8 windows of a step hide their past"""


@pytest.fixture
def teacher(table) -> Generator:
    """Untrained, with gates that are open and statistics of a walk."""
    torch.manual_seed(3)
    generator = Generator(humanoid(), GeneratorSettings(network=NETWORK))
    for name, weight in generator.network.named_parameters():
        if name.endswith("level.bias"):
            torch.nn.init.normal_(weight, std=0.5)
    windows = WindowSampler(table, generator.layout, generator.settings.grid, WindowSettings())
    window = windows.assemble(windows.draw(300, torch.Generator().manual_seed(0), augment=False))
    features = torch.cat([window.past, window.future], 1).flatten(0, 1)
    generator.mean.copy_(features.mean(0))
    generator.std.copy_(features.std(0).clamp_min(0.05))
    return generator.eval()


def student_trainer(teacher: Generator, table, how: StudentSettings, step: StepSettings = STEP) -> StudentTrainer:
    student = Generator(humanoid(), how.generator(teacher.settings), teacher.statistics)
    student.begin_from(teacher)
    windows = WindowSampler(table, student.layout, student.settings.grid, WindowSettings())
    return StudentTrainer(student, teacher, how, windows, step, distributed.setup("cpu"), seed=0)


def a_lesson(trainer: StudentTrainer):
    """Windows with the teacher's answers, and the student's estimates."""
    with torch.no_grad():
        noised = trainer._teach(trainer._noising(trainer._draw(), None))
        w = noised.window
        return noised, trainer._predicting(w.heightmap, w.target, noised.past, noised.noisy, noised.level, noised.sees)


def test_the_answers_are_the_teachers_windows(teacher, table) -> None:
    """Row by row as a rollout would sample them: blended after a past, in one branch at the start of a motion."""
    trainer = student_trainer(teacher, table, StudentSettings(2, Blend(0.8, 0.1, 0.6)))
    noised, _ = a_lesson(trainer)
    window, past = noised.window, teacher.statistics.restore(noised.past)
    assert not window.is_random.any() and noised.shown[:, 0].tolist() == [True] * 6 + [False] * 2
    labels = teacher.layout.slices["contacts"]
    for row in (0, 3, 7):
        one = slice(row, row + 1)
        known = past[one] if row < 6 else None
        expected = teacher.sample_window(
            known, window.heightmap[one], window.target[one], noised.noisy[one, 0], Blend(0.8, 0.1, 0.6)
        )
        expected[..., labels] = expected[..., labels].clamp(0, 1)
        torch.testing.assert_close(window.future[one], expected, atol=1e-4, rtol=1e-4)


def test_a_student_is_judged_by_what_it_would_sample(teacher, table) -> None:
    """Its last step's estimate is its window, whatever blend is asked for."""
    trainer = student_trainer(teacher, table, StudentSettings(3))
    noised, estimates = a_lesson(trainer)
    student, window = trainer.generator.eval(), noised.window
    past = student.statistics.restore(noised.past)
    for row in (0, 7):
        one = slice(row, row + 1)
        known = past[one] if row < 6 else None
        for blend in (Blend(), Blend.constant(0.65)):
            sampled = student.sample_window(known, window.heightmap[one], window.target[one], noised.noisy[one, 0], blend)
            torch.testing.assert_close(student.statistics.restore(estimates[one, 0]), sampled, atol=1e-4, rtol=1e-4)
    assert estimates.shape[1] == 3 and not torch.allclose(estimates[:, 0], estimates[:, 2], atol=1e-3)


def test_a_student_of_an_equal_student_has_nothing_to_learn(teacher, table) -> None:
    first = student_trainer(teacher, table, StudentSettings(2)).generator
    trainer = student_trainer(first, table, StudentSettings(2))
    noised, estimates = a_lesson(trainer)
    window = noised.window
    wanted = trainer.generator.statistics.standardise(window.future)
    contacts = trainer.generator.layout.slices["contacts"].start
    torch.testing.assert_close(estimates[:, 0, :, :contacts], wanted[..., :contacts], atol=1e-4, rtol=1e-4)
    _, parts = trainer._judging(window, estimates, noised.level, noised.shown)
    _, before = a_lesson(student_trainer(teacher, table, StudentSettings(2)))
    assert trainer._after[0].tolist() == [0.0, 0.5] and parts.isfinite().all() and before.shape == estimates.shape


def test_it_learns_and_goes_on_after_a_stop_as_if_there_had_been_none(teacher, walk, tmp_path) -> None:
    settings = TrainSettings(steps=12, step=replace(STEP, batch=4), log_steps=1)
    how = StudentSettings(1)
    whole = train_generator(settings, [walk], tmp_path / "whole", humanoid(), teacher=teacher, student=how)
    rows = [row["reconstruction"] for row in read_metrics(tmp_path / "whole" / METRICS_FILE)]
    assert sum(rows[-4:]) < 0.92 * sum(rows[:4])
    assert whole.settings.one_branch and whole.schedule == FlowSchedule(1) and whole.settings.network == NETWORK
    assert torch.equal(whole.mean, teacher.mean)
    train_generator(settings, [walk], tmp_path / "cut", humanoid(), stop_after=5, teacher=teacher, student=how)
    train_generator(settings, [walk], tmp_path / "cut", humanoid(), teacher=teacher, student=how)
    files = [(tmp_path / name / GENERATOR_FILE).read_bytes() for name in ("whole", "cut")]
    assert files[0] == files[1]
    with torch.no_grad():
        teacher.network.frame_out.bias.add_(0.1)
    for other in ({"teacher": teacher, "student": how}, {"teacher": whole, "student": how}, {}):
        with pytest.raises(SettingsError, match="other settings"):
            train_generator(settings, [walk], tmp_path / "cut", humanoid(), **other)


def test_own_rollouts_of_a_student_take_its_steps_in_its_branch(teacher, table) -> None:
    trainer = student_trainer(teacher, table, StudentSettings(2), replace(STEP, own_start=0.0, own_steps=4))
    assert len(trainer._own_window.plan) == 2 and trainer._own_blend.tolist() == [0.0, 0.0]
    trainer.step(0.5)
    assert trainer.rolls_out and trainer.parts.isfinite().all()


def test_command_line(teacher, walk, tmp_path, capsys) -> None:
    (tmp_path / "clips").mkdir()
    save_clip(walk, tmp_path / "clips" / "walk.motion")
    teacher.save(tmp_path / "teacher.safetensors")
    words = ["train-generator", str(tmp_path / "clips"), "-o", str(tmp_path / "out"), "--device", "cpu", "--steps", "1"]
    words += ["--step.batch", "4", "--student-of", str(tmp_path / "teacher.safetensors"), "--student.steps"]
    assert main([*words, "1"]) == 0
    made = Generator.load(tmp_path / "out" / GENERATOR_FILE, humanoid())
    assert made.settings.one_branch and made.schedule == FlowSchedule(1)
    assert main([*words, "0"]) == 2
    assert "expected 1 to 8" in capsys.readouterr().err
