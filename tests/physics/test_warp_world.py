"""MuJoCo Warp against native MuJoCo, on Warp's CPU device. Kernels compile once a machine: 35 s on an idle core.

Tolerances: Warp computes in float32. One control step from one state: 1e-5 in positions, 5e-4 in velocities. Longer runs agree
to 1e-4 until a contact so grazing (1e-6 m deep) that only one engine sees it; from there they part, as any two runs would.
"""

import os

import pytest
import torch

from parc.character.humanoid import humanoid
from parc.motion.mujoco_qpos import standing_qpos
from parc.physics.mujoco_model import WINDOW, root_height
from parc.physics.native_world import NativeWorld
from parc.physics.physical_contract import Contract
from parc.physics.terrain_window import window_boxes
from parc.terrain.terrain import Terrain, TerrainBatch

pytest.importorskip("mujoco_warp", reason="MuJoCo Warp is not installed (extra gpu)")
from parc.physics.warp_world import WarpWorld

N = 4


def terrains() -> TerrainBatch:
    g = torch.Generator().manual_seed(2)
    return TerrainBatch.stack(
        [Terrain((0.5 * torch.rand(9 + i, 12, generator=g)).round(decimals=1), torch.tensor([-1.0, -2.0])) for i in range(N)]
    )


@pytest.fixture(scope="module")
def worlds() -> list:
    """Native; Warp launch by launch; Warp replaying its recording."""
    return [
        NativeWorld(humanoid(), Contract(), N, threads=1),
        WarpWorld(humanoid(), Contract(), N, "cpu", capture=False),
        WarpWorld(humanoid(), Contract(), N, "cpu", capture=True),
    ]


@pytest.fixture
def started(worlds) -> list:
    g = torch.Generator().manual_seed(3)
    root = torch.tensor([0.3, 0.1, root_height(humanoid()) + 0.5]) + torch.rand(N, 3, generator=g) * torch.tensor([1.0, 1.0, 0.0])
    root[0, :2] = torch.tensor([-3.0, 40.0])  # off the map
    qvel = 0.3 * torch.randn(N, 34, generator=g)
    for world in worlds:
        world.set_terrains(terrains())
        world.terrain_row.copy_(torch.arange(N))
        world.reset(torch.ones(N, dtype=torch.bool), standing_qpos(humanoid(), root), qvel)
    return worlds


def gap(a, b, name: str) -> float:
    return (getattr(a, name).float() - getattr(b, name).float()).abs().max().item()


def test_one_control_step_agrees_in_the_air_and_in_contact(started):
    """Every other state of a native run, four worlds each: from there, every engine takes one step."""
    native, *others = started
    g, everywhere = torch.Generator().manual_seed(9), torch.ones(N, dtype=torch.bool)
    touched = 0.0
    for k in range(30):
        targets = 0.2 * torch.randn(N, 28, generator=g)
        native.step(targets)
        if k % 2:
            continue
        qpos, qvel = native.qpos.clone(), native.qvel.clone()
        for world in started:
            world.reset(everywhere, qpos, qvel)
            world.step(targets)
        touched += native.contacts.sum().item()
        for world in others:
            assert torch.equal(native.contacts, world.contacts)
            assert gap(native, world, "qpos") < 1e-5 and gap(native, world, "qvel") < 5e-4
            assert gap(native, world, "body_pos") < 1e-5 and gap(native, world, "body_rot") < 1e-5
    assert touched > 20


def test_a_fall_agrees_from_start_to_landing(started):
    native, *others = started
    g = torch.Generator().manual_seed(4)
    touched = 0.0
    for _ in range(20):
        targets = 0.2 * torch.randn(N, 28, generator=g)
        for world in started:
            world.step(targets)
        touched += native.contacts.sum().item()
    assert touched > 20
    for world in others:
        assert gap(native, world, "qpos") < 1e-4 and gap(native, world, "body_pos") < 1e-4
        assert world.overflow_count() == 0


def test_the_window_kernel_is_the_window(started):
    import warp as wp

    for world in started[1:]:
        before = world.qpos[:, :2].clone()
        world.step(torch.zeros(N, 28))
        boxes = wp.to_torch(world._data.geom_xpos)[:, : WINDOW * WINDOW]
        assert torch.allclose(boxes, window_boxes(terrains(), torch.arange(N), before), atol=1e-5)


def test_a_replayed_step_is_the_step_that_was_recorded(started):
    """The recording must read the targets, states and rows of now, not those of when it was made."""
    _, plain, recorded = started
    g = torch.Generator().manual_seed(6)
    for k in range(6):
        targets = torch.randn(N, 28, generator=g)
        for world in (plain, recorded):
            if k == 3:
                world.terrain_row.copy_(torch.tensor([3, 2, 1, 0]))
                world.reset(torch.tensor([True, False, True, False]), standing_qpos(humanoid(), torch.ones(N, 3)), world.qvel * 0)
            world.step(targets)
        assert torch.equal(plain.qpos, recorded.qpos) and torch.equal(plain.body_rot, recorded.body_rot)
    assert recorded._graph is not None and plain._graph is None


def test_a_broken_world_stands_still_and_harms_nobody(started):
    native, *others = started
    good = native.qpos.clone()
    fast = native.qvel.clone()
    fast[1] = 199.99
    for world in started:
        world.reset(torch.tensor([False, True, False, False]), native.qpos.clone(), fast)
    targets = torch.zeros(N, 28)
    targets[2, 7] = float("nan")
    for k in range(8):
        for world in started:
            world.step(targets if k == 0 else torch.zeros(N, 28))
    for world in others:
        assert world.diverged.tolist() == native.diverged.tolist() == [False, True, True, False]
        assert torch.equal(world.qpos[1:3], good[1:3]) and torch.equal(world.qvel[1], fast[1])
        assert gap(native, world, "qpos") < 1e-3 and gap(native, world, "contacts") == 0
        assert world._data.qacc_warmstart.numpy()[1:3].max() == 0
    for world in started:
        world.reset(torch.ones(N, dtype=torch.bool), good, torch.zeros(N, 34))
        assert not world.diverged.any()
        world.step(torch.zeros(N, 28))
    assert all(gap(native, world, "qpos") < 2e-5 for world in others)


def test_a_world_of_nan_leaves_the_shared_contact_buffer_alone(started):
    native, *others = started
    for _ in range(6):
        native.step(torch.zeros(N, 28))
    qpos, qvel = native.qpos.clone(), native.qvel.clone()
    for world in started:
        world.reset(torch.ones(N, dtype=torch.bool), qpos, qvel)
    for world in others:
        world._overflow.zero_()
        world.qpos[1, 3:] = float("nan")
    for world in started:
        world.step(torch.zeros(N, 28))
    for world in others:
        assert world.diverged.tolist() == [False, True, False, False] and world.overflow_count() == 0
        assert (native.qpos - world.qpos)[[0, 2, 3]].abs().max() < 1e-5


def test_a_reset_to_nonsense_is_not_taken(started):
    for world in started[1:]:
        before = world.qpos.clone()
        world.reset(torch.tensor([True, False, False, False]), before * float("nan"), torch.zeros(N, 34))
        assert world.diverged.tolist() == [True, False, False, False] and torch.equal(world.qpos, before)


def test_a_reset_forgets_the_past(started):
    """Also the solver's: its warm start would otherwise leak from one episode into the next."""
    for world in started[1:]:
        runs = []
        root = torch.tensor([0.3, 0.1, root_height(humanoid())]).repeat(N, 1)
        root[:, 2] += terrains()[1].height_at(root[0, :2])
        world.terrain_row.fill_(1)
        for _ in range(2):
            world.reset(torch.ones(N, dtype=torch.bool), standing_qpos(humanoid(), root), torch.zeros(N, 34))
            world.step(torch.full((N, 28), 0.1))
            runs.append(world.qpos.clone())
            for _ in range(4):
                world.step(torch.full((N, 28), 0.3))
        assert torch.equal(*runs)


def test_reset_takes_only_the_worlds_asked_for(started):
    for world in started[1:]:
        world.step(torch.zeros(N, 28))
        before, bodies = world.qpos.clone(), world.body_pos.clone()
        target = standing_qpos(humanoid(), torch.full((N, 3), 2.0))
        world.reset(torch.tensor([False, False, True, False]), target, torch.zeros(N, 34))
        assert torch.equal(world.qpos[2], target[2]) and torch.equal(world.qpos[[0, 1, 3]], before[[0, 1, 3]])
        assert torch.equal(world.body_pos[[0, 1, 3]], bodies[[0, 1, 3]])
        assert world.body_pos[2, 0].tolist() == [2, 2, 2]


@pytest.mark.skipif(
    os.environ.get("PARC_SLOW_TESTS") != "1", reason="compiles kernels for another body; PARC_SLOW_TESTS=1 runs it"
)
def test_a_breadth_first_character_agrees(crawler):
    native, other = NativeWorld(crawler, Contract(), 2, threads=1), WarpWorld(crawler, Contract(), 2, "cpu")
    qpos = standing_qpos(crawler, torch.tensor([[0.0, 0.0, root_height(crawler) + 0.02]]).repeat(2, 1))
    for world in (native, other):
        world.reset(torch.ones(2, dtype=torch.bool), qpos, torch.zeros_like(world.qvel))
        for _ in range(20):
            world.step(torch.full((2, crawler.num_dof), 0.2))
    assert native.contacts.sum() > 0
    assert gap(native, other, "qpos") < 1e-3 and gap(native, other, "body_pos") < 1e-3 and gap(native, other, "contacts") == 0


def test_ground_is_exchanged_in_place(started):
    """Oracle: a world that got the whole bank anew. Who stands on other ground notices nothing."""
    rows, others = torch.tensor([1, 3]), [Terrain(torch.full((10, 12), h), torch.tensor([-1.0, -2.0])) for h in (0.3, -0.4)]
    bank = terrains()
    room = TerrainBatch.stack([Terrain.flat((bank.heights.shape[1], bank.heights.shape[2])), *others])
    fresh = room.select(torch.tensor([1, 2]))
    bank.put(rows, fresh)
    qpos, qvel, everybody = started[0].qpos.clone(), started[0].qvel.clone(), torch.ones(N, dtype=torch.bool)
    oracle = NativeWorld(humanoid(), Contract(), N, threads=1)
    oracle.set_terrains(bank)
    oracle.terrain_row.copy_(torch.arange(N))
    for world in started:
        for _ in range(2):
            world.step(torch.zeros(N, 28))
        world.replace_terrains(rows, fresh)
    for world in (oracle, *started):
        world.reset(everybody, qpos, qvel)
        for _ in range(12):
            world.step(torch.zeros(N, 28))
    assert torch.equal(started[0].qpos, oracle.qpos) and bool(oracle.contacts[1].any())
    assert max(gap(oracle, world, "body_pos") for world in started[1:]) < 1e-3
