"""Getting up: the nearest frame and its turn by a second way, a get-up that is laid onto a body, and who counts as up."""

import math

import pytest
import torch

from parc.character import humanoid, rotation
from parc.dataset.clip import Clip
from parc.dataset.flat_terrain import flat_ground
from parc.errors import SettingsError
from parc.motion.frame_state import FrameState
from parc.motion.motion import Motion
from parc.path.terrain_path import TerrainPath
from parc.plan import Models
from parc.plan.crossing.get_up import GettingUp, GetUpLibrary, GetUpSettings
from parc.plan.crossing.reflex_crossings import FALLEN, RUNNING, ReflexSettings
from parc.plan.reflex import Reflex
from parc.terrain import Terrain
from parc.track.follow.outcome import FallSettings

BODY = humanoid()


@pytest.fixture(scope="module")
def rise() -> Clip:
    """From lying on the back to standing in a second: no way to do it, but an order of poses."""
    t = torch.linspace(0, 1, 31)
    pitch = -0.5 * math.pi * (1 - t)
    root_rot = rotation.from_axis_angle(torch.tensor([0.0, 1.0, 0.0]).expand(31, 3), pitch)
    root_pos = torch.stack([0.3 * t, torch.zeros(31), 0.15 + 0.75 * t], -1)
    joints = rotation.identity((31, BODY.num_joints))
    motion = Motion(root_pos, root_rot, joints, torch.zeros(31, BODY.num_bodies), 30.0)
    return Clip("rise", motion, flat_ground(motion), character=BODY.fingerprint)


@pytest.fixture(scope="module")
def library(rise: Clip) -> GetUpLibrary:
    return GetUpLibrary([rise], BODY, 30.0, "cpu")


def moved(frames: FrameState, turn: float, place: tuple[float, float, float]) -> FrameState:
    matrix = rotation.to_matrix(rotation.from_yaw(torch.tensor(turn)))
    shifted = (matrix @ frames.root_pos.unsqueeze(-1)).squeeze(-1) + torch.tensor(place)
    return frames._replace(root_pos=shifted, root_rot=matrix @ frames.root_rot)


def test_a_frame_that_was_moved_and_turned_is_found_and_the_rest_is_laid_onto_it(library: GetUpLibrary) -> None:
    for turn, at in ((0.0, 0), (1.9, 4), (-2.7, 20)):
        there = moved(library.frames, turn, (3.0, -1.0, 0.5))
        body_pos, ground = there.body_pose(BODY).pos[at : at + 1], torch.tensor([0.5])
        assert library.nearest(body_pos, ground).tolist() == [at]
        laid = library.laid_onto(body_pos, ground, torch.tensor([at]), 40)
        rows = torch.arange(at + 1, at + 41).clamp_max(30)
        for part, wanted in zip(laid, there, strict=True):
            torch.testing.assert_close(part[0], wanted[rows], atol=1e-4, rtol=1e-4)


def test_distances_are_those_of_trying_every_turn(library: GetUpLibrary) -> None:
    generator = torch.Generator().manual_seed(0)
    body_pos = library.frames.body_pose(BODY).pos[[3, 25]]
    body_pos = body_pos + 0.15 * torch.randn(body_pos.shape, generator=generator)
    frames = library.frames.body_pose(BODY).pos
    aside = [p[..., :2] - p[:, :1, :2] for p in (body_pos, frames)]
    best = torch.full((2, len(frames)), torch.inf)
    for turn in torch.linspace(-math.pi, math.pi, 721):
        c, s = turn.cos(), turn.sin()
        turned = torch.stack([c * aside[1][..., 0] - s * aside[1][..., 1], s * aside[1][..., 0] + c * aside[1][..., 1]], -1)
        best = torch.minimum(best, (aside[0].unsqueeze(1) - turned).square().sum((-1, -2)))
    best = best + (body_pos[:, None, :, 2] - frames[..., 2]).square().sum(-1)
    found = library.nearest(body_pos, torch.zeros(2))
    torch.testing.assert_close(best.gather(1, found[:, None])[:, 0], best.amin(1), atol=1e-3, rtol=1e-3)


def test_who_lies_follows_a_get_up_and_is_up_when_it_stands(models: Models, library: GetUpLibrary) -> None:
    terrain, path = Terrain.flat((12, 5)), TerrainPath(torch.tensor([[0.8, 0.8, 0.0], [3.8, 0.8, 0.0]]))
    lies = FallSettings(height=0.35, patience=0.0)
    settings = ReflexSettings(every=2, windows=1, fall=lies, get_up=GetUpSettings(seconds=0.5, steady=2))
    random = torch.Generator().manual_seed(0)
    reflex = Reflex(models.generator, models.tracker, [terrain], [path], [0, 0], settings, random, threads=1, get_ups=library)
    reflex.begin()
    rises = reflex.getting_up
    assert rises is not None and not rises.rising.any()
    # the first body is laid down, the second goes on
    states = reflex.bodies.snapshots()
    qpos = states.qpos.clone()
    lying = rotation.from_axis_angle(torch.tensor([0.0, 1.0, 0.0]), torch.tensor(-1.5))
    qpos[0, :3], qpos[0, 3:7] = torch.tensor([0.8, 0.8, 0.15]), lying[[3, 0, 1, 2]]
    reflex.bodies.restore(states._replace(qpos=qpos, qvel=torch.zeros_like(states.qvel)), torch.tensor([True, False]))
    for _ in range(3):
        reflex.step()
    assert rises.rising.tolist() == [True, False] and rises.downs.tolist() == [1, 0]
    assert reflex.crossings.outcome.tolist() == [RUNNING, RUNNING], "who may get up has not fallen yet"
    table = reflex.bodies.reference
    heights = table.qpos[int(table.start[0]) : int(table.start[0]) + settings.length, 2]
    assert bool((heights[1:].diff() > 0).all()) and float(heights[-1] - heights[0]) > 0.2, "its plan rises"
    while int(reflex.crossings.outcome[0]) == RUNNING and reflex.step_number < 30:
        reflex.step()
    assert int(reflex.crossings.outcome[0]) == FALLEN and reflex.step_number == 15, "half a second is all it has"


def test_up_is_who_stands_for_a_while(models: Models, library: GetUpLibrary) -> None:
    terrain, path = Terrain.flat((12, 5)), TerrainPath(torch.tensor([[0.8, 0.8, 0.0], [3.8, 0.8, 0.0]]))
    reflex = Reflex(models.generator, models.tracker, [terrain], [path], [0], ReflexSettings(), threads=1)
    reflex.begin()
    rises = GettingUp(library, reflex.bodies, GetUpSettings(steady=3))
    down, up = torch.tensor([True]), torch.tensor([False])
    told = []
    for sign in (down, up, up, down, up, up, up):
        assert not rises.look(sign).any()
        told.append((bool(rises.rising), int(rises.downs), int(rises.ups)))
    assert told == [(True, 1, 0)] * 6 + [(False, 1, 1)]


def test_nothing_to_get_up_by_is_refused() -> None:
    with pytest.raises(SettingsError, match="at least one"):
        GetUpLibrary([], BODY, 30.0, "cpu")
    with pytest.raises(SettingsError, match="more than 0"):
        GetUpSettings(seconds=0)
