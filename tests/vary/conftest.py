"""Variations are made of the walks that motion capture is tested with."""

from ..mocap.conftest import character, flat_walk, step_walk

__all__ = ["character", "flat_walk", "step_walk"]
