"""Which models are compared: runs by iteration, files by what they hold, and one sentence for anything else."""

import shutil
from pathlib import Path

import pytest

from parc.errors import ParcError
from parc.evaluate.models_under_test import find_contenders
from parc.models import shipped_generator, shipped_tracker

from .conftest import make_run, save_generator, save_tracker


def test_nothing_is_the_models_in_the_box() -> None:
    (only,) = find_contenders([]).contenders
    assert (only.generator, only.tracker) == (shipped_generator(), shipped_tracker())


def test_a_run_gives_its_iterations(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 3, unfinished="iteration-03/tracker")
    models = find_contenders([run])
    assert [c.label for c in models.contenders] == ["iteration 1", "iteration 2", "iteration 3"]
    assert models.contenders[1].tracker == run / "iteration-02" / "tracker" / "actor.safetensors"
    assert models.contenders[2].tracker is None, "not trained yet"
    assert models.run == run and len(models.trackers) == 2


def test_an_ablation_stands_beside_the_run(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / "run", 2), make_run(tmp_path / "ablation", 2, corrected=False)]
    models = find_contenders(runs)
    assert [c.label for c in models.contenders] == ["iteration 1", "iteration 2", "no physics correction"]
    assert models.contenders[-1].generator == tmp_path / "ablation" / "iteration-02" / "generator" / "generator.safetensors"
    assert models.final.label == "iteration 2", "the sweep is of the last that learned from corrected motions"


def test_two_runs_of_a_kind_are_named(tmp_path: Path) -> None:
    models = find_contenders([make_run(tmp_path / name, 1) for name in ("one", "two")])
    assert [c.label for c in models.contenders] == ["one, iteration 1", "two, iteration 1"]


def test_files_are_told_apart_and_paired(models: Path) -> None:
    a, b, s, t = (models / f"{n}.safetensors" for n in "abst")
    models = find_contenders([a, s, b, t])
    assert [(c.label, c.generator, c.tracker) for c in models.contenders] == [("a", a, s), ("b", b, t)]
    assert [c.tracker for c in find_contenders([a, b, t]).contenders] == [t, t]
    assert [c.tracker for c in find_contenders([a, b]).contenders] == [None, None]
    (only,) = find_contenders([s]).contenders
    assert (only.generator, only.tracker, only.lent) == (shipped_generator(), s, True)


def test_equal_names_get_their_folders(tmp_path: Path) -> None:
    files = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        files.append(save_generator(tmp_path / name / "generator.safetensors"))
    save_tracker(tmp_path / "two" / "actor.safetensors")
    assert [c.label for c in find_contenders(files).contenders] == ["one/generator", "two/generator"]
    deeper = [tmp_path / f / "last" / "generator.safetensors" for f in ("one", "two")]
    for file in deeper:
        file.parent.mkdir()
        shutil.copy(files[0], file)
    labels = [c.label for c in find_contenders([*deeper, *files, files[0]]).contenders]
    named = ["one/last/generator", "two/last/generator", f"{tmp_path.name}/one/generator", "two/generator"]
    assert labels[:2] == named[:2] and labels[3] == named[3] and labels[4] == f"{labels[2]} (2)"
    (folder,) = find_contenders([tmp_path / "two"]).contenders
    assert folder.tracker is not None, "a folder of a training gives what is in it"


def test_what_is_wrong_is_said(tmp_path: Path, models: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "noise.safetensors").write_bytes(b"noise")
    three = [models / f"{n}.safetensors" for n in "abst"]
    for sources, words in (
        ([tmp_path / "nowhere"], "there is no .*nowhere"),
        ([tmp_path / "empty"], "neither a run"),
        ([tmp_path / "noise.safetensors"], "not a safetensors file"),
        ([make_run(tmp_path / "young", 1, unfinished="iteration-01/generator")], "not finished a generator"),
        ([make_run(tmp_path / "first", 1, corrected=False)], "a second iteration"),
        ([*three, models / "b.safetensors"], "3 generators and 2 trackers"),
    ):
        with pytest.raises(ParcError, match=words):
            find_contenders(sources)
