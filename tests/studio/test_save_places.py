"""Saving: below the named folders, and nowhere that `..`, links or a home folder lead to."""

from pathlib import Path

import pytest

from parc.character import humanoid
from parc.errors import DatasetError
from parc.studio.save_places import SavePlaces
from parc.studio.studio_session import Session


def test_only_below_the_named_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, outside = tmp_path / "mine", tmp_path / "others"
    for folder in (inside, outside):
        folder.mkdir()
    (inside / "link").symlink_to(outside)
    (outside / "back").symlink_to(inside)
    monkeypatch.setenv("HOME", str(outside))
    places = SavePlaces([inside])
    assert places.offered == str(inside / "studio")
    for typed in (inside, inside / "new" / "set", f"{inside}/a/../b", outside / "back" / "c"):
        assert places.admit(typed).is_relative_to(inside)
    for typed in (
        outside,
        tmp_path,
        "/",
        f"{inside}/../others",
        inside / "link",
        inside / "link" / "x",
        "~/x",
        f"{inside}2",
        "set",
        "/etc",
    ):
        with pytest.raises(DatasetError, match="is not below") as refusal:
            places.admit(typed)
        assert str(inside) in str(refusal.value) and "\n" not in str(refusal.value)
    for typed in ("", "  ", "a\0b", "~nobody-of-this-name/x"):
        with pytest.raises(DatasetError):
            places.admit(typed)
    assert not list(outside.rglob("index.json"))


def test_what_is_allowed_when_nothing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plain, with_set = SavePlaces(), SavePlaces(dataset=tmp_path / "set")
    assert plain.offered == "out/studio" and plain.admit("out/studio") == tmp_path / "out" / "studio"
    assert with_set.offered == str(tmp_path / "set") and with_set.admit("set") and with_set.admit("out/x")
    for places, typed in ((plain, "set"), (with_set, "sets"), (SavePlaces([tmp_path / "a"], "set"), "out/x")):
        with pytest.raises(DatasetError, match="is not below"):
            places.admit(typed)


def test_a_session_saves_where_it_may(tmp_path: Path, walk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = Session(humanoid(), save_places=SavePlaces(["mine"]))
    session.add(walk, "open")
    with pytest.raises(DatasetError, match="'elsewhere' is not below mine"):
        session.save_to("elsewhere")
    assert not (tmp_path / "elsewhere").exists()
    assert session.save_to("mine/set") == ["walk_up"] and (tmp_path / "mine" / "set" / "index.json").is_file()
