"""Kinematic correction: it pulls a clip out of the ground and leaves a good one alone."""

from dataclasses import replace

import pytest
import torch

from parc.author.procedural_walk import stroll
from parc.character import humanoid
from parc.character.joint_coordinates import dof_to_joints, joints_to_dof
from parc.character.kinematics import forward_kinematics
from parc.correct.correct_motions import Correction, OptimiseSettings, optimise
from parc.dataset.clip import Clip
from parc.errors import SettingsError
from parc.metrics import measure_clips
from parc.metrics.clip_batch import ClipBatch
from parc.path.terrain_path import TerrainPath
from parc.terrain.terrain import Terrain

BODY = humanoid()
QUICK = OptimiseSettings(iterations=300, step_size=0.004)


@pytest.fixture(scope="module")
def walk() -> Clip:
    heights = torch.zeros(10, 6)
    heights[5:] = 0.2
    terrain = Terrain(heights, torch.zeros(2))
    clip = stroll(terrain, TerrainPath(torch.tensor([[0.8, 1.0, 0.0], [3.2, 1.0, 0.2]])))
    return replace(clip, motion=clip.motion.slice(10, 50))


@pytest.fixture(scope="module")
def sunk(walk: Clip) -> Clip:
    """Pushed 10 cm into the step, with a stumble: jerk over the limit."""
    pos = walk.motion.root_pos + torch.tensor([0.0, 0.0, -0.1])
    pos[20:, 0] += 0.05
    return replace(walk, motion=replace(walk.motion, root_pos=pos))


@pytest.fixture(scope="module")
def corrected(walk: Clip, sunk: Clip) -> list[Clip]:
    return optimise([sunk, walk], BODY, QUICK)


def test_penetration_goes_and_jerk_stays_low(sunk: Clip, corrected: list[Clip]) -> None:
    before, after = measure_clips([sunk, corrected[0]], BODY)
    assert before["tpl"] > 50
    assert after["tpl"] < 0.1 * before["tpl"]
    assert after["max_jerk"] < max(before["max_jerk"], 1500)
    assert after["tcl"] < 0.5
    assert after["hjf_paper"] == 0


def test_a_good_clip_hardly_changes(walk: Clip, corrected: list[Clip]) -> None:
    assert (corrected[1].motion.root_pos - walk.motion.root_pos).norm(dim=-1).max() < 0.03


def test_hinges_stay_hinges(corrected: list[Clip]) -> None:
    joints = corrected[0].motion.joint_rot
    back = dof_to_joints(BODY, joints_to_dof(BODY, joints))
    alike = (joints * back).sum(-1).abs()
    torch.testing.assert_close(alike, torch.ones_like(alike), atol=1e-4, rtol=0)


def test_a_clip_does_not_depend_on_its_companions(sunk: Clip) -> None:
    settings = replace(QUICK, iterations=20, patience=0)
    alone = optimise([sunk], BODY, settings)[0]
    longer = replace(sunk, motion=replace(sunk.motion, root_pos=sunk.motion.root_pos + 0.0), name="other")
    beside = optimise([replace(longer, motion=longer.motion.slice(0, 30)), sunk], BODY, settings)[1]
    torch.testing.assert_close(alone.motion.root_pos, beside.motion.root_pos, atol=1e-5, rtol=0)


def test_provenance_tells_the_losses(corrected: list[Clip]) -> None:
    losses = corrected[0].provenance.losses
    assert losses["penetration"] < losses["penetration_before"]
    assert corrected[0].provenance.edits[-1] == "correct"


@pytest.fixture(scope="module")
def crossed(walk: Clip) -> Clip:
    """The walk with its thighs turned in, until the legs are in each other, and its elbows bent the wrong way."""
    dof = joints_to_dof(BODY, walk.motion.joint_rot)
    for side, sign in (("right", 1), ("left", -1)):
        dof[:, BODY.dof_start[BODY.index(f"{side}_thigh")]] += 0.11 * sign
        dof[:, BODY.dof_start[BODY.index(f"{side}_lower_arm")]] -= 0.5 * sign
    return replace(walk, motion=replace(walk.motion, joint_rot=dof_to_joints(BODY, dof)))


def test_bodies_leave_each_other_and_joints_come_back(crossed: Clip) -> None:
    before, after, papers = measure_clips(
        [
            crossed,
            *(
                optimise([crossed], BODY, replace(s, iterations=150, step_size=0.004))[0]
                for s in (QUICK, OptimiseSettings.paper())
            ),
        ],
        BODY,
    )
    assert before["self_pen_frames"] > 15 and before["self_pen_mm"] > 5 and before["joint_limit_frames"] > 90
    assert after["self_pen_frames"] < 3 and after["self_pen_mm"] < 0.5 and after["joint_limit_frames"] == 0
    assert papers["self_pen_frames"] > 15 and papers["joint_limit_frames"] > 90


def test_the_papers_objective_has_the_papers_terms(sunk: Clip) -> None:
    problem = Correction(ClipBatch.stack([sunk], BODY), OptimiseSettings.paper())
    change = 0.01 * torch.randn(problem.change.shape, generator=torch.Generator().manual_seed(0))
    terms = problem.terms(change)
    expected = terms["regularisation"] + 1000 * (terms["penetration"] + terms["contact"] + terms["jerk"])
    assert all(terms[name].sum() > 0 for name in ("smoothness", "sliding", "anchor"))
    torch.testing.assert_close(problem.weighted(change), expected.sum())


def test_self_penetration_is_summed_over_the_pairs_of_each_clip(crossed: Clip, walk: Clip) -> None:
    batch = ClipBatch.stack([crossed, replace(walk, motion=walk.motion.slice(0, 20)), crossed], BODY)
    found = Correction(batch, replace(QUICK, self_margin=0.0)).terms()["self_penetration"]
    assert found[1] < 0.01 * found[0]
    torch.testing.assert_close(found, (batch.self_depth.clamp_min(0).sum(-1) * batch.valid).sum(1), atol=1e-4, rtol=1e-5)


def test_a_compiled_iteration_is_the_iteration(sunk: Clip) -> None:
    changes = []
    for compiled in (False, True):
        problem = Correction(ClipBatch.stack([sunk], BODY), QUICK)
        if compiled:
            problem.fuse(backend="aot_eager")
        step = problem.stepper()
        for _ in range(3):
            step()
        changes.append(problem.change.detach())
    assert changes[0].abs().max() > 0.01
    torch.testing.assert_close(changes[1], changes[0])


def test_fewer_than_no_iterations_are_refused() -> None:
    with pytest.raises(SettingsError, match="-5 iterations"):
        OptimiseSettings(iterations=-5)


def test_the_papers_loss_is_its_formula(sunk: Clip) -> None:
    """All four terms by hand, jerk in m/s3, and no other; 27000 times the jerk in units of position at 30 frames a second."""
    problem = Correction(ClipBatch.stack([sunk], BODY), OptimiseSettings.paper())
    change = 0.01 * torch.randn(problem.change.shape, generator=torch.Generator().manual_seed(0))
    terms = {name: float(value) for name, value in problem.terms(change).items()}
    pos = forward_kinematics(BODY, *problem.pose(change)).pos[0].double()
    jerk = pos.diff(n=3, dim=0).norm(dim=-1) * 30.0**3
    assert terms["jerk"] == pytest.approx(float((jerk - 1000).clamp_min(0).sum()), rel=1e-4)
    root = change[0].double()
    reg = root[:, :3].square().sum() + 10 * root[:, 3:6].square().sum() + root[:, 6:].square().sum()
    assert terms["regularisation"] == pytest.approx(float(reg), rel=1e-4)
    total = terms["regularisation"] + 1000 * (terms["penetration"] + terms["contact"] + terms["jerk"])
    assert float(problem.weighted(change)) == pytest.approx(total, rel=1e-4)
    ours = Correction(ClipBatch.stack([sunk], BODY), OptimiseSettings()).terms(change)
    assert terms["jerk"] / float(ours["jerk"]) == pytest.approx(27000, rel=1e-4)


def test_the_papers_correction_does_all_its_iterations(sunk: Clip) -> None:
    """A run that gains nothing ends early where there is patience with it; the paper's has none to lose."""
    done = {}
    short = replace(sunk, motion=sunk.motion.slice(0, 12))
    for patience in (OptimiseSettings.paper().patience, 10):
        seen: list[int] = []
        slow = replace(OptimiseSettings.paper(), iterations=100, step_size=1e-12, patience=patience)
        optimise([short], BODY, slow, on_progress=lambda i, _, seen=seen: seen.append(i))
        done[patience] = seen[-1]
    assert done[0] == 100 > done[10]
