"""What a future is worth, by hand: one measure, with the prices of whoever asks."""

import pytest
import torch

from parc.path.path_batch import PathBatch
from parc.path.terrain_path import TerrainPath
from parc.plan.future_score import FutureEnds, ScoreSettings, score_futures
from parc.plan.offline_search import SearchSettings
from parc.plan.online_planner import PlannerSettings
from parc.plan.path_progress import STANDING
from parc.terrain import Terrain

LINE = PathBatch.stack([TerrainPath(torch.tensor([[0.0, 0.0, 0.0], [8.0, 0.0, 0.0]]))])
FLAT = Terrain.flat((24, 8), 0.0)


def ends(**changes: float) -> FutureEnds:
    """One that stands 2 m along the path, after 1 s, with half of its rehearsal survived."""
    told = {"progress": 2.0, "x": 2.0, "y": 0.0, "z": STANDING, "seconds": 1.0, "survived": 0.5, "drift": 0.0} | changes
    root = torch.tensor([[told["x"], told["y"], told["z"]]])
    value = torch.tensor([told["value"]]) if "value" in told else None
    pauses = torch.tensor([told["pauses"]]) if "pauses" in told else None
    columns = (torch.tensor([told[name]]) for name in ("seconds", "survived", "drift"))
    return FutureEnds(torch.tensor([told["progress"]]), root, *columns, value, pauses)


@pytest.mark.parametrize("settings", [SearchSettings(), PlannerSettings()], ids=["search", "live"])
def test_each_price_by_itself(settings: ScoreSettings) -> None:
    def score(caution: float = 1.0, **changes: float) -> float:
        return float(score_futures(ends(**changes), LINE, FLAT, settings, caution))

    usual = score()
    assert usual == pytest.approx(2.0 - settings.pace + 0.5 * settings.survival, abs=1e-5)
    assert score(progress=3.0, x=3.0) - usual == pytest.approx(1.0, abs=1e-5)
    assert score(seconds=2.0) - usual == pytest.approx(-settings.pace, abs=1e-5)
    assert score(survived=1.0) - usual == pytest.approx(0.5 * settings.survival, abs=1e-5)
    assert score(value=4.0) - usual == pytest.approx(settings.value * 4.0, abs=1e-5)
    assert score(value=50.0) - usual == pytest.approx(settings.value * min(50.0, settings.content), abs=1e-4)
    assert score(drift=0.4) - usual == pytest.approx(-settings.drift * 0.4, abs=1e-5)
    assert score(y=settings.corridor) == pytest.approx(usual, abs=1e-5)
    assert score(y=settings.corridor + 1.0) - usual == pytest.approx(-settings.off_path, abs=1e-5)
    assert score(pauses=1.0) - usual == pytest.approx(-settings.idle, abs=1e-5)
    bold = score(caution=0.0)
    assert usual - bold == pytest.approx((1 - settings.boldness) * 0.5 * settings.survival, abs=1e-5)


def test_the_search_minds_neither_lying_nor_the_edge_of_the_map_where_no_terrain_is_given() -> None:
    off = ends(x=2.0, y=-9.0, z=0.2)
    live = PlannerSettings()
    with_map, without = (float(score_futures(off, LINE, ground, live)) for ground in (FLAT, None))
    low = STANDING - 0.3 - 0.2
    edge = -9.0 - float(FLAT.extent[0][1])
    assert without - with_map == pytest.approx(live.low * low - live.off_map * edge, abs=1e-4)


def test_bent_knees_cost_their_price() -> None:
    two = LINE.select(torch.zeros(2, dtype=torch.long))
    columns = [
        torch.cat([part, part]) for part in (getattr(ends(), k) for k in ("progress", "root", "seconds", "survived", "drift"))
    ]
    bent = FutureEnds(*columns, crouch=torch.tensor([0.0, 0.5]))
    straight, crouched = score_futures(bent, two, None, ScoreSettings(crouch=2.0)).tolist()
    assert straight - crouched == pytest.approx(2.0 * 0.5)
    straight, crouched = score_futures(bent, two, None, ScoreSettings()).tolist()
    assert straight == crouched
