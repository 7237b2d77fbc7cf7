"""How well clips were made from their takes (`parc.quality`, profile `MocapLimits`)."""

from collections.abc import Sequence

import torch

from parc.character import rotation
from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.fit.unknowns import pad
from parc.metrics.clip_batch import ClipBatch
from parc.mocap.read.joint_naming import SIDES
from parc.mocap.subject.calibrate_subject import Fitted
from parc.mocap.subject.human_anatomy import Anatomy
from parc.quality.limit_check import ClipQuality
from parc.quality.measure_clip import measure_against_take


def measure_quality(clip: Clip, fitted: Fitted, character: Character, conflict: float = 0.0) -> ClipQuality:
    """Of a clip against its take in the clip's frame and at its rate."""
    return measure_qualities(ClipBatch.stack([clip], character), [fitted], [conflict])[0]


def measure_qualities(batch: ClipBatch, fitted: Sequence[Fitted], conflicts: Sequence[float]) -> list[ClipQuality]:
    """Of clips side by side, each against its own take."""
    anatomy, device = Anatomy.of(batch.character), batch.pose.pos.device
    places = [f"{side}_{part}" for part in ("ankle", "wrist") for side in SIDES]
    ends = [anatomy.body[place] for place in places]
    wanted = [pad([torch.as_tensor(f.landmarks[place]).float() for f in fitted]) for place in places]
    sole = torch.as_tensor(anatomy.sole, device=device).float()
    marks = torch.stack(wanted, 2).to(device)
    if (points := anatomy.points(places)) is not None:  # origins are compared, so landmarks are moved to where these belong
        turned = rotation.rotate(batch.pose.rot[:, :, ends], torch.as_tensor(points, device=device).float())
        marks = marks - turned
    return measure_against_take(batch, ends[:2], ends[2:], marks, sole, conflicts)
