"""How a generator keeps the pace it is asked for, how it walks, and which gaps it leaps: its motions alone, no physics.

    python recipes/pace_table.py GENERATOR [--paces 1.0 1.5 2.5 3.5] [--out FOLDER]

On flat ground and on low boxes (to .15 m) motions go 12 m straight on at each pace; a generator without a pace is not asked for
one. Told are: share that arrives, speed of straight strides, and beside people's, gait and naturalness (`parc metrics`). Then
single gaps of .4 to 2.8 m between two platforms, at a run. --out keeps a motion file of each row, to be looked at:

    parc picture FOLDER/flat_1.0.motion -o sheet.png --kind sheet
"""

import argparse
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from parc.character import humanoid
from parc.dataset import Clip, Provenance, save_clip
from parc.generate.model.motion_generator import Generator
from parc.generate.rollout.path_rollout import RolloutSettings, roll_out
from parc.metrics.body_signals import signals_of
from parc.metrics.clip_batch import ClipBatch, groups
from parc.metrics.gait_measures import STRAIGHT, UNDERWAY, Strides, level_strides
from parc.metrics.naturalness import by_activity, score_windows
from parc.path.terrain_path import TerrainPath
from parc.run.choose_device import choose_device
from parc.terrain.terrain import CELL, Terrain

SHOWN = ("stance_knee", "cadence", "stride", "swing_clearance", "arm_leg", "step_asymmetry", "heel_first")
FAR = 12.0
"""m from start to goal"""
GAPS = (1, 2, 3, 4, 5, 6, 7)
"""cells"""


def ground(kind: str, seed: int) -> tuple[Terrain, TerrainPath]:
    """A field of 16 by 6 m, flat or with low boxes, and the way along it."""
    heights = np.zeros((40, 15), np.float32)
    if kind == "boxes":
        random = np.random.default_rng(seed)
        for _ in range(12):
            i, j, x, y = (int(v) for v in random.integers((5, 0, 2, 2), (34, 12, 6, 6)))
            heights[i : i + x, j : j + y] = random.uniform(-0.15, 0.15)
    terrain = Terrain(torch.from_numpy(heights), torch.zeros(2))
    return terrain, straight(terrain, 2.0, 2.0 + FAR, 3.0)


def platforms(gap: int) -> tuple[Terrain, TerrainPath]:
    """Two platforms, 8 m and 4 m long, with a gap of so many cells between them, 4 m deep."""
    heights = torch.zeros(40, 15)
    heights[20 : 20 + gap] = -4.0
    terrain = Terrain(heights, torch.zeros(2))
    return terrain, straight(terrain, 2.0, (20 + gap) * CELL + 3.0, 3.0)


def straight(terrain: Terrain, start: float, end: float, y: float) -> TerrainPath:
    """Along x; over a gap the way is as high as its edges."""
    xy = torch.stack([torch.arange(start, end + 0.01, CELL), torch.tensor(y).expand(math.floor((end - start) / CELL + 1.01))], -1)
    return TerrainPath(torch.cat([xy, terrain.height_at(xy).clamp_min(-1)[:, None].clamp_min(-0.2)], -1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("generator", type=Path)
    parser.add_argument("--paces", type=float, nargs="*", default=[1.0, 1.5, 2.5, 3.5])
    parser.add_argument("--motions", type=int, default=16, help="of each row")
    parser.add_argument("--choices", type=int, default=1, help="candidates for each window")
    parser.add_argument("--crouch", type=float, default=0.0, help="price of bent knees in that choice")
    parser.add_argument("--gap-pace", type=float, default=3.0, help="m/s asked for at gaps")
    parser.add_argument("--no-gaps", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--device", default="auto")
    args = parser.parse_args()
    character, device = humanoid(), choose_device(args.device)
    generator = Generator.load(args.generator, character, device)
    usual = RolloutSettings(choices=args.choices, seconds=16.0)
    usual = replace(usual, score=replace(usual.score, crouch=args.crouch))
    paces: list[float | None] = [None, *args.paces] if generator.settings.pace else [None]
    for kind in ("flat", "boxes"):
        cases = [ground(kind, seed) for seed in range(1 if kind == "flat" else 4)]
        for pace in paces:
            row(generator, cases, replace(usual, pace=pace), f"{kind}_{pace or 'free'}", args.motions, args.out)
    for gap in () if args.no_gaps else GAPS:
        pace = args.gap_pace if generator.settings.pace else None
        row(generator, [platforms(gap)], replace(usual, pace=pace), f"gap_{gap * CELL:.1f}", args.motions, args.out)


def row(
    generator: Generator,
    cases: list[tuple[Terrain, TerrainPath]],
    settings: RolloutSettings,
    name: str,
    motions: int,
    out: Path | None,
) -> None:
    """One line of JSON; a motion file of the first that arrived."""
    terrains, paths = [t for t, _ in cases], [p for _, p in cases]
    each = max(1, motions // len(cases))
    made = roll_out(generator, terrains, paths, each, settings, seed=1)
    clips = made.clips(terrains, paths, name, Provenance(source="pace_table", skill="generated"))
    strides, windows = measure(clips)
    straight_on = strides.select((strides.turn < STRAIGHT) & (strides.speed > UNDERWAY))
    walking = by_activity(windows)
    told = {
        "row": name,
        "arrived": round(float(made.reached.float().mean()), 2),
        "speed": round(float(straight_on.speed.median()), 2) if len(straight_on.clip) else None,
        "mean_speed": round(mean_speed(clips), 2),
        **{key: round(value, 2) for key, value in strides.medians().items() if key in SHOWN},
        "R": {label: round(of["r"], 2) for label, of in walking.items() if of["seconds"] >= 2},
    }
    print(json.dumps(told), flush=True)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        first = int(made.reached.float().argmax())
        save_clip(clips[first], out / f"{name}.motion", generator.character)


def measure(clips: list[Clip]) -> tuple[Strides, list]:
    """Level strides, and windows beside people."""
    strides, windows = [], []
    for group in groups(clips):
        batch = ClipBatch.stack(group, humanoid())
        signals = signals_of(batch)
        assert signals is not None
        strides.append(level_strides(signals))
        windows.append(score_windows(batch, signals))
    return Strides.joined(strides), windows


def mean_speed(clips: list[Clip]) -> float:
    """m/s in the plane from first to last frame, over all motions."""
    way = sum(float((c.motion.root_pos[-1] - c.motion.root_pos[0])[:2].norm()) for c in clips)
    return way / sum(len(c.motion) / c.motion.fps for c in clips)


if __name__ == "__main__":
    main()
