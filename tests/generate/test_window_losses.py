"""Each loss is zero for the recording itself, positive for its fault, and has the value one works out by hand."""

import pytest
import torch

from parc.character import humanoid, rotation, world_points
from parc.character.kinematics import BodyPose
from parc.generate.data.body_sample_points import probe_points, sole_points
from parc.generate.model.canonical_frame import CanonicalFrame
from parc.generate.model.feature_layout import Statistics
from parc.generate.training import window_losses
from parc.generate.training.training_objective import FastObjective, PaperObjective
from parc.motion.frame_state import FrameState
from parc.terrain.terrain import Terrain, TerrainBatch

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def window(windows):
    drawn = windows.draw(6, torch.Generator().manual_seed(1), augment=False)
    return windows.assemble(drawn)


@pytest.fixture(scope="module")
def stats(layout, window):
    return Statistics.of(layout, window.future)


@pytest.mark.parametrize("objective", [FastObjective(), PaperObjective()], ids=["fast", "paper"])
def test_the_recording_itself_costs_almost_nothing(objective, layout, window, stats):
    level, shown = torch.zeros(6, 2), torch.ones(6, 2, dtype=torch.bool)
    perfect = stats.standardise(window.future).unsqueeze(1).expand(-1, 2, -1, -1)
    _, parts = objective(layout, stats, window, perfect, level, shown)
    parts = dict(zip(objective.NAMES, parts.tolist(), strict=True))
    free = {"slide", "penetration", "contact", "own_contact", "flight", "total"}  # what the recording itself is not free of
    assert max(v for k, v in parts.items() if k not in free) < 1e-4
    noisy = perfect + 0.1 * torch.randn(perfect.shape, generator=torch.Generator().manual_seed(0))
    total, worse = objective(layout, stats, window, noisy, level, shown)
    worse = dict(zip(objective.NAMES, worse.tolist(), strict=True))
    assert all(worse[k] > parts[k] for k in parts if k not in free | {"penetration"})
    assert float(total) == pytest.approx(sum(getattr(objective, k) * v for k, v in worse.items() if k != "total"), rel=1e-4)


def test_random_terrain_items_only_pay_what_needs_no_recording(layout, window, stats):
    level, shown = torch.zeros(6, 1), torch.ones(6, 1, dtype=torch.bool)
    bad = torch.zeros(6, 1, 13, layout.width)
    everything = window._replace(is_random=torch.ones(6, dtype=torch.bool))
    _, parts = FastObjective()(layout, stats, everything, bad, level, shown)
    named = dict(zip(FastObjective.NAMES, parts.tolist(), strict=True))
    assert named["reconstruction"] == 0 and named["velocity"] == 0 and named["held"] == 0 and named["contact"] == 0


def test_seam_error_by_hand():
    """A constant error of 1 cm: no velocity error inside, one step of 1 cm at the seam, nothing if the past is hidden."""
    recorded = torch.zeros(1, 2, 13, 4, 3)
    predicted = recorded + torch.tensor([0.01, 0.0, 0.0])
    shown = torch.tensor([[True, False]])
    velocity = window_losses.difference_error(predicted, recorded, shown, 1)
    torch.testing.assert_close(velocity, torch.tensor([[1e-4 / 13, 0.0]]))
    acceleration = window_losses.difference_error(predicted, recorded, shown, 2)
    torch.testing.assert_close(acceleration, torch.tensor([[2e-4 / 13, 0.0]]))


def test_slide_counts_the_slowest_low_point():
    sole = torch.zeros(1, 1, 3, 1, 2, 3)
    sole[0, 0, :, 0, 0, 0] = torch.tensor([0.0, 0.03, 0.06])
    label = torch.ones(1, 1, 3, 1)
    assert float(window_losses.own_contact_slide(sole, label)) == 0.0  # the other point stands
    sole[..., 1, 2] = 0.5  # now it is in the air
    assert float(window_losses.own_contact_slide(sole, label)) == pytest.approx((0.03 - 0.05 / 30) ** 2, rel=1e-4)
    assert float(window_losses.own_contact_slide(sole, torch.zeros_like(label))) == 0.0


def test_free_fall_is_free_and_hovering_is_not(layout, window):
    """The whole body moved by one parabola or by nothing, 3 m over the ground."""
    probe = probe_points(humanoid(), CPU)
    posed = window_losses.pose_of(layout, window.future[:1, :1].unsqueeze(1).expand(-1, -1, 13, -1))
    t = torch.arange(13.0) / 30
    high = TerrainBatch.stack([Terrain(torch.full((30, 30), -3.0), torch.full((2,), -6.0))])
    frame = CanonicalFrame(torch.zeros(1, 3), torch.zeros(1))
    label = torch.zeros(1, 1, 13, 15)

    def cost(fall: torch.Tensor) -> float:
        moved = posed.pose._replace(pos=posed.pose.pos + torch.stack([0 * t, 0 * t, fall], -1)[None, None, :, None])
        return float(window_losses.ground_terms(posed._replace(pose=moved), label, label, high, frame, probe).flight)

    assert cost(-0.5 * 9.81 * t**2) < 1e-3
    assert cost(0 * t) == pytest.approx(0.5 * 11 / 11, rel=0.05)


def test_a_wall_beside_a_body_does_not_excuse_it_from_falling():
    """Lifted at a steady rate 2 cm from a face: half a unit for every frame, as over a void."""
    body, probe = humanoid(), probe_points(humanoid(), CPU)
    rise = 0.03 * torch.arange(13.0)
    root, eye = torch.stack([0 * rise, 0 * rise, 2.0 + rise], -1), torch.eye(3)
    state = FrameState(root, eye.expand(13, 3, 3), eye.expand(13, 14, 3, 3), torch.zeros(13, 15))
    pose = BodyPose(*(part[None, None] for part in state.body_pose(body)))
    front = float(world_points(probe.surface, pose)[..., 0].max())
    heights = torch.where(torch.arange(40)[:, None] < 20, 0.0, 9.0).expand(40, 40).clone()
    wall = TerrainBatch.stack([Terrain(heights, torch.tensor([front + 0.02 - 20 * 0.4 + 0.2, -8.0]))])
    posed = window_losses.Posed(state, pose, pose.pos[..., 1:, :])
    label = torch.zeros(1, 1, 13, 15)
    terms = window_losses.ground_terms(posed, label, label, wall, CanonicalFrame(torch.zeros(1, 3), torch.zeros(1)), probe)
    assert float(terms.flight) == pytest.approx(0.5, rel=1e-3) and float(terms.penetration) == 0


def test_penetration_and_contact_by_hand(layout, window):
    """Ground that rises by 10 cm under a standing foot takes its sole in by 10 cm; ground that sinks leaves it 10 cm up."""
    probe = probe_points(humanoid(), CPU)
    posed = window_losses.pose_of(layout, window.future[:1].unsqueeze(1))
    soles = sole_points(probe, posed.pose)
    lowest = float(soles[..., 2].min())
    frame = CanonicalFrame(torch.zeros(1, 3), torch.zeros(1))
    label = torch.zeros(1, 1, 13, 15)
    label[..., humanoid().feet[0]] = 1.0

    def terms(height: float):
        ground = TerrainBatch.stack([Terrain(torch.full((40, 40), height), torch.full((2,), -8.0))])
        return window_losses.ground_terms(posed, label, label, ground, frame, probe)

    points = world_points(probe.surface, posed.pose)[..., 2]
    raised = lowest + 0.1
    expected = (raised - points).clamp_min(0).sum(-1).mean()
    torch.testing.assert_close(terms(raised).penetration.squeeze(), expected, atol=1e-4, rtol=1e-4)
    sunk = lowest - 0.1
    foot = soles[..., 0, :, 2].amin(-1) - sunk
    torch.testing.assert_close(terms(sunk).contact.squeeze(), foot.mean() / 15, atol=1e-4, rtol=1e-3)
    assert float(terms(sunk).penetration) == 0.0


def test_geodesic_error_by_hand():
    angle = torch.tensor(0.3)
    turned = rotation.to_matrix(rotation.from_axis_angle(torch.tensor([0.0, 0.0, 1.0]), angle)).view(1, 1, 1, 1, 3, 3)
    eye = torch.eye(3).view(1, 1, 1, 1, 3, 3)
    assert float(window_losses.rotation_error(turned, eye)) == pytest.approx(0.09, rel=1e-4)


def test_gradients_are_finite_at_the_recording(layout, window, stats):
    for objective in (FastObjective(), PaperObjective()):
        predicted = stats.standardise(window.future).unsqueeze(1).clone().requires_grad_()
        total, _ = objective(layout, stats, window, predicted, torch.zeros(6, 1), torch.ones(6, 1, dtype=torch.bool))
        (gradient,) = torch.autograd.grad(total, predicted)
        assert torch.isfinite(gradient).all()
