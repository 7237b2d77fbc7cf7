"""Pictures as files: the extension is checked before the work that makes the picture, not after."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

from parc.errors import FormatError
from parc.run.atomic_files import write_bytes_atomically

if TYPE_CHECKING:
    from PIL.Image import Image

STILLS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP"}
ANIMATIONS = (".mp4", ".gif", ".webp", ".apng")


def check_picture(path: Path | None, animated: bool = False) -> None:
    """Refuse a name that no picture can be written to; `animated` allows animations as well."""
    known = [*STILLS, *ANIMATIONS] if animated else list(STILLS)
    if path is not None and path.suffix.lower() not in known:
        raise FormatError(f"'{path}' is not the name of a picture; known extensions are {', '.join(dict.fromkeys(known))}")


def save_picture(image: "Image", path: Path) -> None:
    """Write it whole or not at all."""
    data = io.BytesIO()
    image.convert("RGB").save(data, STILLS[path.suffix.lower()])
    write_bytes_atomically(path, data.getvalue())
