"""Would a test notice? Applies each mutant of the paper's essentials to a copy of the tree, and runs the tests that should fail.

    python tools/mutants.py                     # all of them, a line each
    python tools/mutants.py "past"              # those with this in their name
    python tools/mutants.py --python .venv/bin/python -o killed.json

A mutant is one statement of the paper made wrong in one place. It is killed if at least one test fails. Exit code 1 if one lives,
or if its text is not in the source any more, which must then be brought up to date here.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
LOOP = "src/parc/loop/run_iterations.py"
STEP = "src/parc/generate/training/training_step.py"


@dataclass(frozen=True)
class Mutant:
    """One place in the source, and where a test should notice."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


MUTANTS = (
    Mutant(
        "G_i begins from nothing, not from G_{i-1}",
        LOOP,
        'self._place(i - 1, "generator") / GENERATOR_FILE if i > 1 else self.sources.generator',
        "self.sources.generator",
        ("tests/loop/test_continues.py",),
    ),
    Mutant(
        "pi_i begins from nothing, not from pi_{i-1}",
        LOOP,
        'self._place(i - 1, "tracker") / CHECKPOINT if has_one_before else self.sources.tracker',
        "self.sources.tracker",
        ("tests/loop/test_continues.py",),
    ),
    Mutant(
        "the past is never hidden in training",
        STEP,
        "shown = torch.rand(shape, generator=self.random, device=device) >= s.past_dropout",
        "shown = torch.rand(shape, generator=self.random, device=device) >= 0.0",
        ("tests/generate/test_past_dropout.py",),
    ),
    Mutant(
        "15 % of hidden pasts by default",
        STEP,
        "past_dropout: float = 0.15",
        "past_dropout: float = 0.05",
        ("tests/generate/test_past_dropout.py", "tests/house/test_paper_numbers.py"),
    ),
    Mutant(
        "15 % of hidden pasts in the paper's settings",
        STEP,
        "levels=1, past_dropout=0.15",
        "levels=1, past_dropout=0.1",
        ("tests/generate/test_past_dropout.py", "tests/house/test_paper_numbers.py"),
    ),
    Mutant(
        "the paper's objective reconstructs items on random terrain",
        "src/parc/generate/training/training_objective.py",
        "real = (~window.is_random).float().unsqueeze(1)\n        share = real.mean().clamp_min(1e-3)\n\n        def mean",
        "real = torch.ones(len(window.is_random), 1)\n        share = real.mean()\n\n        def mean",
        ("tests/generate/test_paper_objective.py", "tests/generate/test_window_losses.py"),
    ),
    Mutant(
        "the paper's penetration weight",
        "src/parc/generate/training/training_objective.py",
        "penetration: float = 15.0",
        "penetration: float = 1.5",
        ("tests/generate/test_paper_objective.py", "tests/house/test_paper_numbers.py"),
    ),
    Mutant(
        "s of the paper's sampler",
        "src/parc/generate/model/blended_denoising.py",
        "PAPER_BLEND = Blend.constant(0.65)",
        "PAPER_BLEND = Blend.constant(0.5)",
        ("tests/generate/test_path_rollout.py", "tests/house/test_paper_numbers.py"),
    ),
    Mutant(
        "s weighs the wrong branch",
        "src/parc/generate/model/blended_denoising.py",
        "return with_past + s * (without_past - with_past)",
        "return without_past + s * (with_past - without_past)",
        ("tests/generate/test_noise_schedule.py",),
    ),
    Mutant(
        "K = 1001 noise levels",
        "src/parc/generate/model/noise_schedule.py",
        "diffusion_steps: int = 1001",
        "diffusion_steps: int = 1000",
        ("tests/generate/test_noise_schedule.py", "tests/house/test_paper_numbers.py"),
    ),
    Mutant(
        "w_pen of the correction",
        "src/parc/correct/correct_motions.py",
        '    penetration: float = 1000.0\n    """w_pen (paper)"""',
        '    penetration: float = 100.0\n    """w_pen (paper)"""',
        ("tests/correct/test_paper_terms.py", "tests/house/test_paper_numbers.py"),
    ),
    Mutant(
        "the limit of high-jerk frames",
        "src/parc/metrics/jerk.py",
        "LIMIT = 11666.3906",
        "LIMIT = 11000.0",
        ("tests/metrics/test_metrics.py", "tests/house/test_paper_numbers.py"),
    ),
    Mutant(
        "hesitations are taken out in synthesis",
        "src/parc/correct/synthesise_clips.py",
        "clip = remove_hesitation(clip, character) if settings.brisk else clip",
        "pass",
        ("tests/correct/test_synthesise_clips.py", "tests/correct/test_paper_terms.py"),
    ),
    Mutant(
        "correction is part of synthesis",
        "src/parc/correct/synthesise_clips.py",
        "if chosen and settings.optimise is not None:",
        "if False:",
        ("tests/correct/test_synthesise_clips.py", "tests/correct/test_paper_terms.py"),
    ),
)


def is_killed(mutant: Mutant, python: Path, folder: Path) -> str:
    """The first test that fails with the mutant in place; empty if none does."""
    file = folder / mutant.file
    source = file.read_text()
    if source.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.file}: expected once, found {source.count(mutant.old)} times: {mutant.old}")
    file.write_text(source.replace(mutant.old, mutant.new))
    try:
        command = [
            python,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-rfE",
            "-n",
            "0",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:randomly",
            *mutant.tests,
        ]
        environment = os.environ | {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    finally:
        file.write_text(source)
    if ran.returncode not in (0, 1):
        raise SystemExit(f"{mutant.name}: the tests could not be run:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")
    if ran.returncode == 0:
        return ""
    failed = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return failed[0].split(" - ")[0].split(maxsplit=1)[1] if failed else "a test that is not named"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="", help="only mutants with this in their name")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="interpreter that has what the tests need")
    parser.add_argument("-o", type=Path, help="file for the results (JSON)")
    given = parser.parse_args()
    results: dict[str, str] = {}
    with TemporaryDirectory() as temporary:
        copy = Path(temporary) / "tree"
        left_out = shutil.ignore_patterns(".git", ".venv", ".gpu", ".*_cache", "out", "node_modules", "__pycache__")
        shutil.copytree(ROOT, copy, ignore=left_out)
        for mutant in (m for m in MUTANTS if given.name in m.name):
            began = time.monotonic()
            results[mutant.name] = is_killed(mutant, given.python.absolute(), copy)
            told = f"killed by {results[mutant.name]}" if results[mutant.name] else "LIVES"
            print(f"{mutant.name}: {told} ({time.monotonic() - began:.0f} s)", flush=True)
    if given.o is not None:
        given.o.write_text(json.dumps(results, indent=1) + "\n")
    alive = [name for name, test in results.items() if not test]
    print(f"{len(results) - len(alive)} of {len(results)} killed")
    return 1 if alive or not results else 0


if __name__ == "__main__":
    sys.exit(main())
