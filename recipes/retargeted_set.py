"""How well motion capture sits on a body: one table for several data sets, such as the humanoid's and a robot's.

    parc dataset build SHORTLIST -o D_humanoid
    parc dataset build SHORTLIST -o D_g1 --character g1
    python recipes/retargeted_set.py D_humanoid D_g1

Each folder is a data set as `parc dataset build` leaves it. Errors are against the takes in the body's size, medians over the
clips that were kept; violations are frames of all of them with a joint outside of its range by more than a hundredth of a
degree, or with a motor that would turn faster than it can (a body without known speeds has none).
"""

import argparse
from pathlib import Path

from parc.api.whose_files import character_of
from parc.character.robot.joint_ranges import violations
from parc.dataset import Dataset
from parc.mocap.make.build_report import row_notes

ROWS = (
    ("foot error, cm", "feet"), ("hand error, cm", "hands"), ("contact gap, mm", "gap"), ("penetration, mm", "penetration"),
    ("frames deeper than 2 cm, %", "deep"), ("frames in itself, %", "self_deep"), ("slide in contact, cm/s", "slide"),
    ("speed of soles in contact, cm/s", "skate"), ("jerk, 99th percentile, m/s3", "jerk"),
    ("frames in the air that do not fall, %", "floating"),
)  # fmt: skip


def column(folder: Path) -> dict[str, str]:
    """The numbers of one data set."""
    character = character_of(None, folder)
    data = Dataset.open(folder, character)
    results = list(row_notes(folder / "mocap").notes().values())
    kept = [r for r in results if r.status == "kept"]
    outside = fast = frames = 0
    for entry in data.entries:
        motion = data[entry.name].motion
        beyond = violations(character, motion.joint_rot, motion.fps)
        outside, fast, frames = outside + beyond[0], fast + beyond[1], frames + len(motion)
    found = {"body": character.name, "takes": f"{len(results)}", "clips kept": f"{len(kept)}"}
    found["minutes"] = f"{sum(r.quality['seconds'] for r in kept) / 60:.1f}"
    for title, key in ROWS:
        values = sorted(r.quality[key] for r in kept if key in r.quality)
        found[title] = f"{values[len(values) // 2]:.2f}" if values else "-"
        if values and key in ("feet", "hands", "penetration"):
            found[title] += f" (worst {values[-1]:.1f})"
    found["frames outside a joint's range"] = f"{outside} of {frames}"
    known = any(b.joint.speed_limit for b in character.bodies)
    found["frames faster than a motor"] = f"{fast} of {frames}" if known else "none known"
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", help="data sets of `parc dataset build`")
    columns = [column(folder) for folder in parser.parse_args().folders]
    for title in columns[0]:
        print("| " + " | ".join([title, *(c[title] for c in columns)]) + " |")
        if title == "body":
            print("|---" * (len(columns) + 1) + "|")


if __name__ == "__main__":
    main()
