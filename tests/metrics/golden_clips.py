"""How golden_clips.npz was made: three recordings, cut short, two of them damaged so that every metric says something.

python tests/metrics/golden_clips.py

The file is what counts: the recordings in the box may be others by now. After a new one, write the values again
(golden_values.py).
"""

from pathlib import Path

import numpy as np

from parc.character import humanoid
from parc.dataset import Dataset
from parc.models import shipped_motions

FILE = Path(__file__).with_name("golden_clips.npz")
PARTS = ("root_pos", "root_rot", "joint_rot", "contacts")


def cut(name: str, first: int, last: int) -> dict[str, np.ndarray]:
    folder = shipped_motions()
    assert folder is not None
    dataset = Dataset.open(folder, humanoid())
    clip = dataset[dataset.names.index(name)]
    motion = clip.motion.slice(first, last)
    arrays = {part: getattr(motion, part).numpy().astype(np.float32) for part in PARTS}
    arrays |= {"heights": clip.terrain.heights.numpy(), "min_point": clip.terrain.min_point.numpy()}
    arrays |= {"cell": np.float64(clip.terrain.cell), "fps": np.float64(motion.fps)}
    start, end = arrays["root_pos"][0], arrays["root_pos"][-1]
    arrays["path"] = np.stack([start, 0.5 * (start + end), end + np.float32([0.5, -0.3, 0.0])])
    return arrays


def main() -> None:
    clips = {"stairs_as_recorded": cut("stairs_83_29_quick_sim", 20, 75)}

    climb = cut("climb_mocap_climb_seq_1_quick_sim93-317", 60, 130)
    climb["root_pos"][:, 2] -= 0.04
    climb["root_pos"][[25, 45], 0] += np.float32([0.3, 0.15])
    climb["contacts"] = np.roll(climb["contacts"], 6, axis=0)
    climb["contacts"][:, ::3] *= np.float32(0.7)
    clips["climb_lowered"] = climb

    jump = cut("gap_jump_16_10_quick_sim", 5, 70)
    t = np.arange(65)
    jump["root_pos"][:, 1] += (0.19 * t / 30).astype(np.float32)
    jump["root_pos"][:, 2] += (0.5 * np.sin(np.pi * np.clip((t - 20) / 30, 0, 1)) ** 2).astype(np.float32)
    ahead = jump["root_pos"][-4, 0] if jump["root_pos"][-1, 0] > jump["root_pos"][0, 0] else None
    if ahead is not None:
        rows = int(np.floor((ahead - jump["min_point"][0]) / jump["cell"] + 0.5))
        jump["heights"] = jump["heights"][:rows]
    clips["jump_lifted_off_the_map"] = jump

    np.savez_compressed(FILE, **{f"{name}/{part}": array for name, arrays in clips.items() for part, array in arrays.items()})


if __name__ == "__main__":
    main()
