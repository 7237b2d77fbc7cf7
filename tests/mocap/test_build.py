import json
import shutil
from pathlib import Path

import pytest

from parc.character import Character
from parc.dataset import Dataset
from parc.dataset.clip import Clip
from parc.errors import DatasetError, FormatError
from parc.mocap.build import BuildReport, BuildSettings, build_dataset
from parc.mocap.fit import FitSettings
from parc.mocap.pipeline import MocapSettings
from parc.mocap.refine import RefineSettings
from parc.mocap.shortlist import read_shortlist

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
    report = build_dataset(shortlist, out, character, TINY, lambda done, rows, result: seen.append((done, rows, result.name)))
    return out, report, seen


def test_a_build_keeps_rejects_and_reports(character: Character, built: tuple[Path, BuildReport, list]) -> None:
    out, report, seen = built
    status = {r.name: r.status for r in report.results}
    assert status == {"walk_ann_walk": "kept", "walk_ann_walk_20": "kept", "walk_broken": "failed", "run_missing": "failed",
                      "step_ann_walk": "rejected"}  # fmt: skip
    assert sorted(d for d, _, _ in seen) == [1, 2, 3, 4, 5] and {n for _, n, _ in seen} == {5}
    reasons = {r.name: r.reasons[0] for r in report.results if r.reasons}
    assert "channels need" in reasons["walk_broken"] and "does not exist" in reasons["run_missing"]
    assert "shorter than" in reasons["step_ann_walk"]
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
        return build_dataset(shortlist, out, character, TINY, lambda done, rows, result: made.append(result.name))

    assert again().results == built[1].results and made == []
    report = out / "mocap" / "report.jsonl"
    lines = report.read_text().splitlines()
    report.write_text(lines[0] + "\n" + lines[1][:20])
    assert {r.name for r in again().results} == {r.name for r in built[1].results}
    assert sorted(made) == sorted(json.loads(line)["name"] for line in lines[1:])
    assert len(Dataset.open(out, character)) == 2


def test_other_settings_are_refused(character: Character, shortlist: Path, tmp_path: Path) -> None:
    out = tmp_path / "set"
    (out / "mocap").mkdir(parents=True)
    (out / "mocap" / "settings.json").write_text("{}")
    with pytest.raises(DatasetError, match="other settings"):
        build_dataset(shortlist, out, character, TINY)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("source,first_frame\na.bvh,0\n", "no column skill"),
        (HEADER + "a.bvh,zero,,30,walk,no,\n", "line 2: first_frame is 'zero'"),
        (HEADER + "a.bvh,0,,30,walk,maybe,\n", "hands_touch is 'maybe'"),
        (HEADER + "a.bvh,0,,30,walk,no,\na.bvh,0,50,30,walk,no,\n", "line 3: a second clip 'walk_a'"),
        (HEADER + ",0,,30,walk,no,\n", "must not be empty"),
    ],
)
def test_a_wrong_list_is_named(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text(text)
    with pytest.raises(FormatError, match=said):
        read_shortlist(tmp_path / "list.csv")
