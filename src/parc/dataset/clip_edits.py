"""Edits of a clip: the motion's edits, with terrain and path carried along and the provenance saying what was done.

A motion and its terrain belong together, so stitching two clips needs a rule for the ground:

1. Both clips on the same terrain (equal grids): the second clip stays where it is. It must start within `SEAM_DISTANCE` and
   `SEAM_TURN` of where the first ends; the blend closes what is left.
2. The second clip on flat ground: it is moved to continue the first in place, heading and height, and the first terrain is
   extended by flat ground under it. The part of the first terrain it then walks over must be level there.
3. Anything else is refused: no single terrain would fit both motions.
"""

import math
from dataclasses import replace

import torch
from torch import Tensor

from parc.character import rotation
from parc.character.character import Character
from parc.character.mirror_pose import mirror_positions
from parc.dataset.clip import Clip
from parc.errors import DatasetError
from parc.motion import hasten_motion as motion_hasten
from parc.motion import motion_edits as motion_edit
from parc.motion.hasten_motion import HastenSettings
from parc.motion.motion import Motion
from parc.path.terrain_path import TerrainPath
from parc.terrain import terrain_edits as terrain_edit
from parc.terrain.terrain import Terrain

SEAM_DISTANCE = 0.5
"""m, horizontal"""
SEAM_TURN = math.radians(60)
"""rad"""
LEVEL = 0.01
"""m; ground that differs by less is level"""


def cut(clip: Clip, start: int, stop: int) -> Clip:
    """Frames start .. stop-1; terrain and path stay."""
    motion = motion_edit.cut(clip.motion, start, stop)
    return clip.derived(f"{clip.name}_cut{start}-{stop}", f"cut {start}..{stop}", motion=motion)


def mirror(clip: Clip, character: Character) -> Clip:
    """Left and right exchanged: motion, contacts, terrain and path reflected in y = 0."""
    return clip.derived(
        f"{clip.name}_mirror",
        "mirror",
        motion=motion_edit.mirror(clip.motion, character),
        terrain=terrain_edit.mirrored(clip.terrain),
        path=None if clip.path is None else TerrainPath(mirror_positions(clip.path.nodes)),
    )


def resample(clip: Clip, fps: float) -> Clip:
    """The clip at another frame rate."""
    return clip.derived(f"{clip.name}_{fps:g}fps", f"resample {fps:g} fps", motion=motion_edit.resample(clip.motion, fps))


def hasten(clip: Clip, character: Character, settings: HastenSettings = HastenSettings()) -> Clip:
    """See `parc.motion.hasten_motion`."""
    motion = motion_hasten.hasten(clip.motion, character, settings)
    return clip.derived(hastened_name(clip), f"hasten to {settings.speed:g} m/s", motion=motion)


def hastened_name(clip: Clip) -> str:
    """What a hastened clip is called."""
    return f"{clip.name}_quick"


def remove_hesitation(
    clip: Clip,
    character: Character,
    distance: float = motion_edit.HESITATION_DISTANCE,
    run: int = motion_edit.HESITATION_FRAMES,
) -> Clip:
    """See `parc.motion.motion_edits.hesitation_frames`; a clip without hesitation comes back as it is."""
    motion = motion_edit.remove_hesitation(clip.motion, character, distance, run)
    if len(motion) == len(clip.motion):
        return clip
    return clip.derived(f"{clip.name}_brisk", f"remove {len(clip.motion) - len(motion)} hesitation frames", motion=motion)


def crop_terrain(clip: Clip, margin: float = 2.0) -> Clip:
    """Only the cells within `margin` metres of the root's track or the path, as far as the terrain reaches."""
    if not margin >= 0:
        raise DatasetError(f"the margin is {margin}, expected 0 or more metres")
    track = _track(clip.motion, clip.path)
    last = torch.tensor(clip.terrain.size) - 1
    first_cell = clip.terrain.cell_of(track.amin(0) - margin).cpu().clamp(torch.zeros_like(last), last)
    last_cell = clip.terrain.cell_of(track.amax(0) + margin).cpu().clamp(torch.zeros_like(last), last)
    start, stop = _corner(first_cell), _corner(last_cell + 1)
    return clip.derived(f"{clip.name}_crop", f"crop terrain {margin:g} m", terrain=terrain_edit.crop(clip.terrain, start, stop))


def moved(clip: Clip, shift: Tensor) -> Clip:
    """Everything shifted by [3] m."""
    return clip.derived(
        f"{clip.name}_moved",
        f"move {', '.join(f'{x:g}' for x in shift.tolist())} m",
        motion=clip.motion.moved(shift=shift),
        terrain=terrain_edit.moved(clip.terrain, shift),
        path=None if clip.path is None else TerrainPath(clip.path.nodes + shift),
    )


def recentre(clip: Clip) -> Clip:
    """Shifted in the plane so that the middle of the terrain is at the origin; heights stay."""
    low, high = clip.terrain.extent
    middle = 0.5 * (low + high)
    clip_moved = moved(clip, torch.cat([-middle, torch.zeros_like(middle[:1])]))
    return replace(clip_moved, name=f"{clip.name}_centred")


def stitch(a: Clip, b: Clip, blend: int = 5) -> Clip:
    """b after a, its first frame being a's last; for the ground see the module's docstring."""
    if same_terrain(a.terrain, b.terrain) and _meets(a.motion, b.motion):
        motion = motion_edit.stitch(a.motion, b.motion, blend, align=False)
        return _stitched(a, b, motion, a.terrain, b.path)
    if float(b.terrain.heights.amax() - b.terrain.heights.amin()) > LEVEL:
        raise DatasetError(
            f"'{b.name}' cannot follow '{a.name}': it must start where the other ends on the same terrain, or be on flat ground"
        )
    shift, turn = motion_edit.alignment(a.motion, b.motion)
    ground = a.terrain.height_at(a.motion.root_pos[-1, :2])
    shift[2] = ground - b.terrain.heights.flatten()[0]
    motion = motion_edit.stitch(a.motion, b.motion.moved(shift, turn), blend, align=False)
    terrain = _extended(a.terrain, motion.root_pos[:, :2], float(ground), margin=1.0)
    under = terrain.height_at(motion.root_pos[len(a.motion) :, :2])
    if under.numel() and float((under - ground).abs().max()) > LEVEL:
        raise DatasetError(f"'{b.name}' cannot follow '{a.name}': the terrain of '{a.name}' is not level where it would walk")
    path = None if b.path is None else TerrainPath(rotation.rotate(rotation.from_yaw(turn), b.path.nodes) + shift)
    return _stitched(a, b, motion, terrain, path)


def same_terrain(a: Terrain, b: Terrain) -> bool:
    """Whether two terrains are alike to a tenth of a millimetre."""
    return a is b or (
        a.size == b.size
        and abs(a.cell - b.cell) < 1e-6
        and torch.allclose(a.min_point, b.min_point, atol=1e-4)
        and torch.allclose(a.heights, b.heights, atol=1e-4)
    )


def _stitched(a: Clip, b: Clip, motion: Motion, terrain: Terrain, path: TerrainPath | None) -> Clip:
    both = None if a.path is None or path is None else TerrainPath(torch.cat([a.path.nodes, path.nodes]))
    return a.derived(f"{a.name}_{b.name}", f"stitch {b.name}", motion=motion, terrain=terrain, path=both)


def _meets(a: Motion, b: Motion) -> bool:
    gap = float((a.root_pos[-1, :2] - b.root_pos[0, :2]).norm())
    turn = rotation.angle(rotation.difference(rotation.heading(a.root_rot[-1]), rotation.heading(b.root_rot[0])))
    return gap <= SEAM_DISTANCE and float(turn) <= SEAM_TURN


def _extended(terrain: Terrain, track: Tensor, height: float, margin: float) -> Terrain:
    """The terrain with flat cells added on the sides where the track comes nearer than `margin` to its edge."""
    last = torch.tensor(terrain.size) - 1
    first_cell = terrain.cell_of(track.amin(0) - margin).cpu().clamp_max(0)
    last_cell = torch.maximum(terrain.cell_of(track.amax(0) + margin).cpu(), last)
    grow = int(torch.maximum(-first_cell, last_cell - last).max())
    if grow == 0:
        return terrain
    padded = terrain_edit.pad(terrain, grow, height)
    return terrain_edit.crop(padded, _corner(first_cell + grow), _corner(last_cell + grow + 1))


def _track(motion: Motion, path: TerrainPath | None) -> Tensor:
    track = motion.root_pos[:, :2]
    return track if path is None else torch.cat([track, path.nodes[:, :2]])


def _corner(cell: Tensor) -> tuple[int, int]:
    return int(cell[0]), int(cell[1])
