"""What an earlier crossing wrote does not pass for that of the next."""

import json
from pathlib import Path

from parc.api.crossing_files import _FACTS, _remove_older


def test_files_of_an_earlier_crossing_go_and_nothing_else(tmp_path: Path) -> None:
    note, elsewhere = tmp_path / "easy.json", tmp_path / "other"
    elsewhere.mkdir()
    names = ("easy.motion", "easy.glb", "easy.html", "other/easy.motion", "mine.png")
    for name in names:
        (tmp_path / name).write_text("x")
    files = ["easy.motion", "easy.glb", "easy.html", "easy.json", "mine.png"]
    note.write_text(json.dumps(dict.fromkeys(_FACTS, 0) | {"files": [f"somewhere/{name}" for name in files]}))
    _remove_older(note, [tmp_path / "easy.html"])
    left = {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file()}
    assert left == {"easy.html", "easy.json", "other/easy.motion", "mine.png"}
    note.write_text(json.dumps({"files": ["easy.html"]}))
    _remove_older(note, [])
    assert (tmp_path / "easy.html").exists(), "not a note of a crossing"
    note.write_text("no JSON")
    _remove_older(note, [])
    assert (tmp_path / "easy.html").exists()
