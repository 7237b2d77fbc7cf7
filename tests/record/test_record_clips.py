"""A data set recorded: less penetration, a true report, the same result after a stop."""

import copy
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.dataset_store import Dataset, DatasetWriter
from parc.errors import DatasetError, SettingsError
from parc.metrics.clip_measures import measure_clips
from parc.quality.limit_profiles import RecordingLimits
from parc.record.record_clips import RecordSettings, _outcome, record_dataset, record_unit
from parc.record.record_report import ClipOutcome, RecordReport
from parc.record.tracking_attempts import AttemptSettings
from parc.track.follow.runner import Runner

SETTINGS = RecordSettings(attempt=AttemptSettings(every=1.0), clips_per_unit=2, mirrored=True)
FRAMES = 76


class Stop(Exception):
    pass


@pytest.fixture(scope="module")
def clips(rests: Callable[..., Clip]) -> list[Clip]:
    return [
        rests(frames=FRAMES, name="good"),
        rests(frames=FRAMES, lift=0.06, name="sunk"),
        rests(frames=110, jumps=(8,), name="early"),
        rests(frames=200, jumps=(100, 190), name="twice"),
        rests(frames=30, name="short"),
    ]


@pytest.fixture(scope="module")
def recorded(
    clips: list[Clip], actor_file: Path, character: Character, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, RecordReport]:
    out = tmp_path_factory.mktemp("recorded")
    return out, record_dataset(actor_file, clips, out, character, settings=SETTINGS, threads=1)


def test_the_fate_of_each_clip(recorded: tuple[Path, RecordReport], clips: list[Clip]) -> None:
    out, report = recorded
    fates = {o.clip: o.fate for o in report.outcomes}
    assert fates == {"good": "whole", "sunk": "whole", "early": "late", "twice": "salvaged", "short": "lost"}
    assert (report.share("whole"), report.success, report.share("salvaged")) == (0.4, pytest.approx(0.6), 0.2)
    assert list(report.failures) == ["short"] and "30 frames" in report.failures["short"]
    dataset = Dataset.open(out)
    originals = [entry for entry in dataset.entries if not entry.name.endswith("_m")]
    assert len(dataset) == 2 * len(originals)
    assert report.minutes == pytest.approx(sum(e.seconds for e in originals) / 60)
    assert report.seconds_share == pytest.approx(sum(e.seconds for e in originals) / sum(len(c.motion) / 30 for c in clips))
    assert {e.provenance.parent for e in originals} == {"good", "sunk", "early", "twice"}
    assert all(e.provenance.models["tracker"] for e in dataset.entries)


def test_physics_takes_penetration_out(recorded: tuple[Path, RecordReport], clips: list[Clip], character: Character) -> None:
    out, report = recorded
    sunk = measure_clips([clips[1]], character)[0]
    after = measure_clips([Dataset.open(out)["sunk_sim"]], character)[0]
    assert sunk["tpl"] / sunk["frames"] > 0.1
    assert after["tpl"] / after["frames"] < 1e-3
    outcome = next(o for o in report.outcomes if o.clip == "sunk")
    assert outcome.tpl[1] == pytest.approx(after["tpl"], abs=1e-4)
    assert outcome.tpl[0] == pytest.approx(sunk["tpl"] * (FRAMES - 3) / FRAMES, rel=0.02)
    assert report.mean("tpl", after=True) < 0.1 < report.mean("tpl", after=False)


def test_metrics_of_stretches_are_summed_and_shares_weighed_by_frames(clips: list[Clip]) -> None:
    def row(frames: int, loss: float, share: float) -> dict[str, float]:
        return {"frames": frames, "tpl": loss, "tcl": 2 * loss, "self_pen_frames": share}

    pairs = [(row(30, 0.2, 10.0), row(30, 0.1, 0.0)), (row(90, 0.4, 50.0), row(90, 0.0, 20.0))]
    outcome = _outcome(clips[0], ([], []), [clips[0]], pairs)
    assert outcome.tpl == pytest.approx((0.6, 0.1)) and outcome.tcl == pytest.approx((1.2, 0.2))
    assert outcome.self_pen_frames == pytest.approx((40.0, 15.0))
    nothing = _outcome(clips[0], ([], []), [], [])
    assert nothing.self_pen_frames == nothing.tpl == (0, 0)
    report = RecordReport((replace(outcome, recorded=("a",)), nothing)).to_dict()
    assert (report["self_pen_frames_before"], report["self_pen_frames_after"]) == pytest.approx((40.0, 15.0))


def test_stretches_of_one_clip_do_not_overlap(recorded: tuple[Path, RecordReport]) -> None:
    names = next(o for o in recorded[1].outcomes if o.clip == "twice").recorded
    spans = [tuple(map(int, name.removeprefix("twice_sim").split("-"))) for name in names]
    assert all(stop - begin >= 60 for begin, stop in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert all(stop <= 86 or begin > 102 for begin, stop in spans), "half a second before the jump is cut off"


def test_a_stopped_recording_goes_on_and_ends_the_same(
    recorded: tuple[Path, RecordReport], clips: list[Clip], actor_file: Path, character: Character, tmp_path: Path
) -> None:
    done: list[ClipOutcome] = []

    def stop_in_the_second_unit(outcome: ClipOutcome) -> None:
        done.append(outcome)
        if len(done) == 3:
            raise Stop

    with pytest.raises(Stop):
        record_dataset(actor_file, clips, tmp_path, character, settings=SETTINGS, on_clip=stop_in_the_second_unit, threads=1)
    (tmp_path / "units" / "000001.json").unlink()  # as if killed between the clips and their marker
    seen: list[str] = []
    report = record_dataset(
        actor_file, clips, tmp_path, character, settings=SETTINGS, on_clip=lambda o: seen.append(o.clip), threads=1
    )
    assert seen == ["early", "twice", "short"], "the finished unit is not done again"
    assert report == recorded[1]
    ours, theirs = Dataset.open(tmp_path), Dataset.open(recorded[0])
    assert ours.names == theirs.names
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a.motion.root_pos, b.motion.root_pos, atol=0, rtol=0)
        torch.testing.assert_close(a.terrain.heights, b.terrain.heights, atol=0, rtol=0)
        assert a.provenance == b.provenance


def test_an_unfit_clip_is_reported_and_the_others_recorded(simulator: Runner, rests: Callable[..., Clip]) -> None:
    good, fast = rests(frames=70), replace(rests(frames=140, name="fast"), motion=replace(rests(frames=140).motion, fps=60.0))
    coarse = replace(good, name="coarse", terrain=replace(good.terrain, cell=0.5))
    foreign = replace(good, name="foreign", character="bird")
    few = replace(
        good,
        name="few",
        motion=replace(good.motion, joint_rot=good.motion.joint_rot[:, :3], contacts=good.motion.contacts[:, :4]),
    )
    outcomes, clips = record_unit(simulator, [good, coarse, foreign, few, fast], "h", 1, RecordSettings())
    assert [o.fate for o in outcomes] == ["whole", "unfit", "unfit", "unfit", "whole"]
    assert "0.5 m" in outcomes[1].reasons[0] and "bird" in outcomes[2].reasons[0] and "4 bodies" in outcomes[3].reasons[0]
    assert [c.motion.fps for c in clips] == [30.0, 30.0]


def test_a_policy_that_is_not_finite_records_nothing(simulator: Runner, rests: Callable[..., Clip]) -> None:
    broken = replace(simulator.trained, actor=copy.deepcopy(simulator.trained.actor))
    torch.nn.init.constant_(broken.actor.network.last.bias, float("nan"))
    outcomes, clips = record_unit(Runner(broken, "cpu", 8, 1), [rests(frames=70)], "h", 1, SETTINGS)
    assert clips == [] and "the simulation broke" in outcomes[0].reasons[0]


def test_a_refused_recording_gives_way_to_the_next_start(
    simulator: Runner, rests: Callable[..., Clip], character: Character
) -> None:
    """Labels that never mean the trunk to touch, or only at first not: refused with the reason, and tried again from later on."""
    strict = replace(SETTINGS, accept=RecordingLimits(near=0.0))
    clip = rests(frames=80)
    labels = torch.zeros_like(clip.motion.contacts)
    labels[:, list(character.key_bodies)] = 1.0
    outcomes, clips = record_unit(simulator, [replace(clip, motion=replace(clip.motion, contacts=labels))], "h", 1, strict)
    assert clips == [] and outcomes[0].fate == "lost"
    assert "trunk_contact" in outcomes[0].reasons[0]
    labels = clip.motion.contacts.clone()
    labels[:12, character.index("torso")] = 0.0
    outcomes, clips = record_unit(simulator, [replace(clip, motion=replace(clip.motion, contacts=labels))], "h", 1, strict)
    assert outcomes[0].fate == "late" and "trunk_contact" in outcomes[0].reasons[0]
    assert clips[0].name == "rest_sim11-80", "the earliest start whose recording is accepted"


def test_the_papers_rule(simulator: Runner, rests: Callable[..., Clip]) -> None:
    """Only recordings to the end, however they touch the ground."""
    lost = rests(frames=200, jumps=(100, 190), name="lost")
    silly = rests(frames=80, name="silly")
    silly = replace(silly, motion=replace(silly.motion, contacts=1.0 - silly.motion.contacts))
    outcomes, _ = record_unit(simulator, [lost, silly], "h", 1, RecordSettings.paper())
    assert [o.fate for o in outcomes] == ["lost", "whole"]


def test_other_recordings_and_no_clips_are_refused(
    recorded: tuple[Path, RecordReport], clips: list[Clip], actor_file: Path, character: Character, tmp_path: Path
) -> None:
    with pytest.raises(DatasetError, match="no clips"):
        record_dataset(actor_file, [], tmp_path / "a", character)
    with pytest.raises(SettingsError, match=r"begun otherwise \(settings\.margin\)"):
        record_dataset(actor_file, clips, recorded[0], character, settings=replace(SETTINGS, margin=1.0))
    with pytest.raises(SettingsError, match=r"begun otherwise \(clips\)"):
        record_dataset(actor_file, clips[:1], recorded[0], character, settings=SETTINGS)
    with pytest.raises(DatasetError, match="'good'"):
        record_dataset(actor_file, [clips[0], clips[0]], tmp_path / "b", character)
    with DatasetWriter(tmp_path / "c", character) as writer:
        writer.append(clips[:1])
    with pytest.raises(DatasetError, match="not made by recording"):
        record_dataset(actor_file, clips, tmp_path / "c", character, settings=SETTINGS)
