"""Commands and functions are told which character; nothing below them decides that it is the humanoid."""

import ast
from pathlib import Path

from .conftest import SRC, tree_of

DECIDE = ("api", "cli", "character")
"""rooms that may: the last says what characters are"""
OF_THE_HUMANOID = {
    "author/procedural_walk.py": "a walk of the humanoid's lengths",
    "author/author_clips.py": "skills of the humanoid's lengths",
    "loop/initial_dataset.py": "refuses such walks for others",
    "loop/initial_models.py": "runs of earlier versions are the humanoid's",
    "mocap/read/read_take.py": "a motion of the humanoid may be fitted to another body",
}
"""files that need it all the same, and why"""


def choices(file: Path) -> list[int]:
    """Lines that call `humanoid()` or `find_character(..)`."""
    names = ("humanoid", "find_character")
    calls = (node for node in ast.walk(tree_of(file)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
    return [call.lineno for call in calls if call.func.id in names]  # type: ignore[attr-defined]


def test_only_the_command_line_and_the_front_choose_a_character() -> None:
    files = [file for file in sorted(SRC.rglob("*.py")) if file.relative_to(SRC).parts[0] not in DECIDE]
    wrong = {str(file.relative_to(SRC)): lines for file in files if (lines := choices(file))}
    assert wrong.keys() == OF_THE_HUMANOID.keys(), wrong


def test_a_command_has_one_option_for_it() -> None:
    """And `humanoid()` is no default of a command: `OfCharacter.body` knows."""
    for file in sorted((SRC / "cli").glob("*.py")):
        assert not choices(file), f"{file.name} chooses a character in lines {choices(file)}"
        fields = [
            node.target.id
            for node in ast.walk(tree_of(file))
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        ]
        assert ("character" in fields) == (file.name == "character_option.py"), file.name


def test_a_choice_is_seen(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def f(character=None):\n    return character or humanoid()\n")
    assert choices(wrong) == [2]
