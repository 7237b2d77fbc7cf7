"""Ground to train on: the same for a seed, none of the evaluation's, with places to begin, exchanged as it comes."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
import torch

from parc.errors import SettingsError
from parc.evaluate.terrain_families import FAMILIES
from parc.evaluate.terrain_sets import SETS, case_stream, families_of, set_case
from parc.path.route_difficulty import difficulty_of
from parc.reflex import terrain_bank
from parc.reflex.reflex_settings import BankSettings
from parc.reflex.terrain_bank import CrossingBank, CrossingSource, draw_crossing

SETTINGS = BankSettings(terrains=10, fresh=2)


def test_a_terrain_is_the_same_everywhere_and_another_for_another_seed() -> None:
    first, again, other = (draw_crossing(SETTINGS, 3, seed, 6) for seed in (0, 0, 1))
    assert np.array_equal(first.heights, again.heights) and np.array_equal(first.nodes, again.nodes)
    assert np.array_equal(first.arcs, again.arcs) and first.family == "walks" == other.family
    assert not np.array_equal(first.heights, other.heights)


def test_no_terrain_is_of_an_evaluation_set() -> None:
    """Neither the ground nor the random numbers that it is drawn from."""
    ours = {draw_crossing(SETTINGS, 1, 0, k).heights.tobytes() for k in range(15)}
    drawn = {np.random.default_rng(np.random.SeedSequence([terrain_bank._TRAINING, 0, k])).random() for k in range(5000)}
    for name in SETS:
        for family in families_of(name):
            for index in range(3):
                assert set_case(name, family, index).terrain.heights.float().numpy().tobytes() not in ours
            assert not drawn & {case_stream(name, family, index).random() for index in range(200)}
    assert len(ours) == 15 and len(drawn) == 5000


def test_platforms_have_gaps_no_wider_than_asked_for_and_all_fits() -> None:
    only = BankSettings(terrains=1, fresh=0, families=("platforms",), widest_gap=0.8)
    for k in range(5):
        crossing = draw_crossing(only, 2, 0, k)
        assert difficulty_of(crossing.terrain, crossing.path).gap <= 0.85
        assert max(crossing.heights.shape) <= only.room and crossing.path.length <= only.longest


def test_places_are_on_the_ground_under_the_path() -> None:
    for k in range(len(FAMILIES)):
        crossing = draw_crossing(SETTINGS, 6, 0, k)
        bank = CrossingBank.of([crossing], SETTINGS)
        assert crossing.arcs[0] == 0 and bool((crossing.arcs <= crossing.path.length - 1.9).all())
        rows, arcs = torch.zeros(6, dtype=torch.long), bank.arcs[0]
        left = bank.paths_from(rows, arcs)
        torch.testing.assert_close(left.length, bank.paths.length[rows] - arcs)
        torch.testing.assert_close(left.points[:, 0], bank.paths.select(rows).position(arcs), atol=1e-3, rtol=0)
        torch.testing.assert_close(left.goal, bank.paths.goal[rows])
        ground = bank.terrains.select(rows).height_at(left.points[:, :1, :2])[:, 0]
        assert float((ground - left.points[:, 0, 2]).abs()[1:].max()) < 0.06


def test_processes_draw_what_is_drawn_here_and_nobody_waits() -> None:
    few = BankSettings(terrains=4, fresh=1, families=("stairs", "boxes"))
    with ThreadPoolExecutor(1) as pool:  # begun at once, unlike processes
        beside, here = CrossingSource(few, 2, 4, pool), CrossingSource(few, 2, 4)
        begin = Event()
        pool.submit(begin.wait)
        assert beside.take(2, wait=False) == [] and beside.next == 0
        begin.set()
        for _ in range(2):
            found = zip(beside.take(2), here.take(2), strict=True)
            assert all(a.index == b.index and np.array_equal(a.heights, b.heights) for a, b in found)
        assert beside.next == here.next == 4


def test_a_bank_comes_back_from_its_state() -> None:
    bank = CrossingBank.of(CrossingSource(SETTINGS, 3, 0).take(3), SETTINGS)
    again = CrossingBank.from_state(bank.state(), bank.terrains.cell)
    assert torch.equal(again.terrains.heights, bank.terrains.heights) and torch.equal(again.paths.points, bank.paths.points)
    assert bank.terrains.heights.shape == (3, SETTINGS.room, SETTINGS.room) and bank.terrains.size.amax() <= SETTINGS.room
    with pytest.raises(SettingsError):
        BankSettings(terrains=4, fresh=8)
