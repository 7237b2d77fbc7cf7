"""The page's random numbers, so that Python draws the same ground and the same noise.

xoshiro128** (Blackman and Vigna 2018) seeded by splitmix32, normal numbers by Box and Muller (1958): `page/src/random.js` in
Python. `PageRandom` has those methods of a numpy Generator that `parc.terrain` asks for.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

_WORD = 0xFFFFFFFF


class PageRandom:
    """A stream of random numbers; the same seed gives the page's."""

    def __init__(self, seed: int) -> None:
        state = seed & _WORD
        self._state: list[int] = []
        for _ in range(4):
            state = (state + 0x9E3779B9) & _WORD
            mixed = ((state ^ (state >> 16)) * 0x21F0AAAD) & _WORD
            mixed = ((mixed ^ (mixed >> 15)) * 0x735A2D97) & _WORD
            self._state.append(mixed ^ (mixed >> 15))
        self._spare: float | None = None

    def bits(self) -> int:
        """The next 32 bits."""
        s = self._state
        product = (s[1] * 5) & _WORD
        result = (_turned(product, 7) * 9) & _WORD
        shifted = (s[1] << 9) & _WORD
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = _turned(s[3], 11)
        return result

    def random(self) -> float:
        return self.bits() / 4294967296

    def uniform(self, low: Any, high: Any = None, size: int | None = None) -> Any:
        if isinstance(high, np.ndarray):
            return np.array([self.uniform(low, end) for end in high])
        if size is not None:
            return np.array([self.uniform(low, high) for _ in range(size)])
        return low + (high - low) * self.random()

    def integers(self, low: Any, high: Any = None, size: int | None = None, endpoint: bool = False) -> Any:
        if high is None:
            low, high = 0, low
        if isinstance(high, Sequence):
            return np.array([self.integers(low, end) for end in high])
        if size is not None:
            return np.array([self.integers(low, high, endpoint=endpoint) for _ in range(size)])
        return low + math.floor(self.random() * (high + endpoint - low))

    def normal(self, mean: float = 0.0, deviation: float = 1.0, size: int | None = None) -> Any:
        if size is not None:
            return np.array([self.normal(mean, deviation) for _ in range(size)])
        value = self._spare
        if value is None:
            radius = math.sqrt(-2 * math.log(1 - self.random()))
            angle = 2 * math.pi * self.random()
            value, self._spare = radius * math.cos(angle), radius * math.sin(angle)
        else:
            self._spare = None
        return mean + deviation * value


def _turned(word: int, by: int) -> int:
    return ((word << by) | (word >> (32 - by))) & _WORD
