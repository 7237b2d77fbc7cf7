"""Profiles name rows of one table, and one comparison says in a sentence what is over a limit."""

import math
from dataclasses import fields, replace

import pytest
import torch

from parc.character import humanoid
from parc.dataset import Dataset
from parc.errors import SettingsError
from parc.metrics.clip_batch import ClipBatch
from parc.models import shipped_motions
from parc.quality import MEASURES, PROFILES, AuthoredLimits, ClipQuality, Limits, MocapLimits, RecordingLimits, fault
from parc.quality.measure_clip import worst_frames


@pytest.mark.parametrize("limits", PROFILES.values(), ids=PROFILES)
def test_every_limit_of_a_profile_is_met_from_both_sides(limits: Limits) -> None:
    """Values at their limits pass; a value beyond one is the one fault, and its sentence names measure, unit and limit."""
    judged = {name: measure for name, measure in limits.measures.items() if name in {f.name for f in fields(limits)}}
    assert judged
    at_limit = dict.fromkeys(limits.measures.values(), 0.0) | {m: float(getattr(limits, name)) for name, m in judged.items()}
    assert limits.faults(at_limit) == ()
    for name, measure in judged.items():
        row, limit = MEASURES[measure], float(getattr(limits, name))
        beyond = limit - 1e-3 if row.is_least else limit + 1e-3
        (sentence,) = limits.faults(at_limit | {measure: beyond}, {measure: 7})
        assert sentence.startswith(f"{measure} is ") and f"{limit:g} is the {'least' if row.is_least else 'limit'}" in sentence
        assert row.unit in sentence and "at frame 7" in sentence


def test_a_measure_without_meaning_passes_only_where_it_may() -> None:
    for limits, passes in ((MocapLimits(), True), (AuthoredLimits(), False)):
        values = dict.fromkeys(limits.measures.values(), math.nan) | {"seconds": 1.0}
        assert (limits.faults(values) == ()) == passes
    assert fault("ballistic", math.nan, 1.0) is None and "nan" in (fault("ballistic", math.nan, 1.0, nan_passes=False) or "")


def test_recording_anything_refuses_nothing_and_a_limit_is_a_number() -> None:
    worst = {m: -1e9 if MEASURES[m].is_least else 1e9 for m in RecordingLimits.measures.values()}
    assert len(RecordingLimits().faults(worst)) == 6 and RecordingLimits.anything().faults(worst) == ()
    with pytest.raises(SettingsError, match=r"MocapLimits\.feet is nan"):
        MocapLimits(feet=math.nan)


def test_what_is_stored_has_the_names_of_the_profile() -> None:
    quality = ClipQuality(
        {m: float(k) for k, m in enumerate(MocapLimits.measures.values())} | {"ballistic": math.nan}, MocapLimits
    )
    assert quality["penetration"] == quality.values["pen_mm"] == quality.named["penetration"]
    losses = quality.as_losses()
    assert "mocap_penetration" in losses and "mocap_ballistic" not in losses and len(losses) == len(MocapLimits.measures) - 1


def test_the_worst_frame_is_the_one_that_was_made_bad() -> None:
    """A root that jumps by 0.5 m between frames 19 and 20, and a body 0.3 m lower at frame 8."""
    folder = shipped_motions()
    assert folder is not None
    clip = next(c for c in Dataset.open(folder, humanoid()) if len(c.motion) > 40)
    pos = clip.motion.root_pos.clone()
    pos[20:, 1] += 0.5
    pos[8, 2] -= 0.3
    found = worst_frames(ClipBatch.stack([clip, replace(clip, motion=replace(clip.motion, root_pos=pos))], humanoid()))
    assert found["root_step"][1][1] == 19 and found["root_step"][0][1] == pytest.approx(0.5, abs=0.2)
    assert found["terrain_depth"][0][1] > found["terrain_depth"][0][0] and torch.tensor(found["root_step"][0]).argmax() == 1
