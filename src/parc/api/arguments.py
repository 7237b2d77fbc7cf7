"""What the functions of this room take: files, names or objects, and settings by name."""

import dataclasses
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from parc.character import Character
from parc.dataset import Clip, load_clip
from parc.errors import SettingsError, TerrainError
from parc.generate.model.motion_generator import Generator
from parc.models import shipped_generator, shipped_tracker
from parc.path import TerrainPath, load_path
from parc.terrain import RandomBoxes, RandomWalks, Stairs, Terrain, load_terrain, parkour_park, random_boxes, random_walks, stairs
from parc.terrain.random_platforms import REACHABLE, PlatformChain, platform_chain
from parc.track.learn.policy import TrainedActor, load_actor

File = str | Path
AnyTerrain = Terrain | str | Path
"""a terrain; its file, an image or a mesh; or the name of a kind: boxes, walks, platforms, stairs, course"""
AnyClip = Clip | str | Path
"""a clip, its file, or DATASET/NAME"""

_Settings = TypeVar("_Settings")


def changed(settings: _Settings, changes: dict[str, Any]) -> _Settings:
    """Settings with some fields changed by name; a name that they do not have is refused."""
    names = [field.name for field in dataclasses.fields(settings)]  # type: ignore[arg-type]
    for name in changes:
        if name not in names:
            near = get_close_matches(name, names, n=1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            raise SettingsError(f"there is no argument '{name}'{meant}; {type(settings).__name__} has {', '.join(names)}")
    return dataclasses.replace(settings, **changes) if changes else settings  # type: ignore[type-var]


def terrain_of(terrain: AnyTerrain, seed: int = 0) -> Terrain:
    """A terrain as it is, from a file, or a new one of a kind, drawn with `seed`. A `Path` is always a file."""
    if isinstance(terrain, Terrain):
        return terrain
    rng = np.random.default_rng(seed)
    makers = {
        "boxes": lambda: random_boxes(RandomBoxes(), rng),
        "walks": lambda: random_walks(RandomWalks(), rng),
        "platforms": lambda: platforms_of(seed).terrain,
        "stairs": lambda: stairs(Stairs()),
        "course": parkour_park,
    }
    if isinstance(terrain, str) and terrain in makers:
        return makers[terrain]()
    file = Path(terrain)
    if isinstance(terrain, str) and not file.suffix and not file.exists():
        raise TerrainError(f"'{terrain}' is neither a file nor a kind of terrain; kinds are {', '.join(makers)}")
    return load_terrain(file)


def platforms_of(seed: int) -> PlatformChain:
    """Towers with gaps between them, from landing to landing."""
    return platform_chain(REACHABLE, np.random.default_rng(seed))


def clip_of(clip: AnyClip, character: Character) -> Clip:
    """A clip as it is, or from a file."""
    return clip if isinstance(clip, Clip) else load_clip(clip, character)


def path_of(path: TerrainPath | File) -> TerrainPath:
    """A path as it is, or from a file."""
    return path if isinstance(path, TerrainPath) else load_path(Path(path))


def generator_of(generator: Generator | File | None, character: Character, device: str) -> Generator:
    """A generator as it is, from a file, or the character's in the box."""
    if isinstance(generator, Generator):
        return generator
    return Generator.load(generator or shipped_generator(body=character.name), character, device)


def tracker_of(tracker: TrainedActor | File | None, character: Character, device: str) -> TrainedActor:
    """A tracker as it is, from a file, or the character's in the box."""
    if isinstance(tracker, TrainedActor):
        return tracker
    return load_actor(tracker or shipped_tracker(character.name), character, device)
