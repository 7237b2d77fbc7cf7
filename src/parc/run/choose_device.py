"""Which device a job runs on."""

import torch

from parc.errors import SettingsError


def choose_device(wanted: str) -> str:
    """'auto', 'cpu' or 'cuda' to a device that exists."""
    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if wanted == "cuda" and not torch.cuda.is_available():
        raise SettingsError("device cuda was asked for, but torch finds no GPU here; use --device cpu")
    return wanted
