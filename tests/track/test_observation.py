"""The observation does not know where it is: moving and turning clip and ground together changes nothing."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from parc.character import rotation
from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.quality.limit_profiles import TrackerInputLimits
from parc.terrain.terrain import Terrain
from parc.track.env.body_tables import BodyTables
from parc.track.env.observation import BodyState, Observer, ground_heights
from parc.track.env.observation_layout import ObservationSettings
from parc.track.env.reference_library import ReferenceLibrary, ReferenceSettings, build_library

UNSCREENED = ReferenceSettings(TrackerInputLimits(enabled=False))


def turned(terrain: Terrain, quarter: int) -> Terrain:
    """The terrain turned by quarters of a full turn about the world's origin."""
    for _ in range(quarter):
        low, high = terrain.min_point, terrain.min_point + terrain.cell * (torch.tensor(terrain.size) - 1)
        terrain = Terrain(terrain.heights.flip(1).T.contiguous(), torch.stack([-high[1], low[0]]), terrain.cell)
    return terrain


def observation(character: Character, clip: Clip, frame: int = 5) -> tuple[Observer, torch.Tensor]:
    """Of a body that is at frame `frame` of the clip, with the clip's frames ahead as targets."""
    library: ReferenceLibrary = build_library(character, [clip], UNSCREENED)
    observer = Observer(BodyTables(character, "cpu"), ObservationSettings())
    pose = clip.motion.body_poses(character)
    state = BodyState(library.qvel[frame : frame + 1], library.body_pos[frame : frame + 1], pose.rot[frame : frame + 1],
                      library.contacts[frame : frame + 1], library.dof[frame : frame + 1])  # fmt: skip
    rows = library.row(torch.zeros(1, 6, dtype=torch.long), frame + observer.steps.unsqueeze(0))
    out = torch.zeros(1, observer.layout.size)
    return observer, observer.observe(state, library.targets[rows], library.bank, torch.zeros(1, dtype=torch.long), out)


def test_the_row_has_the_promised_width_and_zero_padding(character: Character, crooked: Callable[[int], Clip]) -> None:
    observer, row = observation(character, crooked(0))
    assert (observer.layout.width, observer.layout.size) == (991, 1024)
    assert (row[:, observer.layout.width :] == 0).all()
    assert max(s.stop for s in observer.layout.slices.values()) == observer.layout.width


@pytest.mark.parametrize("quarter", [1, 2, 3])
def test_moving_and_turning_the_world_changes_nothing(character: Character, crooked: Callable[[int], Clip], quarter: int) -> None:
    clip = crooked(0)
    shift = torch.tensor([6 * 0.4, -11 * 0.4, 0.0])
    ground = turned(clip.terrain, quarter)
    ground = replace(ground, min_point=ground.min_point + shift[:2])
    motion = clip.motion.moved(shift=shift, turn=torch.tensor(quarter * math.pi / 2))
    _, here = observation(character, clip)
    _, there = observation(character, replace(clip, motion=motion, terrain=ground))
    torch.testing.assert_close(there, here, atol=2e-4, rtol=0)


def test_raising_world_and_body_together_changes_nothing(character: Character, crooked: Callable[[int], Clip]) -> None:
    clip = crooked(0)
    motion = clip.motion.moved(shift=torch.tensor([0.0, 0.0, 1.5]))
    raised = replace(clip, motion=motion, terrain=clip.terrain.with_heights(clip.terrain.heights + 1.5))
    torch.testing.assert_close(observation(character, raised)[1], observation(character, clip)[1], atol=1e-5, rtol=0)


def test_named_slices_hold_what_they_say(character: Character, crooked: Callable[[int], Clip]) -> None:
    clip, frame = crooked(0), 5
    observer, row = observation(character, clip, frame)
    layout, motion = observer.layout, clip.motion
    inverse = rotation.conjugate(rotation.heading(motion.root_rot[frame]))
    pose = motion.body_poses(character)
    keys = pose.pos[frame, list(character.key_bodies)] - motion.root_pos[frame]
    expected = rotation.rotate(inverse, keys).flatten()
    torch.testing.assert_close(row[0, layout["key_positions"]], expected, atol=1e-5, rtol=0)
    local_root = rotation.multiply(inverse, motion.root_rot[frame])
    start = layout["root_x_axis"].start
    torch.testing.assert_close(row[0, start : start + 6], rotation.to_sixd(local_root), atol=1e-5, rtol=0)
    ahead = rotation.rotate(inverse, motion.root_pos[frame + 1] - motion.root_pos[frame])
    start = layout["target_vectors"].start
    torch.testing.assert_close(row[0, start : start + 3], ahead, atol=1e-5, rtol=0)
    assert torch.equal(row[0, layout["contacts"]], motion.contacts[frame])


def test_heights_are_those_of_the_ground_under_the_grid(character: Character, crooked: Callable[[int], Clip]) -> None:
    clip, frame = crooked(0), 5
    observer, row = observation(character, clip, frame)
    root, q = clip.motion.root_pos[frame], clip.motion.root_rot[frame]
    points = torch.cat([observer.grid, torch.zeros(len(observer.grid), 1)], -1)
    world = rotation.rotate(rotation.heading(q), points) + root
    expected = clip.terrain.height_at(world[:, :2]) - root[2]
    torch.testing.assert_close(row[0, observer.layout["heights"]], expected.clamp(-2.5, 2.0), atol=1e-5, rtol=0)


def test_ground_off_the_map_is_the_nearest_cells(character: Character, crooked: Callable[[int], Clip]) -> None:
    bank = build_library(character, [crooked(0)], UNSCREENED).bank
    far = torch.tensor([[[-100.0, -100.0], [100.0, 100.0]]])
    found = ground_heights(bank, torch.zeros(1, dtype=torch.long), far)
    assert found.tolist() == [[float(bank.heights[0, 0, 0]), float(bank.heights[0, -1, -1])]]
