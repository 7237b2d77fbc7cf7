"""Items of work, done here or on many machines, with the same results.

A *job* is a small picklable object that knows how to get ready (load a model, make worlds) and then does one item after the
other. Who does the items is a second question, answered by *workers*:

    workers.map(job, items)      results in the order of the items, whoever made them and in whatever order they were made

An item must depend on nothing but the job and itself. Then it can be done again on another machine when one is lost, and the
results are those of a single process. `LOCAL` does one item at a time in this process; `parc.run.ray_workers` does many at once
on a Ray cluster and is imported only when one is asked for.
"""

import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from parc.errors import ParcError

Item = TypeVar("Item", contravariant=True)
Result = TypeVar("Result", covariant=True)


class ClusterError(ParcError):
    """A cluster that cannot be used, with what to do about it."""


class Job(Protocol[Item, Result]):
    """Work on items, ready to be done here or elsewhere."""

    def open(self) -> Callable[[Item], Result]:
        """Get ready, once in each process; returns what does one item."""
        ...


@dataclass(frozen=True)
class WorkersState:
    """How far a job on many machines is."""

    done: int
    """items finished since the job was begun or resumed"""
    running: int
    """items handed out"""
    machines: int
    """alive"""
    lost: int
    """machines that were there and are gone; their items are done again elsewhere"""


class Workers(Protocol):
    """Who does the items."""

    def map(self, job: Job[Item, Result], items: Iterable[Item]) -> Generator[Result, None, None]:
        """Results in the order of the items. Items may be taken well ahead of results; closing the generator drops those."""
        ...


class LocalWorkers:
    """This process, one item at a time; an item is taken when its result is asked for."""

    def map(self, job: Job[Item, Result], items: Iterable[Item]) -> Generator[Result, None, None]:
        """One item at a time, when its result is asked for."""
        work: Callable[[Item], Result] | None = None
        for item in items:
            work = work or job.open()
            yield work(item)


LOCAL = LocalWorkers()


@contextlib.contextmanager
def workers_at(
    cluster: str | None, device: str = "cpu", on_state: Callable[[WorkersState], None] | None = None
) -> Iterator[Workers]:
    """None: this process. 'local': a Ray cluster of this machine alone. 'auto': the one this machine belongs to. Else an address.

    On a cluster items get a GPU each if `device` is cuda, and a CPU core each if not.
    """
    if cluster is None:
        yield LOCAL
        return
    from parc.run.ray_workers import RayWorkers

    with RayWorkers.connected(cluster, device, on_state) as workers:
        yield workers


def check_cluster(cluster: str | None) -> None:
    """Refuse at once what could not work later."""
    if cluster is not None:
        from parc.run.ray_workers import check_answers, import_ray

        import_ray()
        check_answers(cluster)
