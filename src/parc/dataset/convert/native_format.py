"""Our own file of a single clip, `.motion`: a shard of one clip (see `parc.dataset.clip_shard`), all it holds, bit for bit."""

from pathlib import Path

from parc.character.character import Character
from parc.character.named_character import character_in_file
from parc.dataset.clip import Clip
from parc.dataset.clip_shard import Shard, pack
from parc.errors import DatasetError, FormatError
from parc.run.file_reading import check_plain_file


def read_native(path: Path, character: Character) -> Clip:
    """The clip in a .motion file."""
    check_plain_file(path)
    try:
        shard = Shard(path)
    except DatasetError as error:
        raise FormatError(str(error)) from None
    if len(shard) != 1:
        raise FormatError(f"{path} holds {len(shard)} clips, a .motion file holds one; open the folder as a data set")
    clip = shard.clip(0)
    clip.check_made_for(character)
    return clip


def write_native(clip: Clip, character: Character | None = None) -> bytes:
    """A clip as the bytes of a .motion file, with its character if that is given and has no name here."""
    return pack([clip], None if character is None else character_in_file(character))
