"""The contact labeller against clips recorded in simulation: `python tools/label_check.py DATASET`; `--help` tells more."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.character import humanoid
from parc.cli.base_command import Command, number, progress
from parc.dataset import Clip, Dataset
from parc.errors import DatasetError, SettingsError
from parc.mocap import check_labels


@dataclass(frozen=True, kw_only=True)
class LabelCheck(Command):
    """Measure the contact labeller against clips recorded in simulation, whose contacts are exact.

    Contacts are labelled anew from the motions alone, and again on their ground, and compared frame by frame.
    """

    dataset: Annotated[Path, tyro.conf.Positional]
    """data set of recorded clips, see `parc record`"""
    tolerance: int = 1
    """frames by which a label may be early or late"""

    def run(self) -> dict[str, Any]:
        """Label anew, and compare."""
        if self.tolerance < 0:
            raise SettingsError(f"the tolerance is {self.tolerance} frames, expected at least 0")
        dataset = Dataset.open(self.dataset, humanoid())
        if not len(dataset):
            raise DatasetError(f"{self.dataset} has no clips to label")
        with progress(len(dataset), "labelling") as bar:

            def clips() -> Iterator[Clip]:
                for clip in dataset:
                    yield clip
                    bar.update()

            scores = check_labels(clips(), humanoid(), self.tolerance)
        return {
            "clips": len(dataset),
            "tolerance": self.tolerance,
            **{
                stage: {name: {"frames": s.truth, "precision": s.precision, "recall": s.recall} for name, s in bodies.items()}
                for stage, bodies in scores.items()
            },
        }

    def show(self, result: dict[str, Any]) -> None:
        """A line for each body."""
        print(f"{result['clips']} clips, labels within {result['tolerance']} frames; precision and recall:")
        for stage, bodies in result.items():
            if isinstance(bodies, dict):
                print(stage)
                for name, s in bodies.items():
                    precision, recall = (f"{number(s[key], '.3f'):>5}" for key in ("precision", "recall"))
                    print(f"  {name:<12} {precision} {recall}   {s['frames']} frames of contact")


def main(words: list[str]) -> int:
    """Measure; 2 where the input is wrong."""
    from parc.cli.run_command import Called, run_command

    call = "python tools/label_check.py"
    return run_command(
        Called(call, "label_check" if __name__ == "__main__" else __name__, "LabelCheck", (f"{call} recorded --tolerance 2",)),
        words,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
