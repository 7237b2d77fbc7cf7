import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from parc.character import Character
from parc.dataset import Dataset, DatasetWriter
from parc.dataset.clip import Clip
from parc.errors import DatasetError, FormatError, SettingsError
from parc.mocap.make.build_dataset import BuildSettings, _take, build_dataset
from parc.mocap.make.build_report import BuildReport
from parc.mocap.make.make_clip import MocapSettings
from parc.mocap.make.row_keys import row_keys
from parc.mocap.make.take_shortlist import read_shortlist
from parc.mocap.read.read_take import read_take
from parc.mocap.subject.landmark_fit import FitSettings
from parc.mocap.terrain.refine_on_terrain import RefineSettings

TINY = BuildSettings(
    MocapSettings(retarget=FitSettings(iterations=10), refine=RefineSettings(fit=FitSettings(iterations=40))), workers=1
)
HEADER = "source,first_frame,last_frame,true_fps,skill,hands_touch,note\n"


@pytest.fixture(scope="module")
def shortlist(character: Character, flat_walk: Clip, bvh_text, tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = bvh_text(character, flat_walk, unit=0.01)
    folder = tmp_path_factory.mktemp("raw")
    (folder / "ann_walk.bvh").write_text(text)
    (folder / "broken.bvh").write_text(text[: len(text) // 2])
    rows = ["ann_walk.bvh,0,,30,walk,no,all", "ann_walk.bvh,20,100,30,walk,no,part", "broken.bvh,0,,30,walk,no,cut off",
            "missing.bvh,0,,30,run,no,not there", "ann_walk.bvh,0,12,30,step,no,too short"]  # fmt: skip
    (folder / "list.csv").write_text(HEADER + "\n".join(rows) + "\n")
    return folder / "list.csv"


@pytest.fixture(scope="module")
def built(character: Character, shortlist: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, BuildReport, list]:
    out, seen = tmp_path_factory.mktemp("built") / "set", []
    two = replace(TINY, workers=2)
    report = build_dataset(shortlist, out, character, two, lambda done, rows, name: seen.append((done, rows, name)))
    return out, report, seen


def test_a_build_keeps_rejects_and_reports(character: Character, built: tuple[Path, BuildReport, list]) -> None:
    out, report, seen = built
    status = {r.name: r.status for r in report.results}
    assert status == {"walk_ann_walk": "kept", "walk_ann_walk_20": "kept", "walk_broken": "failed", "run_missing": "failed",
                      "step_ann_walk": "rejected"}  # fmt: skip
    assert sorted(d for d, _, _ in seen) == [1, 2, 3, 4, 5] and {n for _, n, _ in seen} == {5}
    reasons = {r.name: r.reasons[0] for r in report.results if r.reasons}
    assert "channels need" in reasons["walk_broken"] and "does not exist" in reasons["run_missing"]
    assert "0.7 is the least" in reasons["step_ann_walk"]
    dataset = Dataset.open(out, character)
    assert set(dataset.names) == {"walk_ann_walk", "walk_ann_walk_20"}
    clip = dataset["walk_ann_walk_20"]
    assert clip.provenance.source == "ann_walk.bvh" and clip.provenance.skill == "walk"
    assert "from frame 20" in clip.provenance.edits[0] and clip.provenance.losses["mocap_gap"] < 5
    assert len(clip.motion) == 80


def test_a_finished_build_does_nothing_and_a_killed_one_goes_on(
    character: Character, shortlist: Path, built: tuple[Path, BuildReport, list], tmp_path: Path
) -> None:
    """A report cut in the middle of a line: the rows before it stay done, the others are made, nothing is there twice."""
    out = tmp_path / "set"
    shutil.copytree(built[0], out)
    made: list[str] = []

    def again() -> BuildReport:
        return build_dataset(shortlist, out, character, TINY, lambda done, rows, name: made.append(name))

    assert again().results == built[1].results and made == []
    report = out / "mocap" / "report.jsonl"
    lines = report.read_text().splitlines()
    report.write_text(lines[0] + "\n" + lines[1][:20])
    assert {r.name for r in again().results} == {r.name for r in built[1].results}
    assert sorted(made) == sorted(json.loads(line)["name"] for line in lines[1:])
    assert len(Dataset.open(out, character)) == 2


def test_a_build_killed_between_two_rows_goes_on_with_the_next(
    character: Character, shortlist: Path, built: tuple[Path, BuildReport, list], tmp_path: Path
) -> None:
    made: list[str] = []

    def stops(done: float, rows: float, name: str = "") -> None:
        made.append(name)
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_dataset(shortlist, tmp_path, character, TINY, stops)
    report = build_dataset(shortlist, tmp_path, character, TINY, lambda done, rows, name: made.append(name))
    assert sorted(made) == sorted(r.name for r in built[1].results), "nothing is made twice"
    assert [(r.name, r.status, r.key) for r in report.results] == [(r.name, r.status, r.key) for r in built[1].results]
    assert len((tmp_path / "mocap" / "report.jsonl").read_text().splitlines()) == len(made)
    assert not (tmp_path / "mocap" / "rows").exists()


def test_what_changed_is_redone_and_nothing_else(
    character: Character, shortlist: Path, built: tuple[Path, BuildReport, list], tmp_path: Path
) -> None:
    """A repaired source, an edited row, a note, and a row that is taken from the list."""
    raw, out = tmp_path / shortlist.parent.name, tmp_path / built[0].parent.name / "set"
    shutil.copytree(shortlist.parent, raw)
    shutil.copytree(built[0], out)
    (raw / "broken.bvh").write_text((raw / "ann_walk.bvh").read_text())
    text = (raw / "list.csv").read_text().replace("0,12,30,step,no,too short", "0,60,30,step,no,long enough")
    lines = [line for line in text.replace(",all\n", ",another note\n").splitlines() if ",20,100," not in line]
    (raw / "list.csv").write_text("\n".join(lines) + "\n")
    made: list[str] = []
    counts: list[tuple[int, int]] = []

    def again() -> BuildReport:
        made.clear()
        return build_dataset(
            raw / "list.csv", out, character, TINY, lambda done, rows, name: (made.append(name), counts.append((done, rows)))
        )

    before = Dataset.open(out)["walk_ann_walk"]
    report = again()
    assert sorted(made) == ["step_ann_walk", "walk_broken"] and counts == [(3, 4), (4, 4)]
    assert report.removed == ("walk_ann_walk_20",)
    assert {r.name: r.status for r in report.results} == {
        "walk_ann_walk": "kept", "walk_broken": "kept", "run_missing": "failed", "step_ann_walk": "kept",
    }  # fmt: skip
    dataset = Dataset.open(out)
    assert set(dataset.names) == {"walk_ann_walk", "walk_broken", "step_ann_walk"} and len(dataset["step_ann_walk"].motion) == 60
    assert torch.equal(dataset["walk_ann_walk"].motion.root_pos, before.motion.root_pos)
    text = text.replace("0,60,30,step,no", "0,70,30,step,no").replace("ann_walk.bvh,20,100", "gone.bvh,20,100")
    (raw / "list.csv").write_text(text)
    report = again()
    assert sorted(made) == ["step_ann_walk", "walk_gone_20"] and report.removed == ()
    assert len(Dataset.open(out)["step_ann_walk"].motion) == 70
    assert again().results == report.results and made == []


def test_a_clip_of_somebody_else_is_not_replaced(character: Character, shortlist: Path, flat_walk: Clip, tmp_path: Path) -> None:
    with DatasetWriter(tmp_path / "set", character) as writer:
        writer.append([replace(flat_walk, name="walk_ann_walk")])
    with pytest.raises(DatasetError, match=r"already has a clip 'walk_ann_walk' that was not built from ann_walk\.bvh"):
        build_dataset(shortlist, tmp_path / "set", character, TINY)


def test_unheard_of_names_need_a_table_and_no_code(character: Character, shortlist: Path, tmp_path: Path) -> None:
    """One table for the list, another in a row; the same clip as from a skeleton whose names are known."""
    text = (shortlist.parent / "ann_walk.bvh").read_text()
    words = re.findall(r"(?:ROOT|JOINT) (\w+)", text)
    for i, word in enumerate(sorted(words, key=len, reverse=True)):
        text = re.sub(rf"(ROOT|JOINT) {word}\b", rf"\1 bone{i}", text)
    called = {word: f"bone{i}" for i, word in enumerate(sorted(words, key=len, reverse=True))}
    theirs = {"Arm": "shoulder", "ForeArm": "elbow", "Hand": "wrist", "UpLeg": "hip", "Leg": "knee", "Foot": "ankle"}
    table = {f"{s.lower()}_{place}": called[f"{s}{word}"] for word, place in theirs.items() for s in ("Left", "Right")}
    (tmp_path / "odd.bvh").write_text(text)
    (tmp_path / "mine.json").write_text(json.dumps(table))
    swapped = table | {"left_knee": table["right_knee"], "right_knee": table["left_knee"]}
    (tmp_path / "list.csv").write_text("source,skill,names\nodd.bvh,table,mine.json\nodd.bvh,list,\n")
    rows = read_shortlist(tmp_path / "list.csv", swapped)
    assert rows[0].read.naming == table and rows[1].read.naming == swapped
    keys = row_keys(rows, tmp_path / "list.csv")
    others = row_keys(read_shortlist(tmp_path / "list.csv", table), tmp_path / "list.csv")
    assert others["table_odd"] == keys["table_odd"] and others["list_odd"] != keys["list_odd"]
    take = read_take(rows[0].file(tmp_path / "list.csv"), character, rows[0].read).landmarks
    known = read_take(shortlist.parent / "ann_walk.bvh", character).landmarks
    np.testing.assert_array_equal(take["left_knee"], known["left_knee"])
    with pytest.raises(FormatError, match=r"odd\.bvh: no joint was recognised as left_hip"):
        read_take(tmp_path / "odd.bvh", character)
    (tmp_path / "list.csv").write_text("source,skill,names\nodd.bvh,walk,none.json\n")
    with pytest.raises(FormatError, match=r"list\.csv line 2: .*none\.json does not exist"):
        read_shortlist(tmp_path / "list.csv")


def test_a_list_saved_by_a_spreadsheet(tmp_path: Path) -> None:
    for separator in ",;":
        text = "source,first_frame,skill\r\na.bvh,7,walk\r\n".replace(",", separator)
        (tmp_path / "list.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
        (row,) = read_shortlist(tmp_path / "list.csv")
        assert (row.source, row.first_frame, row.skill, row.last_frame, row.read.fps) == ("a.bvh", 7, "walk", None, None)


def test_frames_beyond_the_end_are_said(character: Character, shortlist: Path, built: tuple[Path, BuildReport, list]) -> None:
    frames = len(read_take(shortlist.parent / "ann_walk.bvh", character).landmarks)
    row = read_shortlist(shortlist)[0]
    for changes, said in (
        ({"last_frame": frames + 1}, f"last_frame is {frames + 1}, but it has {frames} frames"),
        ({"first_frame": frames}, f"first_frame is {frames}, but it has {frames} frames"),
    ):
        with pytest.raises(DatasetError, match=said):
            _take(replace(row, **changes), row.file(shortlist), character)
    assert len(_take(replace(row, last_frame=frames), row.file(shortlist), character).landmarks) == frames


def test_other_settings_are_refused(
    character: Character, shortlist: Path, built: tuple[Path, BuildReport, list], tmp_path: Path
) -> None:
    shutil.copytree(built[0], tmp_path / "set")
    other = replace(TINY, limits=replace(TINY.limits, gap=99.0))
    with pytest.raises(SettingsError, match=r"set was begun otherwise \(limits\.gap\)"):
        build_dataset(shortlist, tmp_path / "set", character, other)


def test_units_of_a_list_have_names_or_are_metres(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("source,skill,unit\na.bvh,walk,cm\nb.bvh,walk,0.0254\nc.bvh,walk,\n")
    assert [row.read.unit for row in read_shortlist(tmp_path / "list.csv")] == [0.01, 0.0254, None]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("source,first_frame\na.bvh,0\n", "no column skill"),
        (HEADER + "a.bvh,zero,,30,walk,no,\n", "line 2: first_frame is 'zero', expected a whole number of at least 0"),
        (HEADER + "a.bvh,-5,,30,walk,no,\n", "first_frame is '-5', expected a whole number of at least 0"),
        (HEADER + "a.bvh,1.5,,30,walk,no,\n", "first_frame is '1.5', expected a whole number"),
        (HEADER + "a.bvh,10,10,30,walk,no,\n", "last_frame is '10', expected a whole number of at least 12"),
        (HEADER + "a.bvh,0,,0,walk,no,\n", "true_fps is '0', expected a positive number"),
        (HEADER, "a header and no rows"),
        ("source,skill,up\na.bvh,walk,sky\n", "up is 'sky', expected x, y or z"),
        ("source,skill,unit\na.bvh,walk,ell\n", "line 2: unit is 'ell', expected m, dm, cm, mm, inch, CMU or a positive number"),
        (HEADER + "a.bvh,0,,30,walk,maybe,\n", "hands_touch is 'maybe'"),
        (HEADER + "a.bvh,0,,30,walk,no,\na.bvh,0,50,30,walk,no,\n", "line 3: a second clip 'walk_a'"),
        (HEADER + ",0,,30,walk,no,\n", "must not be empty"),
    ],
)
def test_a_wrong_list_is_named(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text(text)
    with pytest.raises(FormatError, match=said):
        read_shortlist(tmp_path / "list.csv")


@pytest.mark.parametrize("skill", ["../../victim/my", "/tmp/my", "..", "a\\b", "bell\a"])
def test_a_skill_that_is_a_path_is_refused_and_touches_nothing(character: Character, tmp_path: Path, skill: str) -> None:
    victim = tmp_path / "victim" / "my_take.motion"
    victim.parent.mkdir()
    victim.write_text("somebody's")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "list.csv").write_text(f"source,skill\ntake.bvh,{skill}\n")
    with pytest.raises(FormatError, match=r"list\.csv line 2: skill is "):
        build_dataset(tmp_path / "in" / "list.csv", tmp_path / "out" / "deep", character, TINY)
    assert victim.read_text() == "somebody's" and not (tmp_path / "out").exists()


def test_files_on_their_way_are_not_called_by_names_of_the_list(character: Character, tmp_path: Path) -> None:
    """A file that happens to lie where an older version put its own stays, also when the row fails."""
    (tmp_path / "list.csv").write_text("source,skill\ntake.bvh,climb\n")
    mine = tmp_path / "out" / "mocap" / "climb_take.motion"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    report = build_dataset(tmp_path / "list.csv", tmp_path / "out", character, TINY)
    assert [r.status for r in report.results] == ["failed"] and mine.read_text() == "mine"
