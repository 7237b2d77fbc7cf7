"""The preset `paper` does what the paper does: its settings by number, and a run of it in small by what lies in its folders."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from parc.character import humanoid
from parc.character.body_surface import min_per_body
from parc.cli.main import main
from parc.correct.correct_motions import OptimiseSettings
from parc.correct.select_candidates import SelectSettings
from parc.correct.synthesise_clips import SynthesisSettings, make_crossing
from parc.dataset import Clip, Dataset
from parc.errors import SettingsError
from parc.generate.data.training_windows import WindowSettings
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.noise_schedule import DdpmSchedule
from parc.generate.model.paper_encoder import EncoderSettings
from parc.generate.rollout.path_rollout import RolloutSettings, roll_out
from parc.generate.training.generator_training import CHECKPOINT_FILE, TrainSettings
from parc.generate.training.training_objective import PaperObjective
from parc.generate.training.training_step import StepSettings
from parc.loop import GuardSettings, LoopSettings, preset, run_loop
from parc.loop.loop_plan import TrackerPlan
from parc.loop.loop_report import gather_report
from parc.loop.run_progress import read_progress
from parc.metrics import ClipBatch, measure_clips
from parc.models import shipped_generator, shipped_tracker
from parc.record.record_clips import RecordSettings
from parc.run.checkpoint import load_checkpoint, read_description
from parc.track.follow.outcome import TerminationSettings
from parc.track.learn.tracker_training import CHECKPOINT
from parc.track.tracker_settings import TrackerSettings

NETWORK = GeneratorSettings(network=EncoderSettings(32, 1, 2, 32, dropout=0.1), schedule=DdpmSchedule(21, 5), encoding="exp")
NEVER = TerminationSettings(root_distance=1e3, root_angle=1e3, body_distance=1e3, longest=10.0)
"""a pose that is never lost: an untrained policy falls, and is recorded all the same"""


def small_tracker(plan: TrackerPlan) -> TrackerPlan:
    settings = plan.settings
    ppo, policy = replace(settings.ppo, steps=4, minibatch=32), replace(settings.policy, hidden=(16, 16, 16))
    training = replace(plan.training, worlds=4, iterations=2, milestone_iterations=2)
    return replace(plan, settings=replace(settings, ppo=ppo, policy=policy, termination=NEVER), training=training)


def shrunk(settings: LoopSettings) -> LoopSettings:
    """Counts, networks and budgets for seconds on a CPU, limits that an untrained network can keep; all else is the preset's.

    Hesitations stay in, for an untrained network makes little else.
    """
    tiny = preset("tiny")
    near, low = tiny.plans[0].synthesis.settings.plan, tiny.plans[0].synthesis.settings.boxes

    def small(plan):
        made = plan.synthesis.settings
        made = replace(
            made, terrains_per_unit=1, candidates=3, rollout=replace(made.rollout, seconds=3.5), boxes=low, plan=near,
            optimise=replace(made.optimise, iterations=4), only_valid=False, brisk=False,
        )  # fmt: skip
        adam = replace(plan.generator.step.adam, rate=4e-3)
        step = replace(plan.generator.step, batch=8, statistics_windows=100, adam=adam)
        return replace(
            plan,
            generator=replace(plan.generator, steps=5, generator=NETWORK, step=step, log_steps=1),
            synthesis=replace(plan.synthesis, clips=2, most_units=2, settings=made),
            tracker=small_tracker(plan.tracker),
        )

    assert settings.variations is not None
    variations = replace(settings.variations, count=2, tracker=small_tracker(settings.variations.tracker))
    variations = replace(variations, vary=replace(variations.vary, workers=1))
    return replace(
        settings, plans=tuple(small(plan) for plan in settings.plans), iterations=1, variations=variations,
        start=replace(tiny.start, clips=2), shipped_motions=False, torch_threads=1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not to be changed: copy it."""
    folder = tmp_path_factory.mktemp("paper") / "run"
    run_loop(folder, shrunk(preset("paper")), humanoid())
    return folder


def plain(settings: Any) -> dict[str, Any]:
    return json.loads(json.dumps(asdict(settings)))


def names(folder: Path) -> list[str]:
    return Dataset.open(folder).names


def test_the_preset_is_made_of_the_papers_settings_and_nothing_else() -> None:
    settings = preset("paper")
    assert settings.iterations == 4 and settings.physics_correction and settings.kinematic_correction
    for i, (clips, ground) in enumerate(((1000, "boxes"), (1000, "boxes"), (2000, "course"), (2000, "course")), 1):
        plan = settings.plan(i)
        assert plan.generator == replace(TrainSettings.paper(), seconds=plan.generator.seconds)
        assert plan.synthesis.clips == clips and plan.synthesis.settings == replace(SynthesisSettings.paper(), ground=ground)
        assert plan.tracker.settings == TrackerSettings.paper() and plan.tracker.least_followed == 0
        assert plan.record == replace(RecordSettings.paper(), clips_per_unit=plan.record.clips_per_unit)
        assert plan.guard == GuardSettings.off()
    first = settings.variations
    assert first is not None and first.count == 50 and first.guard == GuardSettings.off()
    assert first.tracker.settings == TrackerSettings.paper()
    assert first.record == replace(RecordSettings.paper(), clips_per_unit=first.record.clips_per_unit)


def test_the_papers_settings_have_the_papers_numbers() -> None:
    train, made, tracker = TrainSettings.paper(), SynthesisSettings.paper(), TrackerSettings.paper()
    assert isinstance(train.generator.schedule, DdpmSchedule) and train.generator.encoding == "exp"
    assert (train.balance, train.still_counts, train.made_share) == (1.0, 1.0, None)
    assert train.window == WindowSettings(unchanged_share=0, new_floor_share=0) and train.window.random_share == 0.1
    assert train.step == StepSettings.paper() and isinstance(train.step.objective, PaperObjective)
    assert (train.step.past_dropout, train.step.levels, train.step.own_share) == (0.15, 1, 0)
    assert made.candidates == 64 and made.keep == 1 and not made.mirrored and made.brisk
    rollout = made.rollout
    assert rollout.blend.coefficients(7).tolist() == pytest.approx([0.65] * 7)
    assert (rollout.lock_feet, rollout.fall, rollout.overlap, rollout.choices, rollout.steps) == (False, False, 0, 1, None)
    assert (rollout.seconds, rollout.keep, rollout.lookahead) == (10.0, 7, 2.8)
    assert made.select == replace(SelectSettings.paper()) and (made.select.floating, made.select.incomplete) == (0, 1000)
    correction = made.optimise
    assert correction == OptimiseSettings.paper() and (correction.iterations, correction.step_size) == (3000, 0.001)
    assert [getattr(correction, n) for n in ("regularisation", "penetration", "contact", "jerk")] == [1, 1000, 1000, 1000]
    assert (correction.jerk_limit, correction.jerk_unit, correction.patience) == (1000, "m/s3", 0)
    assert correction.smoothness == correction.sliding == correction.anchor == 0
    assert tracker.policy.hidden == (2048, 1024, 512) and not tracker.action.residual and tracker.termination.body_distance == 0.7
    assert tracker.reward.weights == (0.5, 0.1, 0.15, 0.1, 0.15, 1.0, 0.0, 0.0)
    assert (tracker.restart.unit, tracker.restart.floor, tracker.restart.ceiling) == ("clip", 0.01, 1.0)
    assert not tracker.reference.screen.enabled and tracker.contract.torque_scale == 1.0
    ppo = tracker.ppo
    assert (ppo.optimiser, ppo.actor_rate, ppo.steps, ppo.epochs, ppo.bound_weight) == ("sgd", 5e-5, 32, 5, 10.0)
    assert tracker.restart.root_noise == 0.075
    record = RecordSettings.paper()
    assert record.attempt.starts == (0, 0.1, 0.2, 0.3, 0.4, 0.5) and record.attempt.every == 0 and not record.stretch.salvage


def test_every_stage_of_a_run_was_given_those_settings(run: Path) -> None:
    """What each stage wrote into its own folder, and run.json."""
    settings = shrunk(preset("paper"))
    plan, first = settings.plan(1), settings.variations
    assert first is not None
    assert json.loads((run / "run.json").read_bytes())["settings"] == plain(settings)
    place = run / "iteration-01"
    trained = load_checkpoint(place / "generator" / CHECKPOINT_FILE)[1]["settings"]
    assert trained["window"] == plain(WindowSettings.paper())
    assert trained["step"] == plain(plan.generator.step) and trained["generator"] == plain(NETWORK)
    made = json.loads((place / "synthesis" / "synthesis.json").read_bytes())["settings"]
    assert made == plain(plan.synthesis.settings)
    assert made["select"] == plain(SelectSettings.paper())
    assert made["rollout"] == plain(replace(RolloutSettings.paper(), seconds=3.5))
    for i, tracker, record in ((0, first.tracker, first.record), (1, plan.tracker, plan.record)):
        folder = run / f"iteration-{i:02d}"
        assert read_description(folder / "tracker" / CHECKPOINT)["settings"] == plain(tracker.settings)
        assert json.loads((folder / "recording" / "recording.json").read_bytes())["settings"] == plain(record)
    assert Generator.load(place / "generator" / "generator.safetensors", humanoid()).settings == NETWORK


def test_variations_are_recorded_in_simulation_and_join_the_starting_set(run: Path) -> None:
    place = run / "iteration-00"
    start, varied, recorded = names(run / "start"), names(place / "variation"), names(place / "recording")
    assert varied and {name.rsplit("_v", 1)[0] for name in varied} <= set(start)
    assert names(place / "dataset" / "dataset") == start + recorded and recorded
    for clip in Dataset.open(place / "recording"):
        assert clip.provenance.source == "simulation" and clip.provenance.parent in varied
        assert set(torch.unique(clip.motion.contacts).tolist()) <= {0.0, 1.0}, "the simulator's labels"


def test_status_and_report_know_the_stages_of_the_start(run: Path, tmp_path: Path) -> None:
    assert read_progress(run).state == "finished"
    copy = Path(shutil.copytree(run, tmp_path / "run"))
    ledger = json.loads((copy / "ledger.json").read_bytes())
    kept = ("start", "iteration-00/variation", "iteration-00/tracker")
    ledger["stages"] = {name: entry for name, entry in ledger["stages"].items() if name in kept}
    (copy / "ledger.json").write_text(json.dumps(ledger))
    progress, first = read_progress(copy), preset("paper").variations
    assert (progress.state, progress.iteration, progress.stage) == ("stopped", 0, "recording")
    assert first is not None and progress.seconds_left > first.expected.recording
    stages = [row["stage"] for row in gather_report(run)["stages"]]
    assert stages[1:5] == [f"iteration-00/{stage}" for stage in ("variation", "tracker", "recording", "dataset")]


def test_the_data_set_is_the_one_before_and_all_that_was_recorded(run: Path) -> None:
    place = run / "iteration-01"
    before, recorded = names(run / "iteration-00" / "dataset" / "dataset"), names(place / "recording")
    assert recorded and names(place / "dataset" / "dataset") == before + recorded
    admission = json.loads((place / "dataset" / "admission.json").read_bytes())
    assert admission["joined"] == recorded and not admission["refused"]
    clips = json.loads((place / "tracker" / "clips.json").read_bytes())
    assert {row["clip"] if "clip" in row else row["name"] for row in clips["clips"]} == {*before, *names(place / "synthesis")}
    assert not clips["refused"], "the tracker trains on D_0 and M~_1, all of it"
    whole = [clip for clip in Dataset.open(place / "recording") if clip.name.endswith("_sim")]
    parents = Dataset.open(place / "synthesis")
    assert whole and all(len(clip.motion) == len(parents[clip.provenance.parent].motion) - 1 for clip in whole), "from frame 0"


def test_stages_of_the_start_are_done_once_and_a_lost_one_is_made_again(run: Path, tmp_path: Path, began: Callable) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "run"))
    settings = shrunk(preset("paper"))
    before, shard = began(copy), next((copy / "iteration-00" / "recording").glob("shard-*"))
    run_loop(copy, settings, humanoid())
    assert began(copy) == before
    content = shard.read_bytes()
    shard.unlink()
    run_loop(copy, settings, humanoid())
    assert [name for name, when in began(copy).items() if when != before[name]] == ["iteration-00/recording"]
    assert shard.read_bytes() == content


def test_without_any_correction_motions_join_as_the_network_made_them(run: Path, tmp_path: Path) -> None:
    """The paper's ablation: the clips of D_1 are rows of the rollouts, chosen by hand-computed scores."""
    copy = Path(shutil.copytree(run, tmp_path / "run"))
    settings = replace(shrunk(preset("paper")), physics_correction=False, kinematic_correction=False)
    run_loop(copy, settings, humanoid(), over_again=True)
    place = copy / "iteration-01"
    made, before = names(place / "synthesis"), names(copy / "iteration-00" / "dataset" / "dataset")
    joined = Dataset.open(place / "dataset" / "dataset")
    assert joined.names == before + made and len(made) == 2
    body = humanoid()
    model = Generator.load(place / "generator" / "generator.safetensors", body)
    plan = settings.plan(1).synthesis.settings
    assert plan.optimise is None and not plan.brisk
    for unit, name in enumerate(made):
        rng = np.random.default_rng(np.random.SeedSequence([0, 1, unit]))
        ground, path = make_crossing(plan, rng)
        rollouts = roll_out(model, [ground], [path], plan.candidates, plan.rollout, int(rng.integers(2**31)))
        clips = [Clip(str(k), motion, ground, path) for k, motion in enumerate(rollouts.motions())]
        batch = ClipBatch.stack(clips, body)
        inside_or_above = min_per_body(batch.surface, batch.point_clearance + batch.depth)
        contact = ((batch.contacts * inside_or_above).sum(-1) * batch.valid).sum(1).tolist()
        measured = zip(measure_clips(clips, body), contact, rollouts.reached.tolist(), strict=True)
        scores = [m["tpl"] + c + (0.0 if done else 1000.0) for m, c, done in measured]
        best = clips[min(range(len(scores)), key=scores.__getitem__)].motion
        clip = joined[name]
        assert clip.provenance.edits == ()
        assert torch.equal(clip.motion.root_pos, best.root_pos) and torch.equal(clip.motion.joint_rot, best.joint_rot)
        assert clip.provenance.losses["selection_score"] == pytest.approx(min(scores), rel=1e-4)


def test_the_ablation_of_other_presets_corrects_nothing_either_and_the_old_one_has_its_own_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = {}
    for option in ("--no-physics-correction", "--kinematic-only"):
        without = ["--variations", "0", "--evaluation", "False", "--iterations", "1"]
        assert main(["loop", str(tmp_path / "run"), "--preset", "gpu", *without, "--dry-run", "--json", option]) == 0
        rows = json.loads(capsys.readouterr().out.splitlines()[-1])["stages"]
        told[option] = {row["stage"].split("/")[1]: row["does"] for row in rows}
        assert list(told[option]) == ["generator", "synthesis", "dataset"]
    raw, kinematic = told.values()
    assert "no correction" in raw["synthesis"] and "repair" not in raw["synthesis"] and "best of" not in raw["synthesis"]
    assert raw["dataset"] == "all clips"
    assert "400 iterations of correction" in kinematic["synthesis"] and "foot repair" in kinematic["synthesis"]
    assert main(["loop", str(tmp_path / "run"), "--no-physics-correction", "--kinematic-only"]) == 2
    with pytest.raises(SettingsError, match="both corrections or none"):
        replace(preset("quick"), kinematic_correction=False)


@pytest.mark.parametrize(
    ("option", "file", "expected"),
    [("--generator", shipped_generator(), "is a few-step flow, 5 steps"), ("--tracker", shipped_tracker(), "adds its own")],
)
def test_models_that_are_not_the_papers_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, file: Path, expected: str
) -> None:
    assert main(["loop", str(tmp_path / "run"), "--preset", "paper", "--dry-run", option, str(file)]) == 2
    assert expected in capsys.readouterr().err
