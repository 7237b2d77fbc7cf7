"""Plan a path over a terrain and walk along it.

python examples/01_path.py
"""

from pathlib import Path

import numpy as np

from parc.author.procedural_walk import stroll
from parc.character import humanoid
from parc.dataset import save_clip
from parc.metrics import UNITS, measure_clips
from parc.path import NavigationGraph, plan_path, plan_random_path
from parc.render import draw_clip, draw_navigation
from parc.terrain import RandomBoxes, Stairs, random_boxes, stairs

out = Path("out/examples")
out.mkdir(parents=True, exist_ok=True)

boxes = random_boxes(RandomBoxes(), np.random.default_rng(3))
graph = NavigationGraph.of(boxes)
route = plan_random_path(boxes, np.random.default_rng(3), graph=graph)
draw_navigation(boxes, graph.edges, graph.is_jump, route).save(out / "navigation.png")
print(f"{graph.num_edges} edges, {int(graph.is_jump.sum())} of them jumps; a path of {route.length:.1f} m")

flight = stairs(Stairs(steps=5, rise=0.15))
walk = stroll(flight, plan_path(flight, (1, 3), (11, 4)))
draw_clip(walk, humanoid()).save(out / "walk.png")
save_clip(walk, out / "walk.motion")
for name, value in measure_clips([walk], humanoid())[0].items():
    print(f"{name:<10} {value:10.4g}  {UNITS[name]}")
