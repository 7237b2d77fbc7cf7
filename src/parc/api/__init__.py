"""The functions of `import parc`: each does what the command of its name does, and the command calls it.

Everything here is at the top of the package, and imported when it is first used: `parc.traverse("boxes")`, `parc.Clip`.
`parc.generate`, `parc.correct`, `parc.track` and `parc.record` are folders that can be called.
"""

from parc.api.cross_terrain import traverse
from parc.api.follow_motions import TrackedClip, record, track
from parc.api.load_and_save import load, save
from parc.api.make_motions import correct, generate
from parc.character import Character
from parc.correct.generate_clip import GeneratedClip
from parc.dataset import Clip, Dataset
from parc.generate.model.motion_generator import Generator
from parc.plan import Models, Traverse
from parc.record.record_report import RecordReport
from parc.terrain import Terrain
from parc.track.learn.policy import TrainedActor as Tracker

__all__ = [
    "Character", "Clip", "Dataset", "GeneratedClip", "Generator", "Models", "RecordReport", "Terrain", "TrackedClip", "Tracker",
    "Traverse", "correct", "generate", "load", "record", "save", "track", "traverse",
]  # fmt: skip
