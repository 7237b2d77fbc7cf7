"""Edits of clips: motion, terrain and path stay together."""

import math
from dataclasses import replace

import pytest
import torch

from parc.character.kinematics import forward_kinematics
from parc.character.rotation import from_yaw
from parc.dataset import Clip
from parc.dataset.clip_edits import crop_terrain, cut, mirror, moved, recentre, remove_hesitation, resample, same_terrain, stitch
from parc.errors import DatasetError
from parc.motion import Motion
from parc.path import TerrainPath
from parc.terrain.terrain import Terrain


def heights_under(clip: Clip) -> torch.Tensor:
    return clip.terrain.height_at(clip.motion.root_pos[:, :2])


def straight(name: str = "walk", heights: torch.Tensor | None = None, frames: int = 61, path: bool = True) -> Clip:
    """Two metres along x from the origin, 0.9 m over the ground of a grid from -2 to 6 m."""
    heights = torch.zeros(21, 11) if heights is None else heights
    terrain = Terrain(heights, torch.tensor([-2.0, -2.0]), 0.4)
    xy = torch.stack([torch.linspace(0, 2, frames), torch.zeros(frames)], -1)
    root_pos = torch.cat([xy, terrain.height_at(xy)[:, None] + 0.9], -1)
    identity = torch.tensor([0.0, 0, 0, 1])
    motion = Motion(root_pos, identity.expand(frames, 4).clone(), identity.expand(frames, 14, 4).clone(), torch.zeros(frames, 15))
    nodes = TerrainPath(root_pos[::20] - torch.tensor([0, 0, 0.9])) if path else None
    return Clip(name, motion, terrain, nodes)


def test_mirror_twice_is_the_identity(make_clip, character):
    clip = make_clip("x", 2)
    twice = mirror(mirror(clip, character), character)
    assert torch.equal(twice.motion.joint_rot, clip.motion.joint_rot) and torch.equal(twice.path.nodes, clip.path.nodes)
    assert same_terrain(twice.terrain, clip.terrain) and torch.equal(twice.terrain.bounds, clip.terrain.bounds)
    assert twice.provenance.parent == "x_mirror" and twice.provenance.edits[-2:] == ("mirror", "mirror")


def test_mirror_keeps_body_and_ground_together(make_clip, character):
    """Every body of the mirrored clip stands over the height its mirror image stood over."""
    clip = make_clip("x", 5)
    image = mirror(clip, character)

    def ground(c: Clip) -> torch.Tensor:
        return c.terrain.height_at(
            forward_kinematics(character, c.motion.root_pos, c.motion.root_rot, c.motion.joint_rot).pos[..., :2]
        )

    assert torch.allclose(ground(image), ground(clip)[:, list(character.mirror_of)])


def test_cut_then_stitch_gives_back_the_clip():
    hill = torch.zeros(21, 11)
    hill[7:] = 0.5
    clip = straight(heights=hill)
    joined = stitch(cut(clip, 0, 30), cut(clip, 29, 61), blend=8)
    assert torch.allclose(joined.motion.root_pos, clip.motion.root_pos, atol=1e-6) and same_terrain(joined.terrain, clip.terrain)
    assert joined.provenance.edits == ("cut 0..30", "stitch walk_cut29-61")


def test_stitch_on_flat_ground_extends_the_terrain():
    step = torch.zeros(21, 11)
    step[5:] = 0.4
    a = straight("a", step)
    b = straight("b")
    b = replace(b, motion=b.motion.moved(torch.tensor([7.0, -4.0, 0.0]), torch.tensor(math.pi / 2)))
    twice = stitch(stitch(a, b), b)
    assert len(twice.motion) == 61 + 60 + 60
    assert torch.allclose(twice.motion.root_pos[-1], torch.tensor([6.0, 0.0, 1.3]), atol=1e-4)
    assert twice.terrain.contains(twice.motion.root_pos[:, :2]).all()
    assert torch.allclose(heights_under(twice) + 0.9, twice.motion.root_pos[:, 2], atol=1e-4)
    assert len(twice.path) == 3 * len(a.path)


def test_stitch_refuses_ground_that_does_not_fit():
    wall = torch.zeros(21, 11)
    wall[13:] = 1.0
    with pytest.raises(DatasetError, match="not level where it would walk"):
        stitch(straight("a", wall), straight("b"))
    with pytest.raises(DatasetError, match="must start where the other ends on the same terrain, or be on flat ground"):
        stitch(straight("a"), straight("b", wall))


def test_crop_keeps_the_ground_under_the_motion():
    heights = torch.arange(21 * 11).float().reshape(21, 11) * 0.01
    clip = straight(heights=heights)
    clip = replace(clip, motion=clip.motion.moved(torch.tensor([0.01, 0.0, 0.0])), path=None)  # off the borders between cells
    small = crop_terrain(clip, 0.8)
    assert torch.equal(heights_under(small), heights_under(clip))
    low, high = small.terrain.extent
    assert (low <= -0.79 + 1e-5).all() and (low >= -0.8 - 0.4 - 1e-5).all()
    assert high[0] >= 2.81 - 1e-5 and high[0] <= 3.2 + 1e-5
    assert same_terrain(crop_terrain(clip, 100.0).terrain, clip.terrain)
    with pytest.raises(DatasetError, match="margin is -1"):
        crop_terrain(clip, -1)


def test_recentre_moves_everything(make_clip):
    clip = make_clip("x", 1)
    centred = recentre(clip)
    low, high = centred.terrain.extent
    assert torch.allclose(low, -high, atol=1e-5)
    shift = centred.motion.root_pos[0] - clip.motion.root_pos[0]
    assert shift[2] == 0 and torch.allclose(centred.path.nodes - shift, clip.path.nodes, atol=1e-5)
    assert torch.equal(centred.terrain.heights, clip.terrain.heights)
    back = moved(centred, -shift)
    assert same_terrain(back.terrain, clip.terrain) and torch.allclose(back.motion.root_pos, clip.motion.root_pos, atol=1e-5)


def test_resample_and_hesitation_say_so(character):
    clip = straight()
    assert resample(clip, 60).provenance.edits == ("resample 60 fps",) and len(resample(clip, 60).motion) == 121
    still = replace(clip, motion=replace(clip.motion, root_pos=clip.motion.root_pos[:1].expand(61, 3).clone()))
    assert remove_hesitation(still, character).provenance.edits == ("remove 60 hesitation frames",)
    assert remove_hesitation(clip, character) is clip


def test_turned_seam_is_refused_on_rough_ground():
    rough = torch.zeros(21, 11)
    rough[0, 0] = 1.0
    a = straight("a", rough)
    turned = replace(a.motion, root_pos=a.motion.root_pos.flip(0), root_rot=from_yaw(torch.full((61,), 3.0)))
    with pytest.raises(DatasetError, match="cannot follow"):
        stitch(a, replace(a, name="b", motion=turned))
