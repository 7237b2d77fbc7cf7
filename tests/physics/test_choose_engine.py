"""Which engine a device gets, and what is said when there is none."""

import importlib
import sys

import pytest
import torch
from benchmarks.physics_rate import bench_physics

from parc.character.humanoid import humanoid
from parc.errors import SettingsError
from parc.physics.choose_engine import make_world
from parc.physics.native_world import NativeWorld
from parc.physics.physical_contract import Contract


def test_the_cpu_gets_mujoco_threads():
    world = make_world(humanoid(), Contract(torque_scale=1.5), 2, "cpu", threads=1, cell=0.5)
    assert isinstance(world, NativeWorld)
    assert (world.num_worlds, world.cell, world.contract.torque_scale) == (2, 0.5, 1.5)
    assert world.contract.character == humanoid().fingerprint


def test_impossible_worlds_are_refused_in_words():
    with pytest.raises(SettingsError, match="0 worlds"):
        make_world(humanoid(), Contract(), 0)
    with pytest.raises(SettingsError, match="mps"):
        make_world(humanoid(), Contract(), 1, "mps")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_missing_gpu_is_named():
    with pytest.raises(SettingsError, match="no CUDA device"):
        make_world(humanoid(), Contract(), 1, "cuda")


def test_missing_warp_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco_warp", None)
    monkeypatch.delitem(sys.modules, "parc.physics.warp_world", raising=False)
    with pytest.raises(SettingsError, match=r"pip install 'parc-motion\[gpu\]'"):
        importlib.import_module("parc.physics.warp_world")


def test_the_cpu_engine_does_not_need_warp(monkeypatch):
    """Neither importing nor building a CPU world touches MuJoCo Warp."""
    for name in [n for n in sys.modules if n.startswith("parc.physics")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mujoco_warp", None)
    monkeypatch.setitem(sys.modules, "warp", None)
    engine = importlib.import_module("parc.physics.choose_engine")
    assert engine.make_world(humanoid(), Contract(), 1).num_worlds == 1


def test_the_bench_counts_steps():
    result = bench_physics("cpu", seed=1, worlds=(2,), seconds=0.01, threads=1)
    run = result["worlds"]["2"]
    assert run["physics_steps_per_second"] == pytest.approx(4 * run["control_steps_per_second"])
    assert run["diverged"] == 0 and result["real_time_factor_of_one_on_cpu"] > 0
