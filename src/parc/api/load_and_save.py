"""`parc.load` and `parc.save`: any file of this library, by what it is."""

from collections.abc import Sequence
from pathlib import Path

from parc.api.arguments import File
from parc.api.crossing_files import crossing_page, write_crossing
from parc.api.follow_motions import TrackedClip
from parc.api.whose_files import AnyCharacter, character_of
from parc.character import Character
from parc.character.mjcf import character_from_mjcf
from parc.correct.generate_clip import GeneratedClip
from parc.dataset import Clip, Dataset, DatasetWriter, load_clip, save_clip
from parc.dataset.clip_reading import read_clips
from parc.dataset.dataset_store import INDEX
from parc.errors import FormatError
from parc.generate.model.motion_generator import KIND, Generator
from parc.path import TerrainPath, load_path, save_path
from parc.plan import Traverse
from parc.report import Report
from parc.run.checkpoint import read_description
from parc.terrain import Terrain, load_terrain, save_terrain
from parc.terrain.terrain_file import IMAGE_SUFFIXES
from parc.terrain.triangle_mesh import MESH_SUFFIXES
from parc.track.learn.policy import TrainedActor, load_actor

Loaded = Clip | list[Clip] | Dataset | Terrain | TerrainPath | Character | Generator | TrainedActor
Saved = Clip | GeneratedClip | TrackedClip | Traverse | Terrain | TerrainPath | Sequence[Clip]


def load(file: File, *, character: AnyCharacter | None = None, device: str = "cpu") -> Loaded:
    """What a file or folder holds, by its extension.

    clip = parc.load("walk.motion")          # .motion .pkl .txt .bvh .npz, or DATASET/NAME: a Clip
    clips = parc.load("D0")                  # the folder of a data set: a Dataset; of motion files: a list of clips
    terrain = parc.load("hills.terrain")     # .terrain, a grey image or a mesh: a Terrain
    path = parc.load("way.json")             # a TerrainPath
    body = parc.load("robot.xml")            # MJCF: a Character
    tracker = parc.load("tracker.safetensors")   # a Generator or a Tracker, for `character` (that of the file if not given)
    """
    place = Path(file)
    suffix = place.suffix.lower()
    if suffix == ".xml" and not place.is_dir():
        return character_from_mjcf(place)
    body = character_of(character, place)
    if place.is_dir():
        return Dataset.open(place, body) if (place / INDEX).is_file() else read_clips(place, body)
    if suffix in (".terrain", *IMAGE_SUFFIXES, *MESH_SUFFIXES):
        return load_terrain(place)
    if suffix == ".json":
        return load_path(place)
    if suffix == ".safetensors":
        kind = read_description(place).get("kind")
        return Generator.load(place, body, device) if kind == KIND else load_actor(place, body, device)
    return load_clip(place, body)


def save(thing: Saved, file: File, *, character: AnyCharacter | None = None) -> list[Path]:
    """Write it by the file's extension, whole or not at all; the files that were written.

    parc.save(clip, "walk.glb")              # .motion .pkl .bvh .npz .glb .usd
    parc.save(clip, "walk.html")             # a page that replays it
    parc.save(result, "out/crossed")         # of a crossing: motions, replay, facts (parc.traverse)
    parc.save([clip, other], "mydata")       # clips into the folder of a data set
    parc.save(terrain, "hills.terrain")      # also .png and meshes
    """
    place, body = Path(file), character_of(character, _clips_of(thing))
    if isinstance(thing, Traverse):
        if place.suffix.lower() == ".html":
            return [crossing_page(thing, body).write(place)]
        return [Path(name) for name in write_crossing(thing, body, place)["files"]]
    if isinstance(thing, Clip | GeneratedClip | TrackedClip):
        clip = thing if isinstance(thing, Clip) else thing.clip
        if place.suffix.lower() == ".html":
            return [Report(clip.name).add_replay(clip, body, "drag to turn, wheel to zoom").write(place)]
        save_clip(clip, place, body)
    elif isinstance(thing, Terrain):
        save_terrain(thing, place)
    elif isinstance(thing, TerrainPath):
        save_path(thing, place)
    else:
        clips = [clip for clip in thing if isinstance(clip, Clip)] if isinstance(thing, Sequence) else []
        if not clips or len(clips) != len(thing):
            raise FormatError(f"a {type(thing).__name__} cannot be saved; clips, terrains, paths and crossings can")
        with DatasetWriter(place, body) as writer:
            writer.append(clips)
    return [place]


def _clips_of(thing: Saved) -> list[Clip | None]:
    """Of what is to be saved: they say whose it is."""
    if isinstance(thing, Traverse):
        return [thing.simulated, thing.plan]
    if isinstance(thing, GeneratedClip | TrackedClip):
        return [thing.clip]
    parts = [thing] if isinstance(thing, Clip) else thing if isinstance(thing, Sequence) else []
    return [part for part in parts if isinstance(part, Clip)]
