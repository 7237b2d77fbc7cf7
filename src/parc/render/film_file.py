"""Moving pictures as files: .mp4 (H.264, by PyAV), .webp, .gif, .png and .apng (by Pillow)."""

import io
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from PIL import Image

from parc.errors import FormatError, SettingsError
from parc.render.picture_caption import grid

FILMS = (".mp4", ".webp", ".gif", ".apng", ".png")
_QUALITY = "19"
"""constant rate factor of H.264; 18 and less cannot be told from the source"""
_SHADES = 8
"""pictures of a .gif that its colours are taken from"""


def check_film(suffix: str) -> None:
    """Refuse, before any work, an extension that no film can be written to."""
    if suffix.lower() not in FILMS:
        raise FormatError(f"moving pictures are written as {', '.join(FILMS[:-1])} or {FILMS[-1]}, not '{suffix}'")
    if suffix.lower() == ".mp4":
        _av()


def frame_time(suffix: str, fps: float) -> int:
    """ms that each picture is shown; a .gif counts in hundredths of a second."""
    if not 0 < fps <= 240:
        raise SettingsError(f"fps is {fps}, expected more than 0 and at most 240")
    grain = 10 if suffix.lower() == ".gif" else 1
    return max(round(1000 / fps / grain), 1) * grain


def film_bytes(pictures: Sequence[Image.Image], suffix: str, shown: int) -> bytes:
    """A file of pictures of one size that are shown for so many ms each."""
    if not pictures:
        raise SettingsError("a film needs at least one picture")
    kind = suffix.lower()
    if kind == ".mp4":
        return _mp4(pictures, shown)
    frames = list(pictures)
    if kind == ".gif":
        shades = grid(frames[:: max(len(frames) // _SHADES, 1)], 4).quantize(255, dither=Image.Dither.NONE)
        frames = [frame.quantize(palette=shades, dither=Image.Dither.NONE) for frame in frames]
    options: dict[str, Any] = {"quality": 80, "method": 2} if kind == ".webp" else {}
    data = io.BytesIO()
    names = {".gif": "GIF", ".webp": "WEBP"}
    frames[0].save(data, names.get(kind, "PNG"), save_all=True, append_images=frames[1:], duration=shown, loop=0, **options)
    return data.getvalue()


def _mp4(pictures: Sequence[Image.Image], shown: int) -> bytes:
    """H.264 needs even sides: an odd row or column is left out."""
    av = _av()
    width, height = (side - side % 2 for side in pictures[0].size)
    data = io.BytesIO()
    with av.open(data, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=Fraction(1000, shown))
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.options = {"crf": _QUALITY, "preset": "medium"}
        for picture in pictures:
            frame = av.VideoFrame.from_image(picture.convert("RGB").crop((0, 0, width, height)))
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return data.getvalue()


def _av() -> Any:
    try:
        import av
    except ModuleNotFoundError:
        raise SettingsError(
            "films as .mp4 need PyAV: pip install 'parc-motion[film]'; .webp and .gif need nothing more"
        ) from None
    return av
