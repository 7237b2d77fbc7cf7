"""The bench of closed-loop training names its parts."""

from dataclasses import replace

from benchmarks.closed_loop_rate import bench_closed_loop

from parc.dataset.clip import Clip
from parc.reflex.reflex_settings import ReflexTrainingSettings


def test_parts_are_measured(closed: ReflexTrainingSettings, walk: Clip) -> None:
    brief = replace(closed, every=(2,), ppo=replace(closed.ppo, steps=2, epochs=1, minibatch=8))
    found = bench_closed_loop([walk], brief, worlds=4, repeats=1, iterations=1, threads=1)
    parts = ("act", "before", "physics", "judge", "turn", "show", "crossing_step", "clips", "update")
    assert found["worlds"] == 4 and found["plans_a_step"] == 1
    assert all(found[part] > 0 for part in parts) and found["samples_per_second"] > 0
