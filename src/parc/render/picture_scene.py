"""What a picture shows, and the one function that draws it.

A `Scene` is plain data: ground, solids, lines. `render` draws it with a camera: ground, solids, the sun's shadow, light,
lines, then the fine picture is averaged down to the wanted size.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from parc.errors import SettingsError
from parc.render.camera import Camera, Size
from parc.render.canvas import Canvas
from parc.render.palette import to_srgb
from parc.render.ray_cast_bodies import Blocks, Rounds, draw_blocks, draw_rounds
from parc.render.space_lines import Lines, draw_lines
from parc.render.sun_light import lit_share, shade, sun_camera
from parc.render.terrain_columns import TerrainColumns
from parc.terrain.terrain import Terrain

_SHADOW_SIZE = 1024
_HEADROOM = 2.0
"""m above the ground up to which shadows are cast"""


@dataclass
class Scene:
    """What a picture shows."""

    ground: TerrainColumns | None = None
    rounds: list[Rounds] = field(default_factory=list)
    blocks: list[Blocks] = field(default_factory=list)
    lines: list[Lines] = field(default_factory=list)
    sunlight: Canvas | None = None
    """the ground alone as the sun sees it; kept because it is the same in every frame of a motion"""

    @classmethod
    def on(cls, terrain: Terrain, lines: bool = True) -> "Scene":
        return cls(ground=TerrainColumns.of(terrain, lines))

    def with_more(self, rounds: Sequence[Rounds] = (), blocks: Sequence[Blocks] = (), lines: Sequence[Lines] = ()) -> "Scene":
        """A scene with the same ground and more things on it; the ground's own shadow is worked out once for all."""
        self._ground_sunlight()
        return Scene(self.ground, [*self.rounds, *rounds], [*self.blocks, *blocks], [*self.lines, *lines], self.sunlight)

    def _ground_sunlight(self) -> Canvas | None:
        if self.sunlight is None and self.ground is not None:
            size = (_SHADOW_SIZE, _SHADOW_SIZE)
            outline = self.ground.outline
            self.sunlight = Canvas(
                sun_camera(np.concatenate([outline, outline + [0, 0, _HEADROOM]]), size), size, depth_only=True
            )
            self.ground.draw(self.sunlight)
        return self.sunlight

    def sun_canvas(self) -> Canvas | None:
        """The sun's depth picture of everything."""
        still = self._ground_sunlight()
        if still is None:
            return None
        canvas = still.with_own_depth()
        for rounds in self.rounds:
            draw_rounds(canvas, rounds)
        for blocks in self.blocks:
            draw_blocks(canvas, blocks)
        return canvas


def render(scene: Scene, camera: Camera, size: Size = (960, 640), oversample: int = 2, shadows: bool = True) -> Image.Image:
    """The picture of a scene."""
    light = np.clip(render_light(scene, camera, size, oversample, shadows), 0, 1)
    return Image.fromarray(np.ascontiguousarray(to_srgb(light).transpose(1, 2, 0)), "RGB")


def render_light(scene: Scene, camera: Camera, size: Size, oversample: int, shadows: bool) -> NDArray[np.float32]:
    """Linear light [3, height, width]."""
    if min(size) < 8 or max(size) > 8192:
        raise SettingsError(f"a picture of {size[0]} x {size[1]} pixels cannot be drawn, expected 8 to 8192 each way")
    if oversample < 1:
        raise SettingsError(f"oversample is {oversample}, expected 1 or more samples each way")
    canvas = Canvas(camera, (size[0] * oversample, size[1] * oversample))
    if scene.ground is not None:
        scene.ground.draw(canvas)
    for rounds in scene.rounds:
        draw_rounds(canvas, rounds)
    for blocks in scene.blocks:
        draw_blocks(canvas, blocks)
    sun = scene.sun_canvas() if shadows else None
    light = shade(canvas, None if sun is None else lit_share(canvas, sun))
    for lines in scene.lines:
        draw_lines(canvas, light, lines, oversample)
    fine = (light[:, row::oversample, column::oversample] for row in range(oversample) for column in range(oversample))
    return sum(fine, np.zeros((3, size[1], size[0]), np.float32)) / np.float32(oversample**2)
