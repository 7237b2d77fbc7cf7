"""Table 1's protocol: a short limit is the beginning of a long one, means are means, and the best motion is the best."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from parc.correct.select_candidates import select
from parc.dataset.clip import Clip, Provenance
from parc.errors import SettingsError
from parc.evaluate.generator_measurement import (
    BLENDS,
    GeneratorTest,
    best_motions,
    cut_short,
    evaluate_generator,
    evaluate_group,
    groups_of,
    join,
    measure_rows,
    summarise,
)
from parc.generate.rollout.path_rollout import RolloutSettings, roll_out
from parc.metrics import ClipBatch, measure_clips

TEST = GeneratorTest(candidates=2, rollout=RolloutSettings(seconds=1.0, steps=2), terrains_at_once=2)


def rolled(generator, cases, seconds: float, candidates: int = 2):
    settings = replace(TEST.rollout, seconds=seconds)
    return roll_out(generator, [c.terrain for c in cases], [c.path for c in cases], candidates, settings, seed=5)


def test_a_short_limit_is_the_beginning_of_a_long_one(generator, cases) -> None:
    for whole in (rolled(generator, cases, 1.5), _with_arrivals(rolled(generator, cases, 1.5))):
        cut = cut_short(whole, 0.5)
        assert cut.frames.max() <= 15
        torch.testing.assert_close(cut.frames, whole.frames.clamp_max(15))
        assert bool((cut.reached <= whole.reached).all())
    short = rolled(generator, cases, 0.5)
    cut = cut_short(rolled(generator, cases, 1.5), 0.5)
    assert str(measure_rows(cut, cases, generator, TEST)) == str(measure_rows(short, cases, generator, TEST))


def _with_arrivals(rollouts):
    frames = torch.tensor([10, 15, 16, 45, 45, 45])
    return replace(rollouts, frames=frames, reached=torch.tensor([True, True, True, True, False, False]))


def test_arrival_counts_only_within_the_limit(generator, cases) -> None:
    cut = cut_short(_with_arrivals(rolled(generator, cases, 1.5)), 0.5)
    assert cut.reached.tolist() == [True, True, False, False, False, False]


def test_rows_are_measured_as_single_clips_are(generator, cases) -> None:
    rollouts = rolled(generator, cases, 1.0)
    clips = rollouts.clips([c.terrain for c in cases], [c.path for c in cases], "x", Provenance(), generator.character)
    values = measure_rows(rollouts, cases, generator, TEST)
    for k, single in enumerate(measure_clips(clips, generator.character)):
        for name in ("fwd", "tpl", "tcl", "hjf_code", "foot_skate", "floating", "pen_mm"):
            assert values[name][k] == pytest.approx(single[name], rel=1e-4, abs=1e-5, nan_ok=True), name


def test_means_and_standard_errors_by_hand() -> None:
    summary = summarise({"fwd": [1.0, 3.0, 5.0, 7.0], "skate": [math.nan, 2.0, math.nan, math.nan]}, candidates=2)
    assert summary.mean["fwd"] == 4.0
    assert summary.by_terrain["fwd"] == [2.0, 6.0]
    assert summary.error["fwd"] == pytest.approx(np.std([2, 6], ddof=1) / math.sqrt(2))
    assert summary.mean["skate"] == 2.0
    assert math.isnan(summary.by_terrain["skate"][1])
    assert math.isnan(summary.error["skate"]), "one terrain tells nothing of the spread"


def test_groups_do_not_depend_on_what_comes_after(generator, cases) -> None:
    assert groups_of(cases, TEST) == [range(2), range(2, 3)]
    first = evaluate_group(generator, cases, range(2), TEST)
    alone = evaluate_group(generator, cases[:2], range(2), TEST)
    assert str(first.values) == str(alone.values)
    second = evaluate_group(generator, cases, range(2, 3), TEST)
    assert [c.name for c in first.best + second.best] == ["walks_000", "walks_001", "walks_002"]
    whole = evaluate_generator(generator, cases, TEST)
    joined = summarise(join([first.values[1.0], second.values[1.0]]), TEST.candidates)
    assert whole["fwd"] == joined.mean["fwd"] and whole["motions"] == 6


def test_another_seed_gives_other_motions(generator, cases) -> None:
    one, other = (evaluate_generator(generator, cases[:1], replace(TEST, seed=s)) for s in (1, 2))
    assert one["fwd"] != other["fwd"]
    assert str(one) == str(evaluate_generator(generator, cases[:1], TEST))


def test_the_best_motion_is_the_one_with_the_least_score(generator, cases) -> None:
    test = replace(TEST, candidates=4)
    rollouts = rolled(generator, cases, 1.0, candidates=4)
    chosen = best_motions(rollouts, cases, ["a", "b", "c"], generator, test, Provenance())
    clips = [
        Clip(str(k), m, cases[k // 4].terrain, cases[k // 4].path, generator.character.fingerprint)
        for k, m in enumerate(rollouts.motions())
    ]
    selection = select(ClipBatch.stack(clips, generator.character), rollouts.reached)
    for t, clip in enumerate(chosen):
        row = 4 * t + int(selection.score[4 * t : 4 * t + 4].argmin())
        torch.testing.assert_close(clip.motion.root_pos, clips[row].motion.root_pos)
        assert clip.path is cases[t].path
        assert clip.provenance.losses["selection_penetration"] == pytest.approx(float(selection.penetration[row]), rel=1e-4)


def test_measured_together_or_apart_is_the_same(generator, cases, monkeypatch) -> None:
    rollouts = rolled(generator, cases, 1.0)
    together = summarise(measure_rows(rollouts, cases, generator, TEST), TEST.candidates).mean
    monkeypatch.setattr("parc.evaluate.generator_measurement._FRAMES_AT_ONCE", 40)
    apart = summarise(measure_rows(rollouts, cases, generator, TEST), TEST.candidates).mean
    assert apart == pytest.approx(together, rel=1e-5, nan_ok=True)


def test_the_sweep_has_the_papers_coefficients() -> None:
    constants = {name: b.start for name, b in BLENDS.items() if b.start == b.end}
    assert list(constants.values()) == [0.0, 0.25, 0.5, 0.65, 0.75, 1.0]


@pytest.mark.parametrize("limits", [(0.0,), (-1.0, 10.0), (10.0, 10.0), (math.inf,)])
def test_impossible_limits_are_refused(limits) -> None:
    with pytest.raises(SettingsError, match="time limits"):
        GeneratorTest(limits=limits)
