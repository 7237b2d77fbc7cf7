"""Tensors that a captured CUDA graph reads must live as long as the graph.

A graph holds addresses, no references: when a cache that is full drops a tensor, its memory goes to somebody else and the graph
reads that. Functions that remember what they made on a device are such caches, so they forget nothing.
"""

import ast
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from parc.character import humanoid, joint_coordinates, kinematics, mirror_pose, self_distance
from parc.motion import mujoco_qpos
from parc.terrain import heightmap

from .conftest import SRC, tree_of

CPU = torch.device("cpu")


def forgetful(source: ast.Module) -> list[str]:
    """Functions of a device whose cache is bounded."""
    return [
        node.name
        for node in ast.walk(source)
        if isinstance(node, ast.FunctionDef) and "device" in {a.arg for a in [*node.args.args, *node.args.kwonlyargs]}
        for decorator in map(ast.unparse, node.decorator_list)
        if "lru_cache" in decorator and "maxsize=None" not in decorator
    ]


def test_caches_of_device_tensors_forget_nothing() -> None:
    found = [f"{file.relative_to(SRC)}: {name}" for file in sorted(SRC.rglob("*.py")) for name in forgetful(tree_of(file))]
    assert not found, found


def test_a_forgetful_cache_is_told_from_others() -> None:
    head = "def table(character, device): ..."
    for line in ("@lru_cache(maxsize=64)", "@functools.lru_cache"):
        assert forgetful(ast.parse(f"{line}\n{head}")) == ["table"]
    for kept in (f"@cache\n{head}", f"@lru_cache(maxsize=None)\n{head}", "@lru_cache(maxsize=64)\ndef names(character): ..."):
        assert forgetful(ast.parse(kept)) == []


@pytest.mark.parametrize(
    "table",
    [
        lambda k: kinematics._levels(replace(humanoid(), name=f"h{k}"), CPU, torch.float32).back,
        lambda k: kinematics._tree(replace(humanoid(), name=f"h{k}"), CPU)[0],
        lambda k: self_distance._tables(replace(humanoid(), name=f"h{k}"), ((2, 5),), CPU, torch.float32).turn,
        lambda k: joint_coordinates._kinds(replace(humanoid(), name=f"h{k}"), CPU, torch.float32).balls,
        lambda k: mirror_pose._swap(replace(humanoid(), name=f"h{k}"), CPU),
        lambda k: mujoco_qpos._tables(replace(humanoid(), name=f"h{k}"), CPU, torch.float32).ball_dof,
        lambda k: heightmap.grid_points(heightmap.HeightmapGrid(x=(0.0, 1.0 + k)), CPU),
    ],
    ids=["levels", "tree", "self_distance", "kinds", "swap", "tables", "grid_points"],
)
def test_a_table_stays_where_it_is_however_many_others_follow(table: Callable[[int], torch.Tensor]) -> None:
    first = table(0)
    for k in range(1, 80):
        table(k)
    assert table(0) is first
