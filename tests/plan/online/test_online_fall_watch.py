import math

import torch

from parc.plan.online_fall_watch import FallSettings, FallWatch, are_down
from parc.terrain import Terrain

GROUND = Terrain(torch.cat([torch.zeros(5, 10), torch.ones(5, 10)]), torch.zeros(2))
UPRIGHT = torch.tensor([0.0, 0.0, 0.0, 1.0])


def test_low_or_tilted_is_down() -> None:
    settings = FallSettings()
    assert not are_down(GROUND, torch.tensor([1.0, 1.0, 0.9]), UPRIGHT, settings)
    assert are_down(GROUND, torch.tensor([1.0, 1.0, 0.2]), UPRIGHT, settings)
    assert are_down(GROUND, torch.tensor([3.0, 1.0, 0.9]), UPRIGHT, settings), "the ground is 1 m high there"
    for degrees, expected in ((30, False), (60, False), (80, True), (180, True)):
        half = math.radians(degrees) / 2
        for axis in (0, 1):
            turn = torch.tensor([0.0, 0.0, 0.0, math.cos(half)])
            turn[axis] = math.sin(half)
            assert are_down(GROUND, torch.tensor([1.0, 1.0, 0.9]), turn, settings) == expected
    facing_back = torch.tensor([0.0, 0.0, 1.0, 0.0])
    assert not are_down(GROUND, torch.tensor([1.0, 1.0, 0.9]), facing_back, settings)
    assert are_down(GROUND, torch.tensor([1.0, 1.0, float("nan")]), UPRIGHT, settings)


def test_only_what_lasts_is_a_fall() -> None:
    watch = FallWatch(FallSettings(patience=0.5), 30)
    low, high = torch.tensor([1.0, 1.0, 0.2]), torch.tensor([1.0, 1.0, 0.9])
    for _ in range(14):
        assert not watch.look(GROUND, low, UPRIGHT, False)
    assert not watch.look(GROUND, high, UPRIGHT, False)
    for _ in range(14):
        assert not watch.look(GROUND, low, UPRIGHT, False)
    assert watch.look(GROUND, low, UPRIGHT, False)
    watch.reset()
    assert not watch.look(GROUND, low, UPRIGHT, False)
    assert watch.look(GROUND, high, UPRIGHT, True), "a broken simulation is a fall at once"
