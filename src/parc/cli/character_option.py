"""The option `--character` of every command that needs a body."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parc.cli.base_command import Command

if TYPE_CHECKING:
    from parc.character import Character


@dataclass(frozen=True, kw_only=True)
class OfCharacter(Command):
    """Of the body that moves."""

    character: str | None = None
    """body: humanoid, g1 (`pip install --no-deps mjlab` brings its model) or an MJCF file; that of the files named here, or the
    humanoid, if not given"""

    def body(self, *sources: Any) -> "Character":
        """The character that was named, or that of these files."""
        from parc.api.whose_files import character_of

        return character_of(self.character, *sources)
