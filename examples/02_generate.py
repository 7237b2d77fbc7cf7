"""Generate motion along a path with the generator in the box, and pick the best of a few candidates.

python examples/02_generate.py
"""

from pathlib import Path

import torch

from parc.character import humanoid
from parc.correct.select_candidates import select
from parc.dataset import Clip, save_clip
from parc.generate.model.motion_generator import Generator
from parc.generate.rollout.path_rollout import RolloutSettings, roll_out
from parc.metrics import ClipBatch
from parc.models import shipped_generator
from parc.path import plan_path
from parc.render import draw_clip
from parc.terrain import Stairs, stairs

out = Path("out/examples")
out.mkdir(parents=True, exist_ok=True)

torch.set_num_threads(1)
generator = Generator.load(shipped_generator(), humanoid())
ground = stairs(Stairs(steps=3, rise=0.2, landing=5))
path = plan_path(ground, (1, 4), (11, 4))
rollouts = roll_out(generator, [ground], [path], candidates=3, settings=RolloutSettings(seconds=8.0), seed=1)
clips = [Clip(f"candidate_{k}", motion, ground, path) for k, motion in enumerate(rollouts.motions())]
chosen = select(ClipBatch.stack(clips, humanoid()), rollouts.reached)
best = chosen.best(torch.zeros(len(clips), dtype=torch.long))[0][0]
for k, clip in enumerate(clips):
    mark, arrived = "*" if k == best else " ", "arrived" if bool(rollouts.reached[k]) else "on its way"
    print(f"{mark} {clip.name}: {len(clip.motion) / 30:.1f} s, score {float(chosen.score[k]):.1f}, {arrived}")
draw_clip(clips[best], humanoid()).save(out / "generated.png")
save_clip(clips[best], out / "generated.motion")
