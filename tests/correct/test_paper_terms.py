"""The kinematic correction's loss by hand, term by term and weighed; and that synthesis does what comes before and after it."""

from dataclasses import replace

import pytest
import torch

from parc.character import humanoid, rotation, surface_points, world_points
from parc.correct.correct_motions import Correction, OptimiseSettings, optimise
from parc.correct.synthesise_clips import SynthesisSettings, synthesise_unit
from parc.dataset.clip import Clip
from parc.generate.model.canonical_frame import CanonicalFrame, FrameState
from parc.generate.model.feature_layout import FeatureLayout, Statistics
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.metrics.clip_batch import ClipBatch
from parc.motion.motion import Motion
from parc.motion.motion_edits import hesitation_frames
from parc.terrain.procedural_terrain import RandomBoxes
from parc.terrain.terrain import Terrain

BODY = humanoid()
FRAMES = 12


def standing(height: float, contacts: torch.Tensor | None = None, joints: torch.Tensor | None = None) -> Clip:
    """A T-pose whose lowest point is at a height over flat ground."""
    unit = torch.tensor([0.0, 0.0, 0.0, 1.0])
    joints = unit.repeat(FRAMES, BODY.num_joints, 1) if joints is None else joints
    pos = torch.zeros(FRAMES, 3)
    motion = Motion(pos, unit.repeat(FRAMES, 1), joints, torch.zeros(FRAMES, BODY.num_bodies))
    lowest = world_points(surface_points(BODY), motion.body_poses(BODY))[0, :, 2].min()
    pos = pos + torch.tensor([2.0, 2.0, height - float(lowest)])
    motion = replace(motion, root_pos=pos, contacts=motion.contacts if contacts is None else contacts)
    return Clip("standing", motion, Terrain.flat((12, 12)))


def correction(*clips: Clip, settings: OptimiseSettings = OptimiseSettings()) -> Correction:
    return Correction(ClipBatch.stack(list(clips), BODY), settings)


def some_change() -> torch.Tensor:
    return 0.05 * torch.randn(1, FRAMES, 6 + BODY.num_dof, generator=torch.Generator().manual_seed(0))


def test_the_loss_weighs_its_terms_as_the_paper_does() -> None:
    """1 for the change, 1000 for penetration, contact and jerk; what is not the paper's is off."""
    contacts = torch.ones(FRAMES, BODY.num_bodies)
    papers = OptimiseSettings(smoothness=0.0, sliding=0.0, anchor=0.0, self_penetration=0.0, limits=0.0)
    problem = correction(standing(-0.05, contacts), settings=papers)
    terms = {name: float(value) for name, value in problem.terms(some_change()).items()}
    assert all(terms[name] > 0 for name in ("regularisation", "penetration", "contact", "jerk"))
    by_hand = terms["regularisation"] + 1000 * (terms["penetration"] + terms["contact"] + terms["jerk"])
    assert float(problem.weighted(some_change())) == pytest.approx(by_hand, rel=1e-5)


def test_every_change_of_the_source_costs_its_square() -> None:
    """Root position, root rotation and each joint coordinate alike."""
    problem, change = correction(standing(0.1)), some_change()
    assert float(problem.terms(change)["regularisation"]) == pytest.approx(float(change.square().sum()), rel=1e-5)
    for part in (slice(0, 3), slice(3, 6), slice(6, None)):
        only = torch.zeros_like(change)
        only[..., part] = change[..., part]
        assert float(problem.terms(only)["regularisation"]) == pytest.approx(float(only.square().sum()), rel=1e-5)


def test_a_contact_missed_costs_the_same_above_the_ground_and_below_it() -> None:
    """Feet that should touch and are 4 cm away, either way; half a label, half the price."""
    labels = torch.zeros(FRAMES, BODY.num_bodies)
    labels[:, list(BODY.feet)] = 1.0
    top = 2 * 0.0275
    for height, labelled, expected in ((0.04, labels, 0.04), (-0.04 - top, labels, 0.04), (0.04, 0.5 * labels, 0.02)):
        found = correction(standing(height, labelled)).terms()["contact"].detach()
        assert float(found) == pytest.approx(2 * FRAMES * expected, rel=1e-3)


def test_jerk_is_that_of_every_body_and_free_up_to_the_limit() -> None:
    """An arm that shakes while all else stands: forearm and hand, by their third differences, over 1000 m/s3."""
    joints = torch.tensor([0.0, 0.0, 0.0, 1.0]).repeat(FRAMES, BODY.num_joints, 1)
    angle = 0.1 * torch.randn(FRAMES, generator=torch.Generator().manual_seed(1))
    joints[:, BODY.index("left_upper_arm") - 1] = rotation.from_axis_angle(torch.tensor([0.0, 0.0, 1.0]), angle)
    clip = standing(0.1, joints=joints)
    pos = clip.motion.body_poses(BODY).pos.double()
    jerk = pos.diff(n=3, dim=0).norm(dim=-1) * 30**3
    assert (jerk > 1000).any() and int((jerk.amax(0) > 1).sum()) == 2, "the upper arm turns on the spot"
    expected = (jerk - 1000).clamp_min(0).sum() / 30**3
    assert float(correction(clip).terms()["jerk"].detach()) == pytest.approx(float(expected), rel=1e-3)


def still_generator() -> Generator:
    """Whatever it is asked, it goes on standing as it stands."""
    layout = FeatureLayout(BODY)
    motion = standing(0.0).motion
    state = FrameState(*(part[None, :2] for part in FrameState.of_motion(motion)))
    frame = CanonicalFrame.of(state.root_pos[:, -1], state.root_rot[:, -1])
    mean = layout.encode(frame.to_local(state))[0, -1]
    torch.manual_seed(0)
    statistics = Statistics(mean, torch.full_like(mean, 1e-4))
    generator = Generator(BODY, GeneratorSettings(network=PrefixSettings(width=32, layers=1, hidden=32)), statistics)
    torch.nn.init.zeros_(generator.network.frame_out.weight)
    return generator.eval()


PLAIN = SynthesisSettings(
    boxes=RandomBoxes(boxes=0), terrains_per_unit=2, candidates=2, rollout=RolloutSettings(seconds=1.5),
    optimise=None, mirrored=False, only_valid=False, shortest=1,
)  # fmt: skip


def test_who_only_stands_is_taken_out_as_hesitation() -> None:
    """Of a second and a half in one place a frame remains, which is no clip."""
    clips, _ = synthesise_unit(still_generator(), 0, 0, 1, PLAIN)
    assert clips
    for clip in clips:
        assert len(clip.motion) < 10 and not hesitation_frames(clip.motion, BODY).any()
    none, refused = synthesise_unit(still_generator(), 0, 0, 1, replace(PLAIN, shortest=30))
    assert none == [] and all("frames" in reason for reason in refused) and len(refused) == len(clips)


@pytest.fixture(scope="module")
def generator() -> Generator:
    torch.manual_seed(0)
    return Generator(BODY, GeneratorSettings(network=PrefixSettings(width=32, layers=1, hidden=32))).eval()


def test_what_synthesis_makes_is_what_the_correction_makes_of_it(generator: Generator) -> None:
    settings = OptimiseSettings(iterations=3)
    raw, _ = synthesise_unit(generator, 0, 0, 1, PLAIN)
    made, _ = synthesise_unit(generator, 0, 0, 1, replace(PLAIN, optimise=settings))
    expected = optimise(raw, BODY, settings)
    assert raw and [clip.name for clip in made] == [clip.name for clip in raw]
    for a, b, before in zip(made, expected, raw, strict=True):
        torch.testing.assert_close(a.motion.root_pos, b.motion.root_pos)
        assert not torch.equal(a.motion.root_pos, before.motion.root_pos)
        assert a.provenance.edits[-1] == "correct"


def test_units_of_other_seeds_iterations_and_numbers_have_other_terrains(generator: Generator) -> None:
    def ground(unit: int, seed: int, iteration: int) -> bytes:
        quick = replace(PLAIN, boxes=RandomBoxes(), terrains_per_unit=1, candidates=1, rollout=RolloutSettings(seconds=0.25))
        clips, _ = synthesise_unit(generator, unit, seed, iteration, quick)
        return clips[0].terrain.heights.numpy().tobytes()

    made = [ground(*numbers) for numbers in ((0, 0, 1), (1, 0, 1), (0, 1, 1), (0, 0, 2), (0, 0, 1))]
    assert len(set(made)) == 4 and made[0] == made[-1]
