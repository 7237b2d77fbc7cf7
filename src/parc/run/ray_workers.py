"""Items of work on a Ray cluster: as many at once as there are CPU cores or GPUs, done again elsewhere when a machine is lost.

The job is put into the cluster's object store once; a worker process opens it at the first item it gets and keeps it open for
the next ones. Results come back to this process, which alone writes files, so the machines need no shared disk; they need the
same parc. Torch uses as many threads there as here: with equal processors the results are equal to the bit.

Ray does an item again when its worker or machine dies, up to RETRIES times. A faulty item (an exception) is not tried again: it
would fail again, and here it is raised as it would be by a local run.

Items of a job that is left early are not cancelled: `ray.cancel` can end the calling process (Ray 2.60: "tried to complete task
that was not pending"). They run to their end unseen, or until the connection is closed.
"""

import contextlib
import logging
import os
import platform
import socket
import time
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

import torch

from parc import __version__
from parc.run.work_items import ClusterError, Item, Job, Result, WorkersState

RETRIES = 8
"""times an item is begun anew after its worker was lost"""
_AHEAD = 3
"""items handed out for each place in the cluster, so that few wait for the slowest"""
_LOOK_SECONDS = 1.0
"""between looks at the cluster"""
_LOG_SECONDS = 15.0
_LOCAL_STORE = 256 * 2**20
"""bytes of object store of a cluster that is started here"""
_log = logging.getLogger("parc.cluster")
_opened: dict[str, Callable[[Any], Any]] = {}
"""in a worker process: the job it is working on, by key"""


class RayWorkers:
    """Many machines. Made by `connected`."""

    def __init__(self, ray: Any, device: str, on_state: Callable[[WorkersState], None] | None) -> None:
        self._ray, self._on_state = ray, on_state
        self._kind = "GPU" if torch.device(device).type == "cuda" else "CPU"
        needs = {"num_gpus": 1, "num_cpus": 1} if self._kind == "GPU" else {"num_cpus": 1}
        self._do_item = ray.remote(max_retries=RETRIES, **needs)(_do_item)
        self._seen: set[str] = set()
        self._told = self._logged = time.monotonic()

    @classmethod
    @contextlib.contextmanager
    def connected(
        cls, cluster: str, device: str = "cpu", on_state: Callable[[WorkersState], None] | None = None
    ) -> Iterator["RayWorkers"]:
        ray = import_ray()
        was_connected = ray.is_initialized()
        if not was_connected:
            _connect(ray, cluster)
        try:
            workers = cls(ray, device, on_state)
            if not workers._places():
                raise ClusterError(f"the cluster at '{cluster}' has no {workers._kind} to work on")
            yield workers
        finally:
            if not was_connected:
                ray.shutdown()

    def map(self, job: Job[Item, Result], items: Iterable[Item]) -> Generator[Result, None, None]:
        shared, key = self._ray.put(job), uuid.uuid4().hex
        source, pending, done = iter(items), deque[Any](), 0
        has_more = True
        while True:
            places = self._places()
            while has_more and len(pending) < max(1, _AHEAD * places):
                try:
                    item = next(source)
                except StopIteration:
                    has_more = False
                    break
                pending.append(self._do_item.remote(shared, key, _versions(), torch.get_num_threads(), item))
            if not pending:
                return
            self._wait(pending, done)
            result = self._take(pending.popleft(), done)
            done += 1
            yield result

    def _places(self) -> int:
        return int(self._ray.cluster_resources().get(self._kind, 0))

    def _wait(self, pending: deque[Any], done: int) -> None:
        """Until the first of the pending items is there, telling how it goes meanwhile."""
        ready: list[Any] = []
        while not ready:
            ready, _ = self._ray.wait([pending[0]], num_returns=1, timeout=_LOOK_SECONDS)
            now = time.monotonic()
            if now - self._told < _LOOK_SECONDS:
                continue
            finished, _ = self._ray.wait(list(pending), num_returns=len(pending), timeout=0, fetch_local=False)
            state = self._state(done + len(finished), len(pending) - len(finished))
            self._told = now
            if self._on_state:
                self._on_state(state)
            if now - self._logged >= _LOG_SECONDS:
                self._logged = now
                gone = f", {state.lost} lost" if state.lost else ""
                _log.info("%d items done, %d handed out on %d machines%s", state.done, state.running, state.machines, gone)

    def _state(self, done: int, running: int) -> WorkersState:
        nodes = self._ray.nodes()
        alive = {node["NodeID"] for node in nodes if node["Alive"]}
        self._seen |= alive
        return WorkersState(done, running, len(alive), len(self._seen - alive))

    def _take(self, reference: Any, number: int) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as error:
            raise (error.cause if isinstance(error.cause, Exception) else ClusterError(str(error))) from None
        except errors.RayError as error:
            reason = str(error).strip().splitlines()[0]
            raise ClusterError(
                f"item {number} was lost with its worker {RETRIES + 1} times ({type(error).__name__}: {reason}); "
                "what is finished is kept, and the same command goes on"
            ) from None


def _do_item(job: Job[Item, Result], key: str, versions: dict[str, str], threads: int, item: Item) -> Result:
    """In a worker process."""
    if (mine := _versions()) != versions:
        wrong = ", ".join(f"{name} {mine[name]} instead of {versions[name]}" for name in versions if mine[name] != versions[name])
        raise ClusterError(f"machine {platform.node()} has {wrong}; install the same version on all machines")
    torch.set_num_threads(threads)
    if key not in _opened:
        _opened.clear()
        _opened[key] = job.open()
    return _opened[key](item)


def _versions() -> dict[str, str]:
    return {"parc": __version__, "torch": torch.__version__}


def import_ray() -> Any:
    """Ray, or one sentence about how to get it."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_worker_register_timeout_seconds", "600")  # a busy machine takes minutes to import torch
    try:
        import ray
    except ImportError:
        raise ClusterError("Ray is not installed; `pip install 'parc-motion[cluster]'` brings it") from None
    return ray


def _connect(ray: Any, cluster: str) -> None:
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    check_answers(cluster)
    with _as_sentence(cluster, ray.exceptions.RayError):  # e.g. a token that is missing
        if cluster == "local":
            ray.init("local", include_dashboard=False, object_store_memory=_LOCAL_STORE, **quiet)
        else:
            ray.init(cluster, **quiet)


def check_answers(cluster: str) -> None:
    """Ray waits minutes for an address where nobody listens."""
    if cluster in ("local", "auto"):
        return
    host, _, port = cluster.removeprefix("ray://").rpartition(":")
    with _as_sentence(cluster):
        if not host or not port.isdigit():
            raise ValueError("expected local, auto or HOST:PORT")
        socket.create_connection((host, int(port)), timeout=10.0).close()


@contextlib.contextmanager
def _as_sentence(cluster: str, *others: type[Exception]) -> Iterator[None]:
    expected: tuple[type[Exception], ...] = (OSError, OverflowError, RuntimeError, ValueError, *others)
    try:
        yield
    except expected as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ClusterError(
            f"no Ray cluster at '{cluster}' ({reason}); `ray start --head` begins one, 'local' needs none, "
            "and one with a token asks for RAY_AUTH_MODE=token and the token here too"
        ) from None
