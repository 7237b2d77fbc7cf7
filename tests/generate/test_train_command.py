"""`parc train-generator` on a CPU: a look at the clock after each step, of as many windows as asked for; a stop loses nothing."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from parc.author.procedural_walk import stroll
from parc.character import humanoid
from parc.cli.main import main
from parc.dataset.convert.clip_files import save_clip
from parc.generate.training.generator_training import CHECKPOINT_FILE
from parc.path.terrain_path import TerrainPath
from parc.run.checkpoint import load_checkpoint
from parc.terrain.terrain import Terrain


def test_it_looks_at_the_clock_after_each_step(tmp_path: Path, capsys) -> None:
    path = TerrainPath(torch.tensor([[1.0, 1.0, 0.0], [5.0, 2.0, 0.0]]))
    (tmp_path / "clips").mkdir()
    save_clip(stroll(Terrain.flat((20, 20)), path), tmp_path / "clips" / "walk.motion", humanoid())
    call = [
        "train-generator",
        str(tmp_path / "clips"),
        "-o",
        str(tmp_path / "out"),
        "--step.batch",
        "2",
        "--device",
        "cpu",
        "--steps",
    ]
    assert main([*call, "2"]) == 0
    rows = [json.loads(line) for line in (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [1, 2]
    assert rows[1]["windows_per_s"] * (rows[1]["seconds"] - rows[0]["seconds"]) == pytest.approx(2, rel=0.05)
    assert main([*call[:-1], "--seconds", "-1"]) == 2 and main([*call[:-3], "--step.batch", "-1"]) == 2
    assert "the budget is -1.0 s, expected more" in capsys.readouterr().err


def test_one_that_is_told_to_stop_saves_its_last_step(tmp_path: Path) -> None:
    path = TerrainPath(torch.tensor([[1.0, 1.0, 0.0], [5.0, 2.0, 0.0]]))
    (tmp_path / "clips").mkdir()
    save_clip(stroll(Terrain.flat((20, 20)), path), tmp_path / "clips" / "walk.motion", humanoid())
    out = tmp_path / "out"
    words = [
        "train-generator",
        str(tmp_path / "clips"),
        "-o",
        str(out),
        "--step.batch",
        "2",
        "--device",
        "cpu",
        "--steps",
        "1000",
    ]

    def steps() -> list[int]:
        file = out / "metrics.jsonl"
        return [json.loads(line)["step"] for line in file.read_text().splitlines()] if file.exists() else []

    reached = 0
    for number in (signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen([sys.executable, "-m", "parc", *words], stderr=subprocess.PIPE, text=True) as process:
            while len(steps()) < reached + 2 and process.poll() is None:
                time.sleep(0.05)
            process.send_signal(number)
            try:
                said = process.communicate(timeout=60)[1]
            finally:
                process.kill()
        assert process.returncode == 130, said
        seen = steps()
        assert seen == list(range(1, len(seen) + 1)) and len(seen) >= reached + 2, "it went on where it stopped"
        reached = load_checkpoint(out / CHECKPOINT_FILE)[1]["steps"]
        assert reached == seen[-1], "nothing was lost"
        assert f"saved at step {reached}; the same command goes on from there" in said and said.rstrip().endswith("parc: stopped")
