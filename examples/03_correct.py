"""Repair a motion that sinks into the ground.

python examples/03_correct.py
"""

from dataclasses import replace

import torch

from parc.author.procedural_walk import stroll
from parc.character import humanoid
from parc.correct.correct_motions import OptimiseSettings, optimise
from parc.metrics import measure_clips
from parc.path import plan_path
from parc.terrain import Stairs, stairs

flight = stairs(Stairs(steps=2, rise=0.15))
walk = stroll(flight, plan_path(flight, (1, 3), (7, 3)))
walk = replace(walk, motion=walk.motion.slice(20, 60))
sunk = replace(walk, motion=walk.motion.moved(shift=torch.tensor([0.0, 0.0, -0.08])))
fixed = optimise([sunk], humanoid(), OptimiseSettings(iterations=200, step_size=0.004))[0]
for name, clip in (("sunk", sunk), ("corrected", fixed)):
    result = measure_clips([clip], humanoid())[0]
    sunk_by, missed, jerk = result["tpl"], result["tcl"], result["max_jerk"]
    print(f"{name:<10} penetration {sunk_by:7.3f} m   missed contact {missed:.3f} m   largest jerk {jerk:.0f} m/s3")
