import numpy as np
import pytest

from parc.vary.retime_flights import ballistic_shift, flight_factor, new_times

G = 9.81


def test_a_flight_that_changes_nothing_takes_its_time() -> None:
    for seconds, rise in ((0.5, 0.0), (0.4, -1.0), (0.6, 0.5)):
        assert flight_factor(seconds, rise, rise) == pytest.approx(1.0)


@pytest.mark.parametrize(("speed", "drop", "deeper"), [(2.0, 0.5, 1.5), (0.0, 0.4, 0.9), (-0.5, 0.6, 1.2), (1.0, 1.0, 0.4)])
def test_a_deeper_fall_takes_as_long_as_it_falls(speed: float, drop: float, deeper: float) -> None:
    """Left at the same speed: z(t) = v t - g t^2 / 2 reaches the new depth."""
    seconds = (speed + np.sqrt(speed**2 + 2 * G * drop)) / G
    time = seconds * flight_factor(seconds, -drop, -deeper)
    assert speed * time - 0.5 * G * time**2 == pytest.approx(-deeper, abs=1e-9)


def test_a_higher_jump_lands_as_fast_as_before() -> None:
    up, rise, higher = 3.5, 0.4, 0.6
    seconds = (up + np.sqrt(up**2 - 2 * G * rise)) / G
    time = seconds * flight_factor(seconds, rise, higher)
    landing = higher / time - 0.5 * G * time
    assert landing == pytest.approx(up - G * seconds)


def test_a_higher_hurdle_is_cleared_by_as_much() -> None:
    up, grows = 3.0, 0.3
    seconds = 2 * up / G
    time = seconds * flight_factor(seconds, 0.0, 0.0, hurdle=grows)
    assert G * time**2 / 8 == pytest.approx(up**2 / (2 * G) + grows)


def test_a_wider_gap_is_flown_faster_and_longer() -> None:
    assert flight_factor(0.5, 0.0, 0.0, reach=1.44) == pytest.approx(1.2)


def test_only_flights_change_their_time() -> None:
    times = new_times(60, [(20, 30)], [1.5])
    steps = np.diff(times)
    np.testing.assert_allclose(steps[:17], 1.0)
    np.testing.assert_allclose(steps[32:], 1.0)
    assert times[-1] == pytest.approx(59 + 0.5 * 11)


def test_shifted_heights_fall_freely_in_flight_alone() -> None:
    fps = 30.0
    height = 1 + 0.01 * np.cumsum(np.random.default_rng(0).normal(size=60))
    inside, trunk = ballistic_shift(height, [(20, 35)], fps)
    np.testing.assert_allclose(np.diff((height + trunk)[19:36], 2) * fps**2, -G, atol=1e-6)
    np.testing.assert_allclose(np.diff((height + inside)[19:36], 2) * fps**2, -G, atol=1e-6)
    assert abs(inside[19]) < 1e-12 and abs(inside[35]) < 1e-12 and not inside[:19].any() and not inside[36:].any()


def test_a_jump_is_prepared_by_going_down_and_its_speed_does_not_come_at_once() -> None:
    _, trunk = ballistic_shift(np.ones(60), [(20, 35)], 30.0)
    speed = np.diff(trunk)
    assert trunk[10:19].min() < -0.02 and not trunk[:11].any()
    take_off = speed[19]
    assert speed[18] > 0.4 * take_off > 0
