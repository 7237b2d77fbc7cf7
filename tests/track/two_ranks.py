"""Run by `test_train` once for each rank: two iterations on a shared clip, then everything that must agree is saved."""

import sys
from dataclasses import replace
from pathlib import Path

from parc.character.humanoid import humanoid
from parc.dataset.clip_reading import read_clips
from parc.physics.choose_engine import make_world
from parc.run import distributed
from parc.run.checkpoint import save_checkpoint
from parc.track.env.reference_library import build_library
from parc.track.learn.tracker_training import TrackerTrainer, TrainingPlan
from parc.track.tracker_settings import TrackerSettings


def main(folder: Path) -> None:
    group = distributed.setup("cpu")
    character, base = humanoid(), TrackerSettings.small()
    ppo = replace(base.ppo, steps=8, epochs=2, minibatch=32)
    settings = replace(base, policy=replace(base.policy, hidden=(32,)), ppo=ppo)
    library = build_library(character, read_clips(folder / "squat.motion", character))
    world = make_world(character, settings.contract, 8, "cpu", threads=1)
    trainer = TrackerTrainer(character, library, world, settings, TrainingPlan(worlds=8), group)
    trainer.env.restart_all()
    for _ in range(2):
        trainer._iteration()
    tensors = {**trainer.ppo.state(), "failures": trainer.env.restart.failures, "qpos": world.qpos}
    save_checkpoint(folder / f"rank{group.rank}.safetensors", tensors, {})
    group.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
