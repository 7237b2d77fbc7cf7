"""The ground a body moves over."""

from parc.terrain.height_image import ImageHeights
from parc.terrain.heightmap import HeightmapGrid, heights_at, relative_heightmap, sample_heightmap
from parc.terrain.parkour_course import parkour_park
from parc.terrain.procedural_terrain import RandomBoxes, RandomWalks, random_boxes, random_slice, random_walks
from parc.terrain.random_augmentation import BoundSettings, BoxAugmentation, add_random_boxes, height_bounds, random_boxes_on_grid
from parc.terrain.random_platforms import RandomPlatforms, platform_chain
from parc.terrain.stair_flights import Stairs, flights, stairs
from parc.terrain.terrain import CELL, Terrain, TerrainBatch
from parc.terrain.terrain_distance import clearance, penetration_depth, signed_distance, signed_distance_local
from parc.terrain.terrain_file import load_terrain, save_terrain
from parc.terrain.triangle_mesh import MeshSampling, terrain_mesh

__all__ = [
    "CELL", "BoundSettings", "BoxAugmentation", "HeightmapGrid", "ImageHeights", "MeshSampling", "RandomBoxes",
    "RandomPlatforms", "RandomWalks", "Stairs", "Terrain", "TerrainBatch", "add_random_boxes", "clearance", "flights",
    "height_bounds", "heights_at", "load_terrain", "parkour_park", "penetration_depth", "platform_chain", "random_boxes",
    "random_boxes_on_grid", "random_slice", "random_walks", "relative_heightmap", "sample_heightmap",
    "save_terrain", "signed_distance", "signed_distance_local", "stairs", "terrain_mesh",
]  # fmt: skip
