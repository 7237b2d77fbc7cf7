"""The ground a body moves over."""

from parc.terrain.terrain import CELL, Terrain, TerrainBatch

__all__ = ["CELL", "Terrain", "TerrainBatch"]
