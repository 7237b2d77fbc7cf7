"""A Ray cluster of three nodes on this machine, one core each; without Ray these tests are skipped."""

import os
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    pytest.importorskip("ray", reason="Ray is not installed ([cluster])")
    quiet = {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    os.environ |= quiet | {"RAY_worker_register_timeout_seconds": "600"}  # other tests run beside these
    import ray
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_dashboard": False}
    made = Cluster(initialize_head=True, head_node_args=node)
    for _ in range(2):
        made.add_node(**{key: value for key, value in node.items() if key != "include_dashboard"})
    ray.init(made.address, logging_level="ERROR", log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()
