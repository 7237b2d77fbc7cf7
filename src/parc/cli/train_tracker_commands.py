"""`parc train-tracker` and `parc train-tracker average`: policies that follow clips in simulation."""

import contextlib
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.cli.character_option import OfCharacter
from parc.dataset.clip_reading import read_clips
from parc.errors import ParcError
from parc.loop.stage_presets import TrackerPreset, stage_preset
from parc.plan.tracker_critic import Critic
from parc.run.atomic_files import write_bytes_atomically
from parc.run.choose_device import choose_device
from parc.track.learn.policy import load_actor, save_actor
from parc.track.learn.tracker_training import ACTOR, CHECKPOINT, CRITIC, TrainingPlan, train_tracker
from parc.track.learn.weight_average import average_trackers, shares_of
from parc.track.tracker_settings import TrackerSettings


@dataclass(frozen=True, kw_only=True)
class TrainTracker(OfCharacter):
    """Train a tracking controller by reinforcement learning.

    A run that was stopped goes on when the same command is given again.
    """

    clips: Annotated[Path, tyro.conf.Positional]
    """data set, folder of motion files, or one motion file"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """folder for actor, checkpoint and metrics"""
    preset: TrackerPreset = "default"
    """defaults of all settings. default: learns fast, 8192 worlds on a GPU and 64 on the CPU; small: small networks for a CPU;
    paper: the paper's actions, rewards and failure rates in MuJoCo, PPO's numbers and the start noise, which it does not tell,
    those of the released code (SGD at 5e-5, 32 steps, 5 epochs, 7.5 cm); others: as that preset of `parc loop`"""
    init: Path | None = None
    """checkpoint to take weights from"""
    resume: bool = True
    """continue a checkpoint found in OUT"""
    seed: tyro.conf.Suppress[int] = 0
    """that of the plan counts"""
    plan: Annotated[TrainingPlan, tyro.conf.arg(name="")] = field(default_factory=TrainingPlan)
    settings: Annotated[TrackerSettings, tyro.conf.arg(name="")] = field(default_factory=TrackerSettings)

    @classmethod
    def of_preset(cls, preset: str, device: str) -> dict[str, Any]:
        """Settings of the tracker and of its training."""
        stage = stage_preset(preset, choose_device(device) != "cpu").tracker
        return {"plan": stage.training, "settings": stage.settings}

    def run(self) -> dict[str, Any]:
        """Train."""
        character = self.body(self.clips, self.init)
        clips = read_clips(self.clips, character)
        with contextlib.redirect_stdout(sys.stderr):  # a line for each evaluation
            reached = train_tracker(
                character, clips, self.out, self.settings, self.plan, self.torch_device, self.resume, self.init
            )
        return {
            "tracker": str(self.out / ACTOR),
            "clips": len(clips),
            "success": reached.success,
            "joint_error": reached.joint_error,
            "tracked": reached.tracked,
        }


@dataclass(frozen=True, kw_only=True)
class AverageTrackers(OfCharacter):
    """Average the weights of a tracker and of the ones it was trained on from, to keep what training on has cost.

    Settings, statistics and value function are those of the first. A test of the result is not optional: `parc evaluate tracker`.
    """

    trackers: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """trackers (.safetensors), or folders of a training; the one that was trained longest first"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """new folder for the actor, and for the first tracker's value function where there is one beside it"""
    weights: tuple[float, ...] = ()
    """share of each, in any unit; equal shares if not given"""

    def run(self) -> dict[str, Any]:
        """Average."""
        shares = shares_of(self.weights or (1.0,) * len(self.trackers), len(self.trackers))
        if any((self.out / name).exists() for name in (ACTOR, CHECKPOINT)):
            raise ParcError(f"'{self.out}' holds a tracker already; name a new folder")
        character = self.body(*self.trackers)
        files = [tracker / ACTOR if tracker.is_dir() else tracker for tracker in self.trackers]
        average = average_trackers([load_actor(file, character) for file in files], shares)
        critic = files[0].with_name(CRITIC)
        if critic.is_file():  # first, so that a folder with an actor is whole
            Critic.load(critic, average)
            write_bytes_atomically(self.out / CRITIC, critic.read_bytes())
        save_actor(self.out / ACTOR, average.actor, character, average.contract, average.settings)
        told = [{"tracker": str(file), "share": share} for file, share in zip(files, shares, strict=True)]
        return {"tracker": str(self.out / ACTOR), "critic": critic.is_file(), "shares": told}

    def show(self, result: dict[str, Any]) -> None:
        """Shares, and where the average is."""
        for row in result["shares"]:
            print(f"{row['share']:.3f}  {row['tracker']}")
        print(f"to {result['tracker']}" + (" and the first one's value function beside it" if result["critic"] else ""))
