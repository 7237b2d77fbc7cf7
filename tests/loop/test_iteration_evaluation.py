"""A tiny run that is measured beside its other stages; its figure, and what is released of it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from parc.character import humanoid
from parc.cli.main import main
from parc.dataset import Dataset
from parc.errors import SettingsError
from parc.generate.model.motion_generator import Generator
from parc.loop import LoopError
from parc.loop.iteration_numbers import NUMBERS
from parc.loop.leaf_stages import SideLane
from parc.loop.loop_report import gather_report
from parc.loop.run_progress import read_progress
from parc.models import hashes_of
from parc.plan import Models
from parc.report.iterations_figure import iteration_charts, iterations_figure, minutes_by_stage
from parc.report.release_run import BEGIN, END, release_run
from parc.run.checkpoint import load_checkpoint
from parc.run.hashing import hash_file

STAGE = "iteration-01/evaluation"


@pytest.fixture(scope="module")
def measured(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = Path(shutil.copytree(finished, tmp_path_factory.mktemp("measured") / "run"))
    assert main(["loop", str(run), "--device", "cpu", "--evaluation", "True", "--beside", "True"]) == 0
    return run


def test_the_stage_is_done_remembered_and_changes_nothing_else(measured: Path, finished: Path, began: Callable) -> None:
    before, after = began(finished), began(measured)
    assert {name for name in after if after[name] != before.get(name)} == {STAGE}
    entry = json.loads((measured / "ledger.json").read_text())["stages"][STAGE]
    assert set(entry["inputs"]) == {"settings", "generator", "tracker", "reflex"} and entry["inputs"]["reflex"] == "-"
    assert set(entry["result"]) == set(NUMBERS) and all(value is not None for value in entry["result"].values())
    told = json.loads((measured / STAGE / "evaluation.json").read_text())
    assert told["numbers"] == pytest.approx(entry["result"], rel=1e-6)
    assert [row["method"] for row in told["crossings"]] == ["reflex", "search"] and told["blending"] is None
    assert told["models"]["generator"] == hash_file(measured / "iteration-01" / "generator" / "generator.safetensors")
    progress = read_progress(measured)
    assert progress.state == "finished" and STAGE.split("/")[1] in (measured / "report.html").read_text()


def test_the_figure_shows_every_number_beside_the_papers(measured: Path, finished: Path, tmp_path: Path) -> None:
    numbers = gather_report(measured)
    assert len(iteration_charts(numbers)) == len(NUMBERS)
    picture = iterations_figure(numbers)
    assert all(what.says in picture for what in NUMBERS.values()) and "2093" in picture and "68" in picture
    rows, columns = minutes_by_stage(numbers)
    assert columns == ["minutes", "before", "iteration 1", "all"] and [row[0] for row in rows][-2:] == ["evaluation", "all"]
    assert main(["status", str(measured), "--trend", str(tmp_path / "trend.svg")]) == 0
    assert (tmp_path / "trend.svg").read_text() == picture
    assert main(["status", str(finished), "--trend", str(tmp_path / "none.svg")]) == 2


def test_a_release_is_the_runs_models_in_float16_with_hashes_and_a_card(measured: Path, tmp_path: Path) -> None:
    out, card = tmp_path / "box", tmp_path / "CARD.md"
    out.mkdir()
    (out / "generator_paced.safetensors").write_bytes(b"somebody else's")
    card.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    assert main(["release", str(measured), "-o", str(out), "--card", str(card)]) == 0
    place = measured / "iteration-01"
    exact = load_checkpoint(place / "generator" / "generator.safetensors")[0]
    for name, value in load_checkpoint(out / "generator.safetensors")[0].items():
        assert value.dtype == (torch.float16 if name.startswith("network.") else torch.float32)
        torch.testing.assert_close(value.float(), exact[name], atol=1e-3, rtol=1e-3)
    assert (out / "tracker.safetensors").read_bytes() == (place / "tracker" / "actor.safetensors").read_bytes()
    models = Models.load(humanoid(), "cpu", out / "generator.safetensors", out / "tracker.safetensors")
    assert models.critic is not None and isinstance(models.generator, Generator)
    assert all(clip.provenance.source == "simulation" for clip in Dataset.open(out / "motions", humanoid()))
    hashes = json.loads((out / "hashes.json").read_text())
    assert hashes == hashes_of(out) and "generator_paced.safetensors" in hashes
    told, text = json.loads((out / "release.json").read_text()), card.read_text()
    assert told["iterations"][0]["numbers"] == pytest.approx(gather_report(measured)["iterations"][0]["evaluation"], rel=1e-6)
    assert text.startswith(f"before\n{BEGIN}\n") and text.endswith(f"{END}\nafter\n") and "old" not in text
    assert hashes["tracker.safetensors"]["sha256"] in text and (out / "card.md").read_text() in text
    again = tmp_path / "again"
    assert main(["release", str(measured), "-o", str(again)]) == 0
    assert {name: hash_file(again / name) for name in hashes if "paced" not in name} == {
        name: told["sha256"] for name, told in hashes.items() if "paced" not in name
    }


def test_what_is_not_finished_or_changed_is_not_released(finished: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    (tmp_path / "CARD.md").write_text("no marks")
    with pytest.raises(SettingsError, match="no place for a release"):
        release_run(run, tmp_path / "out", humanoid(), card=tmp_path / "CARD.md")
    (run / "iteration-01" / "tracker" / "critic.safetensors").write_bytes(b"")
    with pytest.raises(LoopError, match="is not what was made"):
        release_run(run, tmp_path / "out", humanoid())
    ledger = json.loads((run / "ledger.json").read_text())
    del ledger["stages"]["iteration-01/dataset"]
    (run / "ledger.json").write_text(json.dumps(ledger))
    with pytest.raises(LoopError, match="is not finished: dataset of iteration 1 is next"):
        release_run(run, tmp_path / "out", humanoid())
    assert not (tmp_path / "out").exists()


def test_a_stage_beside_others_that_fails_ends_the_run() -> None:
    def broken() -> None:
        raise LoopError("it broke")

    with pytest.raises(LoopError, match="it broke"):
        SideLane(False).add(broken)
    lane, done = SideLane(True), []
    lane.add(broken)
    lane.add(lambda: done.append("the next"))
    with pytest.raises(LoopError, match="it broke"):
        lane.finish()
    lane.close()
    assert done == ["the next"]
