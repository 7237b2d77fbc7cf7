"""The people that `parc metrics` compares with: statistics of the gait of real motion capture.

    python recipes/reference_gait.py CLIPS -o src/parc/metrics/reference_gait.safetensors

CLIPS is a data set of retargeted takes as `parc dataset build` writes it, not hastened: each clip's source names whom it shows
(cmu/16_11.bvh: cmu/16), its skill what. The file holds mean and covariance of 26 features of one-second windows for each
subject and activity (`parc.metrics.people_statistics`), no motion. Printed are R and N of all takes, their own subject left out.
"""

import argparse
import hashlib
from pathlib import Path

from parc.character import humanoid
from parc.dataset.clip_reading import read_clips
from parc.metrics.clip_batch import ClipBatch, groups
from parc.metrics.naturalness import by_activity, score_windows
from parc.metrics.people_from_clips import people_from_clips


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clips", type=Path, help="data set of retargeted motion capture")
    parser.add_argument("-o", "--out", type=Path, required=True, help="file to write (.safetensors)")
    args = parser.parse_args()
    character, clips = humanoid(), read_clips(args.clips, humanoid())
    people, counted = people_from_clips(clips, character)
    names = hashlib.sha256(" ".join(sorted(clip.name for clip in clips)).encode()).hexdigest()[:16]
    people.save(args.out, {"clips": len(clips), "frames": sum(len(c.motion) for c in clips), "names": names, "windows": counted})
    table = by_activity(score_windows(ClipBatch.stack(group, character), among=people) for group in groups(clips))
    print(f"{len(clips)} clips, {len(people.subjects)} subjects, {args.out.stat().st_size / 1000:.0f} kB")
    for name, row in table.items():
        who = counted.get(name, {})
        shown = f"{sum(who.values()):5d} windows of {len(who):2d} subjects learnt;" if who else " " * 38
        print(f"{name:6s} {shown} {row['seconds']:5.0f} s scored: R {row['r']:.2f}, N {row['n']:.0f} %")


if __name__ == "__main__":
    main()
