"""Landmarks to a character's motion: closed-form start, then a fit of the whole clip.

Uniform scale by leg length has been done (`parc.mocap.subject.calibrate_subject.fit_take`), so the legs match to the millimetre
where the subject's thighs and shins have the character's proportions; elsewhere feet and hands win over knees and elbows by their
weights.
"""

from collections.abc import Sequence

import torch

from parc.character.character import Character
from parc.mocap.subject.calibrate_subject import Fitted
from parc.mocap.subject.closed_form_pose import start_pose
from parc.mocap.subject.fit_clips import Fit, FitSettings
from parc.mocap.subject.fit_goals import Goals
from parc.motion.motion import Motion


def retarget(
    fitted: Sequence[Fitted], character: Character, settings: FitSettings = FitSettings(), device: torch.device | str = "cpu"
) -> list[Motion]:
    """Motions of takes in the character's size, at the takes' rate, without contacts; all takes at once."""
    starts = [start_pose(character, f) for f in fitted]
    problem = Fit(character, starts, Goals.stack(character, fitted, starts, device), settings)
    problem.solve()
    nothing = [torch.zeros(len(f.landmarks), len(character)) for f in fitted]
    return problem.results(nothing, fitted[0].landmarks.fps)
