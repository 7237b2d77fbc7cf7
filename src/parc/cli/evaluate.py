"""`parc evaluate`: the paper's tables on the fixed test set."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from parc.cli.command import Command, progress

_COLUMNS = ("fwd", "tpl", "tcl", "hjf_code", "goal", "foot_skate", "foot_f1", "floating", "pen_mm", "seam_jerk")


@dataclass(frozen=True, kw_only=True)
class EvaluateGenerator(Command):
    """Motions of a generator on the 100 test terrains: FWD, TPL, TCL, HJF (Table 1) and what does not grow with length."""

    generator: Path | None = None
    """trained generator (.safetensors); the one in the box if not given"""
    ground: Literal["walks", "boxes"] = "walks"
    """walks: the test set; boxes: the training kind of terrain with other seeds"""
    terrains: int = 100
    candidates: int = 32
    """motions on each terrain"""
    seconds: float = 10.0
    """time limit, s"""
    choices: int = 1
    """candidates sampled for each window, the best of which is kept"""

    def run(self) -> dict[str, Any]:
        from parc.character import humanoid
        from parc.evaluate.generator import evaluate_generator
        from parc.generate.generator import Generator
        from parc.models import shipped_generator

        model = Generator.load(self.generator or shipped_generator(), humanoid(), self.torch_device)
        cases, test = self._protocol()
        return evaluate_generator(model, cases, test)

    def _protocol(self) -> tuple[list, Any]:
        from parc.evaluate.generator import GeneratorTest
        from parc.evaluate.terrains import box_cases, walk_cases
        from parc.generate.rollout import RolloutSettings

        make = walk_cases if self.ground == "walks" else box_cases
        rollout = RolloutSettings(seconds=self.seconds, choices=self.choices)
        return make(self.terrains), GeneratorTest(self.candidates, rollout, self.seed + 1)


@dataclass(frozen=True, kw_only=True)
class EvaluateBlending(EvaluateGenerator):
    """The same for each blending coefficient of the paper's Table 3 and for annealed schedules."""

    def run(self) -> dict[str, Any]:
        from parc.character import humanoid
        from parc.evaluate.generator import BLENDS, blending_sweep
        from parc.generate.generator import Generator
        from parc.models import shipped_generator

        model = Generator.load(self.generator or shipped_generator(), humanoid(), self.torch_device)
        cases, test = self._protocol()
        with progress(len(BLENDS), "blends") as bar:
            return blending_sweep(model, cases, replace(test), lambda name, result: bar.update())

    def show(self, result: dict[str, Any]) -> None:
        print(f"{'blend':<22}" + "".join(f"{c:>12}" for c in _COLUMNS))
        for name, row in result.items():
            print(f"{name:<22}" + "".join(f"{row[c]:12.4g}" for c in _COLUMNS))
