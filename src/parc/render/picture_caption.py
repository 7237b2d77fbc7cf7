"""Text on pictures, and several pictures in one."""

from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

from parc.errors import SettingsError
from parc.render import palette

_PAPER = "#ffffff"


def label(picture: Image.Image, text: str, corner: str = "left", scale: float = 1.0, colour: str = palette.INK) -> Image.Image:
    """The picture with a small text plate in its upper left or right corner."""
    if not text:
        return picture
    size = max(int(scale * (8 + picture.height / 42)), 9)
    font = ImageFont.load_default(size)
    draw = ImageDraw.Draw(picture, "RGBA")
    left, top, right, bottom = draw.textbbox((0, 0), text, font=font)
    pad, gap = size * 0.45, size * 0.5
    wide, high = right - left + 2 * pad, bottom - top + 2 * pad
    x = gap if corner == "left" else picture.width - gap - wide
    draw.rounded_rectangle((x, gap, x + wide, gap + high), radius=size * 0.4, fill=(255, 255, 255, 205))
    draw.text((x + pad - left, gap + pad - top), text, font=font, fill=colour)
    return picture


def grid(pictures: Sequence[Image.Image], columns: int, gap: int = 4) -> Image.Image:
    """Pictures of one size in rows of `columns`, white between them."""
    if not pictures or columns < 1:
        raise SettingsError(f"{len(pictures)} pictures cannot be put into {columns} columns")
    width, height = max(p.width for p in pictures), max(p.height for p in pictures)
    rows = -(-len(pictures) // columns)
    columns = min(columns, len(pictures))
    sheet = Image.new("RGB", (columns * (width + gap) - gap, rows * (height + gap) - gap), _PAPER)
    for k, picture in enumerate(pictures):
        sheet.paste(picture, ((k % columns) * (width + gap), (k // columns) * (height + gap)))
    return sheet
