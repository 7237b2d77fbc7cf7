"""With the exact posterior mean as the network, both samplers must give back the distribution it belongs to."""

import pytest
import torch

from parc.errors import SettingsError
from parc.generate.model.blended_denoising import PAPER_BLEND, Blend, blend_branches, unevenness
from parc.generate.model.noise_schedule import DdpmSchedule, FlowSchedule, advance, sample
from parc.terrain.heightmap import HeightmapGrid, grid_points

SCHEDULES = [FlowSchedule(200), DdpmSchedule(1000, 5)]


def gains(schedule, level: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(of the data, of the noise) at a level, read off `corrupt`."""
    one, zero = torch.ones(1, 1), torch.zeros(1, 1)
    return schedule.corrupt(one, zero, level).squeeze(), schedule.corrupt(zero, one, level).squeeze()


def posterior_mean(x, a, b, means, spread):
    """E[x0 | a x0 + b e = x] for an even mixture of normals with the given means and one spread."""
    means = torch.tensor(means)
    variance = a**2 * spread**2 + b**2
    log_weight = -0.5 * (x.unsqueeze(-1) - a * means).square() / variance
    weight = torch.softmax(log_weight, -1)
    each = means + a * spread**2 / variance * (x.unsqueeze(-1) - a * means)
    return (weight * each).sum(-1)


def draw(schedule, means, spread, count=20000):
    plan = schedule.plan(torch.device("cpu"))
    levels = plan.levels

    def step(x, i, data_gain, state_gain):
        a, b = gains(schedule, levels[i])
        return advance(x, posterior_mean(x, a, b, means, spread), data_gain, state_gain)

    return sample(plan, torch.randn(count, generator=torch.Generator().manual_seed(0)), step)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=["flow", "ddpm"])
def test_recovers_a_gaussian(schedule):
    x = draw(schedule, [0.7], 0.4)
    assert abs(float(x.mean()) - 0.7) < 0.01
    assert abs(float(x.std()) - 0.4) < 0.015


@pytest.mark.parametrize("schedule", SCHEDULES, ids=["flow", "ddpm"])
def test_recovers_two_modes(schedule):
    x = draw(schedule, [-1.0, 1.0], 0.1)
    right = x[x > 0]
    assert abs(len(right) / len(x) - 0.5) < 0.02
    assert abs(float(right.mean()) - 1.0) < 0.02
    assert abs(float(right.std()) - 0.1) < 0.02
    assert float((x.abs() < 0.5).float().mean()) < 0.01


def test_ddim_step_is_the_papers_equation():
    schedule = DdpmSchedule(100, 7)
    plan = schedule.plan(torch.device("cpu"))
    i = 3
    k = 100 - 7 * i
    now, after = (schedule.alpha_bar(torch.tensor([j / 100]))[0].double() for j in (k, k - 7))
    x, clean = 0.3, -0.8
    by_hand = (after.sqrt() - now.sqrt() * (1 - after).sqrt() / (1 - now).sqrt()) * clean + (1 - after).sqrt() / (
        1 - now
    ).sqrt() * x
    assert float(plan.levels[i]) == pytest.approx(k / 100)
    assert float(plan.data_gain[i] * clean + plan.state_gain[i] * x) == pytest.approx(float(by_hand), abs=1e-5)


def test_the_noise_is_the_cosine_schedules():
    """abar_k = f(k) / f(0), f(k) = cos^2(pi/2 (k/K + 0.008) / 1.008): Nichol and Dhariwal's, short of the last steps."""
    schedule = DdpmSchedule()
    k = torch.tensor([0, 1, 100, 500, 900, 990])
    f = torch.cos(torch.pi / 2 * (k.double() / 1001 + 0.008) / 1.008).square()
    expected = f / torch.cos(torch.tensor(torch.pi / 2 * 0.008 / 1.008, dtype=torch.float64)).square()
    torch.testing.assert_close(schedule.alpha_bar(k / 1001).double(), expected, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize(("steps", "stride", "expected"), [(1001, 5, 201), (21, 5, 5), (10, 10, 1)])
def test_number_of_steps(steps, stride, expected):
    plan = DdpmSchedule(steps, stride).plan(torch.device("cpu"))
    assert len(plan) == expected
    assert float(plan.state_gain[-1]) == pytest.approx(0, abs=1e-6) and float(plan.data_gain[-1]) == pytest.approx(1)


@pytest.mark.parametrize("schedule", [FlowSchedule(4), DdpmSchedule(50, 5)], ids=["flow", "ddpm"])
def test_levels_run_from_noise_to_data(schedule):
    x0, noise = torch.full((1, 1, 1), 2.0), torch.full((1, 1, 1), -3.0)
    assert float(schedule.corrupt(x0, noise, torch.zeros(1))) == pytest.approx(2.0, abs=1e-6)
    assert float(schedule.corrupt(x0, noise, torch.ones(1))) == pytest.approx(-3.0, abs=1e-2)
    level = schedule.draw_levels((5000,), torch.Generator().manual_seed(0), torch.device("cpu"))
    assert level.min() >= 0 and level.max() <= 1 and 0.45 < float(level.mean()) < 0.65


def test_impossible_settings_are_named():
    with pytest.raises(SettingsError, match="0 steps"):
        FlowSchedule(0)
    with pytest.raises(SettingsError, match="stride is 30"):
        DdpmSchedule(21, 30)


def test_blend_coefficients():
    torch.testing.assert_close(Blend().coefficients(5), torch.tensor([1.0, 0.5, 0.0, 0.0, 0.0]))
    torch.testing.assert_close(PAPER_BLEND.coefficients(3), torch.full((3,), 0.65))
    falling = Blend(1.0, 0.0, 1.0).coefficients(8)
    assert float(falling[0]) == 1.0 and (falling.diff() <= 0).all()
    with pytest.raises(SettingsError, match="0"):
        Blend(until=0.0)


def test_the_past_is_ignored_only_where_the_ground_of_the_next_steps_is_uneven_or_the_body_stands():
    grid = HeightmapGrid()
    x, y = grid_points(grid).unbind(-1)
    ahead = 0.3 * ((x > 0.8) & (y.abs() < 0.4)) / 3
    beside = 0.3 * ((y > 0.8) & (x.abs() < 0.4)) / 3
    heights = torch.stack([0 * x, ahead, ahead, beside, 4 * ahead]) - 0.3
    direction = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    torch.testing.assert_close(unevenness(heights, direction, grid), torch.tensor([0.0, 0.3, 0.0, 0.0, 1.2]))
    walks, slows, stands = (torch.tensor([[0.0, 0.0, 0.9], [speed / 30, 0.0, 0.9]]).expand(5, 2, 3) for speed in (1.0, 0.6, 0.0))
    for past, share in ((walks, [0.0, 0.75, 0.0, 0.0, 1.0]), (slows, [0.25, 0.75, 0.25, 0.25, 1.0]), (stands, [1.0] * 5)):
        rows = Blend().row_coefficients(Blend().coefficients(5), past, heights, direction, grid)[:, :, 0, 0]
        torch.testing.assert_close(rows, Blend().coefficients(5)[:, None] * torch.tensor(share))
    assert Blend().mixed(5) == (True, True, False, False, False) and PAPER_BLEND.uneven == 0
    assert Blend(uneven=0.0).mixed(5) == (False, True, False, False, False)
    with pytest.raises(SettingsError, match="level ground"):
        Blend(level=0.5)
    with pytest.raises(SettingsError, match="slow is up to"):
        Blend(slow=0.9)


def test_blend_is_the_papers_formula():
    without, with_past = torch.tensor([1.0]), torch.tensor([3.0])
    assert float(blend_branches(without, with_past, torch.tensor(0.65))) == pytest.approx(0.65 * 1 + 0.35 * 3)
