"""Let the simulated character follow a motion, with the tracker in the box.

python examples/04_track.py
"""

from dataclasses import replace
from pathlib import Path

from parc.author.procedural_walk import stroll
from parc.character import humanoid
from parc.models import shipped_tracker
from parc.path import plan_path
from parc.render import compare
from parc.terrain import Terrain
from parc.track import Runner, load_actor

out = Path("out/examples")
out.mkdir(parents=True, exist_ok=True)

ground = Terrain.flat((16, 8))
reference = stroll(ground, plan_path(ground, (1, 3), (12, 4)))
policy = load_actor(shipped_tracker(), humanoid())
trace = Runner(policy, threads=1).follow([reference])
print(f"followed to the end: {bool(trace.reached_end[0])}, joint error {float(trace.error[0]):.3f} m")
simulated = replace(reference, name="simulated", motion=trace.motions[0])
compare([reference, simulated], humanoid(), columns=5, labels=("reference", "simulated")).save(out / "tracked.png")
