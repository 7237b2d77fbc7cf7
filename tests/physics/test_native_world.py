"""The CPU world: against plain MuJoCo on the whole map, at rest, held by its motors, and broken on purpose."""

import mujoco
import numpy as np
import pytest
import torch

from parc.character.humanoid import humanoid
from parc.errors import SettingsError, TerrainError
from parc.motion.mujoco_qpos import qpos_to_bodies, qpos_to_dof, standing_qpos
from parc.physics.mujoco_model import HALF_HEIGHT, add_character, add_ground_box, compile_spec, new_spec, root_height
from parc.physics.native_world import NativeWorld
from parc.physics.physical_contract import Contract
from parc.physics.terrain_window import window_boxes
from parc.terrain.terrain import Terrain, TerrainBatch

FEET = list(humanoid().feet)


def flat(*heights: float) -> TerrainBatch:
    return TerrainBatch.stack([Terrain.flat((8, 8), h) for h in heights])


def everywhere(world) -> torch.Tensor:
    return torch.ones(world.num_worlds, dtype=torch.bool)


def stand(world, clearance: float = 0.0, ground: torch.Tensor | float = 0.0) -> None:
    """Every world upright at (1.3, 1.5), its soles `clearance` above the ground."""
    root = torch.tensor([1.3, 1.5, root_height(world.character) + clearance]).repeat(world.num_worlds, 1)
    root[:, 2] += ground
    world.reset(everywhere(world), standing_qpos(world.character, root), torch.zeros_like(world.qvel))


@pytest.fixture
def world() -> NativeWorld:
    w = NativeWorld(humanoid(), Contract(), 3, threads=2)
    w.set_terrains(flat(0.0, -0.7, 1.2))
    w.terrain_row.copy_(torch.tensor([2, 0, 1]))
    stand(w, 0.02, torch.tensor([1.2, 0.0, -0.7]))
    return w


def test_a_dropped_character_comes_to_rest_on_its_own_ground(world):
    ground = torch.tensor([1.2, 0.0, -0.7])
    for _ in range(45):
        world.step(torch.zeros(3, 28))
    soles = world.body_pos[:, FEET, 2] - 0.05
    assert (soles - ground.unsqueeze(-1)).abs().max() < 0.005
    assert world.qvel.abs().max() < 0.2
    assert (world.contacts[:, FEET] == 1).all() and world.contacts.sum() == 6
    assert not world.diverged.any()


def test_labels_tell_a_foot_on_the_ground_from_a_lifted_one(world):
    stand(world, 0.05, torch.tensor([1.2, 0.0, -0.7]))
    world.step(torch.zeros(3, 28))
    assert (world.contacts == 0).all()
    bent = torch.zeros(3, 28)
    hip, knee = (humanoid().dof_start[humanoid().index(f"right_{b}")] for b in ("thigh", "shin"))
    bent[:, hip + 1], bent[:, knee] = -1.2, 1.5
    stand(world, 0.0, torch.tensor([1.2, 0.0, -0.7]))
    lifted = torch.zeros(3, dtype=torch.bool)
    for _ in range(9):
        world.step(bent)
        right, left = (world.contacts[:, humanoid().index(f"{side}_foot")] for side in ("right", "left"))
        lifted |= (right == 0) & (left == 1)
    assert lifted.all()


def test_bodies_match_the_state(world):
    world.step(torch.full((3, 28), 0.3))
    pose = qpos_to_bodies(humanoid(), world.qpos)
    torch.testing.assert_close(world.body_pos, pose.pos, atol=2e-6, rtol=0)
    torch.testing.assert_close(world.body_rot, pose.rot, atol=1e-6, rtol=0)
    model, data = world.data_of(0)
    assert model.nbody == 16
    assert world.body_pos[0].numpy() == pytest.approx(data.xpos[1:], abs=1e-5)


def test_motors_take_the_pose_they_are_asked_for(world):
    """Arms and neck, which no ground holds; gravity leaves an error of torque over stiffness, under 0.05 rad."""
    targets = torch.zeros(3, 28)
    start = {b.name: s for b, s in zip(humanoid().bodies, humanoid().dof_start, strict=True)}
    asked = {start["right_upper_arm"]: 0.7, start["right_upper_arm"] + 2: 0.5, start["right_lower_arm"]: 1.1, start["head"]: 0.3}
    for dof, value in asked.items():
        targets[:, dof] = value
    for _ in range(30):
        world.step(targets)
    dof = qpos_to_dof(humanoid(), world.qpos)
    for k, value in asked.items():
        assert (dof[:, k] - value).abs().max() < 0.05


def test_the_window_is_the_whole_map():
    """A stumbling run over 3 m of uneven ground: the same root path as on all 176 boxes in plain MuJoCo."""
    g = torch.Generator().manual_seed(5)
    terrain = Terrain((0.12 * torch.rand(22, 8, generator=g)).round(decimals=2), torch.tensor([-0.13, 0.21]))
    contract, character = Contract(), humanoid()
    spec = new_spec(contract, "map")
    for i in range(22):
        for j in range(8):
            x, y = (terrain.min_point.double() + terrain.cell * torch.tensor([i, j], dtype=torch.float64)).tolist()
            centre = (x, y, float(terrain.heights[i, j]) - HALF_HEIGHT)
            add_ground_box(spec, centre, (terrain.cell / 2, terrain.cell / 2, HALF_HEIGHT), contract)
    add_character(spec, character, contract)
    whole = compile_spec(spec, character)
    data = mujoco.MjData(whole)

    world = NativeWorld(character, contract, 2, threads=1)
    world.set_terrains(TerrainBatch.stack([Terrain.flat((3, 3), 0.1), terrain]))
    world.terrain_row.fill_(1)
    qpos = standing_qpos(character, torch.tensor([[1.0, 1.6, root_height(character) + 0.3]]).repeat(2, 1))
    qvel = torch.zeros(2, 34)
    qvel[:, 0] = 5.0
    world.reset(everywhere(world), qpos, qvel)
    data.qpos[:], data.qvel[:] = qpos[0], qvel[0]

    worst, touched = 0.0, 0.0
    for _ in range(40):
        targets = 0.4 * torch.randn(28, generator=g)
        world.step(targets.expand(2, 28))
        data.ctrl[: len(targets)] = targets
        for _ in range(contract.substeps):
            mujoco.mj_step(whole, data)
        worst = max(worst, np.abs(world._qpos - data.qpos).max())
        touched += float(world.contacts.sum())
    assert data.qpos[0] - 1.0 > 7 * terrain.cell, "the run must cross more cells than the window has"
    assert touched > 20
    assert worst < 1e-12, "exact: the same boxes in the same order"


def test_off_the_map_the_edge_goes_on(world):
    root = torch.tensor([-9.0, 30.0, root_height(humanoid()) + 0.01]).repeat(3, 1)
    world.terrain_row.zero_()
    world.reset(everywhere(world), standing_qpos(humanoid(), root), torch.zeros_like(world.qvel))
    for _ in range(20):
        world.step(torch.zeros(3, 28))
    assert (world.contacts[:, FEET] == 1).all()


@pytest.mark.parametrize("way", ["targets", "speed", "state"])
def test_a_broken_world_stands_still_and_harms_nobody(world, way, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo would log to a file here
    twin = NativeWorld(humanoid(), Contract(), 3, threads=1)
    twin.set_terrains(flat(0.0, -0.7, 1.2))
    twin.terrain_row.copy_(world.terrain_row)
    stand(twin, 0.02, torch.tensor([1.2, 0.0, -0.7]))
    good_qpos, good_qvel = world.qpos.clone(), world.qvel.clone()
    targets = torch.zeros(3, 28)
    if way == "targets":
        targets[1, 5] = float("nan")
    elif way == "speed":
        good_qpos[1, 2], good_qvel[1, 2] = 50.0, -199.9  # one control step of gravity is enough
        world.reset(torch.tensor([False, True, False]), good_qpos, good_qvel)
    else:
        world._qvel[1, 20] = float("nan")
        good_qvel[1, 20] = float("nan")
    for k in range(6):
        world.step(targets if k == 0 else torch.zeros(3, 28))
        twin.step(torch.zeros(3, 28))
    assert world.diverged.tolist() == [False, True, False]
    assert torch.equal(world.qpos[1], good_qpos[1])
    assert torch.equal(world.qvel[1].nan_to_num(7), good_qvel[1].nan_to_num(7))
    assert torch.equal(world.qpos[[0, 2]], twin.qpos[[0, 2]]) and torch.equal(world.contacts[[0, 2]], twin.contacts[[0, 2]])

    stand(world, 0.02, torch.tensor([1.2, 0.0, -0.7]))
    assert not world.diverged.any()
    stand(twin, 0.02, torch.tensor([1.2, 0.0, -0.7]))
    for _ in range(3):
        world.step(torch.zeros(3, 28))
        twin.step(torch.zeros(3, 28))
    assert torch.equal(world.qpos, twin.qpos)
    assert capfd.readouterr() == ("", "") and not list(tmp_path.iterdir())


def test_all_worlds_broken_is_no_error(world):
    world.step(torch.full((3, 28), float("inf")))
    world.step(torch.zeros(3, 28))
    assert world.diverged.all() and world.qpos.isfinite().all()


def test_a_reset_to_nonsense_is_not_taken(world):
    before = world.qpos.clone()
    qpos = before.clone()
    qpos[0, 10] = float("nan")
    world.reset(torch.tensor([True, False, False]), qpos, torch.zeros_like(world.qvel))
    assert world.diverged.tolist() == [True, False, False] and torch.equal(world.qpos, before)


def test_the_same_run_twice_and_on_any_number_of_threads():
    ends = []
    for threads in (1, 2, 1):
        w = NativeWorld(humanoid(), Contract(), 5, threads=threads)
        w.set_terrains(flat(0.0))
        stand(w, 0.1)
        g = torch.Generator().manual_seed(1)
        for _ in range(12):
            w.step(0.3 * torch.randn(5, 28, generator=g))
        ends.append(w.qpos.clone())
    assert torch.equal(ends[0], ends[1]) and torch.equal(ends[0], ends[2])


def test_a_reset_forgets_the_past(world):
    """Also the solver's: its warm start would otherwise leak from one episode into the next."""
    runs = []
    for _ in range(2):
        stand(world, -0.01, torch.tensor([1.2, 0.0, -0.7]))
        for k in range(8):
            world.step(torch.full((3, 28), 0.1 * k))
            if k == 0:
                runs.append(torch.from_numpy(world._qpos.copy()))  # in MuJoCo's float64, where it shows
    assert torch.equal(*runs)


def test_another_character_with_every_kind_of_joint(crawler):
    world = NativeWorld(crawler, Contract(), 2, threads=1, cell=0.25)
    world.set_terrains(TerrainBatch.stack([Terrain.flat((20, 20), h, cell=0.25) for h in (0.0, 0.5)]))
    world.terrain_row.copy_(torch.tensor([0, 1]))
    stand(world, 0.02, torch.tensor([0.0, 0.5]))
    targets = torch.zeros(2, crawler.num_dof)
    targets[:, crawler.dof_start[crawler.index("back_foot")]] = 0.4
    for _ in range(60):
        world.step(targets)
    assert (world.contacts[:, list(crawler.feet)] == 1).all() and not world.diverged.any()
    assert (world.body_pos[1] - world.body_pos[0])[:, 2].numpy() == pytest.approx(0.5, abs=1e-4)
    assert (qpos_to_dof(crawler, world.qpos) - targets).abs().max() < 0.25


def test_wrong_requests_are_refused_in_words(world):
    with pytest.raises(TerrainError, match=r"cell=0\.3"):
        world.set_terrains(TerrainBatch.stack([Terrain.flat((3, 3), cell=0.3)]))
    world.terrain_row[1] = 3
    with pytest.raises(TerrainError, match=r"terrain 3, the bank has 3"):
        world.step(torch.zeros(3, 28))
    with pytest.raises(SettingsError, match=r"\[28\], expected \[3, 28\]"):
        world.step(torch.zeros(28))


def test_idle_worlds_stand_still_and_the_others_do_not_notice():
    worlds = [NativeWorld(humanoid(), Contract(), 3, threads=1) for _ in range(2)]
    for world in worlds:
        everyone = torch.ones(3, dtype=torch.bool)
        world.reset(everyone, standing_qpos(humanoid(), torch.tensor([[0.0, 0.0, 1.5]] * 3)), torch.zeros(3, 34))
    worlds[1].idle[1] = True
    before = worlds[1].qpos[1].clone()
    for world in worlds:
        for _ in range(3):
            world.step(torch.zeros(3, 28))
    assert torch.equal(worlds[1].qpos[1], before) and not bool(worlds[1].diverged.any())
    assert torch.equal(worlds[0].qpos[[0, 2]], worlds[1].qpos[[0, 2]])
    assert not torch.equal(worlds[0].qpos[1], before)


def test_the_window_is_where_the_root_is_after_every_step():
    """Roots near the edges of cells, resets far away, other rows and other terrains: always the window of the whole formula."""
    world, g = NativeWorld(humanoid(), Contract(), 3, threads=1), torch.Generator().manual_seed(0)
    banks = [
        TerrainBatch.stack([Terrain(torch.rand(9, 7, generator=g), torch.randn(2, generator=g)) for _ in range(2)])
        for _ in range(2)
    ]
    for turn in range(24):
        if turn % 8 == 0:
            world.set_terrains(banks[turn // 8 % 2])
        if turn % 3 == 0:
            world.terrain_row.copy_(torch.randint(2, (3,), generator=g))
        if turn % 2 == 0:
            edge = 0.4 * torch.randint(-3, 12, (3, 2), generator=g) + 0.2 + 1e-4 * torch.randn(3, 2, generator=g)
            root = torch.cat([edge + banks[0].min_point[0], torch.full((3, 1), 3.0)], 1)
            one = torch.arange(3) != turn % 4
            world.reset(one, standing_qpos(humanoid(), root), torch.randn(world.qvel.shape, generator=g))
        before = torch.from_numpy(world._qpos[:, :2].copy())
        world.step(torch.zeros(3, 28))
        assert torch.equal(torch.from_numpy(world._window.copy()), window_boxes(world._bank, world.terrain_row, before))
