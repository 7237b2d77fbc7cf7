"""`parc terrain make KIND -o T` and `parc terrain show T`."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from parc.cli.base_command import Command, tell
from parc.errors import SettingsError
from parc.render import draw_terrain
from parc.render.picture_file import check_picture, save_picture
from parc.terrain import (
    ImageHeights,
    MeshSampling,
    Terrain,
    load_terrain,
    parkour_park,
    platform_chain,
    random_boxes,
    random_slice,
    random_walks,
    save_terrain,
    stairs,
)
from parc.terrain.procedural_terrain import RandomBoxes, RandomWalks
from parc.terrain.random_platforms import PlatformChain, RandomPlatforms
from parc.terrain.stair_flights import Stairs
from parc.terrain.triangle_mesh import is_mesh

_WIDE = 200.0
"""m; a mesh that is wider was rather not made in metres"""


@dataclass(frozen=True, kw_only=True)
class _Make(Command):
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """file to write: .terrain, a mesh (.obj .ply .stl .glb), or .png with the heights as grey levels"""
    picture: Path | None = None
    """also write a picture (.png)"""

    @abstractmethod
    def make(self) -> "Terrain": ...

    def run(self) -> dict[str, Any]:
        check_picture(self.picture)
        terrain = self.make()
        save_terrain(terrain, self.out)
        return {"out": str(self.out), **_describe(terrain, self.picture)}


@dataclass(frozen=True, kw_only=True)
class MakeFlat(_Make):
    """A flat grid."""

    size: tuple[int, int] = (16, 16)
    """cells"""
    height: float = 0.0
    """m"""

    def make(self) -> "Terrain":
        return Terrain.flat(self.size, self.height)


@dataclass(frozen=True, kw_only=True)
class MakeBoxes(_Make):
    """Random boxes: the paper's training terrains."""

    settings: Annotated[RandomBoxes, tyro.conf.arg(name="")] = RandomBoxes()

    def make(self) -> "Terrain":
        return random_boxes(self.settings, np.random.default_rng(self.seed))


@dataclass(frozen=True, kw_only=True)
class MakeWalks(_Make):
    """Random walks over a low floor: the paper's test terrains."""

    settings: Annotated[RandomWalks, tyro.conf.arg(name="")] = RandomWalks()

    def make(self) -> "Terrain":
        return random_walks(self.settings, np.random.default_rng(self.seed))


@dataclass(frozen=True, kw_only=True)
class MakePlatforms(_Make):
    """A chain of towers over a deep floor that only leaps can cross, from a landing to a landing.

    Paths are planned over gaps of up to 2.4 m and 0.5 m up. A row of equal gaps: --gaps 1.2 1.2 --rise 0 0 --turn 0.
    """

    settings: Annotated[RandomPlatforms, tyro.conf.arg(name="")] = RandomPlatforms()

    def make(self) -> "Terrain":
        return self._chain.terrain

    def run(self) -> dict[str, Any]:
        start, goal = (f"{cell[0]},{cell[1]}" for cell in (self._chain.start, self._chain.goal))
        return {**super().run(), "start": start, "goal": goal}

    @cached_property
    def _chain(self) -> "PlatformChain":
        return platform_chain(self.settings, np.random.default_rng(self.seed))


@dataclass(frozen=True, kw_only=True)
class MakeStairs(_Make):
    """A flight of stairs between two landings."""

    settings: Annotated[Stairs, tyro.conf.arg(name="")] = Stairs()

    def make(self) -> "Terrain":
        return stairs(self.settings)


@dataclass(frozen=True, kw_only=True)
class MakeCourse(_Make):
    """The 100 x 100 parkour park: platforms, gaps, stairs, walls and ledges."""

    def make(self) -> "Terrain":
        return parkour_park()


@dataclass(frozen=True, kw_only=True)
class MakeSlice(_Make):
    """A random piece of a large terrain."""

    terrain: Annotated[Path, tyro.conf.Positional]
    """terrain to cut from"""
    size: tuple[int, int] = (16, 16)
    """cells"""

    def make(self) -> "Terrain":
        return random_slice(load_terrain(self.terrain), self.size, np.random.default_rng(self.seed))


@dataclass(frozen=True, kw_only=True)
class MakeFrom(_Make):
    """From a grey image (black is lowest, white highest) or a mesh (looked at from above)."""

    source: Annotated[Path, tyro.conf.Positional]
    """.png .jpg .tif image, or .obj .stl .ply .glb mesh"""
    height: tuple[float, float] = (-2.0, 2.0)
    """heights of black and white, m (images)"""
    cell: float = 0.4
    """side of a cell, m"""
    up: Literal["auto", "y", "z"] = "auto"
    """axis of a mesh that points up; auto: y for .glb, z for the rest"""
    scale: float = 1.0
    """metres per unit of a mesh: 0.01 for one in centimetres"""

    def make(self) -> "Terrain":
        """Read the file."""
        if not is_mesh(self.source) and (self.up, self.scale) != ("auto", 1.0):
            raise SettingsError(f"--up and --scale are for a mesh, and '{self.source.name}' is none")
        mesh = MeshSampling(cell=self.cell, up=self.up, scale=self.scale)
        terrain = load_terrain(self.source, ImageHeights(self.height, self.cell), mesh)
        across = terrain.cell * max(terrain.size)
        if is_mesh(self.source) and across > _WIDE:
            tell(f"the terrain is {across:.0f} m wide: a mesh in centimetres needs --scale 0.01, one in millimetres 0.001")
        return terrain


@dataclass(frozen=True, kw_only=True)
class ShowTerrain(Command):
    """Size and heights of a terrain, and a picture of it if asked for."""

    terrain: Annotated[Path, tyro.conf.Positional]
    """.terrain file, grey image or mesh"""
    picture: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """write a picture (.png)"""

    def run(self) -> dict[str, Any]:
        check_picture(self.picture)
        return _describe(load_terrain(self.terrain), self.picture)


def _describe(terrain: "Terrain", picture: Path | None) -> dict[str, Any]:
    if picture:
        save_picture(draw_terrain(terrain), picture)
    low, high = (corner.tolist() for corner in terrain.extent)
    return {
        "cells": list(terrain.size),
        "cell": terrain.cell,
        "from": low,
        "to": high,
        "lowest": float(terrain.heights.min()),
        "highest": float(terrain.heights.max()),
        **({"picture": str(picture)} if picture else {}),
    }
