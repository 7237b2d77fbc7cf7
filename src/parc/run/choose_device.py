"""Which device a job runs on, and with how many threads."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from parc.errors import SettingsError


def choose_device(wanted: str) -> str:
    """'auto', 'cpu' or 'cuda' to a device that exists."""
    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if wanted == "cuda" and not torch.cuda.is_available():
        raise SettingsError("device cuda was asked for, but torch finds no GPU here; use --device cpu")
    return wanted


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
