import json

from benchmarks.distance_rate import bench_sdf


def test_rates_are_points_over_seconds():
    result = bench_sdf("cpu", seed=0, clips=2, frames=3)
    assert result["points"] == 2 * 3 * 304
    for name in ("exact", "local", "local_gradient"):
        assert abs(result[f"{name}_s"] * result[f"{name}_points_per_s"] - result["points"]) < 1e-3
    assert json.loads(json.dumps(result)) == result
