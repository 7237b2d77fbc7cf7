"""Closed-loop training as a stage: a leaf of the run, in the ledger like the others, remembered, gone on with after a stop."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from parc.cli.main import main
from parc.errors import SettingsError
from parc.loop import RunSources, preset
from parc.loop.budget.time_budget import within
from parc.loop.run_outline import outline
from parc.loop.run_progress import read_progress
from parc.reflex.loop_stage import closed_loop_of
from parc.run.hashing import hash_file

STAGE = "iteration-01/reflex"


def test_the_stage_is_done_remembered_and_changes_nothing_else(
    finished: Path, tmp_path: Path, dataset_hashes: Callable, began: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    before, place = began(run), run / STAGE
    assert main(["loop", str(run), "--device", "cpu", "--reflex", "True"]) == 0
    after = began(run)
    assert {name for name in after if after[name] != before.get(name)} == {STAGE}
    assert dataset_hashes(run) == dataset_hashes(finished)
    entry = json.loads((run / "ledger.json").read_text())["stages"][STAGE]
    assert set(entry["inputs"]) == {"settings", "dataset", "synthesis", "generator", "tracker"}
    assert entry["outputs"][f"{STAGE}/actor.safetensors"]["sha256"] == hash_file(place / "actor.safetensors")
    assert 0 <= entry["result"]["crossings"] <= 1 and read_progress(run).state == "finished"
    rows = [json.loads(line) for line in (place / "metrics.jsonl").read_text().splitlines()]
    assert rows[-1]["event"] == "evaluation" and rows[-1]["samples"] > 0

    # stopped before the ledger was written: the same call, without --reflex, goes on from the checkpoint
    ledger = json.loads((run / "ledger.json").read_text())
    ledger["stages"][STAGE] |= {"seconds": None, "outputs": {}}
    (run / "ledger.json").write_text(json.dumps(ledger))
    progress = read_progress(run)
    assert (progress.stage, progress.share) == ("reflex", 1.0)
    made = hash_file(place / "last" / "actor.safetensors")
    assert main(["loop", str(run), "--device", "cpu"]) == 0
    assert hash_file(place / "last" / "actor.safetensors") == made
    assert main(["loop", str(run), "--device", "cpu", "--reflex", "False"]) == 0
    assert json.loads((run / "run.json").read_text())["settings"]["closed_loop"] is None
    capsys.readouterr()


def test_presets_have_it_where_they_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, has_it in (("gpu", True), ("paper", False), ("quick", False)):
        assert main(["loop", str(tmp_path / "run"), "--preset", name, "--dry-run", "--json"]) == 0
        stages = [row["stage"] for row in json.loads(capsys.readouterr().out.splitlines()[-1])["stages"]]
        assert (STAGE in stages) == has_it
    gpu, shorter = (closed_loop_of(loop).plan for loop in (preset("gpu"), within(preset("gpu"), 20)))
    assert gpu.seconds == pytest.approx(0.45 * 960) and 0 < shorter.seconds < gpu.seconds and not gpu.iterations
    tracked = preset("quick")
    told = outline(replace(tracked, closed_loop=closed_loop_of(tracked)), RunSources())
    assert [row["does"] for row in told["stages"] if row["stage"] == STAGE] == [
        "3 rounds of training, 87 characters with the generator in the loop"
    ]
    with pytest.raises(SettingsError, match="needs a tracker"):
        closed_loop_of(replace(tracked, physics_correction=False))
