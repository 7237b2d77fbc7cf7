"""A clip with its terrain for Blender, a game engine or MuJoCo.

python examples/05_export_glb.py
"""

from pathlib import Path

from parc.author.procedural_walk import stroll
from parc.character import humanoid
from parc.dataset import save_clip
from parc.path import plan_path
from parc.physics.mjcf_export import export_mjcf
from parc.terrain import Stairs, stairs

out = Path("out/examples")
out.mkdir(parents=True, exist_ok=True)

ground = stairs(Stairs(steps=4, rise=0.15))
walk = stroll(ground, plan_path(ground, (1, 3), (10, 4)))
save_clip(walk, out / "walk.glb", humanoid())
save_clip(walk, out / "walk.bvh", humanoid())
save_clip(walk, out / "walk.npz", humanoid())
export_mjcf(humanoid(), ground, out / "scene.xml")
for file in ("walk.glb", "walk.bvh", "walk.npz", "scene.xml"):
    print(f"{out / file}: {(out / file).stat().st_size / 1000:.0f} kB")
