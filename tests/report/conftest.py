"""Pages show the walks that pictures are tested with."""

from ..render.conftest import other_walk, walk

__all__ = ["other_walk", "walk"]
