"""Squares from a Ray cluster, by a process that has its token or has not: `python token_client.py HOST:PORT`."""

import sys
from collections.abc import Callable

from parc.errors import ParcError
from parc.run.work_items import workers_at


class Squares:
    def open(self) -> Callable[[int], int]:
        return lambda number: number * number


if __name__ == "__main__":
    try:
        with workers_at(sys.argv[1]) as workers:
            import ray

            machines = sum(node["Alive"] for node in ray.nodes())
            print(f"machines {machines}, squares {list(workers.map(Squares(), range(6)))}")
    except ParcError as error:
        print(f"refused: {error}")
