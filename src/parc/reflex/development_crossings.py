"""The small development set that milestones of closed-loop training are measured on: always the same terrains and random numbers.

The loop is `parc.plan.reflex`, from the start of each path, with the policy's mean action. The worlds are made once.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from parc.evaluate.traverse_measurement import traverse_case
from parc.generate.model.motion_generator import Generator
from parc.plan.crossing.reflex_crossings import ARRIVED, OUTCOMES, ReflexSettings
from parc.plan.reflex import Reflex
from parc.reflex.reflex_settings import DevelopmentSettings
from parc.track.learn.policy import TrainedActor

_LOOK_EVERY = 30
"""control steps between looks at whether all is over"""
_SEED = 20_517


class DevelopmentCrossings:
    """Terrains of the development set with bodies that cross them."""

    def __init__(
        self,
        generator: Generator,
        tracker: TrainedActor,
        settings: DevelopmentSettings,
        loop: ReflexSettings,
        threads: int = 0,
        graphs: bool = True,
        compiled: bool = False,
        judge: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        self.cases = [traverse_case("development", family, k) for family in settings.families for k in range(settings.terrains)]
        self._random = torch.Generator(generator.device)
        self._reflex = Reflex(
            generator,
            tracker,
            [case.terrain for case in self.cases],
            [case.path for case in self.cases],
            [k for k in range(len(self.cases)) for _ in range(settings.runs)],
            loop,
            self._random,
            None,
            threads,
            graphs,
            compiled,
            judge,
        )

    @torch.no_grad()
    def run(self, actor: Callable[[Tensor], Tensor]) -> dict[str, Any]:
        """Shares of the runs by what became of them, in all and by family, and the mean s of those that arrived."""
        reflex = self._reflex
        self._random.manual_seed(_SEED)
        reflex.begin()
        while True:
            for _ in range(_LOOK_EVERY):
                reflex.step(actor)
            if reflex.is_over():
                break
        count, crossings = reflex.count, reflex.crossings
        outcome, steps = crossings.outcome[:count].cpu(), crossings.steps[:count].cpu()
        families = defaultdict(list)
        for run, case in enumerate(reflex.case[:count].tolist()):
            families[self.cases[case].family].append(run)
        arrived = outcome == ARRIVED
        return {
            **{name: float((outcome == k).float().mean()) for k, name in enumerate(OUTCOMES) if k},
            "seconds": float(steps[arrived].float().mean()) / reflex.fps if bool(arrived.any()) else float("nan"),
            "by_family": {name: round(float(arrived[runs].float().mean()), 4) for name, runs in families.items()},
            "runs": count,
        }
