import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tools import label_check

from parc.character import Character
from parc.cli.main import main
from parc.dataset import load_clip
from parc.dataset.clip import Clip
from parc.dataset.dataset_store import Dataset, DatasetWriter
from parc.quality import MocapLimits


@pytest.fixture
def walks(character: Character, flat_walk: Clip, tmp_path: Path) -> Path:
    with DatasetWriter(tmp_path / "walks", character) as writer:
        writer.append([replace(flat_walk, name="walk", motion=flat_walk.motion.slice(0, 60))])
    return tmp_path / "walks"


def test_label_check_tells_precision_and_recall(walks: Path, capsys) -> None:
    assert label_check.main([str(walks), "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    foot = result["motion alone"]["left_foot"]
    assert result["tolerance"] == 1 and foot["precision"] > 0.9 and foot["recall"] > 0.9 and foot["frames"] > 10
    assert result["on its ground"]["left_hand"]["precision"] is None
    assert label_check.main([str(walks)]) == 0
    assert "left_foot" in capsys.readouterr().out


def test_vary_makes_a_data_set_and_tells_what_it_refused(walks: Path, tmp_path: Path, capsys) -> None:
    words = ["dataset", "vary", str(walks), "-o", str(tmp_path / "out"), "--count", "2", "--workers", "1"]
    words += ["--vary.refine.fit.iterations", "40"]
    assert main([*words, "--device", "cpu", "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (
        result["kept"] + len(result["refused"]) == 2 and result["kept"] and len(Dataset.open(tmp_path / "out")) == result["kept"]
    )


def test_nothing_kept_is_a_failure_in_one_sentence(
    walks: Path, flat_walk: Clip, character: Character, tmp_path: Path, capsys
) -> None:
    shaken = flat_walk.motion.slice(0, 40)
    shaken = replace(shaken, root_pos=shaken.root_pos + 0.1 * torch.tensor([0.0, 0.0, 1.0]) * (torch.arange(40) % 2)[:, None])
    with DatasetWriter(tmp_path / "shaken", character) as writer:
        writer.append([replace(flat_walk, name="shaken", motion=shaken)])
    few, fit = ["--count", "1", "--device", "cpu"], ["--vary.refine.fit.iterations", "1", "--workers", "1"]
    error = sentence(["dataset", "vary", str(tmp_path / "shaken"), "-o", str(tmp_path / "v"), *few, *fit], capsys)
    assert "none of the 1 variations" in error and "shaken_v000 rejected (" in error and "report.jsonl" in error
    error = sentence(
        ["dataset", "author", "-o", str(tmp_path / "a"), "--skill", "climb", *few, "--solve.iterations", "1"], capsys
    )
    assert "none of the 1 clips was good enough" in error and "--all" in error


@pytest.fixture
def raw(character: Character, flat_walk: Clip, bvh_text, tmp_path: Path) -> Path:
    """A folder with a take of another skeleton, and a shortlist of it."""
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "ann_walk.bvh").write_text(bvh_text(character, flat_walk, unit=0.01))
    (tmp_path / "raw" / "list.csv").write_text("source,skill\nann_walk.bvh,walk\nnone.bvh,run\n")
    return tmp_path / "raw"


def sentence(words: list[str], capsys) -> str:
    """The one sentence of a refused call."""
    assert main(words) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith("parc: ") and len(error.splitlines()) == 1
    return error


def test_build_tells_what_it_refused_and_medians_with_their_units(raw: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "D0"
    assert main(["dataset", "build", str(raw / "list.csv"), "-o", str(out), "--workers", "1"]) == 0
    told = capsys.readouterr().out
    assert "run_none failed: " in told and "1 clips kept" in told
    units = {line.split()[0]: line.split()[2:] for line in told.splitlines() if line.startswith("  ") and "none" not in line}
    assert units["gap"] == ["mm"] and units["jerk"] == ["m/s3"] and units["skate"] == ["cm/s"]
    assert set(units) <= set(MocapLimits.units())
    assert (out / "card.md").exists()


def test_build_of_nothing_is_one_sentence(raw: Path, tmp_path: Path, capsys) -> None:
    words = ["dataset", "build", str(raw / "list.csv"), "-o", str(tmp_path / "D0"), "--workers", "1"]
    (raw / "list.csv").write_text("source,skill\nnone.bvh,run\n")
    error = sentence(words, capsys)
    assert "none of the 1 rows" in error and "none.bvh does not exist" in error and "report.jsonl" in error
    (raw / "list.csv").write_text("source,skill\n")
    assert "no rows" in sentence(words, capsys)
    assert "nowhere.json does not exist" in sentence([*words, "--names", str(raw / "nowhere.json")], capsys)


def test_convert_fits_another_skeleton_when_told_to(raw: Path, character: Character, tmp_path: Path, capsys) -> None:
    """Names nobody has heard of, and a table that tells what they are."""
    text = (raw / "ann_walk.bvh").read_text()
    words = {"LeftLeg": "Zweiter", "RightLeg": "Dritter"}
    for old, new in words.items():
        text = text.replace(f"JOINT {old}\n", f"JOINT {new}\n")
    (raw / "odd.bvh").write_text(text)
    (raw / "names.csv").write_text("place,joint\nleft_knee,Zweiter\nright_shin,Dritter\n")
    source, target = str(raw / "odd.bvh"), str(tmp_path / "odd.motion")
    error = sentence(["convert", source, target], capsys)
    assert "odd.bvh is not of character" in error and "--retarget" in error
    error = sentence(["convert", source, target, "--retarget"], capsys)
    assert "odd.bvh: no joint was recognised as left_knee, right_knee" in error
    assert "--names only makes sense with --retarget" in sentence(
        ["convert", source, target, "--names", str(raw / "names.csv")], capsys
    )
    assert "cannot write '.doc'" in sentence(["convert", source, str(tmp_path / "x.doc"), "--retarget"], capsys)
    names = ["--names", str(raw / "names.csv")]
    assert main(["convert", source, target, "--retarget", *names, "--device", "cpu", "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["faults"] == [] and result["quality"]["feet"] < 3
    clip = load_clip(target, character)
    assert clip.motion.contacts[:, character.index("left_foot")].mean() > 0.3 and clip.provenance.source == "odd.bvh"


def test_convert_can_be_told_the_length_unit_of_the_source(
    character: Character, flat_walk: Clip, bvh_text, tmp_path: Path, capsys
) -> None:
    short = replace(flat_walk, motion=flat_walk.motion.slice(0, 30))
    (tmp_path / "w.bvh").write_text(bvh_text(character, short, unit=0.01))
    words = ["convert", str(tmp_path / "w.bvh"), str(tmp_path / "w.motion")]
    assert "--source-unit only makes sense with --retarget" in sentence([*words, "--source-unit", "cm"], capsys)
    words += ["--retarget", "--device", "cpu", "--json"]
    wrong = "--source-unit is 'ell', expected m, dm, cm, mm, inch, CMU or a positive number of metres"
    assert wrong in sentence([*words, "--source-unit", "ell"], capsys)
    assert not (tmp_path / "w.motion").exists()
    leg = sum(float(torch.tensor(character.bodies[character.index(f"left_{b}")].offset).norm()) for b in ("shin", "foot"))
    for given, told in (("cm", []), ("0.005", [f"legs are {0.5 * leg:.2f} m long"])):
        assert main([*words, "--source-unit", given]) == 0
        warnings = json.loads(capsys.readouterr().out.splitlines()[-1])["warnings"]
        assert [w.partition(",")[0] for w in warnings if "legs" in w] == told


def test_one_clip_comes_out_of_a_data_set(walks: Path, character: Character, tmp_path: Path, capsys) -> None:
    out = tmp_path / "one.motion"
    assert main(["dataset", "extract", str(walks), "walk", "-o", str(out)]) == 0
    assert torch.equal(load_clip(out, character).motion.root_pos, Dataset.open(walks)["walk"].motion.root_pos)
    assert main(["convert", str(walks / "walk"), str(tmp_path / "one.bvh")]) == 0
    assert main(["picture", str(walks / "walk"), "-o", str(tmp_path / "one.png")]) == 0
    capsys.readouterr()
    assert "did you mean 'walk'?" in sentence(["dataset", "extract", str(walks), "wlak", "-o", str(out)], capsys)
    assert "did you mean 'walk'?" in sentence(["picture", str(walks / "wlak"), "-o", str(tmp_path / "p.png")], capsys)


def test_nothing_to_work_on_is_said(walks: Path, character: Character, tmp_path: Path, capsys) -> None:
    with DatasetWriter(tmp_path / "empty", character):
        pass
    empty, out = str(tmp_path / "empty"), str(tmp_path / "out")
    assert sentence(["dataset", "vary", empty, "-o", out], capsys) == f"parc: {empty} has no clips to vary"
    assert sentence(["dataset", "hasten", empty, "-o", out], capsys) == f"parc: {empty} has no clips to hasten"
    assert label_check.main([empty]) == 2 and capsys.readouterr().err == f"parc: {empty} has no clips to label\n"
    assert sentence(["dataset", "show", empty, "--page", out + ".html"], capsys) == f"parc: {empty} has no clips to draw"
    assert sentence(["metrics", empty], capsys) == f"parc: {empty} has no clips to measure"
    assert sentence(["dataset", "show", str(walks), "--skill", "swim"], capsys).endswith("skill 'swim'; its skills are walk")
    assert sentence(["convert", "x.motion"], capsys) == (
        "parc: `parc convert` needs TARGET (file to write); see `parc convert --help`"
    )


def test_what_has_no_meaning_is_a_dash_to_a_person_and_null_to_a_machine(walks: Path, tmp_path: Path, capsys) -> None:
    """A .bvh has no labels and no path."""
    for name in ("a.bvh", "b.bvh"):
        assert main(["convert", str(walks / "walk"), str(tmp_path / name)]) == 0
    capsys.readouterr()
    files = [str(tmp_path / name) for name in ("a.bvh", "b.bvh")]
    assert main(["metrics", *files]) == 0
    told = capsys.readouterr().out
    assert "nan" not in told and "fwd -" in told
    assert "foot_f1" in told[told.index("nothing to measure in them") :]
    assert main(["metrics", *files, "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["mean"]["foot_f1"] is None and result["each"][0]["fwd"] is None
    assert label_check.main([str(walks)]) == 0
    assert "nan" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [(["vary", "--count", "0"], "0 variations"), (["vary", "--skill", "swim"], "skill swim")],
)
def test_bad_input_is_one_sentence(walks: Path, tmp_path: Path, capsys, words: list[str], said: str) -> None:
    more = ["-o", str(tmp_path / "out"), *words[1:]]
    assert main(["dataset", words[0], str(walks), *more, "--device", "cpu"]) == 2
    error = capsys.readouterr().err.strip()
    assert said in error and len(error.splitlines()) == 1


def test_a_warning_that_many_rows_share_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    from parc.cli.build_commands import Build

    warnings = {"a": ["rest pose"], "b": ["rest pose", "falls as if at 76 fps"]}
    result = {
        "refused": {},
        "warnings": warnings,
        "removed": [],
        "kept": 2,
        "minutes": 1.0,
        "out": "D0",
        "card": "c",
        "medians": {},
    }
    Build(shortlist=Path("s.csv"), out=Path("D0")).show(result)
    told = capsys.readouterr().out.splitlines()
    assert "  2 rows warning: rest pose" in told and "  b warning: falls as if at 76 fps" in told
