"""`parc train-tracker`: a policy that follows clips in simulation."""

import contextlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from parc.cli.base_command import Command


@dataclass(frozen=True, kw_only=True)
class TrainTracker(Command):
    """Train a tracking controller by reinforcement learning. A run that was stopped goes on when the same command is given again.

    Every setting is an option of `python -m parc.track.learn.tracker_training`.
    """

    clips: Annotated[Path, tyro.conf.Positional]
    """data set, folder of motion files, or one motion file"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """folder for actor, checkpoint and metrics"""
    preset: Literal["fast", "paper", "small"] = "fast"
    """fast: for a GPU; small: small networks for a CPU; paper: the paper's actions, rewards and failure rates in MuJoCo; PPO's
    numbers and the start noise, which it does not tell, are the released code's (SGD at 5e-5, 32 steps, 5 epochs, 7.5 cm)"""
    seconds: float = 300.0
    """s of training; evaluations and compilation are not counted"""
    iterations: int = 0
    """rollouts and updates, instead of seconds"""
    worlds: int = 0
    """simulated characters; 0: 8192 on a GPU (2048 with paper), 64 on the CPU"""
    init: Path | None = None
    """checkpoint to take weights from"""
    resume: bool = True
    """continue a checkpoint found in OUT"""
    milestone_seconds: float = 0.0
    """s of training between evaluations, at which it is also saved; 0: 60 on a GPU, 15 on the CPU"""
    threads: int = 0
    """of the CPU engine; 0: all cores"""

    def run(self) -> dict[str, Any]:
        from parc.character import humanoid
        from parc.dataset.clip_reading import read_clips
        from parc.track.learn.tracker_training import ACTOR, TrainingPlan, train_tracker
        from parc.track.tracker_settings import TrackerSettings

        character, device = humanoid(), self.torch_device
        plan = TrainingPlan(
            worlds=self.worlds or (64 if device == "cpu" else 2048 if self.preset == "paper" else 8192),
            seconds=self.seconds,
            iterations=self.iterations,
            milestone_seconds=self.milestone_seconds or (15.0 if device == "cpu" else 60.0),
            seed=self.seed,
            threads=self.threads,
        )
        settings = {"fast": TrackerSettings, "paper": TrackerSettings.paper, "small": TrackerSettings.small}[self.preset]()
        clips = read_clips(self.clips, character)
        with contextlib.redirect_stdout(sys.stderr):  # a line for each evaluation
            evaluation = train_tracker(character, clips, self.out, settings, plan, device, self.resume, self.init)
        return {
            "policy": str(self.out / ACTOR),
            "clips": len(clips),
            "success": evaluation.success,
            "joint_error": evaluation.joint_error,
            "tracked": evaluation.tracked,
        }
