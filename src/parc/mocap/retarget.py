"""Landmarks to a character's motion: closed-form start, then a fit of the whole clip.

Uniform scale by leg length has been done (`parc.mocap.calibrate.fit_take`), so the legs match to the millimetre where the
subject's thighs and shins have the character's proportions; elsewhere feet and hands win over knees and elbows by their weights.
"""

from collections.abc import Sequence

import torch

from parc.character.character import Character
from parc.mocap.calibrate import Fitted
from parc.mocap.closed_form import start_pose
from parc.mocap.fit import Fit, FitSettings
from parc.mocap.goal import Goals
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
