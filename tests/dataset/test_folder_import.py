"""A folder of files becomes a data set, bad files and all."""

import pickle

import pytest

from parc.dataset import Dataset, import_folder, save_clip
from parc.dataset.folder_import import skill_of
from parc.errors import DatasetError


@pytest.fixture
def folder(tmp_path, make_clip):
    root = tmp_path / "files"
    (root / "climb" / "high").mkdir(parents=True)
    save_clip(make_clip("x", 1), root / "gap_jump_cmu_108_15.pkl")
    save_clip(make_clip("x", 2), root / "climb" / "take_3.motion")
    save_clip(make_clip("x", 3, skill="said by the file"), root / "climb" / "high" / "take_3.pkl")
    (root / "broken.pkl").write_bytes(pickle.dumps({"frames": [[1, 2]], "fps": 30, "loop_mode": 0})[:-3])
    (root / "wrong.pkl").write_bytes(pickle.dumps({"frames": [[1, 2]], "fps": 30, "loop_mode": 0}))
    (root / "notes.md").write_text("not a motion")
    return root


def test_import(folder, tmp_path, character):
    seen = []
    report = import_folder(
        folder, tmp_path / "out", character, on_progress=lambda done, total, note="": seen.append((done, total))
    )
    assert report.imported == ["climb/high/take_3", "climb/take_3", "gap_jump_cmu_108_15"] and report.skipped == []
    assert set(report.failed) == {"broken.pkl", "wrong.pkl"}
    assert "frames has shape [1, 2], expected [*, 34]" in report.failed["wrong.pkl"]
    assert "2 files not readable" in str(report) and "wrong.pkl: wrong.pkl" in str(report)
    assert seen == [(i, 5) for i in range(1, 6)]
    dataset = Dataset.open(tmp_path / "out", character)
    assert [e.skill for e in dataset.entries] == ["said by the file", "climb", "gap_jump"]


def test_import_resumes(folder, tmp_path, character, make_clip):
    import_folder(folder, tmp_path / "out", character, clips_per_shard=1)
    (folder / "wrong.pkl").unlink()
    save_clip(make_clip("x", 9), folder / "wrong.pkl")
    report = import_folder(folder, tmp_path / "out", character)
    assert report.imported == ["wrong"] and len(report.skipped) == 3 and list(report.failed) == ["broken.pkl"]
    assert len(Dataset.open(tmp_path / "out")) == 4


def test_a_worker_process_gives_the_same(folder, tmp_path, character, same):
    import_folder(folder, tmp_path / "one", character)
    report = import_folder(folder, tmp_path / "two", character, workers=1)
    assert len(report.failed) == 2
    assert all(map(same, Dataset.open(tmp_path / "one"), Dataset.open(tmp_path / "two")))


def test_a_data_set_inside_the_folder_is_not_imported_again(folder, character):
    import_folder(folder, folder / "out", character)
    assert import_folder(folder, folder / "out", character).imported == []


def test_nothing_to_import(tmp_path, character):
    with pytest.raises(DatasetError, match="is not a folder"):
        import_folder(tmp_path / "none", tmp_path / "out", character)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DatasetError, match="no files ending in"):
        import_folder(tmp_path / "empty", tmp_path / "out", character)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "name, skill",
    [
        ("gap_jump_cmu_108_15", "gap_jump"), ("humanoid3d_walk", "walk"), ("climb_climb_2", "climb"), ("a/vault/take_1", "vault"),
        ("108_15", ""), ("run-fast_01", "run_fast"),
    ],
)  # fmt: skip
def test_skill_from_the_name(name, skill):
    assert skill_of(name) == skill


def test_the_development_clips(shared, tmp_path, character):
    report = import_folder(shared / "clips", tmp_path, character)
    assert len(report.imported) == 172 and not report.failed
    assert 20 < Dataset.open(tmp_path).seconds / 60 < 23
