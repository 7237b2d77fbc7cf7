"""`parc train-generator` on a CPU: it looks at the clock after each step, of as many windows as asked for."""

import json
from pathlib import Path

import pytest
import torch

from parc.character import humanoid
from parc.cli.main import main
from parc.dataset.convert.load import save_clip
from parc.dataset.stroll import stroll
from parc.path.path import TerrainPath
from parc.terrain.terrain import Terrain


def test_it_looks_at_the_clock_after_each_step(tmp_path: Path, capsys) -> None:
    path = TerrainPath(torch.tensor([[1.0, 1.0, 0.0], [5.0, 2.0, 0.0]]))
    (tmp_path / "clips").mkdir()
    save_clip(stroll(Terrain.flat((20, 20)), path), tmp_path / "clips" / "walk.motion", humanoid())
    call = ["train-generator", str(tmp_path / "clips"), "-o", str(tmp_path / "out"), "--batch", "2", "--device", "cpu", "--steps"]
    assert main([*call, "2"]) == 0
    rows = [json.loads(line) for line in (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [1, 2]
    assert rows[1]["windows_per_s"] * (rows[1]["seconds"] - rows[0]["seconds"]) == pytest.approx(2, rel=0.05)
    assert main([*call[:-1], "--seconds", "-1"]) == 2 and main([*call[:-3], "--batch", "-1"]) == 2
    assert "the budget is -1.0 s, expected more" in capsys.readouterr().err
