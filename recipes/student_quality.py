"""Is a student as good as its teacher? Their motions on the same terrains with the same noise, measure by measure.

    parc train-generator DATA -o out/student --student-of TEACHER --student.steps 2 --seconds 300
    python recipes/student_quality.py TEACHER out/student/generator.safetensors --out out/student_quality.json

Three rows: the teacher as it is, the teacher in as few steps as the student takes (what the student has to beat), the student.
First how far their windows are from the teacher's own answers to the same noise, on windows of the box's motions, or of --clips.
Then the metrics of `parc evaluate generator` on the development set, motions alone. A measure is kept if the student's mean is no
more than 5 % worse than the teacher's (of a knee's bend and a cadence: no more than 5 % away). Where the difference is within
two standard errors of the terrains it is told as open: more terrains decide. A student that loses any measure is not for the
default; what it does in physics is told by

    parc evaluate reflex -o out/reflex_student --generator out/student/generator.safetensors --terrains 20 --runs 4
"""

import argparse
import json
import math
import time
from dataclasses import replace
from pathlib import Path

import torch

from parc.character import humanoid
from parc.dataset.clip_reading import read_clips
from parc.evaluate.generator_measurement import GeneratorTest, Summary, evaluate_group, groups_of, join, summarise
from parc.evaluate.terrain_families import FAMILIES
from parc.evaluate.terrain_sets import SetChoice, set_cases
from parc.generate.data.frame_table import FrameTable
from parc.generate.data.training_windows import WindowSampler, WindowSettings
from parc.generate.model.motion_generator import Generator
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.generate.training.window_losses import pose_of
from parc.models import generator_file, shipped_motions
from parc.run.atomic_files import write_bytes_atomically
from parc.run.choose_device import choose_device
from parc.run.dataclass_json import tidy

LOWER = ("fwd", "tpl", "tcl", "hjf_paper", "foot_skate", "floating", "pen_mm", "seam_jerk", "walk_r", "human_n")
HIGHER = ("goal", "foot_f1")
EQUAL = ("stance_knee", "cadence")
MARGIN = 0.05


def windows_apart(generators: dict[str, tuple[Generator, int | None]], clips: list, count: int, device: str) -> dict[str, float]:
    """m, mean distance of body positions in windows from those of the first generator, for the same noise."""
    first = next(iter(generators.values()))[0]
    table = FrameTable.build(clips, first.character, 2 + first.settings.future, device)
    sampler = WindowSampler(table, first.layout, first.settings.grid, WindowSettings(), first.settings.pace)
    random = torch.Generator(device).manual_seed(5)
    window = sampler.assemble(sampler.draw(count, random))
    noise = torch.randn(first.noise_shape(count), generator=random, device=device)
    found: dict[str, float] = {}
    wanted = None
    for name, (generator, steps) in generators.items():
        made = generator.sample_window(window.past, window.heightmap, window.target, noise, plan=generator.sampler_plan(steps))
        pos = pose_of(generator.layout, made).pose.pos
        wanted = pos if wanted is None else wanted
        found[name] = float((pos - wanted).norm(dim=-1).mean())
    return found


def judge(name: str, teacher: Summary, student: Summary) -> str:
    """kept, lost or open."""
    a, b = teacher.mean.get(name, math.nan), student.mean.get(name, math.nan)
    if math.isnan(a) or math.isnan(b):
        return "not measured"
    worse = abs(b - a) if name in EQUAL else (b - a if name in LOWER else a - b)
    if worse <= MARGIN * abs(a):
        return "kept"
    error = math.hypot(teacher.error.get(name, 0.0), student.error.get(name, 0.0))
    return "open" if worse <= 2 * error else "lost"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("teacher", help="a generator file, or `paced` for that in the box")
    parser.add_argument("student", type=Path)
    parser.add_argument("--terrains", type=int, default=20, help="of each family")
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=["walks", "boxes"])
    parser.add_argument("--motions", type=int, default=8, help="on each terrain")
    parser.add_argument("--seconds", type=float, default=15.0, help="of a motion")
    parser.add_argument("--windows", type=int, default=256, help="windows that are compared one by one")
    parser.add_argument("--clips", type=Path, help="where these are from")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--device", default="auto")
    args = parser.parse_args()
    character, device = humanoid(), choose_device(args.device)
    teacher = Generator.load(generator_file(args.teacher), character, device)
    student = Generator.load(args.student, character, device)
    steps = len(student.sampler_plan())
    few = f"teacher in {steps}"
    generators = {"teacher": (teacher, None), few: (teacher, steps), "student": (student, None)}

    # window by window
    clips = read_clips(args.clips or shipped_motions(), character)
    apart = windows_apart(generators, clips, args.windows, device)
    for name, metres in apart.items():
        print(f"{name:<14} windows {1000 * metres:6.1f} mm from the teacher's", flush=True)

    # whole motions
    cases = set_cases(SetChoice("development", tuple(args.families)), args.terrains)
    test = GeneratorTest(candidates=args.motions, rollout=RolloutSettings(seconds=args.seconds))
    found: dict[str, Summary] = {}
    for name, (generator, count) in generators.items():
        own, began = replace(test, rollout=replace(test.rollout, steps=count)), time.monotonic()
        parts = [evaluate_group(generator, cases, group, own).values[args.seconds] for group in groups_of(cases, own)]
        found[name] = summarise(join(parts), args.motions)
        print(f"{name:<14} {len(cases) * args.motions} motions in {time.monotonic() - began:.0f} s", flush=True)
    verdicts = {name: judge(name, found["teacher"], found["student"]) for name in (*LOWER, *HIGHER, *EQUAL)}
    print(f"{'':<14}" + "".join(f"{name:>14}" for name in found) + "   student")
    for name, verdict in verdicts.items():
        cells = "".join(f"{of.mean.get(name, math.nan):14.4g}" for of in found.values())
        print(f"{name:<14}{cells}   {verdict}")
    lost = [name for name, verdict in verdicts.items() if verdict == "lost"]
    print("the student keeps the quality" if not lost else f"the student loses {', '.join(lost)}")
    if args.out is not None:
        rows = {name: {"mean": of.mean, "error": of.error, "windows_apart_m": apart[name]} for name, of in found.items()}
        told = {"settings": vars(args), "rows": rows, "verdicts": verdicts, "lost": lost}
        write_bytes_atomically(args.out, (json.dumps(tidy(told), indent=1, default=str) + "\n").encode())
    return 1 if lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
