"""`parc logs`: a run's numbers in TensorBoard or Weights & Biases."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.cli.base_command import Command, progress


@dataclass(frozen=True, kw_only=True)
class Logs(Command):
    """Copy the metrics of a run (all metrics.jsonl below a folder) to TensorBoard, Weights & Biases, or both."""

    folder: Annotated[Path, tyro.conf.Positional]
    """of a run, or of one training"""
    tensorboard: Path | None = None
    """folder for TensorBoard's files; `tensorboard --logdir FOLDER` shows them"""
    wandb: str | None = None
    """project of Weights & Biases"""
    follow: bool = False
    """go on copying until the run ends or Ctrl-C"""

    def run(self) -> dict[str, Any]:
        from parc.errors import SettingsError
        from parc.loop.ledger import working_process
        from parc.run.metrics_export import Mirror, Target, TensorBoardTarget, WandbTarget

        if self.tensorboard is None and self.wandb is None:
            raise SettingsError("nowhere to copy to; expected --tensorboard FOLDER, --wandb PROJECT, or both")
        mirror = Mirror(self.folder, [])
        targets: list[Target] = []
        if self.tensorboard is not None:
            targets.append(TensorBoardTarget(self.tensorboard))
        if self.wandb is not None:
            targets.append(WandbTarget(self.wandb, self.folder))
        mirror.targets = targets
        lines = 0
        try:
            with progress(None, "lines") as bar:
                for count in mirror.follow(lambda: not self.follow or working_process(self.folder) is None):
                    lines += count
                    bar.update(count)
        except KeyboardInterrupt:
            pass
        finally:
            for target in targets:
                target.close()
        return {"lines": lines, "tensorboard": self.tensorboard and str(self.tensorboard), "wandb": self.wandb}
