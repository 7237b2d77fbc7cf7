"""How fast the parts of parc are on this machine: `python benchmarks/run.py physics --worlds 512`; `--help` tells more.

Rates and ratios, never a verdict; `--json` prints the result as one line of JSON.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from parc.cli.run_command import Called, fail, run_command

CALL = "python benchmarks/run.py"
BENCHMARKS = {
    "sdf": ("BenchSdf", "distances to the terrain"),
    "plan": ("BenchPlan", "path planning"),
    "physics": ("BenchPhysics", "the simulated world"),
    "generator": ("BenchGenerator", "the generator and its training"),
    "correct": ("BenchCorrect", "the kinematic correction"),
    "tracker": ("BenchTracker", "training a tracker"),
    "reflex": ("BenchReflex", "closed-loop training of a tracker"),
    "studio": ("BenchStudio", "how quickly the studio answers clicks, in a headless browser"),
}
EXAMPLES = {
    "sdf": ("sdf --json",),
    "plan": ("plan --json",),
    "physics": ("physics --worlds 64 512 --seconds 5",),
    "generator": ("generator --compile",),
    "correct": ("correct --clips 8 --iterations 100",),
    "tracker": ("tracker --worlds 64",),
    "reflex": ("reflex --iterations 20", "reflex --loop.windows 2"),
    "studio": ("studio --clicks 20 --size 800 500",),
}


def main(words: list[str]) -> int:
    """Run a benchmark; 2 where the input is wrong."""
    name = words[0] if words else "--help"
    if name in BENCHMARKS:
        examples = tuple(f"{CALL} {example}" for example in EXAMPLES[name])
        return run_command(Called(f"{CALL} {name}", "benchmarks.commands", BENCHMARKS[name][0], examples), words[1:])
    rows = [f"  {CALL} {name:<10} {about}" for name, (_, about) in BENCHMARKS.items()]
    listed = "\n".join([f"usage: {CALL} BENCHMARK [options]; `--help` after one tells more", "", *rows])
    if name in ("-h", "--help"):
        print(listed)
        return 0
    return fail(f"no benchmark '{name}', expected {', '.join(BENCHMARKS)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
