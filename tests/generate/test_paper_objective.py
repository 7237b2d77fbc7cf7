"""What items of random terrain pay: that they sink into it, and of the recording that means nothing there not a thing."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from parc.character import humanoid
from parc.generate.data.training_windows import WindowBatch, WindowSampler
from parc.generate.model.feature_layout import FeatureLayout, Statistics
from parc.generate.training.training_objective import FastObjective, PaperObjective

Objective = FastObjective | PaperObjective
OBJECTIVES = pytest.mark.parametrize("objective", [FastObjective(), PaperObjective()], ids=["fast", "paper"])
GEOMETRY = ("consistency", "slide", "penetration", "own_contact", "flight")
"""terms that ask nothing of the recording; the paper's objective has the penetration alone"""


@pytest.fixture(scope="module")
def window(windows: WindowSampler) -> WindowBatch:
    """Four windows on ground that is raised by 0.3 m, the first two of them random terrain."""
    found = windows.assemble(windows.draw(4, torch.Generator().manual_seed(1), augment=False))
    patch = replace(found.patch, heights=found.patch.heights + 0.3)
    return found._replace(patch=patch, is_random=torch.tensor([True, True, False, False]))


@pytest.fixture(scope="module")
def stats(layout, window: WindowBatch) -> Statistics:
    return Statistics.of(layout, window.future)


def judged(objective: Objective, layout, stats: Statistics, window: WindowBatch) -> tuple[dict[str, float], Tensor]:
    """The parts by name, and how much the total's gradient is of each item's prediction [4], a little off the recording."""
    clean = stats.standardise(window.future).unsqueeze(1)
    predicted = (clean + 0.1 * torch.randn(clean.shape, generator=torch.Generator().manual_seed(0))).requires_grad_()
    total, parts = objective(layout, stats, window, predicted, torch.full((4, 1), 0.2), torch.ones(4, 1, dtype=torch.bool))
    (gradient,) = torch.autograd.grad(total, predicted)
    return dict(zip(objective.NAMES, parts.tolist(), strict=True)), gradient.flatten(1).norm(dim=1)


def without(objective: Objective, *names: str) -> Objective:
    """With these weights zero."""
    return replace(objective, **dict.fromkeys(names, 0.0))


@OBJECTIVES
def test_without_the_terms_about_the_ground_random_items_teach_nothing(objective, layout, stats, window) -> None:
    geometry = [name for name in GEOMETRY if name in objective.NAMES and not isinstance(objective, PaperObjective)]
    _, gradient = judged(without(objective, "penetration", *geometry), layout, stats, window)
    assert gradient[:2].tolist() == [0, 0] and (gradient[2:] > 0).all()


@OBJECTIVES
def test_random_items_pay_for_sinking_as_all_others_do(objective, layout, stats, window) -> None:
    weights = [name for name in objective.NAMES if name not in ("total", "penetration")]
    parts, gradient = judged(without(objective, *weights), layout, stats, window)
    assert (gradient > 0).all() and parts["total"] == pytest.approx(objective.penetration * parts["penetration"], rel=1e-5)
    alone = [
        judged(objective, layout, stats, window._replace(is_random=torch.full((4,), random)))[0]["penetration"]
        for random in (True, False)
    ]
    assert alone[0] == alone[1] == parts["penetration"] > 0


@OBJECTIVES
def test_other_recordings_of_random_items_change_nothing(objective, layout, stats, window) -> None:
    """The same prediction against futures that are another item's; a real item's would matter."""
    clean = stats.standardise(window.future).unsqueeze(1)
    level, shown = torch.full((4, 1), 0.2), torch.ones(4, 1, dtype=torch.bool)

    def total(order: list[int]) -> float:
        return float(
            replace(objective, penetration=0.0)(layout, stats, window._replace(future=window.future[order]), clean, level, shown)[
                0
            ]
        )

    assert total([1, 0, 2, 3]) == pytest.approx(total([0, 1, 2, 3]), rel=1e-6)
    assert total([0, 1, 3, 2]) > 2.0 * total([0, 1, 2, 3])


def test_all_random_terrain_costs_the_papers_objective_its_penetration(layout, stats, window) -> None:
    parts, _ = judged(PaperObjective(), layout, stats, window._replace(is_random=torch.ones(4, dtype=torch.bool)))
    paid = {name for name, value in parts.items() if value}
    assert paid == {"total", "penetration"}


def papers_parts(layout, window: WindowBatch, drift: Tensor, joints: Tensor) -> dict[str, float]:
    """Parts of the paper's objective when roots are off by `drift` [13, 3] and joints, as predicted, by `joints` [13, 14, 3]."""
    decoded = layout.decode(window.future)
    state = decoded.state._replace(root_pos=decoded.state.root_pos + drift)
    features = layout.encode(state, decoded.joint_pos + joints).unsqueeze(1)
    plain = Statistics(torch.zeros(layout.width), torch.ones(layout.width))
    real = window._replace(is_random=torch.zeros(4, dtype=torch.bool))
    level, shown = torch.full((4, 1), 0.2), torch.ones(4, 1, dtype=torch.bool)
    _, parts = PaperObjective()(layout, plain, real, features, level, shown)
    found = dict(zip(PaperObjective.NAMES, parts.tolist(), strict=True))
    return {name: value for name, value in found.items() if name not in ("total", "penetration") and value > 1e-5}


@pytest.mark.parametrize("encoding", ["sixd", "exp"])
def test_the_papers_terms_by_hand(window: WindowBatch, encoding) -> None:
    """A body set off by 0.1 m, whole; one that drifts at 0.3 m/s; joints said to be 0.1 m from where the rotations put them."""
    character = humanoid()
    layout, old = FeatureLayout(character, encoding), FeatureLayout(character)
    decoded = old.decode(window.future)
    window = window._replace(future=layout.encode(decoded.state, decoded.joint_pos))
    off = torch.tensor([0.1, 0.0, 0.0]).expand(13, 3)
    everywhere = off[:, None].expand(13, 14, 3)
    whole = papers_parts(layout, window, off, everywhere)
    assert whole == pytest.approx({"root_pos": 0.01, "joint_pos": 0.14, "body_pos": 0.15}, rel=1e-2)
    drift = torch.arange(13)[:, None] / 30 * torch.tensor([0.0, 0.3, 0.0])
    moving = papers_parts(layout, window, drift, drift[:, None].expand(13, 14, 3))
    assert moving["root_velocity"] == pytest.approx(0.09, rel=1e-2) and moving["body_velocity"] == pytest.approx(
        15 * 0.09, rel=1e-2
    )
    said = papers_parts(layout, window, torch.zeros(13, 3), everywhere)
    assert said == pytest.approx({"joint_pos": 0.14, "consistency": 0.14}, rel=1e-2)
    both = papers_parts(layout, window, off, torch.zeros(13, 14, 3))
    assert both == pytest.approx({"root_pos": 0.01, "consistency": 0.14, "body_pos": 0.15}, rel=1e-2), "against its own pose"
