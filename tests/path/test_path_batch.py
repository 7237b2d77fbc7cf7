import math

import numpy as np
import pytest
import torch

from parc.errors import PathError
from parc.path.path_batch import PathBatch
from parc.path.terrain_path import TerrainPath


def figure_eight(points: int = 400, size: float = 2.0) -> TerrainPath:
    """Starts and ends at the crossing and passes it half-way."""
    t = torch.linspace(0, 2 * math.pi, points, dtype=torch.float64)
    return TerrainPath(torch.stack([size * t.sin(), size * (2 * t).sin() / 2, 0 * t], -1).float())


def loop_with_tail() -> TerrainPath:
    """East 1 m to a crossing and on around a square of side 1.5 m, over the crossing southward."""
    return TerrainPath(torch.tensor([[0, 0, 0], [2.5, 0, 0], [2.5, 1.5, 0], [1.0, 1.5, 0], [1.0, -3.0, 0]], dtype=torch.float32))


def along(path: TerrainPath, arc: float) -> torch.Tensor:
    arcs, nodes = path.arc_length.double().numpy(), path.nodes.double().numpy()
    return torch.tensor([np.interp(arc, arcs, nodes[:, k]) for k in range(2)], dtype=torch.float32)


def test_walking_a_self_crossing_path_gives_its_arc_length():
    paths = [figure_eight(), loop_with_tail(), TerrainPath(torch.tensor([[0.0, 0, 0], [3.0, 0, 1.0]]))]
    batch = PathBatch.stack(paths, 0.05)
    progress = batch.start()
    for step in range(1, 101):
        arcs = [path.length * step / 100 for path in paths]
        progress = batch.advance(progress, torch.stack([along(p, a) for p, a in zip(paths, arcs, strict=True)]), 1.0)
        torch.testing.assert_close(progress, torch.tensor(arcs), atol=0.03, rtol=0)
    torch.testing.assert_close(progress, batch.length, atol=1e-3, rtol=0)


def test_at_a_crossing_the_branch_in_the_window_counts():
    batch = PathBatch.stack([loop_with_tail()] * 2, 0.1)
    crossing = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    progress = batch.advance(torch.tensor([0.9, 6.8]), crossing, window=1.5)
    torch.testing.assert_close(progress, torch.tensor([1.0, 7.0]), atol=1e-4, rtol=0)


def test_progress_never_falls_never_leaves_the_window_and_matches_a_fine_search():
    rng = np.random.default_rng(0)
    paths = [TerrainPath(torch.tensor(rng.normal(size=(8, 3)).cumsum(0), dtype=torch.float32)) for _ in range(30)]
    batch = PathBatch.stack(paths, 0.02)
    progress = torch.tensor([p.length * rng.uniform(0, 1) for p in paths], dtype=torch.float32)
    xy = torch.tensor(rng.normal(size=(30, 2)) * 2, dtype=torch.float32)
    after = batch.advance(progress, xy, 1.5)
    assert (after >= progress).all() and (after <= progress + 1.5 + 1e-4).all() and (after <= batch.length).all()
    for k, path in enumerate(paths):
        fine = np.linspace(float(progress[k]), min(float(progress[k]) + 1.5, path.length), 3000)
        points = torch.stack(
            [torch.tensor(np.interp(fine, path.arc_length.numpy(), path.nodes[:, a].numpy())) for a in range(2)], -1
        )
        best = (points - xy[k]).norm(dim=-1).min()
        found = (along(path, float(after[k])) - xy[k]).norm()
        assert found == pytest.approx(float(best), abs=0.02)


def test_a_broken_agent_stays_put():
    batch = PathBatch.stack([loop_with_tail()])
    progress = batch.advance(torch.tensor([1.3]), torch.tensor([[float("nan"), 0.0]]))
    assert progress.item() == pytest.approx(1.3)


def test_of_two_equal_branches_the_earlier_counts():
    out_and_back = TerrainPath(torch.tensor([[0.0, 0, 0], [1.0, 0, 0], [0.0, 0, 0]]))
    batch = PathBatch.stack([out_and_back], 0.1)
    assert batch.advance(torch.tensor([0.5]), torch.tensor([[0.7, 0.0]]), 1.5).item() == pytest.approx(0.7, abs=1e-4)


def test_target_is_ahead_and_ends_at_the_goal():
    path = loop_with_tail()
    batch = PathBatch.stack([path] * 4, 0.1)
    progress = torch.tensor([0.0, 0.35, 5.0, path.length - 0.2])
    target = batch.target(progress, 0.8)
    for k in range(4):
        torch.testing.assert_close(target[k], along(path, min(float(progress[k]) + 0.8, path.length)), atol=1e-4, rtol=0)
    torch.testing.assert_close(target[3], path.goal[:2])


def test_arrival_needs_the_path_walked_and_stays():
    batch = PathBatch.stack([figure_eight()])
    done, at_goal = torch.tensor([False]), torch.zeros(1, 2)
    assert not batch.reached(done, batch.start(), at_goal)  # the goal is where the path starts
    assert not batch.reached(done, batch.length, torch.tensor([[0.6, 0.0]]))
    done = batch.reached(done, batch.length - 0.3, torch.tensor([[0.3, 0.0]]))
    assert done
    assert batch.reached(done, batch.length, torch.tensor([[9.0, 9.0]]))


def test_paths_of_different_lengths_share_a_batch():
    short = TerrainPath(torch.tensor([[1.0, 1.0, 0.5]]))
    batch = PathBatch.stack([short, loop_with_tail()], 0.1)
    assert batch.length.tolist() == [0.0, pytest.approx(loop_with_tail().length)]
    torch.testing.assert_close(batch.goal, torch.stack([short.goal, loop_with_tail().goal]))
    assert batch.advance(batch.start(), torch.ones(2, 2))[0] == 0
    torch.testing.assert_close(batch.target(batch.start())[0], torch.ones(2))
    assert batch.reached(torch.zeros(2, dtype=torch.bool), batch.start(), torch.ones(2, 2)).tolist() == [True, False]
    picked = batch.select(torch.tensor([1, 1, 0]))
    assert len(picked) == 3 and torch.equal(picked.points[0], batch.points[1])


def test_bad_batches_are_refused():
    with pytest.raises(PathError, match="at least one path"):
        PathBatch.stack([])
    with pytest.raises(PathError, match="spacing is 0"):
        PathBatch.stack([loop_with_tail()], 0)


def test_advance_can_be_captured():
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    batch = PathBatch.stack([figure_eight(), loop_with_tail()], device="cuda")
    progress, done, xy = batch.start(), torch.zeros(2, dtype=torch.bool, device="cuda"), torch.zeros(2, 2, device="cuda")

    def step() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        after = batch.advance(progress, xy)
        return after, batch.target(after), batch.reached(done, after, xy)

    step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    xy.copy_(batch.points[:, 8, :2])
    graph.replay()
    for replayed, plain in zip(captured, step(), strict=True):
        assert torch.equal(replayed, plain)
