"""Does it stay healthy for hours? Physics with wild targets and changing terrain, a character that is driven, a studio in use.

    python tools/soak.py physics --steps 10000000 --processes 8        # control steps, native MuJoCo
    python tools/soak.py physics --steps 10000000 --seconds 2000       # as many of them as fit into the time
    python tools/soak.py physics --steps 1000000000 --device cuda --worlds 8192        # MuJoCo Warp on a GPU
    python tools/soak.py physics --steps 20000 --engine warp --worlds 16               # MuJoCo Warp on its CPU device
    python tools/soak.py live --seconds 3600                           # goals, pushes, edited terrain
    python tools/soak.py studio --seconds 3600                         # a person in Chromium: clips, edits, jobs, reloads

Every block of physics draws new targets: quiet ones, shaken ones, ones far beyond the joints' ranges, huge ones (1e30) in one
world of a hundred, and in another numbers that are not finite. Terrains are replaced every 20 blocks, and a few worlds are
reset to nonsense. Laws: no state that is shown is ever infinite or too fast, a world whose targets are not finite is flagged,
nothing ends in a fault of the program, and memory stays flat: its median over the last fifth is at most 64 MB above that of the
fifth after the start. One JSON object with the curve of memory is printed, and kept in --result FILE, which physics writes anew
every 10 s, so that a soak that is cut leaves its figures; exit code 1 if a law was broken.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from memory_curve import FLAT, MemoryCurve
from soak_physics import PhysicsSoak, make_engine, soak_in_processes, soak_physics, write_result
from soak_studio import soak_studio

from parc.character import humanoid
from parc.terrain import RandomBoxes, random_boxes


def soak_live(seconds: float, seed: int) -> dict[str, Any]:
    """A driven character: a new goal every 8 s simulated, pushes up to 1.5 m/s, and cells raised or lowered near it."""
    from parc.plan import Models
    from parc.plan.online_pilot import Pilot

    torch.set_num_threads(1)
    models, numbers = Models.load(humanoid()), np.random.default_rng(seed)
    terrain = random_boxes(RandomBoxes(size=(30, 30)), numbers)
    steps = falls = not_finite = 0
    curve, start = MemoryCurve(), time.monotonic()
    with Pilot(models.generator, models.tracker, terrain, seed=seed, threaded=False, critic=models.critic) as pilot:
        low, high = 1.0, 29 * terrain.cell - 1.0
        pilot.stand(torch.tensor([6.0, 6.0]), heading=0.0)
        while (spent := time.monotonic() - start) < seconds:
            if steps % 240 == 0:
                pilot.go_to(torch.tensor(numbers.uniform(low, high, 2), dtype=torch.float32))
            if steps % 330 == 200:
                pilot.push([*numbers.uniform(-1.0, 1.0, 2).tolist(), 0.0])
            if steps % 600 == 599:
                heights = terrain.heights.clone()
                i, j = numbers.integers(0, 30, 2)
                heights[i, j] = float(numbers.uniform(0.0, 0.6))
                terrain = type(terrain)(heights, terrain.min_point, terrain.cell)
                pilot.set_terrain(terrain)
            moment = pilot.step()
            falls += bool(moment.fell)
            not_finite += not bool(pilot.xy.isfinite().all())
            steps += 1
            curve.note(spent / seconds)
    told = curve.told()
    return {
        "simulated_seconds": round(steps / 30, 1), "seconds": round(time.monotonic() - start, 1), "falls": falls,
        "not_finite": not_finite, **told, "holds": not not_finite and told["grown_mb"] < FLAT,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["physics", "live", "studio"])
    parser.add_argument("--steps", type=int, default=10_000_000, help="control steps of all worlds together")
    parser.add_argument("--seconds", type=float, help="of wall time; 3600 for live and studio, no limit for physics")
    parser.add_argument("--worlds", type=int, default=256, help="of each process")
    parser.add_argument("--threads", type=int, default=0, help="of native MuJoCo; 0: all cores")
    parser.add_argument("--processes", type=int, default=1, help="of physics, which share the steps, each on one thread")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--engine", choices=["usual", "warp"], default="usual", help="warp: also on the device cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--result", type=Path, metavar="FILE", help="for the figures")
    parser.add_argument("--quiet", action="store_true", help="no line every 10 s")
    asked = parser.parse_args()

    def tell(told: dict[str, Any]) -> None:
        write_result(asked.result, told)
        if not asked.quiet:
            print(json.dumps({key: value for key, value in told.items() if key != "memory_mb"}), file=sys.stderr, flush=True)

    if asked.part == "physics":
        soak = PhysicsSoak(asked.steps, asked.seconds or 1e12, asked.seed)
        kind = ["--worlds", str(asked.worlds), "--device", asked.device, "--engine", asked.engine, "--threads", "1", "--quiet"]
        if asked.processes > 1:
            told = soak_in_processes([sys.executable, __file__, "physics", *kind], asked.processes, soak, tell)
        else:
            told = soak_physics(make_engine(asked.engine, asked.worlds, asked.device, asked.threads), soak, tell)
    else:
        told = {"live": soak_live, "studio": soak_studio}[asked.part](asked.seconds or 3600.0, asked.seed)
    write_result(asked.result, told)
    print(json.dumps(told))
    return 0 if told["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
