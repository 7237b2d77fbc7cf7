"""Closed-loop training with one setting changed at a time, several runs side by side on one GPU, and one table of them.

    python recipes/reflex_training.py out/reflex                            # all of RUNS, 8 minutes each, 3 at a time
    python recipes/reflex_training.py out/reflex --only base no_clips       # some of them
    python recipes/reflex_training.py out/reflex --only base --generators out/student/generator.safetensors  # and `student`
    python recipes/reflex_training.py out/reflex --table                    # only the table, also while they run

Each run is `parc train-reflex` in a folder of its own; a run that was stopped goes on when the script is started again. Runs
beside each other share the GPU, so they are compared at equal samples (`--iterations`) rather than at equal minutes: with the
default of 1200 iterations of 4096 worlds each sees 79 million samples.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from parc.run.metrics_log import read_metrics

RUNS: dict[str, list[str]] = {
    "base": [],
    "no_clips": ["--clip-share", "0"],
    "half_clips": ["--clip-share", "0.5"],
    "k_3": ["--every", "3"],
    "k_5": ["--every", "5"],
    "k_9": ["--every", "9"],
    "k_15": ["--every", "15"],
    "critic_of_4": ["--loop.candidates", "4"],
    "paced": ["--generator", "paced"],
    "no_hard_starts": ["--starts.hard", "0"],
    "clip_4": ["--ppo.advantage-clip", "4"],
    "fast_critic": ["--ppo.critic-rate", "3e-4"],
    "speed_1.6": ["--reward.wanted-speed", "1.6"],
    "pull": ["--pull", "0.01"],
    "patience": [
        "--fall.height", "0.35", "--fall.no-head", "--fall.patience", "0.6", "--lost", "0",
        "--disturbance.pushes", "0.1", "--disturbance.height-noise", "0.02",
    ],
}  # fmt: skip
"""what each changes; k is that of training, all are measured at 5 control steps between plans"""


def command(name: str, out: Path, options: argparse.Namespace) -> list[str]:
    """Of one run."""
    words = [sys.executable, "-m", "parc", "train-reflex", "-o", str(out / name), "--worlds", str(options.worlds)]
    words += ["--iterations", str(options.iterations), "--milestone-iterations", str(max(1, options.iterations // 6))]
    words += ["--seed", str(options.seed), "--device", options.device]
    return [*words, *RUNS[name], *options.more]


def table(out: Path, names: list[str]) -> str:
    """A line a run: crossings and clips before and at each milestone, the best, and samples a second."""
    lines = ["run               samples   crossings at milestones                      clips      best   samples/s"]
    for name in names:
        log = out / name / "metrics.jsonl"
        rows = read_metrics(log) if log.is_file() else []
        shown = [row for row in rows if row["event"] in ("start", "evaluation")]
        rates = [row["samples_per_second"] for row in rows if row["event"] == "train"][2:]
        if not shown:
            lines.append(f"{name:<16}  not measured yet")
            continue
        curve = " ".join(f"{row['crossings']:.3f}" for row in shown)
        clips = f"{shown[0]['clips']:.3f}>{shown[-1]['clips']:.3f}"
        rate = sum(rates) / len(rates) if rates else 0.0
        best = max(row["score"] for row in shown)
        lines.append(f"{name:<16} {shown[-1]['samples'] / 1e6:7.1f} M {curve:<44} {clips} {best:7.3f} {rate:10.0f}")
    return "\n".join(lines)


def run_all(out: Path, names: list[str], options: argparse.Namespace) -> int:
    """So many at a time; returns how many failed."""
    waiting, running, failed = list(names), {}, 0
    while waiting or running:
        while waiting and len(running) < options.together:
            name = waiting.pop(0)
            (out / name).mkdir(parents=True, exist_ok=True)
            with (out / name / "output.txt").open("a") as output:
                running[name] = subprocess.Popen(command(name, out, options), stdout=output, stderr=subprocess.STDOUT)
            print(f"{name} begun", flush=True)
        time.sleep(1.0)
        for name in [name for name, process in running.items() if process.poll() is not None]:
            code = running.pop(name).returncode
            failed += code != 0
            print(f"{name} {'done' if code == 0 else f'failed with code {code}, its output.txt says why'}", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="+", choices=list(RUNS), default=list(RUNS))
    parser.add_argument("--generators", type=Path, nargs="*", default=[], help="a run for each, by the name of its folder")
    parser.add_argument("--iterations", type=int, default=1200)
    parser.add_argument("--worlds", type=int, default=4096)
    parser.add_argument("--together", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--table", action="store_true", help="only the table")
    parser.add_argument("--more", nargs=argparse.REMAINDER, default=[], help="options for every run, last on the line")
    options = parser.parse_args()
    RUNS.update({file.parent.name: ["--generator", str(file)] for file in options.generators})
    options.only = [*options.only, *(file.parent.name for file in options.generators)]
    failed = 0 if options.table else run_all(options.out, options.only, options)
    text = table(options.out, options.only)
    print(text)
    (options.out / "table.txt").write_text(text + "\n")
    (options.out / "runs.json").write_text(json.dumps({name: RUNS[name] for name in options.only}, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
