"""A character is found by its name or by its file; anything else is one sentence."""

from pathlib import Path

import pytest

from parc.character import find_character, humanoid, named_character
from parc.errors import CharacterError

BIRD = Path(__file__).parent / "robot_bird.xml"


def test_the_humanoid_has_a_name() -> None:
    assert find_character("humanoid") is humanoid()


def test_an_mjcf_file_is_a_character_by_text_and_by_path() -> None:
    assert find_character(BIRD) == find_character(str(BIRD))
    assert find_character(BIRD).names != humanoid().names


@pytest.mark.parametrize("name, said", [("horse", "give humanoid, g1 or the path"), ("horse.xml", "no MJCF file 'horse.xml'")])
def test_a_name_that_is_neither_is_refused(name: str, said: str) -> None:
    with pytest.raises(CharacterError, match=said):
        find_character(name)


def test_a_robot_whose_package_is_absent_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named_character, "_G1_FILES", {"no-such-package-here": "g1.xml"})
    named_character._g1.cache_clear()
    with pytest.raises(CharacterError, match="pip install --no-deps mjlab"):
        find_character("g1")
    named_character._g1.cache_clear()
