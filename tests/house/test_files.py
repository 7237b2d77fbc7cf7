"""The house stays habitable: short files, no path of one machine, every source folder with its tests."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST = 400


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "--", *patterns], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / line for line in listed.splitlines() if (ROOT / line).exists()]


def test_source_files_are_short() -> None:
    long = {str(f.relative_to(ROOT)): n for f in tracked("src/*.py") if (n := len(f.read_text().splitlines())) > LONGEST}
    assert not long, long


def test_no_path_of_one_machine() -> None:
    personal = re.compile(r"(?<![\w.])/(home|root|Users|work)/\w")
    found = [
        f"{f.relative_to(ROOT)}:{i}"
        for f in tracked("*.py", "*.md", "*.toml", "Makefile", "*.js", "*.txt")
        if f != Path(__file__)
        for i, line in enumerate(f.read_text().splitlines(), 1)
        if personal.search(line)
    ]
    assert not found, found


def test_source_and_readme_do_not_know_the_development_data() -> None:
    found = [str(f.relative_to(ROOT)) for f in tracked("src/*.py", "examples/*.py", "README.md") if "shared/" in f.read_text()]
    assert not found, found


def test_every_stage_has_its_tests() -> None:
    stages = {f.relative_to(ROOT / "src" / "parc").parts[0] for f in tracked("src/parc/*/*.py")}
    tested = {f.relative_to(ROOT / "tests").parts[0] for f in tracked("tests/*/test_*.py")}
    assert stages <= tested | {"run"}, stages - tested


PLACE = re.compile(r"`([\w/]+\.py)`((?:,? `[\w.]+`)*)")


def wrong_places(text: str) -> list[str]:
    """Files below src/parc that are not there, and names behind them that their text does not define."""
    wrong = []
    for file, behind in PLACE.findall(text):
        place = ROOT / "src" / "parc" / file
        if not place.is_file():
            wrong.append(file)
            continue
        source = place.read_text()
        for name in re.findall(r"`([\w.]+)`", behind):
            parts = name.split(".")
            if not all(re.search(rf"(?:(?:class|def) |^ *){part}\b(?:\s*[:=(]|$)", source, re.MULTILINE) for part in parts):
                wrong.append(f"{file}: {name}")
    return wrong


def test_the_places_in_the_table_of_the_paper_are_there() -> None:
    text = (ROOT / "docs" / "paper_to_code.md").read_text()
    assert len(re.findall(r"^\| \d+ \|", text, re.MULTILINE)) == 123 and len(PLACE.findall(text)) > 123
    assert not wrong_places(text), wrong_places(text)


def test_the_places_on_the_map_are_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text().replace("`tests/house/test_imports.py`", "")
    assert len(PLACE.findall(text)) > 80
    assert not wrong_places(text), wrong_places(text)
    rooms = re.findall(r"`([\w/]+/)`", text) + re.findall(r"^  (\w+/) ", text, re.MULTILINE)
    roots = (ROOT / "src" / "parc", ROOT, ROOT / "tests")
    assert len(rooms) > 30 and not [room for room in rooms if not any((root / room).is_dir() for root in roots)], rooms


def test_a_place_that_is_not_there_is_found() -> None:
    text = "`loop/nowhere.py` `Loop`, `loop/loop_plan.py` `IterationPlan.paper`, `LoopSettings.unheard`, "
    text += "`loop/admission_rules.py` `judge_clips`"
    assert wrong_places(text) == ["loop/nowhere.py", "loop/loop_plan.py: LoopSettings.unheard"]
