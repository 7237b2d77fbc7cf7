"""`parc bench`: how fast the parts are on this machine. Rates and ratios, never a verdict."""

from dataclasses import dataclass
from typing import Any

from parc.cli.command import Command


@dataclass(frozen=True, kw_only=True)
class BenchSdf(Command):
    """Distances of body surface points to the terrain: points a second."""

    def run(self) -> dict[str, Any]:
        from parc.bench.sdf import bench_sdf

        return bench_sdf(self.torch_device, self.seed)


@dataclass(frozen=True, kw_only=True)
class BenchPlan(Command):
    """Path planning: seconds to build a navigation graph, plans a second."""

    def run(self) -> dict[str, Any]:
        from parc.bench.plan import bench_plan

        return bench_plan(self.torch_device, self.seed)
