"""How much of each reference a policy can already follow: those it loses at once teach it little and cost it starts."""

from pathlib import Path

import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.track.env.reference_library import build_library
from parc.track.env.reject_bad_references import screen_clips
from parc.track.follow.runner import Episodes, Runner
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
    runner = Runner(trained, device, min(worlds or (64 if device.type == "cpu" else 1024), len(kept)), threads)
    library = build_library(character, kept, trained.settings.reference, device, runner.fps)
    trace = runner.run(library, Episodes.of([(k, 0) for k in range(len(kept))]))
    share = trace.survived / (library.length.cpu() - 1).clamp_min(1)
    return shares | dict(zip(library.names, share.tolist(), strict=True))
