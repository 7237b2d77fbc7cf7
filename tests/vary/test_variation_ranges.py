import numpy as np
import pytest

from parc.errors import SettingsError
from parc.vary.variation_ranges import Variation, VariationRanges, random_variation


def test_random_variations_are_a_function_of_the_seed() -> None:
    a, b = (random_variation(np.random.default_rng(np.random.SeedSequence([1, 0, 5]))) for _ in range(2))
    assert a == b and 0.5 <= a.rise <= 2.5


def test_heights_are_scaled_no_farther_than_believed() -> None:
    drawn = [random_variation(np.random.default_rng(k), highest_rise=1.3).rise for k in range(200)]
    assert max(drawn) <= 1.3 and max(drawn) > 1.2 and min(drawn) < 0.55


def test_half_of_the_headings_stay_along_the_grid() -> None:
    drawn = [random_variation(np.random.default_rng(k), VariationRanges(aligned=0.5)) for k in range(300)]
    along = np.mean([min(v.yaw % (np.pi / 2), np.pi / 2 - v.yaw % (np.pi / 2)) < 1e-9 for v in drawn])
    assert 0.4 < along < 0.6


def test_steps_are_within_their_range_and_given_up_first() -> None:
    drawn = [random_variation(np.random.default_rng(k), VariationRanges(terraces=(1, 3), step=(0.1, 0.2))) for k in range(200)]
    some = [v.terraces for v in drawn if v.terraces]
    assert 70 < len(some) < 130 and {len(steps) for steps in some} == {1, 2, 3}
    heights = np.array([height for steps in some for _, height in steps])
    assert (np.abs(heights) >= 0.1).all() and (np.abs(heights) <= 0.2).all() and heights.min() < 0 < heights.max()
    mild = next(v for v in drawn if v.terraces and v.leap)
    assert mild.milder(1).terraces == mild.terraces and mild.milder(2).terraces == () and mild.milder(2).leap == 0


def test_named_heights_are_met_and_others_interpolated() -> None:
    v = Variation(levels={0.0: 0.0, 0.8: 1.2})
    np.testing.assert_allclose(v.height(np.array([0.0, 0.4, 0.8, 1.0]), 0.0), [0.0, 0.6, 1.2, 1.4])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"rise": 9.0}, "rise 9"),
        ({"bend": 4.0}, "bend 4"),
        ({"lift": -5.0}, "lift -5"),
        ({"flight": 2.0}, "2.0"),
        ({"leap": 2.0}, "leap of 2"),
        ({"terraces": ((0.5, 0.9),)}, "terraces"),
        ({"terraces": ((1.5, 0.1),)}, "terraces"),
    ],
)
def test_what_cannot_be_is_refused(values: dict[str, float], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        Variation(**values)  # type: ignore[arg-type]
