"""`parc average-trackers`: the weights of several trackers of one ancestry, averaged."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.cli.base_command import Command


@dataclass(frozen=True, kw_only=True)
class AverageTrackers(Command):
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
        from parc.character import humanoid
        from parc.errors import ParcError
        from parc.plan.tracker_critic import Critic
        from parc.run.atomic_files import write_bytes_atomically
        from parc.track.learn.policy import load_actor, save_actor
        from parc.track.learn.tracker_training import ACTOR, CHECKPOINT, CRITIC
        from parc.track.learn.weight_average import average_trackers, shares_of

        shares = shares_of(self.weights or (1.0,) * len(self.trackers), len(self.trackers))
        if any((self.out / name).exists() for name in (ACTOR, CHECKPOINT)):
            raise ParcError(f"'{self.out}' holds a tracker already; name a new folder")
        character = humanoid()
        files = [tracker / ACTOR if tracker.is_dir() else tracker for tracker in self.trackers]
        average = average_trackers([load_actor(file, character) for file in files], shares)
        critic = files[0].with_name(CRITIC)
        if critic.is_file():  # first, so that a folder with an actor is whole
            Critic.load(critic, average)
            write_bytes_atomically(self.out / CRITIC, critic.read_bytes())
        save_actor(self.out / ACTOR, average.actor, character, average.contract, average.settings)
        told = [{"tracker": str(file), "share": share} for file, share in zip(files, shares, strict=True)]
        return {"policy": str(self.out / ACTOR), "critic": critic.is_file(), "shares": told}

    def show(self, result: dict[str, Any]) -> None:
        for row in result["shares"]:
            print(f"{row['share']:.3f}  {row['tracker']}")
        print(f"to {result['policy']}" + (" and the first one's value function beside it" if result["critic"] else ""))
