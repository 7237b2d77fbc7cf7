"""An environment from clips alone: library, world, random numbers and first episodes in one call."""

import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.physics.choose_engine import make_world
from parc.run.choose_device import choose_device
from parc.track.env.reference_library import build_library
from parc.track.env.track_env import TrackEnv
from parc.track.tracker_settings import TrackerSettings


def make_track_env(
    clips: list[Clip],
    character: Character,
    num_envs: int,
    settings: TrackerSettings | None = None,
    device: torch.device | str = "cpu",
    seed: int = 0,
    threads: int = 0,
) -> TrackEnv:
    """Clips are screened like for training; `threads` (0: all cores) is for the CPU."""
    settings = settings or TrackerSettings()
    device = choose_device(str(device))
    library = build_library(character, clips, settings.reference, device, float(settings.contract.control_hz))
    world = make_world(character, settings.contract, num_envs, device, threads, library.bank.cell)
    generator = torch.Generator(device=world.device).manual_seed(seed)
    env = TrackEnv(world, library, settings, generator)
    env.restart_all()
    return env
