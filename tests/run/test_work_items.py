"""Work in this process is lazy and in order; a cluster that cannot be used is one sentence."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from parc.cli.main import main
from parc.run.work_items import LOCAL, ClusterError, workers_at


@dataclass(frozen=True)
class Doubles:
    seen: list[str]

    def open(self) -> Callable[[int], int]:
        self.seen.append("open")
        return lambda number: 2 * number


def test_local_items_are_taken_when_asked_for_and_the_job_is_opened_once() -> None:
    seen: list[str] = []

    def items():
        for number in range(3):
            seen.append(f"item {number}")
            yield number

    results = LOCAL.map(Doubles(seen), items())
    assert seen == []
    assert next(results) == 0 and seen == ["item 0", "open"]
    assert list(results) == [2, 4] and seen == ["item 0", "open", "item 1", "item 2"]
    with workers_at(None) as workers:
        assert list(workers.map(Doubles(seen), [])) == [] and seen[-1] == "item 2", "nothing to do, nothing opened"


def test_without_ray_one_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ClusterError, match=r"parc-motion\[cluster\]"), workers_at("local"):
        pass
    assert main(["synthesise", "-o", "none", "--cluster", "auto", "--device", "cpu"]) == 2
    assert capsys.readouterr().err.strip().startswith("parc: Ray is not installed")


@pytest.mark.parametrize("address", ["nowhere", "127.0.0.1:1"])
def test_an_address_without_a_cluster_is_one_sentence(address: str) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed ([cluster])")
    from parc.run.ray_workers import _connect

    with pytest.raises(ClusterError, match=f"no Ray cluster at '{address}' .*`ray start --head` begins one"):
        _connect(ray, address)
