"""Where to go: routes over a terrain."""

from parc.path.path import TerrainPath

__all__ = ["TerrainPath"]
