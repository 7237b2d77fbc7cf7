"""What the page may do in the browser: run the scripts it came with and no others, and talk to the studio only.

A script that somebody's file smuggles into the page does not run, even if its text were put there unescaped. The page allows
its own scripts by their hashes. viser's page is a small script that unpacks the large one, so that one is unpacked here too.
A part of it makes functions of text (`unsafe-eval`); text that is only shown is still no script.
"""

import re
from base64 import b64encode

import numpy as np
import zstandard

from parc.run.hashing import hash_bytes

_SCRIPT = re.compile(r"<script\b([^>]*)>(.*?)</script>", re.DOTALL)
_PACKED = re.compile(r'data-p="([^"]*)" data-ss="(\d+)" data-cs="(\d+)"')
_DIGITS = "".join(c for c in map(chr, range(0x21, 0x7F)) if c not in "\"&<>'`")
"""88 of them: 5 hold 4 bytes"""


def content_policy(scripts: list[str], host: str) -> str:
    """The header's value for a page that is reached under `host`."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(scripts)} 'unsafe-eval'",
            "style-src 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            f"connect-src 'self' ws://{host} wss://{host} data: blob:",
            "worker-src blob: data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


def scripts_of(page: str) -> list[str]:
    """The hashes of the scripts of a page of viser, those that it unpacks itself included."""
    hashes = []
    for attributes, text in _SCRIPT.findall(page):
        hashes.append(_hash(text.encode()))
        if packed := _PACKED.search(attributes):
            style, script = int(packed[2]), int(packed[3])
            unpacked = zstandard.ZstdDecompressor().decompress(_bytes_of(packed[1]), max_output_size=style + script)
            hashes.append(_hash(unpacked[style:]))
    return hashes


def _hash(script: bytes) -> str:
    return f"'sha256-{b64encode(bytes.fromhex(hash_bytes(script))).decode()}'"


def _bytes_of(text: str) -> bytes:
    """Of digits to the base 88; the last group may be short."""
    short = len(text) % 5
    values = np.zeros(127, dtype=np.int64)
    values[[ord(c) for c in _DIGITS]] = np.arange(88)
    digits = values[np.frombuffer(text.encode("ascii"), dtype=np.uint8)]
    whole = digits[: len(digits) - short].reshape(-1, 5) @ 88 ** np.arange(4, -1, -1)
    rest = sum(int(d) * 88**k for k, d in enumerate(reversed(digits[len(digits) - short :])))
    return whole.astype(">u4").tobytes() + (rest.to_bytes(short - 1, "big") if short else b"")
