"""How much of each reference a policy can already follow: those it loses at once teach it little and cost it starts."""

from pathlib import Path

import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.physics.choose_engine import make_world
from parc.track.env.reference_library import build_library
from parc.track.env.reject_bad_references import screen_clips
from parc.track.env.track_env import TrackEnv
from parc.track.follow.evaluate_tracking import evaluate
from parc.track.learn.policy import load_actor


def shares_followed(
    policy: Path | str,
    clips: list[Clip],
    character: Character,
    device: torch.device | str = "cpu",
    worlds: int = 0,
    threads: int = 0,
) -> dict[str, float]:
    """Share of each clip, by name, that is tracked from its first frame with the mean action; 0 where screening refuses it.

    worlds: 0 takes 1024 on a GPU, 64 on the CPU; threads (0: all cores) is for the CPU.
    """
    trained, device = load_actor(policy, character, device), torch.device(device)
    shares = dict.fromkeys((clip.name for clip in clips), 0.0)
    kept, _ = screen_clips(character, clips, trained.settings.reference.screen, device)
    if not kept:
        return shares
    library = build_library(character, kept, trained.settings.reference, device, trained.contract.control_hz)
    worlds = min(worlds or (64 if device.type == "cpu" else 1024), len(kept))
    world = make_world(character, trained.contract, worlds, device, threads, library.bank.cell)
    env = TrackEnv(world, library, trained.settings, torch.Generator(device).manual_seed(0), graphs=False)
    shares.update((score.name, score.tracked) for score in evaluate(env, trained.act, trials=0).clips)
    return shares
