"""Training from the command line: `python -m parc.track.learn.tracker_training [fast|paper|small] --clips CLIPS --out OUT`."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import torch
import tyro

from parc.character.humanoid import humanoid
from parc.dataset.clip_reading import read_clips
from parc.errors import ParcError
from parc.track.learn.tracker_training import TrainingPlan, train_tracker
from parc.track.tracker_settings import TrackerSettings


@dataclass(frozen=True)
class Arguments:
    """Train a tracker on clips."""

    clips: Path
    """data set folder, folder of motion files, or one motion file"""
    out: Path
    """folder for checkpoints, policy and metrics"""
    device: str = "auto"
    """auto, cpu or cuda"""
    resume: bool = True
    """continue a checkpoint found in `out`"""
    init: Path | None = None
    """checkpoint to take weights from"""
    plan: tyro.conf.OmitArgPrefixes[TrainingPlan] = field(default_factory=TrainingPlan)
    settings: tyro.conf.OmitArgPrefixes[TrackerSettings] = field(default_factory=TrackerSettings)


PRESETS = {"fast": TrackerSettings, "paper": TrackerSettings.paper, "small": TrackerSettings.small}


def main(arguments: list[str] | None = None) -> None:
    """`python -m parc.track.learn.tracker_training CLIPS --out OUT`; a first word fast, paper or small chooses the defaults."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    preset = words.pop(0) if words and words[0] in PRESETS else "fast"
    unset = Arguments(clips=tyro.MISSING, out=tyro.MISSING, settings=PRESETS[preset]())
    character = humanoid()
    try:
        chosen = tyro.cli(
            Arguments, default=unset, args=words, prog=f"python -m parc.track.learn.tracker_training [{'|'.join(PRESETS)}]"
        )
        device = chosen.device if chosen.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
        clips = read_clips(chosen.clips, character)
        train_tracker(character, clips, chosen.out, chosen.settings, chosen.plan, device, chosen.resume, chosen.init)
    except ParcError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
