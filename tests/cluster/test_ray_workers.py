"""On a cluster the results are those of this process, in order, also when a machine dies; errors come through as they are."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from parc.author.procedural_walk import StrollSettings, stroll
from parc.character import humanoid
from parc.correct.correct_motions import OptimiseSettings
from parc.correct.synthesise_clips import SynthesisSettings, synthesise
from parc.dataset.dataset_store import Dataset
from parc.errors import PathError
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.loop.ledger import dataset_files
from parc.path.terrain_path import TerrainPath
from parc.physics.mujoco_model import sealed_contract
from parc.quality.limit_profiles import RecordingLimits
from parc.record.choose_segments import StretchSettings
from parc.record.record_clips import RecordSettings, record_dataset
from parc.record.tracking_attempts import AttemptSettings
from parc.run.hashing import hash_file
from parc.run.work_items import LOCAL, WorkersState, workers_at
from parc.terrain.terrain import Terrain
from parc.track.learn.policy import TrackerPolicy, save_actor
from parc.track.tracker_settings import TrackerSettings

UNITS = 8
TINY = SynthesisSettings(
    terrains_per_unit=2,
    mirrored=True,
    candidates=4,
    rollout=RolloutSettings(seconds=1.5),
    optimise=OptimiseSettings(iterations=5),
    only_valid=False,
    shortest=10,
)


@dataclass(frozen=True)
class Squares:
    """Also tells which process did it; refuses 13."""

    pause: float = 0.0

    def open(self) -> Callable[[int], tuple[int, int]]:
        def square(number: int) -> tuple[int, int]:
            time.sleep(self.pause)
            if number == 13:
                raise PathError("13 has no square here")
            return number * number, os.getpid()

        return square


@pytest.fixture(scope="module")
def generator() -> Generator:
    torch.manual_seed(0)
    return Generator(humanoid(), GeneratorSettings(network=PrefixSettings(width=32, layers=1, hidden=32))).eval()


@pytest.fixture(scope="module")
def local(generator: Generator, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    out = tmp_path_factory.mktemp("local") / "out"
    synthesise(generator, out, range(UNITS), seed=5, settings=TINY)
    assert len(Dataset.open(out)) >= UNITS
    return hashes(out)


def hashes(out: Path) -> dict[str, str]:
    return {str(file.relative_to(out)): hash_file(file) for file in (*dataset_files(out), *sorted((out / "units").iterdir()))}


def test_results_come_in_order_from_several_processes(cluster: Any) -> None:
    with workers_at(cluster.address) as workers:
        found = list(workers.map(Squares(0.1), range(12)))
        assert [square for square, _ in found] == [n * n for n in range(12)]
        processes = {process for _, process in found}
        assert len(processes) >= 2 and os.getpid() not in processes


def test_an_error_of_an_item_is_the_same_as_here(cluster: Any) -> None:
    with workers_at(cluster.address) as workers:
        for who in (workers, LOCAL):
            results = who.map(Squares(), range(11, 20))
            assert [next(results)[0] for _ in range(2)] == [121, 144]
            with pytest.raises(PathError, match=r"^13 has no square here$"):
                next(results)


def test_a_job_can_be_left_early(cluster: Any) -> None:
    with workers_at(cluster.address) as workers:
        results = workers.map(Squares(0.05), range(1000))
        assert next(results)[0] == 0
        results.close()
        assert next(workers.map(Squares(), [3]))[0] == 9


def test_synthesis_is_equal_to_the_byte(cluster: Any, generator: Generator, local: dict[str, str], tmp_path: Path) -> None:
    with workers_at(cluster.address) as workers:
        synthesise(generator, tmp_path / "out", range(UNITS), seed=5, settings=TINY, workers=workers)
        assert hashes(tmp_path / "out") == local
        counts: list[int] = []
        synthesise(
            generator,
            tmp_path / "few",
            range(UNITS),
            5,
            1,
            TINY,
            lambda _, clips: counts.append(clips),
            enough=5,
            workers=workers,
        )
        assert sum(counts[:-1]) < 5 <= sum(counts) == len(Dataset.open(tmp_path / "few"))


def test_recording_is_equal_to_the_byte(cluster: Any, tmp_path: Path) -> None:
    character, settings = humanoid(), TrackerSettings.small()
    settings = replace(settings, policy=replace(settings.policy, hidden=(16,)))
    torch.manual_seed(0)
    policy = TrackerPolicy(character, settings, "cpu")
    actor = tmp_path / "actor.safetensors"
    save_actor(actor, policy.averaged_actor(), character, sealed_contract(character, settings.contract), settings)
    path = TerrainPath(torch.tensor([[3.0, 6.0, 0.0], [6.0, 6.0, 0.0]]))
    walks = [stroll(Terrain.flat((30, 30)), path, StrollSettings(speed=0.8 + 0.1 * k), f"walk{k}") for k in range(3)]
    short = 0.2
    record = RecordSettings(
        AttemptSettings(shortest=short), StretchSettings(shortest=short, cut_before_failure=0.1),
        replace(RecordingLimits.anything(), shortest=short), clips_per_unit=1, mirrored=True,
    )  # fmt: skip
    record_dataset(actor, walks, tmp_path / "here", character, settings=record, threads=1)
    with workers_at(cluster.address) as workers:
        record_dataset(actor, walks, tmp_path / "there", character, settings=record, threads=1, workers=workers)
    assert len(Dataset.open(tmp_path / "here"))
    assert hashes(tmp_path / "there") == hashes(tmp_path / "here")


def test_a_machine_killed_half_way_changes_nothing(
    cluster: Any, generator: Generator, local: dict[str, str], tmp_path: Path
) -> None:
    states: list[WorkersState] = []
    victim = sorted(cluster.worker_nodes, key=lambda node: node.unique_id)[0]

    def kill(unit: int, clips: int) -> None:
        if unit == 2:
            cluster.remove_node(victim, allow_graceful=False)

    with workers_at(cluster.address, on_state=states.append) as workers:
        synthesise(generator, tmp_path / "out", range(UNITS), seed=5, settings=TINY, on_unit=kill, workers=workers)
        assert hashes(tmp_path / "out") == local
        deadline = time.monotonic() + 30
        while not any(state.lost for state in states) and time.monotonic() < deadline:
            list(workers.map(Squares(0.3), range(6)))
    assert states[-1].lost == 1 and states[-1].machines == 2
