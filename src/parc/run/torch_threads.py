"""How many threads the networks use on a CPU."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from parc.errors import SettingsError


def use_threads(count: int) -> None:
    """No more threads than `count` for the networks, as for the CPU engine; 0: as many as there are."""
    if count < 0:
        raise SettingsError(f"{count} threads were asked for, expected 0 (all cores) or more")
    if count:
        torch.set_num_threads(count)


@contextmanager
def within_threads(count: int) -> Iterator[None]:
    """The same for a while; afterwards as many as before."""
    before = torch.get_num_threads()
    use_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
