"""Trackers from nothing under different physical contracts, side by side on one GPU: what does each body learn in the same time?

    python recipes/contract_comparison.py CLIPS -o OUT --seconds 1000

Every arm is a process of its own with the default tracker settings and its own `Contract`; all train at the same time, for the
same seconds, on the same clips. Then each follows every clip from its first frame on native MuJoCo with the mean action, and
what the bodies did is measured. A comparison that was stopped goes on with the same command, and `--measure` measures the
trackers of its last milestones as they are. OUT/table.json and OUT/table.md hold a row for each arm:

    success          % of clips tracked to within two frames of their end, native MuJoCo (Warp: at the end of training)
    joint error      m, root-relative, mean over the tracked steps
    take-off         m/s, upward speed of the centre of mass at the jumps that were tracked, and that of the same reference jumps
    run              speed of tracked runs / speed of their references
    self pen         % of simulated frames with bodies that are no neighbours more than 1 cm inside each other
    joint limits     % of simulated frames with a joint coordinate more than 5 degrees outside its range
"""

import argparse
import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import torch

from parc.character import Character, humanoid
from parc.character.inertia import centre_of_mass
from parc.dataset.clip import Clip
from parc.dataset.clip_reading import read_clips
from parc.metrics import measure_clips
from parc.metrics.clip_batch import ClipBatch
from parc.metrics.free_flight import airborne
from parc.motion.motion import Motion
from parc.physics.physical_contract import Contract
from parc.run.atomic_files import write_bytes_atomically
from parc.track.follow.runner import Runner, Trace
from parc.track.learn.policy import load_actor
from parc.track.learn.tracker_training import ACTOR, METRICS, TrainingPlan, train_tracker
from parc.track.tracker_settings import TrackerSettings

INSIDE = Contract(self_collision=False, ball_stops=False)
ARMS = {
    "damping outside, x3, 120 Hz": replace(INSIDE, damping_in_limit=False, torque_scale=3.0),
    "inside, x1, 120 Hz": INSIDE,
    "inside, x1.5, 120 Hz": replace(INSIDE, torque_scale=1.5),
    "inside, x1, 240 Hz": replace(INSIDE, substeps=8),
    "inside, x1.5, 240 Hz": replace(INSIDE, torque_scale=1.5, substeps=8),
    "inside, x1, 120 Hz, self-collision, stops": Contract(),
    "inside, x1.5, 120 Hz, self-collision, stops": Contract(torque_scale=1.5),
}
JUMP = 1.5
"""m/s upwards at take-off from which a flight of the reference counts as a jump"""
AROUND = 5
"""frames before and after the take-off of a reference in which its own and the body's highest speed are looked for"""


def train(arm: int, clips: list[Clip], out: Path, args: argparse.Namespace) -> None:
    """One arm: train (or not, with `--measure`), follow all clips on native MuJoCo, measure, write the row."""
    character, name, row = humanoid(), list(ARMS)[arm], {"arm": list(ARMS)[arm]}
    settings = replace(TrackerSettings.small() if args.device == "cpu" else TrackerSettings(), contract=ARMS[name])
    plan = TrainingPlan(args.worlds, args.seconds, milestone_seconds=args.milestone, seed=args.seed, threads=args.threads)
    if not args.measure:
        trained = train_tracker(character, clips, out, settings, plan, args.device)
        row |= {"warp_success": trained.success, "warp_noisy": trained.noisy_success, "warp_error": trained.joint_error}
    lines = [json.loads(line) for line in (out / METRICS).read_text().splitlines()]
    row["samples"] = max(line.get("samples", 0) for line in lines)
    row |= measured(character, clips, out / ACTOR, args.threads)
    write_bytes_atomically(out / "row.json", json.dumps(row, indent=1).encode())


def measured(character: Character, clips: list[Clip], actor: Path, threads: int) -> dict[str, object]:
    """Success, joint error and what the simulated motions are like, on native MuJoCo."""
    trained = load_actor(actor, character)
    trace = Runner(trained, threads=threads).follow(clips)
    pairs = [(clip, motion) for clip, motion in zip(clips, trace.motions, strict=True) if len(motion) > 3]
    moved = [replace(clip, motion=motion) for clip, motion in pairs]
    metrics = measure_clips(moved, character)
    frames = sum(m["frames"] for m in metrics)
    shares = {
        k: sum(m[k] * m["frames"] for m in metrics) / frames for k in ("self_pen_frames", "joint_limit_frames", "foot_skate")
    }
    jumps = [speeds for clip, motion in pairs for speeds in take_offs(character, clip, motion)]
    runs = [(clip.motion, motion) for clip, motion in pairs if clip.provenance.skill == "run" and len(motion) > 15]
    speed = [_travelled(motion.root_pos) / _travelled(reference.root_pos[: len(motion)]) for reference, motion in runs]
    return {
        "success": float(trace.reached_end.float().mean()),
        "joint_error": float(trace.error.nanmean()),
        "tracked": float(trace.steps.sum()) / sum(len(c.motion) - 1 for c in clips),
        "jumps": len(jumps),
        "take_off": sum(s for _, s in jumps) / len(jumps) if jumps else None,
        "reference_take_off": sum(r for r, _ in jumps) / len(jumps) if jumps else None,
        "runs": len(runs),
        "run_speed": sum(speed) / len(speed) if speed else None,
        **shares,
        "by_skill": _by_skill(clips, trace),
    }


def take_offs(character: Character, reference: Clip, body: Motion) -> list[tuple[float, float]]:
    """Upward speeds of the centre of mass (reference, body) at each jump of the reference that the body was still tracking."""
    free = airborne(ClipBatch.stack([reference], character))[0]
    up = [centre_of_mass(character, m.body_poses(character))[:, 2].diff() * m.fps for m in (reference.motion, body)]
    found = []
    for start in (free[1:] & ~free[:-1]).nonzero().flatten().tolist():
        around = slice(max(start - AROUND, 0), start + AROUND + 1)
        if around.stop > len(up[1]) or not bool(free[start + 1 : start + 4].all()):
            continue
        wanted = float(up[0][around].max())
        if wanted >= JUMP:
            found.append((wanted, float(up[1][around].max())))
    return found


def _travelled(root: torch.Tensor) -> float:
    return float(root[:, :2].diff(dim=0).norm(dim=-1).sum())


def _by_skill(clips: list[Clip], trace: Trace) -> dict[str, str]:
    skills: dict[str, list[bool]] = {}
    for clip, reached in zip(clips, trace.reached_end.tolist(), strict=True):
        skills.setdefault(clip.provenance.skill or "none", []).append(reached)
    return {skill: f"{sum(won)}/{len(won)}" for skill, won in sorted(skills.items())}


def table(rows: list[dict]) -> str:
    columns = {
        "success": ("success %", 100, 1), "warp_success": ("on Warp %", 100, 1), "joint_error": ("joint error m", 1, 4),
        "take_off": ("take-off m/s", 1, 2), "reference_take_off": ("reference", 1, 2), "jumps": ("jumps", 1, 0),
        "run_speed": ("run", 1, 3), "self_pen_frames": ("self pen %", 1, 2), "joint_limit_frames": ("joint limits %", 1, 2),
        "samples": ("samples M", 1e-6, 0),
    }  # fmt: skip
    lines = ["| contract | " + " | ".join(title for title, _, _ in columns.values()) + " |", "|---" * (len(columns) + 1) + "|"]
    for row in rows:
        found = {key: row.get(key) for key in columns}
        cells = ["-" if v is None else f"{columns[k][1] * v:.{columns[k][2]}f}" for k, v in found.items()]
        lines.append(f"| {row['arm']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clips", type=Path, help="data set, folder of motion files, or one")
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=1000.0, help="of training, each")
    parser.add_argument("--worlds", type=int, default=4096, help="simulated characters of each arm")
    parser.add_argument("--milestone", type=float, default=300.0, help="s between evaluations")
    parser.add_argument("--arms", type=int, nargs="*", help=f"which: {', '.join(f'{i} {n}' for i, n in enumerate(ARMS))}")
    parser.add_argument("--measure", action="store_true", help="train nothing, measure what is there")
    parser.add_argument("--arm", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--device", default="cuda", help="cpu trains small networks, to try the recipe")
    parser.add_argument("--threads", type=int, default=2, help="of native MuJoCo, each")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.arm is not None:
        torch.set_num_threads(args.threads)
        train(args.arm, read_clips(args.clips, humanoid()), args.out, args)
        return
    arms = args.arms if args.arms else list(range(len(ARMS)))
    if unknown := [arm for arm in arms if not 0 <= arm < len(ARMS)]:
        parser.error(f"there is no arm {unknown[0]}; expected 0 to {len(ARMS) - 1}")
    if not args.clips.exists():
        parser.error(f"there is no data set, folder or file at {args.clips}")
    folders = [args.out / f"arm{i}" for i in arms]
    jobs = []
    for arm, folder in zip(arms, folders, strict=True):
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, __file__, str(args.clips), "-o", str(folder), "--arm", str(arm)]
        for name in ("seconds", "worlds", "milestone", "device", "threads", "seed"):
            command += [f"--{name}", str(getattr(args, name))]
        command += ["--measure"] if args.measure else []
        jobs.append(subprocess.Popen(command, stderr=(folder / "log.txt").open("w")))
    failed = [folder for job, folder in zip(jobs, folders, strict=True) if job.wait()]
    rows = [json.loads((f / "row.json").read_text()) for f in folders if f not in failed]
    contracts = {name: asdict(contract) for name, contract in ARMS.items()}
    write_bytes_atomically(args.out / "table.json", json.dumps({"rows": rows, "contracts": contracts}, indent=1).encode())
    write_bytes_atomically(args.out / "table.md", (table(rows) + "\n").encode())
    print(table(rows))
    if failed:
        sys.exit(f"failed: {', '.join(f'{f} (see log.txt there)' for f in failed)}")


if __name__ == "__main__":
    main()
